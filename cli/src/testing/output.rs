//! What is told of tests: a line for each as it ends, the Test Anything Protocol, or a file as JUnit writes it.

use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

use super::trial::Outcome;
use crate::arguments::Test;
use crate::failure::{Failure, Result};
use crate::screen::{harmless, say};

/// Tells it as it is asked for.
pub(crate) struct Output<'a> {
    options: &'a Test,
    application: String,
    /// Tests that were told.
    count: usize,
}

impl Output<'_> {
    /// Nothing has ended yet.
    pub(crate) fn begin<'a>(options: &'a Test, application: &str) -> Output<'a> {
        if options.tap {
            say("TAP version 13");
        }
        Output { options, application: application.to_owned(), count: 0 }
    }

    /// A test has ended.
    pub(crate) fn tell(&mut self, outcome: &Outcome) {
        self.count += 1;
        say(&harmless(&if self.options.tap { tap(self.count, outcome) } else { line(outcome) }));
    }

    /// All have ended. An error if one has failed.
    pub(crate) fn end(self, outcomes: &[Outcome], routes: Option<&[String]>, took: Duration) -> Result<()> {
        if self.options.tap {
            say(&format!("1..{}", self.count));
        }
        if let Some(routes) = routes {
            let lines = coverage(routes, outcomes);
            lines.iter().for_each(|line| self.beside(line));
        }
        if let Some(path) = &self.options.junit {
            fs::write(path, junit(&self.application, outcomes, took))
                .map_err(|error| Failure::Said(format!("cannot write {}: {error}", path.display())))?;
        }
        let failed = outcomes.iter().filter(|outcome| outcome.failure.is_some()).count();
        let (passed, seconds) = (outcomes.len() - failed, took.as_secs_f64());
        if failed > 0 {
            return Err(Failure::Said(format!("{failed} failed, {passed} passed, in {seconds:.1} s.")));
        }
        self.beside(&format!("{passed} passed in {seconds:.1} s."));
        Ok(())
    }

    fn beside(&self, line: &str) {
        let mark = if self.options.tap { "# " } else { "" };
        say(&harmless(&format!("{mark}{line}")));
    }
}

fn line(outcome: &Outcome) -> String {
    let (name, milliseconds) = (outcome.name(), outcome.took.as_millis());
    match &outcome.failure {
        None => format!("ok      {name}  ({milliseconds} ms)"),
        Some(failure) => format!("FAILED  {name}  ({milliseconds} ms)\n{failure}\n"),
    }
}

/// As version 13 of the Test Anything Protocol has it.
fn tap(number: usize, outcome: &Outcome) -> String {
    let name = outcome.name().replace('#', "\\#");
    match &outcome.failure {
        None => format!("ok {number} - {name}"),
        Some(failure) => {
            let text: String = failure.lines().map(|line| format!("    {line}\n")).collect();
            format!("not ok {number} - {name}\n  ---\n  message: |\n{text}  ...")
        }
    }
}

/// As JUnit's XML is read by those who show it.
fn junit(application: &str, outcomes: &[Outcome], took: Duration) -> String {
    let failed = outcomes.iter().filter(|outcome| outcome.failure.is_some()).count();
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"{}\" tests=\"{}\" failures=\"{failed}\" errors=\"0\" time=\"{:.3}\">\n",
        escaped(application),
        outcomes.len(),
        took.as_secs_f64()
    );
    for outcome in outcomes {
        let head = format!(
            "  <testcase classname=\"{}\" name=\"{}\" time=\"{:.3}\"",
            escaped(application),
            escaped(&outcome.name()),
            outcome.took.as_secs_f64()
        );
        text += &match &outcome.failure {
            None => format!("{head}/>\n"),
            Some(failure) => {
                let first = failure.lines().next().unwrap_or_default();
                format!(
                    "{head}>\n    <failure message=\"{}\">{}</failure>\n  </testcase>\n",
                    escaped(first),
                    escaped(failure)
                )
            }
        };
    }
    text + "</testsuite>\n"
}

/// As text and attributes of XML have it, which knows few control characters.
fn escaped(text: &str) -> String {
    let mut written = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => written.push_str("&amp;"),
            '<' => written.push_str("&lt;"),
            '>' => written.push_str("&gt;"),
            '"' => written.push_str("&quot;"),
            '\n' | '\t' => written.push(letter),
            '\u{fffe}' | '\u{ffff}' => written.push('\u{fffd}'),
            letter if letter.is_control() => written.push('\u{fffd}'),
            letter => written.push(letter),
        }
    }
    written
}

/// Which routes no test has asked.
fn coverage(routes: &[String], outcomes: &[Outcome]) -> Vec<String> {
    let called: BTreeSet<&String> = outcomes.iter().flat_map(|outcome| &outcome.called).collect();
    let left: Vec<&String> = routes.iter().filter(|route| !called.contains(route)).collect();
    let asked = routes.len() - left.len();
    let mut lines =
        vec![format!("Tests have asked {asked} of {} routes, pages and query handlers.", routes.len())];
    lines.extend(left.into_iter().map(|route| format!("  no test asks {route}")));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_xml_has_is_written_otherwise() {
        assert_eq!(
            escaped("a<b>&\"c\"\u{1b}[0m\u{7f}\n"),
            "a&lt;b&gt;&amp;&quot;c&quot;\u{fffd}[0m\u{fffd}\n"
        );
    }
}
