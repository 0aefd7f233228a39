//! Packed bytes, unpacked.

use std::io::{self, Read};

use brotli::enc::StandardAlloc;
use brotli::{BrotliDecompressStream, BrotliResult, BrotliState};
use flate2::read::MultiGzDecoder;

use crate::Coding;

/// Bytes that are unpacked at a time.
const CHUNK: usize = 1 << 14;
/// The window of zstd's at most, as a power of two: RFC 8878 and 9659 ask for 8 MB, and decoders of browsers take no more.
const WINDOW: u32 = 23;

/// The outcome of unpacking.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Unpacked {
    /// The bytes that were packed.
    Whole(Vec<u8>),
    /// They are more than the bound: no more than that were unpacked.
    TooLong,
    /// There is no memory for them.
    NoMemory,
}

/// Gets memory for so many bytes more. False if there is none.
pub type Reserve = fn(&mut Vec<u8>, usize) -> bool;

/// The bytes that were packed by a coding, if they are no more than `bound`. Memory is held for the bound and the decoder's window at most.
///
/// # Errors
///
/// The first thing that is wrong with the packed bytes; something behind their end is wrong, too.
pub fn unpack(coding: Coding, packed: &[u8], bound: usize) -> io::Result<Unpacked> {
    unpack_by(|bytes, more| bytes.try_reserve(more).is_ok(), coding, packed, bound)
}

/// The same, where memory for what comes out is got in a way of the caller's.
///
/// # Errors
///
/// As [`unpack`].
pub fn unpack_by(reserve: Reserve, coding: Coding, packed: &[u8], bound: usize) -> io::Result<Unpacked> {
    match coding {
        Coding::Brotli => unpack_brotli(reserve, packed, bound),
        Coding::Zstd => {
            let mut decoder = zstd::stream::read::Decoder::with_buffer(packed)?;
            decoder.window_log_max(WINDOW)?;
            read_all(reserve, decoder, bound)
        }
        Coding::Gzip => read_all(reserve, MultiGzDecoder::new(packed), bound),
    }
}

fn read_all(reserve: Reserve, mut decoder: impl Read, bound: usize) -> io::Result<Unpacked> {
    let mut bytes = Vec::new();
    loop {
        let length = bytes.len();
        if !reserve(&mut bytes, CHUNK) {
            return Ok(Unpacked::NoMemory);
        }
        bytes.resize(length + CHUNK, 0);
        let read = decoder.read(&mut bytes[length..])?;
        bytes.truncate(length + read);
        if bytes.len() > bound {
            return Ok(Unpacked::TooLong);
        }
        if read == 0 {
            return Ok(Unpacked::Whole(bytes));
        }
    }
}

/// The same for brotli, whose reader says nothing of bytes behind the end.
fn unpack_brotli(reserve: Reserve, packed: &[u8], bound: usize) -> io::Result<Unpacked> {
    let invalid = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what);
    // Windows of 16 MB at most: larger ones are not of RFC 7932.
    let mut state =
        BrotliState::new_strict(StandardAlloc::default(), StandardAlloc::default(), StandardAlloc::default());
    let (mut left, mut read, mut total) = (packed.len(), 0, 0);
    let mut bytes = Vec::new();
    loop {
        let (mut room, mut written) = (CHUNK, bytes.len());
        if !reserve(&mut bytes, CHUNK) {
            return Ok(Unpacked::NoMemory);
        }
        bytes.resize(written + CHUNK, 0);
        let result = BrotliDecompressStream(
            &mut left,
            &mut read,
            packed,
            &mut room,
            &mut written,
            &mut bytes,
            &mut total,
            &mut state,
        );
        bytes.truncate(written);
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
