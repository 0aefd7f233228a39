//! Bytes of files: parts that were asked for lately are kept, and read anew where they are not.

use std::ops::Range;

use bytes::Bytes;
use cache::Cache;
use codings::Coding;
use pg::guard::Report;
use problem::Problem;
use request::static_files::bytes;
use session::own_transaction;
use shared::settings;

/// Bytes that are read and kept together: a quarter of a millisecond of this process's time.
const PART: u64 = 256 << 10;

/// The bytes of a file, plain or by a coding.
#[derive(Clone, Debug)]
pub(crate) struct Content {
    /// Whose file it is.
    pub application: String,
    /// SHA-256 of the plain bytes, in hexadecimal digits.
    pub digest: String,
    /// The coding, if it is not the plain bytes.
    pub coding: Option<Coding>,
    /// How many they are.
    pub size: u64,
}

/// Parts that are kept.
pub(crate) struct Contents {
    kept: Cache<Bytes>,
}

impl Contents {
    /// None yet.
    pub(crate) fn new() -> Contents {
        Contents { kept: Cache::new(settings::MAX_FILES.get() as usize) }
    }

    /// Follows the setting.
    pub(crate) fn limit(&mut self) {
        self.kept.limit(settings::MAX_FILES.get() as usize);
    }

    /// The bytes from `part.start` on that are kept together, up to `part.end`; none if they are not kept.
    pub(crate) fn kept(&mut self, content: &Content, part: &Range<u64>) -> Option<Bytes> {
        let (number, slice) = first(part);
        if slice.is_empty() {
            return Some(Bytes::new());
        }
        let kept = self.kept.get(&key(content, number))?;
        (slice.end <= kept.len()).then(|| kept.slice(slice))
    }

    /// The same as they are in the database. They are kept, if there is room. Outside of a transaction.
    pub(crate) fn read(&mut self, content: &Content, part: &Range<u64>) -> Result<Bytes, Problem> {
        let (number, slice) = first(part);
        let whole = number * PART..content.size.min((number + 1) * PART);
        let Content { application, digest, coding, .. } = content;
        let read = || bytes(application, digest, *coding, whole);
        match own_transaction::transaction(Report::Log, read) {
            Ok(Some(read)) => {
                let read = Bytes::from(read);
                self.kept.insert(&key(content, number), read.clone(), read.len());
                Ok(read.slice(slice))
            }
            Ok(None) => Err(Problem::new(404, "there is no such file any more")),
            Err(_) => Err(Problem::new(503, "the files cannot be read; the server's log says why")),
        }
    }
}

/// The number of the part that has the first byte, and which of its bytes are meant.
fn first(part: &Range<u64>) -> (u64, Range<usize>) {
    let number = part.start / PART;
    let (start, end) = (part.start - number * PART, part.end.min((number + 1) * PART) - number * PART);
    (number, start as usize..end as usize)
}

fn key(content: &Content, number: u64) -> Vec<u8> {
    let Content { application, digest, coding, .. } = content;
    format!("{application}\0{digest}\0{}\0{number}", coding.map_or("", Coding::name)).into_bytes()
}
