//! One guard around many calls into PostgreSQL.
//!
//! pgrx guards every call of its own bindings and turns an error into a panic, which loses SQLSTATEs
//! that it does not know and costs some microseconds. A request makes hundreds of calls: it runs inside
//! [`attempt`], calls PostgreSQL directly ([`crate::pg`]) and an error jumps to the guard at once.

use std::ffi::CStr;
use std::panic::{AssertUnwindSafe, catch_unwind};

use pgrx::pg_sys;

/// An error that PostgreSQL, or code of ours inside it, has raised.
#[derive(Clone, Debug, Default)]
pub struct PgError {
    /// The five letters of the SQLSTATE, for example `23505`.
    pub sqlstate: [u8; 5],
    /// The primary message.
    pub message: String,
    /// DETAIL.
    pub detail: Option<String>,
    /// HINT.
    pub hint: Option<String>,
    /// Name of the constraint, where the error names one.
    pub constraint: Option<String>,
    /// Where PostgreSQL has raised it.
    pub place: Option<Box<Place>>,
}

/// Where PostgreSQL has raised an error.
#[derive(Clone, Debug)]
pub struct Place {
    /// Name of the function in PostgreSQL's sources.
    pub routine: String,
    /// CONTEXT.
    pub context: String,
}

impl PgError {
    /// The SQLSTATE as text.
    pub fn sqlstate(&self) -> &str {
        std::str::from_utf8(&self.sqlstate).unwrap_or("XX000")
    }
}

/// What is done with an error besides returning it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Report {
    /// It is written to the server's log.
    Log,
    /// Nothing: the caller decides.
    Quiet,
}

/// Runs `work`, which may raise PostgreSQL errors or panic, and returns the error.
///
/// After an error the current transaction is in PostgreSQL's error state: the caller aborts it, or rolls
/// back to the subtransaction that it had begun.
///
/// # Safety
/// The caller is on the main thread of a process attached to PostgreSQL, and no frame between this call
/// and PostgreSQL's code that can raise owns a value with a destructor: an error jumps over it.
pub unsafe fn attempt<T>(report: Report, work: impl FnOnce() -> T) -> Result<T, PgError> {
    // SAFETY: main thread by contract; these are PostgreSQL's own process-wide variables.
    unsafe {
        let context = pg_sys::CurrentMemoryContext;
        let exception_stack = pg_sys::PG_exception_stack;
        let error_context_stack = pg_sys::error_context_stack;
        let mut result: Option<std::thread::Result<T>> = None;
        let jumped = cee_scape::call_with_sigsetjmp(false, |buffer| {
            pg_sys::PG_exception_stack = std::ptr::from_ref(buffer).cast_mut().cast();
            // A panic must not leave through the frame of sigsetjmp.
            result = Some(catch_unwind(AssertUnwindSafe(work)));
            0
        });
        pg_sys::PG_exception_stack = exception_stack;
        if jumped == 0 {
            pg_sys::error_context_stack = error_context_stack;
            return match result.take() {
                Some(Ok(value)) => Ok(value),
                Some(Err(panic)) => {
                    // As errfinish does before it jumps: locks that are given up later do not give these back, and
                    // a process that holds off interrupts for ever can be neither cancelled nor ended.
                    pg_sys::InterruptHoldoffCount = 0;
                    pg_sys::QueryCancelHoldoffCount = 0;
                    pg_sys::CritSectionCount = 0;
                    Err(from_panic(panic, report))
                }
                None => Err(internal("the guarded work has not run".into())),
            };
        }
        pg_sys::CurrentMemoryContext = context;
        let error = take_error(report);
        pg_sys::error_context_stack = error_context_stack;
        Err(error)
    }
}

/// Logs and clears PostgreSQL's current error.
unsafe fn take_error(report: Report) -> PgError {
    // SAFETY: called right after a jump, with an error on PostgreSQL's stack.
    unsafe {
        let raised = crate::pg::CopyErrorData();
        if report == Report::Log {
            crate::pg::EmitErrorReport();
        }
        crate::pg::FlushErrorState();
        let error = PgError {
            sqlstate: unpack_sqlstate((*raised).sqlerrcode),
            message: text((*raised).message).unwrap_or_else(|| "missing error text".into()),
            detail: text((*raised).detail),
            hint: text((*raised).hint),
            constraint: text((*raised).constraint_name),
            place: text((*raised).funcname).map(|routine| {
                Box::new(Place { routine, context: text((*raised).context).unwrap_or_default() })
            }),
        };
        crate::pg::FreeErrorData(raised);
        error
    }
}

/// Raises an error again, as PostgreSQL raises its own.
pub fn raise(error: PgError) -> ! {
    // SAFETY: on the main thread inside a guard; the texts are copied to PostgreSQL's memory, and dropped,
    // before the jump.
    unsafe { report(pgrx::PgLogLevel::ERROR, error) };
    unreachable!("errfinish of an ERROR does not return")
}

/// Reports an error with its context, at this level. At ERROR it jumps.
///
/// # Safety
/// On the main thread; inside a guard if the level is ERROR.
unsafe fn report(level: pgrx::PgLogLevel, error: PgError) {
    // SAFETY: by contract; the texts are copied to PostgreSQL's memory, and dropped, before a jump.
    unsafe {
        let keep = |text: Option<&str>| match text {
            Some(text) => crate::request::params::c_string(text),
            None => std::ptr::null_mut(),
        };
        let (message, detail) = (keep(Some(&error.message)), keep(error.detail.as_deref()));
        let (hint, code) = (keep(error.hint.as_deref()), pack_sqlstate(&error.sqlstate));
        drop(error);
        if !crate::pg::errstart(level as i32, std::ptr::null()) {
            return;
        }
        crate::pg::errcode(code);
        crate::pg::errmsg(c"%s".as_ptr(), message);
        if !detail.is_null() {
            crate::pg::errdetail(c"%s".as_ptr(), detail);
        }
        if !hint.is_null() {
            crate::pg::errhint(c"%s".as_ptr(), hint);
        }
        crate::pg::errfinish(c"guard.rs".as_ptr(), 0, c"report".as_ptr());
    }
}

/// A panic of Rust code, or an error that pgrx has turned into one.
fn from_panic(panic: Box<dyn std::any::Any + Send>, report: Report) -> PgError {
    let error = match panic.downcast::<pg_sys::panic::CaughtError>() {
        Ok(caught) => {
            let (pg_sys::panic::CaughtError::PostgresError(raised)
            | pg_sys::panic::CaughtError::ErrorReport(raised)
            | pg_sys::panic::CaughtError::RustPanic { ereport: raised, .. }) = *caught;
            of_report(&raised)
        }
        Err(panic) => match panic.downcast::<pg_sys::panic::ErrorReportWithLevel>() {
            Ok(raised) => of_report(&raised),
            Err(panic) => internal(match panic.downcast_ref::<&str>() {
                Some(message) => format!("panic: {message}"),
                None => {
                    format!("panic: {}", panic.downcast_ref::<String>().map_or("unknown", String::as_str))
                }
            }),
        },
    };
    if report == Report::Log {
        let message = format!("ERROR {}: {}", error.sqlstate(), error.message);
        // SAFETY: on the main thread, as `attempt` is; LOG does not jump.
        unsafe { self::report(pgrx::PgLogLevel::LOG, PgError { message, ..error.clone() }) };
    }
    error
}

fn of_report(raised: &pg_sys::panic::ErrorReportWithLevel) -> PgError {
    PgError {
        sqlstate: unpack_sqlstate(raised.sql_error_code() as i32),
        message: raised.message().to_owned(),
        detail: raised.detail().map(str::to_owned),
        hint: raised.hint().map(str::to_owned),
        ..PgError::default()
    }
}

fn internal(message: String) -> PgError {
    PgError { sqlstate: *b"XX000", message, ..PgError::default() }
}

/// SQLSTATEs are five characters of six bits each (`MAKE_SQLSTATE` of elog.h).
pub fn unpack_sqlstate(packed: i32) -> [u8; 5] {
    std::array::from_fn(|place| (((packed >> (6 * place)) & 0x3f) as u8) + b'0')
}

/// The reverse of [`unpack_sqlstate`].
pub const fn pack_sqlstate(code: &[u8; 5]) -> i32 {
    let mut packed = 0;
    let mut place = 0;
    while place < 5 {
        packed += (((code[place] - b'0') & 0x3f) as i32) << (6 * place);
        place += 1;
    }
    packed
}

/// A copy of a C string of PostgreSQL's.
///
/// # Safety
/// `pointer` is null or points to a string that ends with NUL.
unsafe fn text(pointer: *const std::ffi::c_char) -> Option<String> {
    // SAFETY: by contract.
    (!pointer.is_null()).then(|| unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned())
}
