//! How much memory the bodies of requests hold, all together; those of HTTP/2 with their heads.

use std::cell::Cell;
use std::rc::Rc;

use ::http1::Reject;

use crate::shared::Shared;

/// Bytes in all bodies.
#[derive(Default)]
pub(crate) struct Bodies {
    held: Cell<usize>,
}

impl Bodies {
    pub(crate) fn held(&self) -> usize {
        self.held.get()
    }
}

/// What one body holds; given back when dropped, with the reply.
pub(crate) struct Charge {
    shared: Rc<Shared>,
    bytes: usize,
}

impl Charge {
    pub(crate) fn new(shared: &Rc<Shared>) -> Self {
        Self { shared: Rc::clone(shared), bytes: 0 }
    }

    /// Takes account of a body that has grown to `bytes`.
    pub(crate) fn grow_to(&mut self, bytes: usize) -> Result<(), Reject> {
        let held = &self.shared.bodies.held;
        let total = held.get() - self.bytes + bytes;
        if total > self.shared.limits().max_bodies {
            return Err(Reject::new(503, "the server holds as many request bodies as it may"));
        }
        held.set(total);
        self.bytes = bytes;
        Ok(())
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        let held = &self.shared.bodies.held;
        held.set(held.get() - self.bytes);
    }
}
