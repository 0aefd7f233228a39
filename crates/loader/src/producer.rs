//! The names by which a queue may remember how far files are.

use std::fs::{self, File};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use memchr::memchr_iter;

use crate::error::Error;
use crate::source::{Input, Source};

/// How much of a file's first line tells it from another of the same name.
const BEGINNING: u64 = 1024;
/// How many of its first lines do, as far as it has so many.
const LINES: [usize; 4] = [1024, 128, 16, 2];
/// Where they end at most.
const CONTENT: u64 = 1 << 20;
/// How much of the first file's name stands in the producer's.
const READABLE: usize = 40;

/// Names that are the same for the same files, made from their paths and as many first lines as there are: so a file that has
/// grown has the names of before and more, and one that has been replaced has others. The one from most lines comes first, the
/// one from the first line alone last. A stream gets a new name each time, because nobody knows whether it is the same.
pub fn producer_names(source: &Source) -> Result<Vec<String>, Error> {
    let Some(first) = source.inputs().first().filter(|_| source.can_be_read_again()) else {
        return Ok(vec![format!("stream-{:016x}", RandomState::new().hash_one(std::process::id()))]);
    };
    let mut identities = Vec::new();
    for input in source.inputs() {
        identities.push(Identity::of(input).map_err(|cause| Error::Unreadable {
            name: input.path.display().to_string(),
            line: None,
            cause,
        })?);
    }
    let name = |lines: Option<usize>| {
        let mut hash = Fnv::new();
        for identity in &identities {
            identity.add_to(&mut hash, lines)?;
        }
        Some(format!("{}-{:016x}", readable(&first.path), hash.0))
    };
    Ok(LINES.into_iter().map(Some).chain([None]).filter_map(name).collect())
}

/// What tells a file from others.
struct Identity {
    path: PathBuf,
    /// The first line, or its beginning; of a compressed file whatever stands there.
    first_line: Vec<u8>,
    /// What the file begins with, not compressed.
    content: Vec<u8>,
}

impl Identity {
    fn of(input: &Input) -> io::Result<Identity> {
        let mut beginning = Vec::new();
        File::open(&input.path)?.take(BEGINNING).read_to_end(&mut beginning)?;
        let first_line = beginning.split(|byte| *byte == b'\n').next().unwrap_or_default().to_vec();
        let mut content = Vec::new();
        // A compressed file may break off: the lines before count.
        let _ = input.content()?.take(CONTENT).read_to_end(&mut content);
        Ok(Identity { path: fs::canonicalize(&input.path)?, first_line, content })
    }

    /// Adds the path and so many lines, or the first alone; none if there are fewer.
    fn add_to(&self, hash: &mut Fnv, lines: Option<usize>) -> Option<()> {
        let lines = match lines {
            Some(lines) => &self.content[..=memchr_iter(b'\n', &self.content).nth(lines - 1)?],
            None => &self.first_line,
        };
        for part in [self.path.as_os_str().as_encoded_bytes(), b"\0", lines, b"\0"] {
            hash.add(part);
        }
        Some(())
    }
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

    fn names(paths: &[&Path]) -> Vec<String> {
        let paths: Vec<_> = paths.iter().map(|path| path.to_path_buf()).collect();
        producer_names(&Source::open(&paths).unwrap()).unwrap()
    }

    #[test]
    fn the_same_files_have_the_same_names_and_others_others() {
        let folder = tempfile::tempdir().unwrap();
        let (one, other) = (folder.path().join("a b.ndjson"), folder.path().join("c.ndjson"));
        fs::write(&one, "{\"n\": 1}\n").unwrap();
        fs::write(&other, "{\"n\": 1}\n").unwrap();
        let before = names(&[&one, &other]);
        assert!(before.len() == 1 && before[0].starts_with("a_b.ndjson-"), "{before:?}");
        assert_eq!(before, names(&[&one, &other]));
        assert_ne!(before, names(&[&other, &one]));
        assert_ne!(names(&[&one]), names(&[&other]));

        fs::write(&one, "{\"n\": 1}\n{\"n\": 2}").unwrap();
        assert_eq!(before, names(&[&one, &other]), "a file that grows stays the same");
        fs::write(&one, "{\"n\": 3}\n").unwrap();
        assert_ne!(before, names(&[&one, &other]), "a file that is replaced does not");
    }

    #[test]
    fn a_file_that_grows_keeps_its_names_and_one_with_the_same_first_line_has_but_one_of_them() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.ndjson");
        let mut known: Vec<String> = Vec::new();
        for (lines, count) in [(1, 1), (2, 2), (15, 2), (16, 3), (128, 4), (2000, 5)] {
            fs::write(&file, "{\"n\": 1}\n".repeat(lines)).unwrap();
            let names = names(&[&file]);
            assert!(names.len() == count && names.ends_with(&known), "{lines} lines: {names:?}");
            known = names;
        }
        fs::write(&file, "{\"n\": 1}\n".to_owned() + &"{\"n\": 2}\n".repeat(1999)).unwrap();
        let others = names(&[&file]);
        assert_eq!(others.len(), 5);
        let common: Vec<&String> = others.iter().filter(|name| known.contains(name)).collect();
        assert_eq!(common, [&known[4]]);
    }

    #[test]
    fn a_compressed_file_is_known_by_its_lines() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.ndjson.gz");
        let compressed = |level: u32| {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::new(level));
            io::Write::write_all(&mut encoder, "{\"n\": 1}\n".repeat(20).as_bytes()).unwrap();
            fs::write(&file, encoder.finish().unwrap()).unwrap();
            names(&[&file])
        };
        let (one, other) = (compressed(1), compressed(9));
        assert_eq!(one[..2], other[..2]);
    }

    #[test]
    fn a_stream_is_never_the_same() {
        assert_ne!(names(&[Path::new("-")]), names(&[Path::new("-")]));
    }
}
