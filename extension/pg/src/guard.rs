//! Errors: caught, kept whole, raised again; one guard around many calls into PostgreSQL.
//!
//! pgrx guards every call of its own bindings and turns an error into a panic, which loses SQLSTATEs
//! that it does not know and costs some microseconds. A request makes hundreds of calls: it runs inside
//! [`attempt`], calls PostgreSQL directly ([`crate::pg`]) and an error jumps to the guard at once.

use std::cell::RefCell;
use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use pgrx::pg_sys;

use crate::own_memory;
use crate::text::c_string;

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
    /// What else PostgreSQL says of it.
    pub more: Option<Box<More>>,
}

/// What PostgreSQL says of an error besides its message.
#[derive(Clone, Debug, Default)]
pub struct More {
    /// Name of the function in PostgreSQL's sources that has raised it.
    pub routine: String,
    /// CONTEXT.
    pub context: Option<String>,
    /// What it is about, by the fields of [`NAMES`].
    pub names: [Option<String>; NAMES.len()],
    /// Where in the statement.
    pub position: c_int,
    /// Where in a statement that a function runs, and which.
    pub internal: Option<(c_int, String)>,
}

/// Fields of an error that name an object, as PostgreSQL numbers them.
pub const NAMES: [u8; 5] = [
    pg_sys::PG_DIAG_SCHEMA_NAME,
    pg_sys::PG_DIAG_TABLE_NAME,
    pg_sys::PG_DIAG_COLUMN_NAME,
    pg_sys::PG_DIAG_DATATYPE_NAME,
    pg_sys::PG_DIAG_CONSTRAINT_NAME,
];

impl PgError {
    /// The message with its detail, so many bytes at most: some errors repeat a value.
    pub fn in_short(&self, bytes: usize) -> String {
        let mut message = match &self.detail {
            Some(detail) => format!("{}: {detail}", self.message),
            None => self.message.clone(),
        };
        message.truncate(message.floor_char_boundary(bytes));
        message
    }

    /// The SQLSTATE as text.
    pub fn sqlstate(&self) -> &str {
        std::str::from_utf8(&self.sqlstate).unwrap_or("XX000")
    }
}

/// Bytes of a text of an error that are kept, in the log and for a client: who raises one chooses how long it is, and many copies
/// are made of it.
pub const LONGEST: usize = 2048;
/// What stands for the rest.
pub const MARK: &str = "...";

/// How many bytes of a text are kept before a [`MARK`]; none if it is kept whole. Not within a character of UTF-8.
pub fn cut(text: &[u8]) -> Option<usize> {
    if text.len() < LONGEST + MARK.len() + 1 {
        return None;
    }
    (0..=LONGEST).rev().find(|&end| text[end] & 0xc0 != 0x80)
}

fn shortened(text: &[u8]) -> String {
    let (kept, mark) = cut(text).map_or((text, ""), |end| (&text[..end], MARK));
    String::from_utf8_lossy(kept).into_owned() + mark
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
        let error_context_stack = pg_sys::error_context_stack;
        // A panic must not leave through the frame of sigsetjmp.
        match until_jump(|| catch_unwind(AssertUnwindSafe(work))) {
            Some(result) => {
                pg_sys::error_context_stack = error_context_stack;
                result.map_err(|panic| {
                    own_memory::lift_limit();
                    // As errfinish does before it jumps: locks that are given up later do not give these back, and
                    // a process that holds off interrupts for ever can be neither cancelled nor ended.
                    pg_sys::InterruptHoldoffCount = 0;
                    pg_sys::QueryCancelHoldoffCount = 0;
                    pg_sys::CritSectionCount = 0;
                    // What was current may be what the panic has come out of; an error that was being reported goes with it.
                    pg_sys::CurrentMemoryContext = context;
                    crate::FlushErrorState();
                    from_panic(panic, report)
                })
            }
            None => Err(take_error(report)),
        }
    }
}

/// Runs work that does not panic; none if an error of PostgreSQL's has jumped out of it, which is still PostgreSQL's current one.
///
/// # Safety
/// As for [`attempt`].
pub(crate) unsafe fn until_jump<T>(work: impl FnOnce() -> T) -> Option<T> {
    // SAFETY: by contract; PostgreSQL's own process-wide variables.
    unsafe {
        let context = pg_sys::CurrentMemoryContext;
        let exception_stack = pg_sys::PG_exception_stack;
        let error_context_stack = pg_sys::error_context_stack;
        let mut result = None;
        let jumped = cee_scape::call_with_sigsetjmp(false, |buffer| {
            pg_sys::PG_exception_stack = std::ptr::from_ref(buffer).cast_mut().cast();
            result = Some(work());
            0
        });
        pg_sys::PG_exception_stack = exception_stack;
        if jumped == 0 {
            return result;
        }
        pg_sys::CurrentMemoryContext = context;
        // Its frames have gone, and another error would call them.
        pg_sys::error_context_stack = error_context_stack;
        None
    }
}

/// Logs and clears PostgreSQL's current error.
unsafe fn take_error(report: Report) -> PgError {
    // SAFETY: called right after a jump, with an error on PostgreSQL's stack; another jump passes over nothing that is owned.
    unsafe {
        // What is made of it needs some.
        own_memory::lift_limit();
        if report == Report::Log {
            until_jump(|| crate::EmitErrorReport());
        }
        let raised = crate::CopyErrorData();
        crate::FlushErrorState();
        let error = of_data(&*raised);
        crate::FreeErrorData(raised);
        error
    }
}

/// A copy of PostgreSQL's error.
///
/// # Safety
/// Its texts are null or end with NUL.
unsafe fn of_data(raised: &pg_sys::ErrorData) -> PgError {
    // SAFETY: by contract.
    unsafe {
        let names = [
            raised.schema_name,
            raised.table_name,
            raised.column_name,
            raised.datatype_name,
            raised.constraint_name,
        ];
        PgError {
            sqlstate: unpack_sqlstate(raised.sqlerrcode),
            message: text(raised.message).unwrap_or_else(|| "missing error text".into()),
            detail: text(raised.detail),
            hint: text(raised.hint),
            more: Some(Box::new(More {
                routine: text(raised.funcname).unwrap_or_default(),
                context: text(raised.context),
                names: names.map(|name| text(name)),
                position: raised.cursorpos,
                internal: text(raised.internalquery).map(|query| (raised.internalpos, query)),
            })),
        }
    }
}

thread_local! {
    /// The error that was raised last below a door of [`crate::entry`]. pgrx keeps of it what it has a name for.
    static RAISED: RefCell<Option<PgError>> = const { RefCell::new(None) };
}

/// Keeps the error that is being raised. Called by PostgreSQL as a callback for the error's context.
///
/// # Safety
/// While PostgreSQL finishes an error or a notice.
pub(crate) unsafe fn note_raised() {
    // SAFETY: by contract; PostgreSQL cleans the context of errors up.
    unsafe {
        let code = unpack_sqlstate(crate::geterrcode());
        // Notices and warnings; and there is no memory for a copy of the last.
        if matches!(&code[..2], b"00" | b"01") || &code == b"53200" {
            return;
        }
        let raised = crate::CopyErrorData();
        if (*raised).elevel >= pgrx::PgLogLevel::ERROR as c_int {
            RAISED.set(Some(of_data(&*raised)));
        }
        crate::FreeErrorData(raised);
    }
}

/// Forgets the error that was raised last: one with the same message would be told with its detail, hint and context.
pub fn forget_raised() {
    RAISED.take();
}

/// Runs work that calls PostgreSQL directly, where frames around it own something: an error unwinds through them.
///
/// # Safety
/// On the main thread; the work itself owns nothing with a destructor while it calls PostgreSQL.
pub unsafe fn direct<T>(work: impl FnOnce() -> T) -> T {
    // A panic must not leave through the frame of sigsetjmp: it would end the process, and the server with it.
    let caught = || catch_unwind(AssertUnwindSafe(work));
    // SAFETY: by contract.
    unsafe { pg_sys::ffi::pg_guard_ffi_boundary(caught) }.unwrap_or_else(|panic| resume_unwind(panic))
}

/// Raises an error again, as PostgreSQL raises its own.
pub fn raise(error: PgError) -> ! {
    // SAFETY: on the main thread inside a guard; the texts are copied to PostgreSQL's memory, and dropped,
    // before the jump.
    unsafe { report(pgrx::PgLogLevel::ERROR, error) };
    unreachable!("errfinish of an ERROR does not return")
}

/// Raises an error where frames of Rust own something: they are left as by a panic, and the entry raises it.
pub fn unwind(error: PgError) -> ! {
    resume_unwind(Box::new(error))
}

/// Ends the process in order, with a line in the log.
pub fn end_process(message: &str) -> ! {
    // SAFETY: on the main thread. FATAL runs the callbacks of the process's end.
    unsafe { report(pgrx::PgLogLevel::FATAL, internal(message.to_owned())) };
    unreachable!("errfinish of a FATAL does not return")
}

/// Reports what is no error, at this level. An interrupt that is pending is raised, and unwinds.
pub fn tell(level: pgrx::PgLogLevel, line: PgError) {
    // SAFETY: on the main thread, in a call of PostgreSQL's.
    unsafe { direct(|| report(level, line)) }
}

/// Reports what is no error, at this level, where nothing may be raised: interrupts are held off, and an error in it is
/// forgotten.
pub(crate) fn tell_held_off(level: pgrx::PgLogLevel, line: PgError) {
    // SAFETY: on the main thread. An error has set the count back.
    unsafe {
        let before = pg_sys::InterruptHoldoffCount;
        pg_sys::InterruptHoldoffCount += 1;
        // A log that takes no line cannot be told.
        let _ = attempt(Report::Quiet, || report(level, line));
        pg_sys::InterruptHoldoffCount = before;
    }
}

/// Reports an error, at this level. At ERROR it jumps; below, PostgreSQL looks for interrupts, which jump as well.
///
/// # Safety
/// On the main thread; inside a guard, unless the level is FATAL.
unsafe fn report(level: pgrx::PgLogLevel, error: PgError) {
    // SAFETY: by contract; the texts are copied to PostgreSQL's memory, and dropped, before a jump.
    unsafe {
        if !crate::errstart(level as i32, std::ptr::null()) {
            return;
        }
        // Copied into the context of errors, which is emptied after this one.
        let before = pg_sys::MemoryContextSwitchTo(pg_sys::ErrorContext);
        let keep = |text: Option<&str>| text.map_or(std::ptr::null_mut(), |text| c_string(text));
        let (message, detail) = (keep(Some(&error.message)), keep(error.detail.as_deref()));
        let (hint, code) = (keep(error.hint.as_deref()), pack_sqlstate(&error.sqlstate));
        let more = error.more.as_deref();
        let context = keep(more.and_then(|more| more.context.as_deref()));
        let mut names = [std::ptr::null_mut(); NAMES.len()];
        for (copy, name) in names.iter_mut().zip(more.iter().flat_map(|more| &more.names)) {
            *copy = keep(name.as_deref());
        }
        let position = more.map_or(0, |more| more.position);
        let internal = more.and_then(|more| more.internal.as_ref());
        let (internal_position, internal_query) =
            internal.map_or((0, std::ptr::null_mut()), |(position, query)| (*position, keep(Some(query))));
        drop(error);
        pg_sys::MemoryContextSwitchTo(before);
        crate::errcode(code);
        crate::errmsg_internal(c"%s".as_ptr(), message);
        if !detail.is_null() {
            crate::errdetail_internal(c"%s".as_ptr(), detail);
        }
        if !hint.is_null() {
            crate::errhint(c"%s".as_ptr(), hint);
        }
        if !context.is_null() {
            crate::errcontext_msg(c"%s".as_ptr(), context);
        }
        for (field, name) in NAMES.into_iter().zip(names) {
            if !name.is_null() {
                crate::err_generic_string(field as c_int, name);
            }
        }
        crate::errposition(position);
        if !internal_query.is_null() {
            crate::internalerrposition(internal_position);
            crate::internalerrquery(internal_query);
        }
        crate::errfinish(c"guard.rs".as_ptr(), 0, c"report".as_ptr());
    }
}

/// The same, and in the log if it is wanted.
fn from_panic(panic: Box<dyn std::any::Any + Send>, report: Report) -> PgError {
    let error = of_panic(panic);
    if report == Report::Log {
        let message = format!("ERROR {}: {}", error.sqlstate(), error.message);
        tell_held_off(pgrx::PgLogLevel::LOG, PgError { message, ..error.clone() });
    }
    error
}

/// A panic of Rust code, an error of [`unwind`], or one that pgrx has turned into a panic.
pub fn of_panic(panic: Box<dyn std::any::Any + Send>) -> PgError {
    let panic = match panic.downcast::<PgError>() {
        Ok(error) => return *error,
        Err(panic) => panic,
    };
    match panic.downcast::<pg_sys::panic::CaughtError>() {
        Ok(caught) => match *caught {
            pg_sys::panic::CaughtError::PostgresError(raised) => {
                let message = shortened(raised.message().as_bytes());
                let noted = RAISED.take().filter(|noted| noted.message == message);
                noted.unwrap_or_else(|| of_report(&raised))
            }
            pg_sys::panic::CaughtError::ErrorReport(raised)
            | pg_sys::panic::CaughtError::RustPanic { ereport: raised, .. } => of_report(&raised),
        },
        Err(panic) => match panic.downcast::<pg_sys::panic::ErrorReportWithLevel>() {
            Ok(raised) => of_report(&raised),
            Err(panic) => internal(match panic.downcast_ref::<&str>() {
                Some(message) => format!("panic: {message}"),
                None => {
                    format!("panic: {}", panic.downcast_ref::<String>().map_or("unknown", String::as_str))
                }
            }),
        },
    }
}

fn of_report(raised: &pg_sys::panic::ErrorReportWithLevel) -> PgError {
    PgError {
        sqlstate: unpack_sqlstate(raised.sql_error_code() as i32),
        message: shortened(raised.message().as_bytes()),
        detail: raised.detail().map(|text| shortened(text.as_bytes())),
        hint: raised.hint().map(|text| shortened(text.as_bytes())),
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

/// A copy of a C string of PostgreSQL's, [`shortened`].
///
/// # Safety
/// `pointer` is null or points to a string that ends with NUL.
unsafe fn text(pointer: *const std::ffi::c_char) -> Option<String> {
    // SAFETY: by contract.
    (!pointer.is_null()).then(|| unsafe { shortened(begin_of(pointer)) })
}

/// As much of a C string as tells whether it is [`cut`].
///
/// # Safety
/// A string that ends with NUL, and lives as long as what is returned.
pub unsafe fn begin_of<'t>(pointer: *const std::ffi::c_char) -> &'t [u8] {
    // SAFETY: by contract.
    unsafe { std::slice::from_raw_parts(pointer.cast(), libc::strnlen(pointer, LONGEST + MARK.len() + 1)) }
}
