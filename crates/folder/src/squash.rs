//! Migrations that stand for others: `howdah squash` writes one in their place, which names them in comments at its head.

use std::collections::BTreeMap;

/// How such a comment begins; a path and the SHA-256 of the text that has run follow.
const MARK: &str = "-- squashed: ";

/// The comments for these migrations.
pub fn head(others: &BTreeMap<String, String>) -> String {
    others.iter().map(|(path, digest)| format!("{MARK}{path} {digest}\n")).collect()
}

/// The migrations that a text stands for, with the SHA-256 of their texts.
pub fn others(text: &str) -> BTreeMap<String, String> {
    let head = text.lines().take_while(|line| line.is_empty() || line.starts_with("--"));
    let named = head.filter_map(|line| line.strip_prefix(MARK)?.trim_end().rsplit_once(' '));
    named.map(|(path, digest)| (path.to_owned(), digest.to_owned())).collect()
}

pub(crate) fn stands_for_some(text: &str) -> bool {
    text.lines().next().is_some_and(|line| line.starts_with(MARK))
}

/// A dump of `pg_dump` with its sequences set by the values that come next, of those whose steps are named: as a migration says it, for what
/// `setval()` does would last beyond a plan. Whether a sequence has given a number out, or would give out the same, is not told apart.
pub fn of_dump(dump: &str, steps: &BTreeMap<String, i64>) -> String {
    let mut text = String::with_capacity(dump.len());
    for line in dump.split_inclusive('\n') {
        match sequence(line.trim_end_matches('\n'), steps) {
            Some((name, next)) => text.push_str(&format!("ALTER SEQUENCE {name} RESTART WITH {next};\n")),
            None => text.push_str(line),
        }
    }
    text
}

/// The sequence and its next value, if a line sets it.
fn sequence(line: &str, steps: &BTreeMap<String, i64>) -> Option<(String, i64)> {
    let arguments = line.strip_prefix("SELECT pg_catalog.setval('")?.strip_suffix(");")?;
    let (name, rest) = arguments.rsplit_once("', ")?;
    let (value, is_called) = rest.split_once(", ")?;
    let name = name.replace("''", "'");
    let (value, step): (i64, i64) = (value.parse().ok()?, *steps.get(&name)?);
    let next = if is_called == "true" { value.checked_add(step)? } else { value };
    Some((name, next))
}

/// Where two dumps differ first: the object, a line of the one that the other has not, and one of the other. None where they are the same.
pub fn difference<'a>(one: &'a str, other: &'a str) -> Option<(&'a str, &'a str, &'a str)> {
    if one == other {
        return None;
    }
    let (entries, others) = (entries(one), entries(other));
    let differs = |object: &&&str| entries.get(**object) != others.get(**object);
    let object = entries.keys().chain(others.keys()).find(differs).copied().unwrap_or_default();
    let text = |entries: &BTreeMap<&'a str, &'a str>| entries.get(object).copied().unwrap_or_default();
    let (mut lines, mut its) = (text(&entries).split('\n'), text(&others).split('\n'));
    loop {
        match (lines.next(), its.next()) {
            (line, other) if line == other && line.is_some() => {}
            (line, other) => return Some((object, line.unwrap_or_default(), other.unwrap_or_default())),
        }
    }
}

/// The entries of a dump, by the comments at their heads.
fn entries(dump: &str) -> BTreeMap<&str, &str> {
    dump.split("\n--\n-- ")
        .filter_map(|entry| entry.split_once('\n'))
        .map(|(head, text)| (head, text.trim_start_matches("--\n\n")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_head_names_what_it_stands_for() {
        let pairs = [("migrations/1 a.sql", "aa"), ("migrations/2.sql", "bb")];
        let named: BTreeMap<String, String> =
            pairs.into_iter().map(|(path, digest)| (path.to_owned(), digest.to_owned())).collect();
        let text =
            head(&named) + "--\n-- PostgreSQL database dump\n--\ncreate table t ();\n-- squashed: x y\n";
        assert_eq!(others(&text), named);
        assert!(stands_for_some(&text) && !stands_for_some("create table t ();"));
        assert!(others("create table t ();\n-- squashed: x y\n").is_empty());
    }

    #[test]
    fn sequences_are_set_by_what_a_plan_takes_back() {
        let steps = [("shop.a", 1), ("shop.\"B's\"", 10), ("shop.down", -1)];
        let steps = steps.into_iter().map(|(name, step)| (name.to_owned(), step)).collect();
        let dump = "SELECT pg_catalog.setval('shop.a', 5, true);\r\nSELECT pg_catalog.setval('shop.a', 5, true);
SELECT pg_catalog.setval('shop.\"B''s\"', 1, true);\nSELECT pg_catalog.setval('shop.down', -1, true);
SELECT pg_catalog.setval('shop.down', 1, false);\nSELECT pg_catalog.setval('other', 1, false);\nSELECT 1;\n\\restrict";
        let wanted = "SELECT pg_catalog.setval('shop.a', 5, true);\r\nALTER SEQUENCE shop.a RESTART WITH 6;
ALTER SEQUENCE shop.\"B's\" RESTART WITH 11;\nALTER SEQUENCE shop.down RESTART WITH -2;
ALTER SEQUENCE shop.down RESTART WITH 1;\nSELECT pg_catalog.setval('other', 1, false);\nSELECT 1;\n\\restrict";
        assert_eq!(of_dump(dump, &steps), wanted);
    }

    #[test]
    fn a_difference_is_told_with_its_object() {
        let entry = |name: &str, text: &str| format!("\n--\n-- Name: {name}; Type: X\n--\n\n{text}\n");
        let dump = entry("a", "create a\n(x)") + &entry("c", "create c");
        assert_eq!(difference(&dump, &dump), None);
        let changed = dump.replace("(x)", "(y)");
        assert_eq!(difference(&dump, &changed), Some(("Name: a; Type: X", "(x)", "(y)")));
        let without = entry("a", "create a\n(x)");
        assert_eq!(difference(&dump, &without), Some(("Name: c; Type: X", "create c", "")));
        assert_eq!(difference(&without, &dump), Some(("Name: c; Type: X", "", "create c")));
    }
}
