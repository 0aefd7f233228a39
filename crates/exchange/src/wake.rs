//! Wake-ups between processes: eventfds, the only part that is Linux alone.

#[cfg(not(loom))]
pub use real::EventFd;

use std::sync::Arc;

/// The eventfds of all executors and gateways. Made once, before the processes are forked, so that all of them
/// have the same; it lives in each process's own memory, for file descriptors mean nothing in shared memory.
#[derive(Clone, Debug)]
pub struct Wakers {
    executors: Arc<[EventFd]>,
    gateways: Arc<[EventFd]>,
}

impl Wakers {
    /// One eventfd for each executor and each gateway.
    ///
    /// # Errors
    /// If the limit of open files is reached.
    pub fn new(executors: u32, gateways: u32) -> std::io::Result<Wakers> {
        let make =
            |count| -> std::io::Result<Arc<[EventFd]>> { (0..count).map(|_| EventFd::new()).collect() };
        Ok(Wakers { executors: make(executors)?, gateways: make(gateways)? })
    }

    /// An executor's eventfd.
    pub fn executor(&self, number: u32) -> &EventFd {
        &self.executors[number as usize]
    }

    /// A gateway's eventfd.
    pub fn gateway(&self, number: u32) -> &EventFd {
        &self.gateways[number as usize]
    }

    /// Forgets all wake-ups: for a start after a crash, which finds the eventfds of before.
    pub fn drain(&self) {
        self.executors.iter().chain(self.gateways.iter()).for_each(EventFd::drain);
    }
}

#[cfg(not(loom))]
mod real {
    use std::io;
    use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
    use std::time::Duration;

    /// A counter in the kernel on which a process can sleep. Close-on-exec, non-blocking.
    #[derive(Debug)]
    pub struct EventFd(OwnedFd);

    impl EventFd {
        /// A new one, at zero.
        ///
        /// # Errors
        /// If the limit of open files is reached.
        pub fn new() -> io::Result<EventFd> {
            // SAFETY: no memory is involved.
            let fd = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
            if fd < 0 {
                return Err(io::Error::last_os_error());
            }
            // SAFETY: the descriptor is new and belongs to nobody else.
            Ok(EventFd(unsafe { OwnedFd::from_raw_fd(fd) }))
        }

        /// Wakes whoever sleeps on it, or will. A counter that is full (after 2^64 - 2 calls) wakes as well.
        pub fn notify(&self) {
            let one = 1u64.to_ne_bytes();
            // SAFETY: `one` is eight readable bytes.
            unsafe { libc::write(self.fd(), one.as_ptr().cast(), one.len()) };
        }

        /// Forgets the wake-ups so far. Drain first, then look for work: the other way round loses one.
        pub fn drain(&self) {
            let mut count = [0u8; 8];
            // SAFETY: `count` is eight writable bytes.
            unsafe { libc::read(self.fd(), count.as_mut_ptr().cast(), count.len()) };
        }

        /// The descriptor, for a WaitEventSet or an event loop. It stays this object's own.
        pub fn fd(&self) -> RawFd {
            self.0.as_raw_fd()
        }

        /// Sleeps until a wake-up has come or the time has passed; says whether one has. It is not drained.
        pub fn poll(&self, timeout: Duration) -> bool {
            let mut entry = libc::pollfd { fd: self.fd(), events: libc::POLLIN, revents: 0 };
            let milliseconds = timeout.as_millis().try_into().unwrap_or(i32::MAX);
            // SAFETY: one valid entry.
            unsafe { libc::poll(&mut entry, 1, milliseconds) > 0 }
        }
    }

    impl AsRawFd for EventFd {
        fn as_raw_fd(&self) -> RawFd {
            self.fd()
        }
    }

    impl AsFd for EventFd {
        fn as_fd(&self) -> BorrowedFd<'_> {
            self.0.as_fd()
        }
    }
}

#[cfg(loom)]
pub use model::EventFd;

#[cfg(loom)]
mod model {
    use loom::sync::{Condvar, Mutex};

    /// What an eventfd does, for the models.
    #[derive(Debug)]
    pub struct EventFd(Mutex<bool>, Condvar);

    impl EventFd {
        /// A new one.
        pub fn new() -> std::io::Result<EventFd> {
            Ok(EventFd(Mutex::new(false), Condvar::new()))
        }

        /// Wakes whoever waits, or will.
        pub fn notify(&self) {
            *self.0.lock().unwrap() = true;
            self.1.notify_all();
        }

        /// Forgets the wake-ups so far.
        pub fn drain(&self) {
            *self.0.lock().unwrap() = false;
        }

        /// Sleeps until a wake-up has come. A model in which none comes ends as a deadlock.
        pub fn wait(&self) {
            let mut notified = self.0.lock().unwrap();
            while !*notified {
                notified = self.1.wait(notified).unwrap();
            }
        }
    }
}
