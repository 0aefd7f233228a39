//! The eventfds of the workers and of the supervisor.
//!
//! The postmaster makes them once, before any process is forked, so that all share them; after a crash
//! they are emptied and used again. They are closed at exec. A worker is woken by the exchange, by the
//! supervisor and, in a gateway, by its own signal handlers, all through one eventfd: the exchange's of
//! its kind and index.

use std::os::fd::RawFd;
use std::sync::OnceLock;

use exchange::Wakers;
use exchange::wake::EventFd;
use registry::workers::Kind;

struct Wakes {
    workers: Wakers,
    supervisor: EventFd,
}

static WAKES: OnceLock<Wakes> = OnceLock::new();

/// Makes the eventfds of so many workers and of the supervisor.
pub fn create(workers: u32) {
    let made = Wakers::new(workers, workers)
        .and_then(|workers| Ok(Wakes { workers, supervisor: EventFd::new()? }))
        .unwrap_or_else(|error| {
            pgrx::error!(
                "could not create an eventfd: {error}; raise the limit of open files or lower howdah.max_workers"
            )
        });
    WAKES.get_or_init(|| made);
}

fn wakes() -> &'static Wakes {
    WAKES.get().expect("made while the library was loaded")
}

/// The eventfds of the workers, for the exchange.
pub fn wakers() -> &'static Wakers {
    &wakes().workers
}

fn eventfd(kind: Kind, index: usize) -> &'static EventFd {
    match kind {
        Kind::Gateway => wakers().gateway(index as u32),
        Kind::Executor => wakers().executor(index as u32),
    }
}

/// The file descriptor of a worker.
pub fn fd(kind: Kind, index: usize) -> RawFd {
    eventfd(kind, index).fd()
}

/// The file descriptor of the supervisor.
pub fn supervisor_fd() -> RawFd {
    wakes().supervisor.fd()
}

/// Wakes a worker.
pub fn wake(kind: Kind, index: usize) {
    eventfd(kind, index).notify();
}

/// Wakes the supervisor.
pub(crate) fn wake_supervisor() {
    wakes().supervisor.notify();
}

/// Adds to an eventfd. May be called in a signal handler: it allocates nothing and keeps errno.
pub fn notify(fd: RawFd) {
    // SAFETY: the eight bytes live through the call; errno is this thread's.
    unsafe {
        let errno = *libc::__errno_location();
        let one = 1u64;
        libc::write(fd, (&raw const one).cast(), 8);
        *libc::__errno_location() = errno;
    }
}

/// Empties the eventfd of a worker, so that it sleeps until the next wake.
pub fn drain(kind: Kind, index: usize) {
    eventfd(kind, index).drain();
}

/// Empties the eventfd of the supervisor.
pub fn drain_supervisor() {
    wakes().supervisor.drain();
}

/// Empties all: what was asked for before a crash is void.
pub(crate) fn drain_all() {
    wakers().drain();
    drain_supervisor();
}
