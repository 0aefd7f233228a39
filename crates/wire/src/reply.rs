//! The lines that the server writes.

use serde_json::json;

use crate::hello::{Refusal, VERSION};

/// How much a client may send ahead of the acknowledgements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Lines.
    pub lines: u64,
    /// Bytes.
    pub bytes: u64,
}

/// The answer to a hello: all lines up to `sequence` are committed.
pub fn hello(sequence: i64, window: Window, longest_line: usize) -> String {
    let window = json!({ "lines": window.lines, "bytes": window.bytes });
    line(json!({ "$hello": {
        "v": VERSION, "sequence": sequence, "window": window, "longest_line": longest_line
    } }))
}

/// Every line up to `sequence` is done with: stored, or a dead letter, but for those that were dropped since the last
/// acknowledgement, because there are as many dead letters as are kept.
pub fn acknowledgement(sequence: i64, dropped: u64) -> String {
    match dropped {
        0 => line(json!({ "$ack": sequence })),
        _ => line(json!({ "$ack": sequence, "dropped": dropped })),
    }
}

/// A line is a dead letter.
pub fn reject(sequence: i64, code: &str, error: &str) -> String {
    line(json!({ "$reject": { "sequence": sequence, "code": code, "error": error } }))
}

/// The last line: the connection ends.
pub fn error(refusal: &Refusal) -> String {
    line(json!({ "$error": { "code": refusal.code, "error": refusal.error } }))
}

fn line(value: serde_json::Value) -> String {
    format!("{value}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_one_line() {
        let window = Window { lines: 10, bytes: 100 };
        assert_eq!(
            hello(7, window, 5),
            "{\"$hello\":{\"longest_line\":5,\"sequence\":7,\"v\":1,\"window\":{\"bytes\":100,\"lines\":10}}}\n"
        );
        assert_eq!(acknowledgement(9, 0), "{\"$ack\":9}\n");
        assert_eq!(acknowledgement(9, 2), "{\"$ack\":9,\"dropped\":2}\n");
        assert_eq!(
            reject(3, "22P02", "no\n\"number\""),
            "{\"$reject\":{\"code\":\"22P02\",\"error\":\"no\\n\\\"number\\\"\",\"sequence\":3}}\n"
        );
        assert_eq!(
            error(&Refusal::new("28000", "no")),
            "{\"$error\":{\"code\":\"28000\",\"error\":\"no\"}}\n"
        );
    }
}
