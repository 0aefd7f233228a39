//! The eventfds: one for each worker's index and one for the supervisor.
//!
//! The postmaster makes them once, before any process is forked, so that all share them; after a crash
//! they are emptied and used again. They are closed at exec. A worker is woken by the exchange, by the
//! supervisor and, in a gateway, by its own signal handlers, all through one eventfd.

use std::os::fd::RawFd;
use std::sync::OnceLock;

use super::workers::Kind;

struct Wakes {
    workers: Vec<RawFd>,
    supervisor: RawFd,
}

static WAKES: OnceLock<Wakes> = OnceLock::new();

/// Makes the eventfds of so many workers and of the supervisor.
pub fn create(workers: usize) {
    WAKES.get_or_init(|| Wakes { workers: (0..workers).map(|_| make()).collect(), supervisor: make() });
}

fn make() -> RawFd {
    // SAFETY: the call touches no memory of ours.
    let fd = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
    if fd < 0 {
        let error = std::io::Error::last_os_error();
        pgrx::error!(
            "could not create an eventfd: {error}; raise the limit of open files or lower howdah.max_workers"
        );
    }
    fd
}

fn wakes() -> &'static Wakes {
    WAKES.get().expect("made while the library was loaded")
}

/// The file descriptor of a worker.
pub fn fd(_kind: Kind, index: usize) -> RawFd {
    wakes().workers[index]
}

/// The file descriptor of the supervisor.
pub fn supervisor_fd() -> RawFd {
    wakes().supervisor
}

/// Wakes a worker.
pub fn wake(kind: Kind, index: usize) {
    notify(fd(kind, index));
}

/// Wakes the supervisor.
pub fn wake_supervisor() {
    notify(supervisor_fd());
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
    empty(fd(kind, index));
}

/// Empties the eventfd of the supervisor.
pub fn drain_supervisor() {
    empty(supervisor_fd());
}

/// Empties all: what was asked for before a crash is void.
pub fn drain_all() {
    let wakes = wakes();
    wakes.workers.iter().chain([&wakes.supervisor]).for_each(|fd| empty(*fd));
}

fn empty(fd: RawFd) {
    let mut count = 0u64;
    // SAFETY: the eight bytes live through the call.
    unsafe { libc::read(fd, (&raw mut count).cast(), 8) };
}
