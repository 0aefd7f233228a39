//! Bodies that come in parts: a connection asks its owner for the next part when its client has taken the one before. So a long body holds a part of it in
//! memory, however slow its client is, and nobody holds the source meanwhile.

use std::any::Any;
use std::rc::Rc;

use dispatch::Ticket;

/// The rest of a body, which is still to come.
#[derive(Clone, Debug)]
pub struct Rest {
    /// A value by which the owner knows the body. It is dropped when the client has all of it, or has gone.
    pub source: Rc<dyn Any>,
    /// Where the next part begins, in bytes from the beginning of the body.
    pub from: u64,
    /// Where the body ends.
    pub end: u64,
}

impl Rest {
    /// How many bytes are still to come.
    pub fn len(&self) -> u64 {
        self.end.saturating_sub(self.from)
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A part that a connection asks for.
#[derive(Debug)]
pub struct WantedPart {
    /// To be given back with the part.
    pub ticket: Ticket,
    /// The rest of which it is the first part.
    pub rest: Rest,
}
