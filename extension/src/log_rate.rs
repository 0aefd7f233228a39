//! What requests make the workers write to the log: at a bounded rate, and no text of some kilobytes.
//!
//! Whoever may send requests may cause errors, and a handler may raise warnings for each of them. PostgreSQL shows every
//! line to a hook before it is written. While a worker acts for a client the hook lets `howdah.log_rate` lines of each kind
//! through for each second, over all processes of the database; the rest is counted, and a gateway says how much it was.

use std::cell::Cell;
use std::ffi::{CStr, c_char};

use pgrx::pg_sys;
use registry::Allowance;

use crate::entry::infallible_callback;
use crate::guard::unpack_sqlstate;
use crate::request::{arguments, problem};
use crate::settings;
use crate::shared::databases::Database;
use crate::shared::now_us;

/// Kinds of lines. None takes another's share: a flood of bad input hides no error of a handler.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Errors answered with a status below 500.
    Client = 0,
    /// Errors answered with 500 or more.
    Server,
    /// Warnings, notices and whatever else is no error.
    Remark,
    /// Requests that `howdah.log_min_duration` has logged.
    Request,
}

/// How many kinds there are.
pub const KINDS: usize = 4;
/// All kinds.
pub const ALL: [Kind; KINDS] = [Kind::Client, Kind::Server, Kind::Remark, Kind::Request];

impl Kind {
    /// The word that the view uses.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Client => "client errors",
            Kind::Server => "server errors",
            Kind::Remark => "remarks",
            Kind::Request => "requests",
        }
    }
}

/// Longest message, detail, hint or context of a line.
const LONGEST: usize = 2048;
/// Microseconds between two lines that tell how many were left out.
const TOLD_EVERY: u64 = 10_000_000;

thread_local! {
    /// The database that this worker serves.
    static DATABASE: Cell<Option<&'static Database>> = const { Cell::new(None) };
    /// Whether this process acts for a client now.
    static ACTS: Cell<bool> = const { Cell::new(false) };
    /// Whether the last line that was looked at is in the log.
    static WRITTEN: Cell<bool> = const { Cell::new(true) };
}

static mut PREVIOUS: pg_sys::emit_log_hook_type = None;

/// Installs the hook. Called once, in the postmaster, while the library is loaded.
pub fn install() {
    // SAFETY: the postmaster has one thread, and hooks are set while libraries are loaded.
    unsafe {
        PREVIOUS = pg_sys::emit_log_hook;
        pg_sys::emit_log_hook = Some(look_at);
    }
}

/// This process is a worker of a database from now on.
pub fn begin(database: &'static Database) {
    DATABASE.set(Some(database));
}

/// Acts for a client: what is logged meanwhile counts.
pub fn for_client<T>(work: impl FnOnce() -> T) -> T {
    let before = ACTS.replace(true);
    let result = work();
    ACTS.set(before);
    result
}

/// Writes what belongs to a line that was written: it does not count by itself.
pub fn beside(write: impl FnOnce()) {
    let before = ACTS.replace(false);
    write();
    ACTS.set(before);
}

/// Whether the last line that this process was about to write for a client is in the log.
pub fn was_written() -> bool {
    WRITTEN.get()
}

/// Whether another line of a kind may be written; counted either way.
pub fn allows(kind: Kind) -> bool {
    let rate = u32::try_from(settings::LOG_RATE.get()).ok();
    DATABASE.get().is_none_or(|database| database.log[kind as usize].take(rate, now_us()))
}

/// Tells the log how many lines it lacks, if that is due. For gateways.
pub fn tell_left_out(database: &Database) {
    let now = now_us();
    for kind in ALL {
        let count = database.log[kind as usize].take_untold(TOLD_EVERY, now);
        if count > 0 {
            let what = kind.word();
            pgrx::log!(
                "howdah: {count} {what} were not logged in the last 10 s, beyond howdah.log_rate; http.stats counts requests and errors"
            );
        }
    }
}

infallible_callback! {
    /// The hook. It can neither raise nor allocate: it runs while an error is being reported.
    unsafe fn look_at(error: *mut pg_sys::ErrorData) {
        // SAFETY: PostgreSQL passes the line that it is about to write; the other hook gets what it would have got.
        unsafe {
            let fatal = pgrx::PgLogLevel::FATAL as i32;
            if ACTS.get() && (*error).elevel < fatal {
                let written = allows(kind_of(&*error));
                WRITTEN.set(written);
                if written {
                    shorten(&mut *error);
                } else {
                    (*error).output_to_server = false;
                }
            }
            if (*error).output_to_server
                && let Some(previous) = PREVIOUS
            {
                previous(error);
            }
        }
    }
}

fn kind_of(error: &pg_sys::ErrorData) -> Kind {
    if error.elevel < pgrx::PgLogLevel::ERROR as i32 {
        return Kind::Remark;
    }
    let code = unpack_sqlstate(error.sqlerrcode);
    if arguments::is_converting() || problem::is_clients_fault(&code) { Kind::Client } else { Kind::Server }
}

/// A client chooses how long a value is that a message quotes. The texts are PostgreSQL's own copies, which nobody reads any
/// more once they are written: whoever catches an error has copied them before.
unsafe fn shorten(error: &mut pg_sys::ErrorData) {
    let texts =
        [error.message, error.detail, error.detail_log, error.hint, error.context, error.internalquery];
    // SAFETY: each is null or a string of PostgreSQL's that ends with NUL.
    texts.into_iter().filter(|text| !text.is_null()).for_each(|text| unsafe { cut(text) });
}

/// # Safety
/// A string that ends with NUL and may be written.
unsafe fn cut(text: *mut c_char) {
    const MARK: &[u8; 4] = b"...\0";
    // SAFETY: by contract; what is written lies before the old end.
    unsafe {
        if libc::strnlen(text, LONGEST + MARK.len()) < LONGEST + MARK.len() {
            return;
        }
        let mut end = LONGEST;
        // Not within a character of UTF-8.
        while end > 0 && (*text.add(end) as u8) & 0xc0 == 0x80 {
            end -= 1;
        }
        std::ptr::copy_nonoverlapping(MARK.as_ptr().cast(), text.add(end), MARK.len());
        debug_assert!(CStr::from_ptr(text).to_bytes().len() < LONGEST + MARK.len());
    }
}

/// What a database's log has and lacks of a kind.
pub fn counts(database: &Database, kind: Kind) -> (u64, u64) {
    let allowance: &Allowance = &database.log[kind as usize];
    (allowance.done(), allowance.left_out())
}
