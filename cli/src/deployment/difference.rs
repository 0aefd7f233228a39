//! The sides of a comparison of a test that is not true, for people.

use serde::Deserialize;
use similar::TextDiff;

/// Letters up to which a value stands in a line.
const SHORT: usize = 200;

/// What a test compares.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(default)]
pub(crate) struct Difference {
    operator: String,
    got: Option<String>,
    wanted: Option<String>,
}

impl Difference {
    /// Of a text that is to be another.
    pub(crate) fn of(got: &str, wanted: &str) -> Difference {
        Difference { operator: "=".into(), got: Some(got.into()), wanted: Some(wanted.into()) }
    }

    /// Lines that begin with a line's end: both sides, or the lines in which they differ where they are long.
    pub(crate) fn describe(&self) -> String {
        let (got, wanted) = (shown(self.got.as_deref()), shown(self.wanted.as_deref()));
        let is_short = |text: &str| text.len() <= SHORT && !text.contains('\n');
        let is_equality = matches!(self.operator.as_str(), "=" | "is not distinct from");
        if is_short(&got) && is_short(&wanted) || !is_equality {
            let operator = if is_equality { String::new() } else { format!("{} ", self.operator) };
            return format!("\n  got:    {}\n  wanted: {operator}{}", indented(&got), indented(&wanted));
        }
        let (got, wanted) = (spread(got), spread(wanted));
        let difference = TextDiff::from_lines(&wanted, &got);
        let lines = difference.unified_diff().context_radius(3).missing_newline_hint(false).to_string();
        format!("\n  - wanted\n  + got\n  {}", indented(lines.trim_end()))
    }
}

fn shown(value: Option<&str>) -> String {
    value.unwrap_or("null").to_owned()
}

fn indented(text: &str) -> String {
    text.replace('\n', "\n  ")
}

/// JSON and HTML in one line, in many: a difference is one of lines.
fn spread(text: String) -> String {
    let mut text = match serde_json::from_str::<serde_json::Value>(&text) {
        Ok(value) if value.is_object() || value.is_array() => format!("{value:#}"),
        _ => text.replace("><", ">\n<"),
    };
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described(operator: &str, got: Option<&str>, wanted: &str) -> String {
        let got = got.map(str::to_owned);
        Difference { operator: operator.into(), got, wanted: Some(wanted.into()) }.describe()
    }

    #[test]
    fn short_values_stand_in_a_line_each_and_long_ones_differ_by_lines() {
        assert_eq!(described("=", Some("404"), "200"), "\n  got:    404\n  wanted: 200");
        assert_eq!(described(">", None, "3"), "\n  got:    null\n  wanted: > 3");
        assert_eq!(
            described("=", Some("one\ntwo\nthree"), "one\nTWO\nthree"),
            "\n  - wanted\n  + got\n  @@ -1,3 +1,3 @@\n   one\n  -TWO\n  +two\n   three"
        );
        let object = |last: usize| format!("{{\"a\": {:?}, \"b\": {last}}}", "x".repeat(300));
        let told = described("=", Some(&object(1)), &object(2));
        assert!(told.contains("-  \"b\": 2") && told.contains("+  \"b\": 1"), "{told}");
    }
}
