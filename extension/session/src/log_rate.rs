//! What requests make the workers write to the log: at a bounded rate, and no text of some kilobytes.
//!
//! Whoever may send requests may cause errors, and a handler may raise warnings for each of them. PostgreSQL shows every
//! line to a hook before it is written. While a worker acts for a client the hook lets `howdah.log_rate` lines of each kind
//! through for each second, over all processes of the database; the rest is counted, and a gateway says how much it was.
//! A parallel worker of PostgreSQL's acts for the client of its leader, who is told what it raises and tells it.

use std::cell::Cell;
use std::ffi::c_char;

use pg::entry::infallible_callback;
use pg::guard::{self, unpack_sqlstate};
use pg::log_line;
use pgrx::pg_sys;
use problem::Meaning;
use registry::Allowance;
use shared::databases::{Database, LINE_KINDS, LineKind};
use shared::{attached, now_us, settings};

use crate::withheld;

/// Microseconds between two lines that tell how many were left out.
const TOLD_EVERY: u64 = 10_000_000;

thread_local! {
    /// The database that this worker serves.
    static DATABASE: Cell<Option<&'static Database>> = const { Cell::new(None) };
    /// Whether this process acts for a client now.
    static ACTS: Cell<bool> = const { Cell::new(false) };
    /// Whether a value that the client has sent is being read.
    static READS_CLIENTS_VALUE: Cell<bool> = const { Cell::new(false) };
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
    withheld::begin();
}

/// Acts for a client: what is logged meanwhile counts.
pub fn for_client<T>(work: impl FnOnce() -> T) -> T {
    let before = ACTS.replace(true);
    let result = work();
    ACTS.set(before);
    result
}

/// Whether what goes wrong from now on is of a value that the client has sent.
pub fn reads_clients_value(does: bool) {
    READS_CLIENTS_VALUE.set(does);
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
pub fn allows(kind: LineKind) -> bool {
    DATABASE.get().is_none_or(|database| allows_of(database, kind))
}

fn allows_of(database: &Database, kind: LineKind) -> bool {
    let rate = u32::try_from(settings::LOG_RATE.get()).ok();
    database.log[kind as usize].take(rate, now_us())
}

/// The database of the worker for which this process computes, as a parallel worker of PostgreSQL's.
fn leaders_database() -> Option<&'static Database> {
    // SAFETY: PostgreSQL's own variables; a leader's entry stays in its place until its parallel workers have gone.
    let leader = unsafe {
        let leader = (pg_sys::ParallelWorkerNumber >= 0).then(|| (*pg_sys::MyProc).lockGroupLeader)?;
        leader.as_ref()?.pid
    };
    let shared = attached()?;
    let worker = shared.workers.iter().find(|worker| worker.pid() == leader && !worker.is_free())?;
    shared.databases.get(worker.database())
}

/// Tells the log how many lines it lacks, if that is due. For gateways.
pub fn tell_left_out(database: &Database) {
    let now = now_us();
    for kind in LINE_KINDS {
        let count = database.log[kind as usize].take_untold(TOLD_EVERY, now);
        if count > 0 {
            let what = kind.word();
            log_line::log!(
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
            leave_secrets_out(&mut *error);
            let fatal = pgrx::PgLogLevel::FATAL as i32;
            if ACTS.get() && (*error).elevel < fatal {
                let written = allows(kind_of(&*error));
                WRITTEN.set(written);
                shorten(&mut *error);
                (*error).output_to_server = written;
            } else if let Some(database) = leaders_database()
                && (*error).elevel < fatal
            {
                // What is passed to the leader it tells again.
                (*error).output_to_server =
                    !(*error).output_to_client && allows_of(database, kind_of(&*error));
                shorten(&mut *error);
            }
            if (*error).output_to_server
                && let Some(previous) = PREVIOUS
            {
                previous(error);
            }
        }
    }
}

fn kind_of(error: &pg_sys::ErrorData) -> LineKind {
    if error.elevel < pgrx::PgLogLevel::ERROR as i32 {
        return LineKind::Remark;
    }
    let code = unpack_sqlstate(error.sqlerrcode);
    let is_clients = READS_CLIENTS_VALUE.get() || Meaning::of(&code).is_clients_fault();
    if is_clients { LineKind::Client } else { LineKind::Server }
}

/// Secrets of the request that runs go out of what is written, and of what is copied of it for the answer.
unsafe fn leave_secrets_out(error: &mut pg_sys::ErrorData) {
    // SAFETY: each is null or a string of PostgreSQL's that ends with NUL.
    texts(error).into_iter().for_each(|text| unsafe { withheld::leave_out_of(text) });
}

/// The texts of a line that a client's value may be in: each is null, or a copy of PostgreSQL's own that ends with NUL.
fn texts(error: &pg_sys::ErrorData) -> [*mut c_char; 6] {
    [error.message, error.detail, error.detail_log, error.hint, error.context, error.internalquery]
}

/// A client chooses how long a value is that a message quotes. The texts are PostgreSQL's own copies: what is copied of them once
/// they are written is no longer ([`guard::LONGEST`]), and a handler that catches an error has copied them before.
unsafe fn shorten(error: &mut pg_sys::ErrorData) {
    // SAFETY: each is null or a string of PostgreSQL's that ends with NUL.
    texts(error).into_iter().filter(|text| !text.is_null()).for_each(|text| unsafe { cut(text) });
}

/// # Safety
/// A string that ends with NUL and may be written.
unsafe fn cut(text: *mut c_char) {
    // SAFETY: by contract; what is written lies before the old end.
    unsafe {
        if let Some(end) = guard::cut(guard::begin_of(text)) {
            std::ptr::copy_nonoverlapping(guard::MARK.as_ptr().cast(), text.add(end), guard::MARK.len());
            *text.add(end + guard::MARK.len()) = 0;
        }
    }
}

/// What a database's log has and lacks of a kind.
pub fn counts(database: &Database, kind: LineKind) -> (u64, u64) {
    let allowance: &Allowance = &database.log[kind as usize];
    (allowance.done(), allowance.left_out())
}
