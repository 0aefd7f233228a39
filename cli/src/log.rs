//! The server's log while the platform runs in the foreground.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

/// Reads what is added to a log and picks what a developer wants to see: requests, notices, warnings and errors, with the
/// lines that belong to them.
#[derive(Debug)]
pub(crate) struct Follower {
    file: File,
    /// A line that has no end yet.
    partial: Vec<u8>,
    /// Whether the last line with a level was shown, so that what belongs to it is shown too.
    showing: bool,
}

/// Most bytes read at a time, so that Ctrl-C is noticed under a flood of errors.
const CHUNK: u64 = 64 * 1024;
const SHOWN: [&str; 6] = ["NOTICE:  ", "WARNING:  ", "ERROR:  ", "FATAL:  ", "PANIC:  ", "LOG:  howdah"];
const BELONGING: [&str; 5] = ["DETAIL:  ", "HINT:  ", "CONTEXT:  ", "QUERY:  ", "STATEMENT:  "];
/// How the server logs a request.
const REQUEST: &str = "LOG:  http request ";
/// How it logs an attempt of a job.
const JOB: &str = "LOG:  howdah job ";

impl Follower {
    /// Follows a log from its present end.
    pub(crate) fn open(log: &Path) -> io::Result<Self> {
        let mut file = File::open(log)?;
        file.seek(SeekFrom::End(0))?;
        Ok(Self { file, partial: Vec::new(), showing: false })
    }

    /// The lines to show among those that have been added.
    pub(crate) fn lines(&mut self) -> io::Result<Vec<String>> {
        // What was there before has no end of a line: a line of 100 MB is looked through once.
        let known = self.partial.len();
        self.file.by_ref().take(CHUNK).read_to_end(&mut self.partial)?;
        let end = self.partial[known..].iter().rposition(|byte| *byte == b'\n');
        let Some(end) = end.map(|end| known + end) else { return Ok(Vec::new()) };
        let complete: Vec<u8> = self.partial.drain(..=end).collect();
        let text = String::from_utf8_lossy(&complete);
        Ok(text.lines().filter_map(|line| self.shown(line)).collect())
    }

    /// How a line is shown, if it is. One without a level, or with one that explains the line before, goes with that line.
    fn shown(&mut self, line: &str) -> Option<String> {
        if let Some((_, message)) = line.split_once("] ").filter(|_| !line.starts_with('\t')) {
            if let Some(request) = request(message).or_else(|| job(message)) {
                self.showing = false;
                return Some(printable(&request));
            }
            let has = |levels: &[&str]| levels.iter().any(|level| message.starts_with(level));
            if !has(&BELONGING) {
                self.showing = has(&SHOWN);
            }
        }
        self.showing.then(|| printable(line))
    }
}

/// `GET /path 200 0.4 ms`, of the line that the server logs of a request.
fn request(message: &str) -> Option<String> {
    let (_, said) = message.strip_prefix(REQUEST)?.split_once(": ")?;
    let (asked, answer) = said.rsplit_once(" answered ")?;
    let (status, times) = answer.split_once(" in ")?;
    let milliseconds: f64 = times.split_once(" ms")?.0.parse().ok()?;
    Some(format!("{asked} {status} {milliseconds:.1} ms"))
}

/// `job welcome 12 done 0.4 ms`, of the line that the server logs of an attempt.
fn job(message: &str) -> Option<String> {
    let (id, said) = message.strip_prefix(JOB)?.split_once(" of kind ")?;
    let (said, times) = said.rsplit_once(" in ")?;
    let (kind, attempt) = said.rsplit_once(", attempt ")?;
    let (_, end) = attempt.split_once(' ')?;
    let milliseconds: f64 = times.split_once(" ms")?.0.parse().ok()?;
    Some(format!("job {kind} {id} {end} {milliseconds:.1} ms"))
}

/// Without what a terminal would obey: a client chooses parts of it.
fn printable(line: &str) -> String {
    let escaped = |char: char| match char {
        '\t' => vec![char],
        char if char.is_control() => char.escape_default().collect(),
        char => vec![char],
    };
    line.chars().flat_map(escaped).collect()
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn warnings_and_errors_are_shown_with_what_belongs_to_them() {
        let mut log = tempfile::NamedTempFile::new().unwrap();
        writeln!(log, "2026-01-01 00:00:00 UTC [1] ERROR:  before").unwrap();
        let mut follower = Follower::open(log.path()).unwrap();
        assert_eq!(follower.lines().unwrap(), [""; 0]);
        write!(
            log,
            "2026-01-01 [1] LOG:  quiet\n\ttail of quiet\n2026-01-01 [1] ERROR:  loud\n\
             2026-01-01 [1] HINT:  [x] help\n\ttail [1] LOG:  of loud\n2026-01-01 [2] LOG:  quiet\n2026-01-01 [3] WARN"
        )
        .unwrap();
        assert_eq!(
            follower.lines().unwrap(),
            ["2026-01-01 [1] ERROR:  loud", "2026-01-01 [1] HINT:  [x] help", "\ttail [1] LOG:  of loud"]
        );
        writeln!(log, "ING:  late").unwrap();
        assert_eq!(follower.lines().unwrap(), ["2026-01-01 [3] WARNING:  late"]);
    }

    #[test]
    fn requests_are_shown_in_short_and_nothing_controls_the_terminal() {
        let mut log = tempfile::NamedTempFile::new().unwrap();
        let mut follower = Follower::open(log.path()).unwrap();
        writeln!(
            log,
            "2026-01-01 [1] LOG:  http request a:b from ::1: GET /x answered 200 in 1.26 ms, of which it waited 0.000 ms\n\
             2026-01-01 [1] LOG:  howdah job 12 of kind a, b in c, attempt 2 failed in 0.26 ms, after 3.000 ms\n\
             2026-01-01 [1] LOG:  howdah: 5 requests were not logged\n2026-01-01 [1] NOTICE:  \u{1b}[2J"
        )
        .unwrap();
        assert_eq!(
            follower.lines().unwrap(),
            [
                "GET /x 200 1.3 ms",
                "job a, b in c 12 failed 0.3 ms",
                "2026-01-01 [1] LOG:  howdah: 5 requests were not logged",
                r"2026-01-01 [1] NOTICE:  \u{1b}[2J"
            ]
        );
    }
}
