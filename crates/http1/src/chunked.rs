//! The chunked transfer coding (RFC 9112, 7.1), taken off a body as it arrives.

use crate::{Limits, Reject};

/// Bytes of chunk extensions in a whole body. Nobody uses them, and they cost the sender little.
const MAX_EXTENSIONS: usize = 4096;
/// Digits of a chunk's size, leading zeros included.
const MAX_SIZE_DIGITS: u32 = 16;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Reading the size; so many digits have come.
    Size(u32),
    /// Passing over what follows the size.
    Extension(Extension),
    /// CR of the size's line has come.
    SizeEnd,
    /// So many bytes of the chunk are to come.
    Chunk,
    /// CR, then LF, after a chunk.
    ChunkCr,
    ChunkLf,
    /// At the start of a trailer's line.
    Trailer,
    /// Within a trailer's name.
    TrailerName,
    /// Within a trailer's line.
    TrailerLine,
    /// CR of a trailer's line has come.
    TrailerEnd,
    /// CR of the last, empty line has come.
    LastLf,
    Done,
}

/// Where in the extensions of a chunk a body stands (RFC 9112, 7.1.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Extension {
    /// Blanks, after which another has to come.
    Blanks,
    /// Its semicolon has come.
    Begin,
    Name,
    /// Blanks after its name.
    NameEnd,
    /// Its equals sign has come.
    Equals,
    Token,
    Quoted,
    /// A backslash has come within quotes.
    Escaped,
    QuotedEnd,
}

impl Extension {
    /// Where it stands after another byte. None if the byte may not come there.
    fn after(self, byte: u8) -> Option<Self> {
        let next = match (self, byte) {
            (Self::Quoted, b'"') => Self::QuotedEnd,
            (Self::Quoted, b'\\') => Self::Escaped,
            (Self::Quoted | Self::Escaped, _) => Self::Quoted,
            (Self::Begin | Self::Equals, b' ' | b'\t') => self,
            (Self::Begin | Self::Name, _) if is_token_byte(byte) => Self::Name,
            (Self::Name | Self::NameEnd, b'=') => Self::Equals,
            (Self::Equals, b'"') => Self::Quoted,
            (Self::Equals | Self::Token, _) if is_token_byte(byte) => Self::Token,
            (Self::Begin | Self::Equals, _) => return None,
            (_, b';') => Self::Begin,
            (Self::Name | Self::NameEnd, b' ' | b'\t') => Self::NameEnd,
            (_, b' ' | b'\t') => Self::Blanks,
            _ => return None,
        };
        Some(next)
    }

    /// Whether the line may end here.
    fn may_end(self) -> bool {
        matches!(self, Self::Name | Self::Token | Self::QuotedEnd)
    }
}

fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// Where in the coding a body stands.
#[derive(Debug, Clone)]
pub struct Chunked {
    state: State,
    /// Size of the chunk as far as read, then what is left of it.
    chunk: u64,
    /// Bytes of all chunks whose size is known.
    total: u64,
    extensions: usize,
    trailers: usize,
}

impl Default for Chunked {
    fn default() -> Self {
        Self { state: State::Size(0), chunk: 0, total: 0, extensions: 0, trailers: 0 }
    }
}

impl Chunked {
    /// Whether the whole body has come.
    pub fn is_done(&self) -> bool {
        self.state == State::Done
    }

    /// Decodes `input` and appends to `body`. Gives how much of the input belonged to this body: less than all
    /// only when it is done. Trailers are passed over. A chunk that would exceed the limit of the body is
    /// refused as soon as its size is known.
    pub fn decode(&mut self, input: &[u8], body: &mut Vec<u8>, limits: &Limits) -> Result<usize, Reject> {
        let mut at = 0;
        while at < input.len() && self.state != State::Done {
            if self.state == State::Chunk {
                let available = input.len() - at;
                let taken = usize::try_from(self.chunk).unwrap_or(usize::MAX).min(available);
                body.extend_from_slice(&input[at..at + taken]);
                self.chunk -= taken as u64;
                at += taken;
                if self.chunk == 0 {
                    self.state = State::ChunkCr;
                }
            } else {
                self.state = self.framing(input[at], limits)?;
                at += 1;
            }
        }
        Ok(at)
    }

    /// The state after a byte that is not part of a chunk.
    fn framing(&mut self, byte: u8, limits: &Limits) -> Result<State, Reject> {
        let next = match (self.state, byte) {
            (State::Size(digits), _) if byte.is_ascii_hexdigit() => self.digit(digits, byte)?,
            (State::Size(1..), b'\r') => State::SizeEnd,
            (State::Size(1..), b';' | b' ' | b'\t') => self.extension(Extension::Blanks, byte)?,
            (State::Size(_), _) => {
                return Err(Reject::bad("the size of a chunk is not a hexadecimal number"));
            }
            (State::Extension(extension), b'\r') if extension.may_end() => State::SizeEnd,
            (State::Extension(extension), _) => self.extension(extension, byte)?,
            (State::SizeEnd, b'\n') => self.start_chunk(limits)?,
            (State::ChunkCr, b'\r') => State::ChunkLf,
            (State::ChunkLf, b'\n') => State::Size(0),
            (State::ChunkCr | State::ChunkLf, _) => {
                return Err(Reject::bad("a chunk is longer than its size"));
            }
            (State::Trailer, b'\r') => State::LastLf,
            (State::TrailerLine, b'\r') => State::TrailerEnd,
            (State::TrailerName, b':') => self.trailer(State::TrailerLine, byte, limits)?,
            (State::Trailer | State::TrailerName, _) if is_token_byte(byte) => {
                self.trailer(State::TrailerName, byte, limits)?
            }
            (State::Trailer | State::TrailerName, _) => {
                return Err(Reject::bad("a trailer's name is not a token"));
            }
            (State::TrailerLine, _) => self.trailer(State::TrailerLine, byte, limits)?,
            (State::TrailerEnd, b'\n') => State::Trailer,
            (State::LastLf, b'\n') => State::Done,
            (State::SizeEnd | State::TrailerEnd | State::LastLf, _) => {
                return Err(Reject::bad("CR without LF"));
            }
            (state @ (State::Chunk | State::Done), _) => state,
        };
        Ok(next)
    }

    fn digit(&mut self, digits: u32, byte: u8) -> Result<State, Reject> {
        if digits == MAX_SIZE_DIGITS {
            return Err(Reject::new(413, "the size of a chunk has too many digits"));
        }
        let value = char::from(byte).to_digit(16).unwrap_or_default();
        // Sixteen digits of four bits each fill the number and no more.
        self.chunk = self.chunk << 4 | u64::from(value);
        Ok(State::Size(digits + 1))
    }

    fn extension(&mut self, extension: Extension, byte: u8) -> Result<State, Reject> {
        if is_control(byte) {
            return Err(Reject::bad("a chunk extension has a control character"));
        }
        self.extensions += 1;
        if self.extensions > MAX_EXTENSIONS {
            return Err(Reject::bad("chunk extensions are too long"));
        }
        let next = extension.after(byte).ok_or(Reject::bad("a chunk extension is malformed"))?;
        Ok(State::Extension(next))
    }

    fn start_chunk(&mut self, limits: &Limits) -> Result<State, Reject> {
        if self.chunk == 0 {
            return Ok(State::Trailer);
        }
        self.total = self.total.saturating_add(self.chunk);
        if self.total > limits.max_body as u64 {
            return Err(Reject::new(413, "the body is too large"));
        }
        Ok(State::Chunk)
    }

    fn trailer(&mut self, next: State, byte: u8, limits: &Limits) -> Result<State, Reject> {
        if is_control(byte) {
            return Err(Reject::bad("a trailer has a control character"));
        }
        self.trailers += 1;
        if self.trailers > limits.max_head {
            return Err(Reject::new(431, "the trailers are too large"));
        }
        Ok(next)
    }
}

fn is_control(byte: u8) -> bool {
    byte != b'\t' && byte.is_ascii_control()
}
