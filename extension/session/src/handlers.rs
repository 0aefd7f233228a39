//! Whether the signals of this process still do what they did.
//!
//! PL/Perl lets anybody set what a signal does, `$SIG{TERM} = 'IGNORE'`, and so may the library of another language. In a session
//! that ends with the session. A worker goes on, and without its signals no later request in it can be cancelled or stopped. So an
//! executor looks after each request, once a library has been loaded that is neither of its start nor PL/pgSQL's.

use std::ffi::c_int;
use std::mem::MaybeUninit;

use pg::guard::end_process;

use super::libraries::{self, names};

/// What a worker is told by.
const SIGNALS: [c_int; 6] =
    [libc::SIGTERM, libc::SIGHUP, libc::SIGINT, libc::SIGUSR1, libc::SIGUSR2, libc::SIGALRM];

/// What each signal did when this process began to serve.
pub struct Handlers {
    first: [usize; SIGNALS.len()],
    /// Libraries of its start, as [`libraries::files`] has them, and the size of those at the last look.
    libraries: Vec<u8>,
    size: usize,
    /// Whether one has come since that may set signals.
    are_doubtful: bool,
}

impl Handlers {
    /// As they are now.
    pub fn now() -> Handlers {
        let libraries = libraries::files();
        Handlers { first: handlers(), size: libraries.len(), libraries, are_doubtful: false }
    }

    /// Ends the process in order if a request has changed what a signal does. To be called when its answer has left.
    pub fn require_unchanged(&mut self) {
        let size = libraries::size();
        if size != self.size {
            self.size = size;
            let is_of_start = |name: &[u8]| names(&self.libraries).any(|known| known == name);
            self.are_doubtful =
                names(&libraries::files()).any(|name| !is_of_start(name) && !libraries::is(name, b"plpgsql"));
        }
        if self.are_doubtful && handlers() != self.first {
            end_process("a howdah worker ends, because a request has changed what a signal does in it");
        }
    }
}

/// The addresses of what is called.
fn handlers() -> [usize; SIGNALS.len()] {
    SIGNALS.map(|signal| {
        let mut action = MaybeUninit::<libc::sigaction>::zeroed();
        // SAFETY: asks alone; a zeroed struct is one.
        unsafe {
            libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr());
            action.assume_init().sa_sigaction
        }
    })
}
