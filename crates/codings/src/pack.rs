//! Bytes by a coding.

use std::io::{self, Write};

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::Coding;

/// How much time packing may take for how much it saves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Level {
    /// While a client waits.
    Quick,
    /// Once, for what is sent many times.
    Small,
}

/// Bytes up to which brotli's highest level is used, 0.6 MB/s of text by a core; above, the ninth is 13 times as quick and its result 9 %
/// larger.
const THOROUGH: usize = 1 << 20;

/// The window of brotli's, as a power of two.
const WINDOW: u32 = 22;
/// Bytes that the encoder of brotli's works with at a time.
const BUFFER: usize = 1 << 14;

/// The bytes by a coding. The same bytes become the same each time.
///
/// # Errors
///
/// That of the system, where there is no memory.
pub fn pack(coding: Coding, level: Level, bytes: &[u8]) -> io::Result<Vec<u8>> {
    let small = level == Level::Small;
    match coding {
        Coding::Brotli => {
            let quality = match small {
                true if bytes.len() <= THOROUGH => 11,
                true => 9,
                false => 4,
            };
            let mut encoder = brotli::CompressorWriter::new(Vec::new(), BUFFER, quality, WINDOW);
            encoder.write_all(bytes)?;
            encoder.flush()?;
            Ok(encoder.into_inner())
        }
        Coding::Zstd => zstd::bulk::compress(bytes, if small { 19 } else { 3 }),
        Coding::Gzip => {
            let level = if small { Compression::best() } else { Compression::new(4) };
            let mut encoder = GzEncoder::new(Vec::new(), level);
            encoder.write_all(bytes)?;
            encoder.finish()
        }
    }
}
