//! The name by which a queue remembers how far files are.

use std::fs::{self, File};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Read};
use std::path::Path;

use crate::error::Error;
use crate::source::{Input, Source};

/// How much of a file's beginning tells it from another of the same name.
const BEGINNING: u64 = 1024;
/// How much of the first file's name stands in the producer's.
const READABLE: usize = 40;

/// A name that is the same for the same files: it is made from their paths and first lines, so that a file that has
/// been replaced is another. A stream gets a new name each time, because nobody knows whether it is the same.
pub fn producer_name(source: &Source) -> Result<String, Error> {
    let Some(first) = source.inputs().first().filter(|_| source.can_be_read_again()) else {
        return Ok(format!("stream-{:016x}", RandomState::new().hash_one(std::process::id())));
    };
    let mut hash = Fnv::new();
    for input in source.inputs() {
        hash.add(&identity(input).map_err(|cause| Error::Unreadable {
            name: input.path.display().to_string(),
            line: None,
            cause,
        })?);
    }
    Ok(format!("{}-{:016x}", readable(&first.path), hash.0))
}

/// The path and the first line, or its beginning; of a compressed file whatever stands there.
fn identity(input: &Input) -> io::Result<Vec<u8>> {
    let mut beginning = Vec::new();
    File::open(&input.path)?.take(BEGINNING).read_to_end(&mut beginning)?;
    let line = beginning.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let path = fs::canonicalize(&input.path)?;
    Ok([path.as_os_str().as_encoded_bytes(), b"\0", line, b"\0"].concat())
}

fn readable(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "._-".contains(letter);
    name.chars().map(|letter| if plain(letter) { letter } else { '_' }).take(READABLE).collect()
}

/// FNV-1a, which is the same in every version: a name must be.
struct Fnv(u64);

impl Fnv {
    fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(paths: &[&Path]) -> String {
        let paths: Vec<_> = paths.iter().map(|path| path.to_path_buf()).collect();
        producer_name(&Source::open(&paths).unwrap()).unwrap()
    }

    #[test]
    fn the_same_files_have_the_same_name_and_others_another() {
        let folder = tempfile::tempdir().unwrap();
        let (one, other) = (folder.path().join("a b.ndjson"), folder.path().join("c.ndjson"));
        fs::write(&one, "{\"n\": 1}\n").unwrap();
        fs::write(&other, "{\"n\": 1}\n").unwrap();
        let before = name(&[&one, &other]);
        assert!(before.starts_with("a_b.ndjson-"), "{before}");
        assert_eq!(before, name(&[&one, &other]));
        assert_ne!(before, name(&[&other, &one]));
        assert_ne!(name(&[&one]), name(&[&other]));

        fs::write(&one, "{\"n\": 1}\n{\"n\": 2}\n").unwrap();
        assert_eq!(before, name(&[&one, &other]), "a file that grows stays the same");
        fs::write(&one, "{\"n\": 3}\n").unwrap();
        assert_ne!(before, name(&[&one, &other]), "a file that is replaced does not");
    }

    #[test]
    fn a_stream_is_never_the_same() {
        assert_ne!(name(&[Path::new("-")]), name(&[Path::new("-")]));
    }
}
