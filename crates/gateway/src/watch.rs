//! Descriptors of the owner whose readability ends a turn.

use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::rc::Rc;

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use crate::shared::Shared;

/// A descriptor that belongs to someone else: not closed here.
struct Borrowed(RawFd);

impl AsRawFd for Borrowed {
    fn as_raw_fd(&self) -> RawFd {
        self.0
    }
}

/// A task that reports each time the descriptor becomes readable. To be called within the runtime.
pub(crate) fn task(shared: Rc<Shared>, descriptor: RawFd) -> io::Result<impl Future<Output = ()>> {
    let descriptor = AsyncFd::with_interest(Borrowed(descriptor), Interest::READABLE)?;
    Ok(async move {
        while let Ok(mut guard) = descriptor.readable().await {
            shared.readable.borrow_mut().push(descriptor.as_raw_fd());
            if guard.ready().is_read_closed() {
                // The other end of a pipe has gone. That stays so, and is reported once.
                return;
            }
            guard.clear_ready();
        }
    })
}
