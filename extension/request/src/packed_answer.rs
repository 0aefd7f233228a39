//! Answers that are packed once they are there: their transaction is over, and nobody waits for its locks.

use message::{Request, Response};
use packing::{LEAST, Wish};
use pg::out_of_memory::may_fail;
use shared::settings;

use super::receiver::Receiver;

/// The means by which a process packs, and the answer that it has packed last.
#[derive(Default)]
pub(crate) struct PackedAnswer {
    packer: codings::Packer,
    /// The answer as it was before it was packed; otherwise memory that is used again.
    plain: Vec<u8>,
    is_packed: bool,
}

/// The outcome.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Packing {
    /// It is as it was, or says that others get it packed.
    Left,
    /// It is packed, or time was spent on it.
    Tried,
    /// It is too long for this process.
    TooLong,
}

/// An answer as it was before it was packed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Plain<'a> {
    /// It was not packed.
    Same,
    /// It was these bytes.
    Bytes(&'a [u8]),
    /// It was packed, and what it was is not told: it is too long to be kept, or nothing keeps it where it was made. Nobody else gets it.
    Unknown,
}

/// Bytes of a body that a gateway packs: 0.05 ms by the slowest coding. What takes longer keeps others waiting there, and one core does it.
const QUICK: usize = 16 << 10;
/// Bytes that a packed answer has beside those of the plain one.
const MORE: usize = 128;

impl PackedAnswer {
    /// Packs the answer to a request as its client takes it, unless its route says otherwise. A long one is not packed if `is_quick`.
    pub(crate) fn pack(&mut self, request: &Request<'_>, receiver: &mut Receiver, is_quick: bool) -> Packing {
        self.is_packed = false;
        let answer = &mut receiver.buffer;
        if answer.len() < LEAST || receiver.is_uncompressed || !settings::COMPRESSION.get() {
            return Packing::Left;
        }
        let Ok(response) = Response::parse(answer) else { return Packing::Left };
        // A function that sets a tag looks for it in conditions itself: it would not know another.
        if !receiver.knows_tags && packing::has_strong_tag(&response) {
            return Packing::Left;
        }
        let is_long = is_quick && response.body().len() > QUICK;
        match packing::wish(request, &response) {
            Wish::Plain => return Packing::Left,
            Wish::Packed(_) if is_long => return Packing::TooLong,
            Wish::Packed(coding) if self.has_room(answer.len()) => {
                let spare = std::mem::take(&mut self.plain);
                if let Some(packed) = packing::packed(answer, coding, &mut self.packer, spare) {
                    self.plain = std::mem::replace(answer, packed);
                    self.is_packed = true;
                    return Packing::Tried;
                }
            }
            Wish::Varies | Wish::Packed(_) => {}
        }
        message::vary_by(answer, "accept-encoding");
        Packing::Tried
    }

    /// Sees to it that there is memory to pack an answer of so many bytes.
    fn has_room(&mut self, length: usize) -> bool {
        self.plain.clear();
        may_fail(|| self.plain.try_reserve(length + MORE)).is_ok()
    }

    /// The answer as it was before it was packed, for a gateway that may keep it.
    pub(crate) fn plain(&self, is_kept: bool) -> Plain<'_> {
        match self.is_packed {
            false => Plain::Same,
            true if is_kept && self.plain.len() <= settings::MAX_CACHED.get() as usize => {
                Plain::Bytes(&self.plain)
            }
            true => Plain::Unknown,
        }
    }

    /// Memory for the next answer, of which that before has been taken away.
    pub(crate) fn take_spare(&mut self) -> Vec<u8> {
        self.is_packed = false;
        std::mem::take(&mut self.plain)
    }

    /// Gives back memory that a large answer has taken.
    pub(crate) fn shrink(&mut self, kept: usize) {
        if self.plain.capacity() > kept {
            self.plain = Vec::new();
        }
    }
}
