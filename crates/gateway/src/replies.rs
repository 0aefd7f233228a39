//! How much memory replies hold, all together: from when the owner hands them in until their last byte has left.

use std::cell::Cell;
use std::rc::Rc;

use crate::shared::Shared;

/// A reply up to this length is not counted: with a limit on connections and streams there is one on these, too.
pub const SMALL_REPLY: usize = 16 << 10;

/// Bytes in all replies that are counted.
#[derive(Default)]
pub(crate) struct Replies {
    held: Cell<usize>,
}

impl Replies {
    pub(crate) fn held(&self) -> usize {
        self.held.get()
    }
}

/// A reply, and what it holds of the memory for all.
pub(crate) struct Reply {
    pub bytes: Vec<u8>,
    pub held: Option<Held>,
}

impl Reply {
    pub(crate) fn new(shared: &Rc<Shared>, bytes: Vec<u8>) -> Self {
        let held = (bytes.capacity() > SMALL_REPLY).then(|| Held::new(shared, bytes.capacity()));
        Self { bytes, held }
    }
}

/// A short one.
impl From<Vec<u8>> for Reply {
    fn from(bytes: Vec<u8>) -> Self {
        Self { bytes, held: None }
    }
}

/// Memory of a reply; given back when dropped.
pub(crate) struct Held {
    shared: Rc<Shared>,
    bytes: usize,
}

impl Held {
    fn new(shared: &Rc<Shared>, bytes: usize) -> Self {
        let held = &shared.replies.held;
        held.set(held.get() + bytes);
        Self { shared: Rc::clone(shared), bytes }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let held = &self.shared.replies.held;
        held.set(held.get() - self.bytes);
    }
}
