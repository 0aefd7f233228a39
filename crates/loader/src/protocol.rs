//! What the two sides say to each other: one JSON object a line.

use serde_json::{Value, json};

/// The version of the protocol.
const VERSION: u64 = 1;

/// The first line that a client sends.
#[derive(Debug)]
pub struct Hello<'a> {
    /// The queue that it means.
    pub queue: Option<&'a str>,
    /// Who sends.
    pub producer: &'a str,
    /// Its epoch.
    pub epoch: i32,
    /// How many lines it wants to have under way.
    pub window: u64,
    /// The listener's token.
    pub token: Option<&'a str>,
}

impl Hello<'_> {
    /// The line.
    pub fn line(&self) -> String {
        let mut hello =
            json!({"v": VERSION, "producer": self.producer, "epoch": self.epoch, "window": self.window});
        for (key, value) in [("queue", self.queue), ("token", self.token)] {
            if let Some(value) = value {
                hello[key] = value.into();
            }
        }
        format!("{}\n", json!({ "$hello": hello }))
    }
}

/// How much may be under way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// Lines; one at least.
    pub lines: u64,
    /// Bytes; one at least.
    pub bytes: usize,
}

/// A line that the server has not stored: it is a dead letter.
#[derive(Clone, Debug, PartialEq)]
pub struct Rejected {
    /// The line's number in all files together, from 1.
    pub sequence: u64,
    /// The SQLSTATE.
    pub code: String,
    /// What is wrong with it.
    pub error: String,
}

/// What a server says.
#[derive(Debug, PartialEq)]
pub enum Said {
    /// The last line that the queue has of this producer, and how much may be under way.
    Hello {
        /// The last line.
        sequence: u64,
        /// How much.
        window: Window,
    },
    /// All lines up to this one are committed and flushed, or dead letters, but for so many since the last acknowledgement that are
    /// neither.
    Acknowledged {
        /// The last line.
        sequence: u64,
        /// How many.
        dropped: u64,
    },
    /// A line is a dead letter.
    Rejected(Rejected),
    /// The server will close the connection.
    Error {
        /// The SQLSTATE or a word.
        code: String,
        /// The server's words.
        error: String,
    },
    /// What later versions may say beside.
    Other,
}

impl Said {
    /// A line of the server's, or none if it is not of this protocol.
    pub fn parse(line: &str) -> Option<Self> {
        let said: Value = serde_json::from_str(line).ok()?;
        if let Some(acknowledged) = said.get("$ack") {
            let dropped = said.get("dropped").map_or(Some(0), Value::as_u64)?;
            return Some(Self::Acknowledged { sequence: acknowledged.as_u64()?, dropped });
        }
        if let Some(rejected) = said.get("$reject") {
            let sequence = rejected.get("sequence")?.as_u64()?;
            return Some(Self::Rejected(Rejected {
                sequence,
                code: text(rejected, "code"),
                error: text(rejected, "error"),
            }));
        }
        if let Some(error) = said.get("$error") {
            return Some(Self::Error { code: text(error, "code"), error: text(error, "error") });
        }
        let Some(hello) = said.get("$hello") else {
            let is_of_protocol = said.as_object()?.keys().any(|key| key.starts_with('$'));
            return is_of_protocol.then_some(Self::Other);
        };
        let bound = |name: &str| hello.get("window")?.get(name)?.as_u64();
        let window = Window { lines: bound("lines")?.max(1), bytes: bound("bytes")?.max(1) as usize };
        Some(Self::Hello { sequence: hello.get("sequence")?.as_u64()?, window })
    }
}

fn text(object: &Value, key: &str) -> String {
    object.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hello_names_what_there_is() {
        let hello = Hello { queue: None, producer: "a \"b\"", epoch: 2, window: 10, token: Some("t") };
        let line = hello.line();
        assert!(line.starts_with("{\"$hello\":") && line.ends_with("}\n"), "{line}");
        let read: Value = serde_json::from_str(&line).unwrap();
        let expected =
            json!({"$hello": {"v": 1, "producer": "a \"b\"", "epoch": 2, "window": 10, "token": "t"}});
        assert_eq!(read, expected);
    }

    #[test]
    fn what_a_server_says_is_understood() {
        let hello =
            r#"{"$hello": {"v": 1, "sequence": 7, "window": {"lines": 5, "bytes": 9}, "longest_line": 3}}"#;
        assert_eq!(
            Said::parse(hello),
            Some(Said::Hello { sequence: 7, window: Window { lines: 5, bytes: 9 } })
        );
        assert_eq!(Said::parse("{\"$ack\": 12}\n"), Some(Said::Acknowledged { sequence: 12, dropped: 0 }));
        let dropped = Said::Acknowledged { sequence: 12, dropped: 3 };
        assert_eq!(Said::parse(r#"{"$ack": 12, "dropped": 3}"#), Some(dropped));
        let rejected = Rejected { sequence: 3, code: "22P02".into(), error: "bad".into() };
        assert_eq!(
            Said::parse(r#"{"$reject": {"sequence": 3, "code": "22P02", "error": "bad"}}"#),
            Some(Said::Rejected(rejected))
        );
        assert_eq!(
            Said::parse(r#"{"$error": {"code": "28000", "error": "no"}}"#),
            Some(Said::Error { code: "28000".into(), error: "no".into() })
        );
    }

    #[test]
    fn what_later_versions_may_say_is_passed_over() {
        assert_eq!(Said::parse(r#"{"$pause": 5}"#), Some(Said::Other));
        assert_eq!(
            Said::parse(r#"{"$ack": 5, "lag": 1}"#),
            Some(Said::Acknowledged { sequence: 5, dropped: 0 })
        );
    }

    #[test]
    fn what_is_of_no_protocol_is_nothing() {
        for line in [
            "HTTP/1.1 400 Bad Request\r\n",
            "{}",
            "{\"$ack\": -1}",
            "{\"$ack\":1,\"dropped\":-1}",
            "{\"$hello\": {\"v\": 1}}",
            "",
        ] {
            assert_eq!(Said::parse(line), None, "{line}");
        }
    }
}
