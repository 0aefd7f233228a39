//! Content codings of HTTP: brotli, zstd and gzip. Knows neither connections nor PostgreSQL.
//!
//! - [`Coding`]: one of them, with its name.
//! - [`Accepted`]: which of them a client takes, as RFC 9110, section 12.5.3, has it.
//! - [`gains`]: whether bytes of a type become fewer by one.
//! - [`pack`]: bytes by a coding, as few as they become; a [`Packer`] does it quickly, again and again.
//! - [`unpack`]: the bytes that were packed, within a bound.

mod accepted;
mod gains;
mod pack;
mod unpack;

pub use accepted::Accepted;
pub use gains::gains;
pub use pack::{Packer, pack};
pub use unpack::{Reserve, Unpacked, unpack, unpack_by};

/// A content coding.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Coding {
    /// `br`, RFC 7932.
    Brotli,
    /// `zstd`, RFC 8878.
    Zstd,
    /// `gzip`, RFC 1952.
    Gzip,
}

impl Coding {
    /// All of them, those first that are smaller as a rule.
    pub const ALL: [Coding; 3] = [Coding::Brotli, Coding::Zstd, Coding::Gzip];

    /// Its name in `Accept-Encoding` and `Content-Encoding`.
    ///
    /// ```
    /// assert_eq!(codings::Coding::Brotli.name(), "br");
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            Coding::Brotli => "br",
            Coding::Zstd => "zstd",
            Coding::Gzip => "gzip",
        }
    }

    /// That of a name, in whichever letters; `x-gzip` is gzip.
    pub fn of(name: &[u8]) -> Option<Coding> {
        let name = if name.eq_ignore_ascii_case(b"x-gzip") { b"gzip" } else { name };
        Coding::ALL.into_iter().find(|coding| name.eq_ignore_ascii_case(coding.name().as_bytes()))
    }
}
