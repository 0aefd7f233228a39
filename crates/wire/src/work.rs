//! A bucket, or a hello, on its way to whoever writes it, and the answer.
//!
//! Work is a line of JSON about the bucket, then the bucket's lines as they are. An answer is JSON. Nothing but what was written is
//! read: what serde passes over it does not look at, so that it need not even be text.

use serde::{Deserialize, Serialize};

use crate::bucket::TooLong;

/// Who sends, in the acknowledged protocol.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Origin {
    /// The producer's name.
    pub producer: String,
    /// Its epoch.
    pub epoch: i32,
    /// The sequence number of the bucket's first line.
    pub first: i64,
}

/// When a line counts as committed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Durability {
    /// When its commit is on this server's disk, and on those of the synchronous standbys, if there are any.
    #[default]
    Commit,
    /// When synchronous standbys show it, too.
    RemoteApply,
    /// At once: the last moments before a crash may be lost.
    Memory,
}

/// Where lines go, and how they are written.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Destination {
    /// The name of the queue or table, which a hello may give.
    pub name: String,
    /// Who owned the queue when its listener was registered, by name; none is anybody, and of a table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue_owner: Option<String>,
    /// The table's oid; none for a queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub table: Option<u32>,
    /// The oid of the role that writes.
    pub role: u32,
    /// The search_path in which triggers and the like resolve names.
    pub search_path: String,
    /// When a line counts as committed.
    pub durability: Durability,
    /// The column that gets the whole line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line_column: Option<String>,
    /// The column that gets the keys that have no column.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rest_column: Option<String>,
}

impl Destination {
    /// Whether lines go to the same place, however they are written there.
    pub fn is_place_of(&self, other: &Destination) -> bool {
        self.table == other.table && (self.table.is_some() || self.name == other.name)
    }
}

/// What is to be done. Without lines and with an origin: say how far the producer is.
///
/// It says all that is to be known: its listener may be gone, or take lines for somewhere else, by the time it is done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Work {
    /// The listener.
    pub listener: u32,
    /// Where the lines go.
    pub destination: Destination,
    /// Bytes of a line at most.
    pub longest_line: usize,
    /// Who sends; none from a plain connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// Whether this is a hello, which has no lines.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hello: bool,
    /// Lines of which the bucket has the beginning alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub too_long: Vec<TooLong>,
    /// Why its one line is to be a dead letter without being tried: it has done harm alone, again and again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<Rejected>,
}

/// Refused lines of a bucket that are named at most.
pub const NAMED: usize = 100;

/// A line that has become a dead letter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rejected {
    /// Its number in the bucket, from 0.
    pub line: u64,
    /// The error's SQLSTATE.
    pub code: String,
    /// The error.
    pub error: String,
}

/// What became of a bucket that is committed; of a hello, how far the producer is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Written {
    /// Lines that were stored.
    pub stored: u64,
    /// Lines that the producer had sent before.
    pub repeated: u64,
    /// Lines that were refused.
    pub rejected_count: u64,
    /// Those of them that are no dead letters either, as there were as many as are kept.
    #[serde(default)]
    pub dropped: u64,
    /// The first of them.
    pub rejected: Vec<Rejected>,
    /// The producer's last sequence number.
    pub sequence: i64,
    /// Whether it is committed on this server alone, and no standby has confirmed that which is asked to.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unconfirmed: bool,
}

/// Why nothing was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Failure {
    /// The error's SQLSTATE.
    pub code: String,
    /// The error.
    pub error: String,
    /// Whether trying again is in vain.
    pub is_final: bool,
    /// Whether the lines themselves may have done it, whatever the server's state is: they have taken too much memory, or the process
    /// has ended that wrote them.
    #[serde(default)]
    pub is_harm: bool,
}

/// What became of work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Answer {
    /// It is committed.
    Written(Written),
    /// Nothing of it is.
    Failed(Failure),
}

impl Work {
    /// The line before the bucket's lines.
    pub fn head(&self) -> Vec<u8> {
        let mut head = to_json(self);
        head.push(b'\n');
        head
    }

    /// Reads work: what it is, and the bucket's lines.
    ///
    /// # Errors
    /// If it was not written by [`Work::head`].
    pub fn parse(bytes: &[u8]) -> Result<(Work, &[u8]), serde_json::Error> {
        let end = memchr::memchr(b'\n', bytes).unwrap_or(bytes.len());
        let work = serde_json::from_slice(&bytes[..end])?;
        Ok((work, bytes.get(end + 1..).unwrap_or_default()))
    }
}

impl Written {
    /// Adds what became of a part of the bucket, before which so many lines came.
    pub fn add(&mut self, part: Written, before: u64) {
        self.stored += part.stored;
        self.repeated += part.repeated;
        self.rejected_count += part.rejected_count;
        self.dropped += part.dropped;
        self.sequence = part.sequence;
        self.unconfirmed |= part.unconfirmed;
        let room = NAMED.saturating_sub(self.rejected.len());
        let named = part.rejected.into_iter().take(room);
        self.rejected.extend(named.map(|rejected| Rejected { line: rejected.line + before, ..rejected }));
    }
}

impl Answer {
    /// The answer's bytes.
    pub fn write(&self) -> Vec<u8> {
        to_json(self)
    }

    /// Reads an answer. One that cannot be read says so.
    pub fn parse(bytes: &[u8]) -> Answer {
        serde_json::from_slice(bytes).unwrap_or_else(|error| {
            Answer::Failed(Failure {
                code: "XX000".into(),
                error: format!("an executor's answer cannot be read: {error}"),
                is_final: false,
                is_harm: false,
            })
        })
    }
}

fn to_json(value: &impl Serialize) -> Vec<u8> {
    // Structs of texts and numbers have no value that JSON lacks.
    serde_json::to_vec(value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_and_answers_come_out_as_they_went_in() {
        let origin = Origin { producer: "a\n\"b\"".into(), epoch: 3, first: i64::MAX };
        let too_long = vec![TooLong { line: 2, length: u64::MAX }];
        let queue = Destination {
            name: "bips".into(),
            queue_owner: Some("ada".into()),
            role: 10,
            ..Destination::default()
        };
        let table = Destination { table: Some(7), rest_column: Some("rest".into()), ..queue.clone() };
        let of = |destination: Destination, origin| Work {
            listener: 4000,
            destination,
            longest_line: 9,
            origin,
            hello: false,
            too_long: Vec::new(),
            refused: None,
        };
        let refused = Some(Rejected { line: 0, code: "53200".into(), error: "much".into() });
        let work = Work { too_long, refused, ..of(table, Some(origin)) };
        let bytes = [&work.head(), b"{}\nx\n".as_slice()].concat();
        assert_eq!(Work::parse(&bytes).unwrap(), (work, b"{}\nx\n".as_slice()));
        let plain = of(queue, None);
        assert_eq!(Work::parse(&plain.head()).unwrap(), (plain, b"".as_slice()));
        let rejected = vec![Rejected { line: 1, code: "22P02".into(), error: "no".into() }];
        let written = Written {
            stored: 5,
            repeated: 1,
            rejected_count: 1,
            dropped: 1,
            rejected,
            sequence: 9,
            unconfirmed: true,
        };
        let answer = Answer::Written(written);
        assert_eq!(Answer::parse(&answer.write()), answer);
        assert!(matches!(Answer::parse(b"?"), Answer::Failed(failure) if !failure.is_final));
        assert!(Work::parse(b"?").is_err());
    }
}
