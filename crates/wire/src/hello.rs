//! What a client of the acknowledged protocol says first, and whether it may go on.

use serde::Deserialize;
use sha2::{Digest, Sha256};

/// The version of the protocol.
pub const VERSION: u32 = 1;
/// The longest name of a producer, in bytes.
pub const LONGEST_NAME: usize = 256;

/// The hash of a token, as listeners keep it.
pub type Token = [u8; 32];

/// Why a connection is ended, for its last line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// A SQLSTATE.
    pub code: String,
    /// What was wrong, and what to do.
    pub error: String,
}

/// The first line of the acknowledged protocol.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Hello {
    /// The version that the client speaks.
    #[serde(default)]
    pub v: u32,
    /// The queue or table that it means.
    pub queue: Option<String>,
    /// Who sends.
    #[serde(default)]
    pub producer: String,
    /// Which life of the producer: a higher one ends those before.
    #[serde(default = "first")]
    pub epoch: i32,
    /// How many lines it wants to have under way at most.
    pub window: Option<u64>,
    /// The listener's token.
    pub token: Option<String>,
}

/// The first line as it stands there.
#[derive(Deserialize)]
struct Line {
    #[serde(rename = "$hello")]
    hello: Hello,
}

fn first() -> i32 {
    1
}

impl Refusal {
    /// A refusal of this SQLSTATE.
    pub fn new(code: &str, error: impl Into<String>) -> Refusal {
        Refusal { code: code.to_owned(), error: error.into() }
    }

    pub(crate) fn too_long(longest: usize) -> Refusal {
        Refusal::new("54000", format!("the hello is longer than {longest} bytes"))
    }
}

impl Hello {
    /// Reads a hello.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(line: &[u8]) -> Result<Hello, Refusal> {
        let Line { hello } = serde_json::from_slice(line)
            .map_err(|error| Refusal::new("22023", format!("the hello cannot be read: {error}")))?;
        if hello.v != VERSION {
            let text = format!("version {} of the protocol is not known; say \"v\": {VERSION}", hello.v);
            return Err(Refusal::new("0A000", text));
        }
        let name = &hello.producer;
        if name.is_empty() || name.len() > LONGEST_NAME || name.contains('\0') {
            let text = format!("\"producer\" must be a name of 1 to {LONGEST_NAME} bytes");
            return Err(Refusal::new("22023", text));
        }
        if hello.epoch < 0 {
            return Err(Refusal::new("22023", "\"epoch\" must not be negative"));
        }
        Ok(hello)
    }

    /// An error unless the client means this queue or table, and has the token, if there is one.
    ///
    /// # Errors
    /// What it lacks.
    pub fn check(&self, target: &str, token: Option<&Token>) -> Result<(), Refusal> {
        if let Some(token) = token
            && !self.token.as_deref().is_some_and(|given| same(&hash(given), token))
        {
            return Err(Refusal::new("28000", "the token is missing or wrong"));
        }
        match &self.queue {
            Some(queue) if queue != target => {
                let text =
                    format!("this listener has no \"{queue}\"; leave \"queue\" out, or look at the port");
                Err(Refusal::new("42704", text))
            }
            _ => Ok(()),
        }
    }
}

/// The hash of a token.
pub fn hash(token: &str) -> Token {
    Sha256::digest(token.as_bytes()).into()
}

/// Compares all bytes, whatever the first says.
fn same(one: &Token, other: &Token) -> bool {
    one.iter().zip(other).fold(0, |differ, (one, other)| differ | (one ^ other)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(line: &str) -> String {
        Hello::parse(line.as_bytes()).unwrap_err().code
    }

    #[test]
    fn what_is_left_out_has_a_default() {
        let hello = Hello::parse(br#"{"$hello":{"producer":"p","v":1,"new":true}}"#).unwrap();
        let expected = Hello { v: 1, queue: None, producer: "p".into(), epoch: 1, window: None, token: None };
        assert_eq!(hello, expected);
    }

    #[test]
    fn what_is_wrong_is_refused() {
        assert_eq!(refused(r#"{"$hello":{"producer":"p"}}"#), "0A000");
        assert_eq!(refused(r#"{"$hello":{"producer":"p","v":2}}"#), "0A000");
        assert_eq!(refused(r#"{"$hello":{"v":1}}"#), "22023");
        assert_eq!(refused(r#"{"$hello":{"producer":"","v":1}}"#), "22023");
        assert_eq!(refused(r#"{"$hello":{"producer":"a\u0000b","v":1}}"#), "22023");
        assert_eq!(refused(r#"{"$hello":{"producer":"p","v":1,"epoch":-1}}"#), "22023");
        assert_eq!(refused(r#"{"$hello":{"producer":"p","v":1,"epoch":3000000000}}"#), "22023");
        assert_eq!(refused(r#"{"$hello":5}"#), "22023");
        assert_eq!(refused(r#"{"$hello":{"producer":"p","v":1}} more"#), "22023");
        assert_eq!(refused(&format!("{{\"$hello\":{}", "[".repeat(10_000))), "22023");
    }

    #[test]
    fn token_and_queue_are_checked() {
        let hello = |rest: &str| {
            Hello::parse(format!(r#"{{"$hello":{{"producer":"p","v":1{rest}}}}}"#).as_bytes()).unwrap()
        };
        let token = hash("secret");
        assert!(hello("").check("bips", None).is_ok());
        assert!(hello(r#","queue":"bips","token":"secret""#).check("bips", Some(&token)).is_ok());
        assert_eq!(hello("").check("bips", Some(&token)).unwrap_err().code, "28000");
        assert_eq!(hello(r#","token":"Secret""#).check("bips", Some(&token)).unwrap_err().code, "28000");
        assert_eq!(hello(r#","queue":"other""#).check("bips", None).unwrap_err().code, "42704");
    }
}
