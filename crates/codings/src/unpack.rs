//! Packed bytes, unpacked.

use std::io::{self, Read};

use brotli::enc::StandardAlloc;
use brotli::{BrotliDecompressStream, BrotliResult, BrotliState};
use flate2::read::MultiGzDecoder;

use crate::Coding;

/// Bytes that the decoder of brotli's writes at a time.
const BUFFER: usize = 1 << 14;
/// The window of zstd's at most, as a power of two: RFC 8878 and 9659 ask for 8 MB, and decoders of browsers take no more.
const WINDOW: u32 = 23;

/// The outcome of unpacking.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Unpacked {
    /// The bytes that were packed.
    Whole(Vec<u8>),
    /// They are more than the bound: no more than that were unpacked.
    TooLong,
}

/// The bytes that were packed by a coding, if they are no more than `bound`. Memory is held for the bound and the decoder's window at most.
///
/// # Errors
///
/// The first thing that is wrong with the packed bytes; something behind their end is wrong, too.
pub fn unpack(coding: Coding, packed: &[u8], bound: usize) -> io::Result<Unpacked> {
    match coding {
        Coding::Brotli => unpack_brotli(packed, bound),
        Coding::Zstd => {
            let mut decoder = zstd::stream::read::Decoder::with_buffer(packed)?;
            decoder.window_log_max(WINDOW)?;
            read_all(decoder, bound)
        }
        Coding::Gzip => read_all(MultiGzDecoder::new(packed), bound),
    }
}

fn read_all(mut decoder: impl Read, bound: usize) -> io::Result<Unpacked> {
    let mut bytes = Vec::new();
    // One more says that there are more.
    let most = (bound as u64).saturating_add(1);
    decoder.by_ref().take(most).read_to_end(&mut bytes)?;
    Ok(if bytes.len() > bound { Unpacked::TooLong } else { Unpacked::Whole(bytes) })
}

/// The same for brotli, whose reader says nothing of bytes behind the end.
fn unpack_brotli(packed: &[u8], bound: usize) -> io::Result<Unpacked> {
    let invalid = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what);
    let mut state =
        BrotliState::new(StandardAlloc::default(), StandardAlloc::default(), StandardAlloc::default());
    let (mut left, mut read, mut total) = (packed.len(), 0, 0);
    let (mut bytes, mut buffer) = (Vec::new(), vec![0; BUFFER]);
    loop {
        let (mut room, mut written) = (buffer.len(), 0);
        let result = BrotliDecompressStream(
            &mut left,
            &mut read,
            packed,
            &mut room,
            &mut written,
            &mut buffer,
            &mut total,
            &mut state,
        );
        bytes.extend_from_slice(&buffer[..written]);
        if bytes.len() > bound {
            return Ok(Unpacked::TooLong);
        }
        match result {
            BrotliResult::NeedsMoreOutput => {}
            BrotliResult::ResultSuccess if left == 0 => return Ok(Unpacked::Whole(bytes)),
            BrotliResult::ResultSuccess => return Err(invalid("there are bytes behind the end")),
            BrotliResult::NeedsMoreInput => return Err(invalid("the end is missing")),
            BrotliResult::ResultFailure => return Err(invalid("this is no brotli")),
        }
    }
}
