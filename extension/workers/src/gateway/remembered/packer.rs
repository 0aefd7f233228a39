//! Answers that are kept are packed beside the loop, by a thread that knows no PostgreSQL: nobody waits for it, and who asks meanwhile gets what is there.
//!
//! The next turn takes what it has packed; somebody's request begins that.

use std::mem::MaybeUninit;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread;

use codings::{Coding, Packer};
use pg::log_line;
use session::log_rate;

use super::whole::{KeptForm, ToPack};

/// The thread, and what it has to do.
#[derive(Default)]
pub(super) struct PackerThread {
    ends: Option<(Sender<PackWork>, Receiver<Packed>)>,
    /// Answers that it has not given back yet.
    count: usize,
    /// Bytes of these.
    bytes: usize,
}

/// An answer that is to be packed, and where it is kept.
struct PackWork {
    kept: KeptAt,
    to_pack: ToPack,
}

/// Where an answer is kept.
pub(super) struct KeptAt {
    /// The number of its route's counters.
    pub gate: u32,
    pub key: Box<[u8]>,
}

/// An answer that was packed.
pub(super) struct Packed {
    pub kept: KeptAt,
    pub number: u64,
    pub coding: Coding,
    /// None if it becomes no shorter.
    pub form: Option<KeptForm>,
    bytes: usize,
}

/// Answers that may wait for it, and their bytes: others stay as they are until somebody asks again.
const MOST: usize = 256;
const MOST_BYTES: usize = 32 << 20;

impl PackerThread {
    /// Has an answer packed. False if that has to wait.
    pub(super) fn pack(&mut self, kept: KeptAt, to_pack: ToPack) -> bool {
        let bytes = to_pack.plain.len();
        if self.count == MOST || self.bytes + bytes > MOST_BYTES && self.count > 0 {
            return false;
        }
        if self.ends.is_none() {
            self.ends = begin();
        }
        let Some((work, _)) = &self.ends else { return false };
        if work.send(PackWork { kept, to_pack }).is_err() {
            // It has ended by an error of ours.
            (self.ends, self.count, self.bytes) = (None, 0, 0);
            return false;
        }
        self.count += 1;
        self.bytes += bytes;
        true
    }

    /// The next answer that it has packed, if there is one.
    pub(super) fn take(&mut self) -> Option<Packed> {
        if self.count == 0 {
            return None;
        }
        let packed = match self.ends.as_ref()?.1.try_recv() {
            Ok(packed) => packed,
            Err(TryRecvError::Empty) => return None,
            Err(TryRecvError::Disconnected) => {
                // It has ended by an error of ours; the next answer begins another.
                (self.ends, self.count, self.bytes) = (None, 0, 0);
                return None;
            }
        };
        self.count -= 1;
        self.bytes -= packed.bytes;
        Some(packed)
    }
}

/// Begins the thread. PostgreSQL's signals are for the main one.
fn begin() -> Option<(Sender<PackWork>, Receiver<Packed>)> {
    let ((work, taken), (given, packed)) = (channel(), channel());
    let begun = without_signals(|| {
        thread::Builder::new().name("howdah packer".into()).spawn(move || {
            let mut packer = Packer::default();
            while let Ok(PackWork { kept, to_pack }) = taken.recv() {
                let ToPack { number, coding, plain } = to_pack;
                let (bytes, response) = (plain.len(), plain.response());
                let form = packing::packed(&response, coding, &mut packer, Vec::new());
                let form = form.and_then(|response| KeptForm::of(&response));
                if given.send(Packed { kept, number, coding, form, bytes }).is_err() {
                    return;
                }
            }
        })
    });
    if let Err(error) = &begun {
        log_rate::for_client(|| {
            log_line::log!("howdah gateway: answers that are kept are not compressed: {error}");
        });
    }
    begun.ok().map(|_| (work, packed))
}

/// Does something with all signals blocked, and has them as they were.
fn without_signals<T>(work: impl FnOnce() -> T) -> T {
    let (mut all, mut before) = (MaybeUninit::uninit(), MaybeUninit::uninit());
    // SAFETY: both are valid places; the calls cannot fail with these arguments.
    unsafe {
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
    }
    let result = work();
    // SAFETY: it was written above.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), std::ptr::null_mut()) };
    result
}
