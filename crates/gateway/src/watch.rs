//! Descriptors of the owner whose readability ends a turn.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::rc::Rc;

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use crate::shared::Shared;

/// A task that reports each time the descriptor becomes readable. To be called within the runtime.
pub(crate) fn task(
    shared: Rc<Shared>,
    descriptor: BorrowedFd<'_>,
) -> io::Result<impl Future<Output = ()> + 'static> {
    let name = descriptor.as_raw_fd();
    let watched = register(descriptor.try_clone_to_owned()?)?;
    Ok(report(shared, name, watched))
}

fn register(descriptor: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an `OwnedFd` is open, names the same descriptor for as long as it lives, and lives in the result.
    let registered = unsafe { AsyncFd::register_with_interest(descriptor, Interest::READABLE) };
    Ok(registered?)
}

async fn report(shared: Rc<Shared>, name: RawFd, watched: AsyncFd<OwnedFd>) {
    while let Ok(mut guard) = watched.readable().await {
        shared.readable.borrow_mut().push(name);
        if guard.ready().is_read_closed() {
            // The other end of a pipe has gone. That stays so, and is reported once.
            return;
        }
        guard.clear_ready();
    }
}
