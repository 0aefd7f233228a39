//! Memory that is this process's alone, as the kernel counts it: neither shared memory nor pages of files.

use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicI64, AtomicU64, Ordering::Relaxed};

/// The open file that tells it; negative before [`open`].
static FILE: AtomicI32 = AtomicI32::new(-1);
/// Bytes of a page.
static PAGE: AtomicI64 = AtomicI64::new(4096);
/// Whether the kernel gives the process less than it has been set up for.
static IS_LIMITED: AtomicBool = AtomicBool::new(false);
/// What it gave before.
static BEFORE: AtomicU64 = AtomicU64::new(0);

/// Opens the file. Called once in each worker.
pub fn open() {
    // SAFETY: plain calls. The file is closed with the process.
    unsafe {
        PAGE.store(libc::sysconf(libc::_SC_PAGESIZE), Relaxed);
        FILE.store(libc::open(c"/proc/self/statm".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC), Relaxed);
    }
}

/// Bytes of this process's own. Safe inside a signal.
pub fn bytes() -> Option<i64> {
    let [_, resident, shared, ..] = pages()?;
    Some((resident - shared) * PAGE.load(Relaxed))
}

/// Bytes that the process has asked for, used or not. Safe inside a signal.
fn data() -> Option<i64> {
    Some(pages()?[5] * PAGE.load(Relaxed))
}

/// What the file tells: size, resident, shared, text, nothing, data.
fn pages() -> Option<[i64; 6]> {
    let mut text = [0u8; 128];
    // SAFETY: a buffer of this length.
    let read = unsafe { libc::pread(FILE.load(Relaxed), text.as_mut_ptr().cast(), text.len(), 0) };
    let mut numbers = text.get(..usize::try_from(read).ok()?)?.split(|&byte| byte == b' ').map(number);
    let mut pages = [0; 6];
    for place in &mut pages {
        *place = numbers.next()?;
    }
    Some(pages)
}

/// Lets the process ask for so many bytes more, and then for none. Safe inside a signal.
pub fn limit(more: i64) {
    let mut limits = MaybeUninit::<libc::rlimit>::zeroed();
    // SAFETY: a valid place for the answer; the limit that the process has is its own to lower, and to raise again.
    unsafe {
        let Some(data) = data().filter(|_| libc::getrlimit(libc::RLIMIT_DATA, limits.as_mut_ptr()) == 0)
        else {
            return;
        };
        let limits = limits.assume_init();
        let lower = ((data + more) as libc::rlim_t).min(limits.rlim_cur);
        if !is_limited() {
            BEFORE.store(limits.rlim_cur, Relaxed);
            IS_LIMITED.store(true, Relaxed);
        }
        libc::setrlimit(libc::RLIMIT_DATA, &libc::rlimit { rlim_cur: lower, ..limits });
    }
}

/// Whether [`limit`] is in force.
pub fn is_limited() -> bool {
    IS_LIMITED.load(Relaxed)
}

/// Lets the process have what it could before [`limit`].
pub fn lift_limit() {
    if is_limited() {
        IS_LIMITED.store(false, Relaxed);
        let mut limits = MaybeUninit::<libc::rlimit>::zeroed();
        // SAFETY: as above.
        unsafe {
            if libc::getrlimit(libc::RLIMIT_DATA, limits.as_mut_ptr()) == 0 {
                let limits = limits.assume_init();
                libc::setrlimit(
                    libc::RLIMIT_DATA,
                    &libc::rlimit { rlim_cur: BEFORE.load(Relaxed), ..limits },
                );
            }
        }
    }
}

/// Gives back to the kernel what is free.
pub fn trim() {
    #[cfg(target_env = "gnu")]
    // SAFETY: what is in use stays.
    unsafe {
        libc::malloc_trim(0);
    }
}

fn number(digits: &[u8]) -> i64 {
    digits.iter().fold(0, |number, digit| number * 10 + i64::from(digit.wrapping_sub(b'0')))
}
