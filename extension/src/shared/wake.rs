//! The eventfds: one for each worker's index and one for the supervisor.
//!
//! The postmaster makes them once, before any process is forked, so that all share them; after a crash
//! they are emptied and used again. They are closed at exec.

use std::os::fd::RawFd;
use std::sync::OnceLock;

static WAKES: OnceLock<Vec<RawFd>> = OnceLock::new();

/// The supervisor's number. Workers have their index.
pub const SUPERVISOR: usize = usize::MAX;

/// Makes the eventfds of so many workers and of the supervisor.
pub fn create(workers: usize) {
    WAKES.get_or_init(|| (0..=workers).map(|_| create_one()).collect());
}

fn create_one() -> RawFd {
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

/// The file descriptor of a worker, or of [`SUPERVISOR`].
pub fn fd(number: usize) -> RawFd {
    let wakes = WAKES.get().expect("made while the library was loaded");
    if number == SUPERVISOR { wakes[wakes.len() - 1] } else { wakes[number] }
}

/// Wakes a worker, or [`SUPERVISOR`]. May be called in a signal handler: it allocates nothing, and keeps errno.
pub fn wake(number: usize) {
    // SAFETY: the eight bytes live through the call; errno is this thread's.
    unsafe {
        let errno = *libc::__errno_location();
        let one = 1u64;
        libc::write(fd(number), (&raw const one).cast(), 8);
        *libc::__errno_location() = errno;
    }
}

/// Empties the eventfd of a worker or of [`SUPERVISOR`], so that it sleeps until the next wake.
pub fn drain(number: usize) {
    let mut count = 0u64;
    // SAFETY: the eight bytes live through the call.
    unsafe { libc::read(fd(number), (&raw mut count).cast(), 8) };
}

/// Empties all: what was asked for before a crash is void.
pub fn drain_all() {
    let workers = WAKES.get().map_or(0, Vec::len).saturating_sub(1);
    (0..workers).chain([SUPERVISOR]).for_each(drain);
}
