//! Lines that this library writes to the log, and what it tells a session besides errors.
//!
//! PostgreSQL looks for interrupts at the end of every line that it has written, whatever its level. A worker writes most of its
//! lines where nothing catches an error: the cancel of a request that has just been committed would end the process, and its
//! client would be told that it has failed. So a worker writes them with interrupts held off. What has come meanwhile stays
//! pending: a cancel for the request that runs, if one does, and the end of the process for the next place that looks.
//!
//! A session may be cancelled by a warning of ours as by any other.

use std::fmt::Arguments;

use pgrx::{PgLogLevel, pg_sys};

use crate::guard::{self, PgError};

/// Writes a line to the log.
#[macro_export]
macro_rules! log {
    ($($text:tt)*) => { $crate::log_line::write(pgrx::PgLogLevel::LOG, format_args!($($text)*)) };
}
pub use log;

/// Warns a session, or writes a warning to the log.
#[macro_export]
macro_rules! warning {
    ($($text:tt)*) => { $crate::log_line::write(pgrx::PgLogLevel::WARNING, format_args!($($text)*)) };
}
pub use warning;

/// Tells whoever wants to know much.
#[macro_export]
macro_rules! debug {
    ($($text:tt)*) => { $crate::log_line::write(pgrx::PgLogLevel::DEBUG2, format_args!($($text)*)) };
}
pub use debug;

/// Writes a line of a level below an error's. Callers use the macros.
pub fn write(level: PgLogLevel, text: Arguments<'_>) {
    // SAFETY: PostgreSQL's own variables; a line that nobody reads is not put together.
    let (is_read, is_worker) =
        unsafe { (pg_sys::message_level_is_interesting(level as i32), !pg_sys::MyBgworkerEntry.is_null()) };
    if !is_read {
        return;
    }
    let sqlstate = if level == PgLogLevel::WARNING { *b"01000" } else { *b"00000" };
    let line = PgError { sqlstate, message: text.to_string(), ..PgError::default() };
    if is_worker {
        guard::tell_held_off(level, line);
    } else {
        guard::tell(level, line);
    }
}
