//! The server's log while the platform runs in the foreground.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

/// Reads what is added to a log and picks what a developer must see: warnings and errors with the lines that
/// belong to them.
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
const SHOWN: [&str; 4] = ["WARNING:  ", "ERROR:  ", "FATAL:  ", "PANIC:  "];
const BELONGING: [&str; 5] = ["DETAIL:  ", "HINT:  ", "CONTEXT:  ", "QUERY:  ", "STATEMENT:  "];

impl Follower {
    /// Follows a log from its present end.
    pub(crate) fn open(log: &Path) -> io::Result<Self> {
        let mut file = File::open(log)?;
        file.seek(SeekFrom::End(0))?;
        Ok(Self { file, partial: Vec::new(), showing: false })
    }

    /// The lines to show among those that have been added.
    pub(crate) fn lines(&mut self) -> io::Result<Vec<String>> {
        self.file.by_ref().take(CHUNK).read_to_end(&mut self.partial)?;
        let Some(end) = self.partial.iter().rposition(|byte| *byte == b'\n') else { return Ok(Vec::new()) };
        let complete: Vec<u8> = self.partial.drain(..=end).collect();
        let text = String::from_utf8_lossy(&complete);
        Ok(text.lines().filter(|line| self.is_shown(line)).map(str::to_owned).collect())
    }

    /// A line without a level, or with one that explains the line before, goes with that line.
    fn is_shown(&mut self, line: &str) -> bool {
        if let Some((_, message)) = line.split_once("] ").filter(|_| !line.starts_with('\t')) {
            let has = |levels: &[&str]| levels.iter().any(|level| message.starts_with(level));
            if !has(&BELONGING) {
                self.showing = has(&SHOWN);
            }
        }
        self.showing
    }
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
}
