//! Pages: a file of HTML becomes an SQL function. The compiler (`crates/pages`) writes SQL and says where each character of it came from;
//! here it is run as the application's owner, and errors are told at their place in the file.
//!
//! - [`errors`]: pages of errors, which are made when they are deployed.
//! - [`library`]: the pages of the deployment, which a page may call.
//! - [`names`]: names that mean an argument and a column, and functions that are VOLATILE.
//! - [`warnings`]: what is said of pages that can be deployed and may be wrong.
//! - [`sql`]: the statement that makes the function, and the place of an error of it.

pub(crate) mod errors;
pub(crate) mod library;
mod names;
mod sql;
pub(crate) mod warnings;

use std::cell::{Cell, RefCell};
use std::ffi::{CStr, CString};

use ::pages::{CompiledPage, HoleKind, PageFault, PageFile, compile, layout_faults, read};
use pg::guard::{More, PgError, unwind};
use pg::refuse::refuse;
use pgrx::prelude::*;
use session::deployer::as_deployer;
use session::settings_in_force::with_if_known;
use session::subtransaction::attempted;

use super::application::Deployment;
use super::recorder::{self, Made};
use super::statements::{self, Use};
use super::steps;
use sql::{PageStatement, PageVolatility, position_of};

thread_local! {
    /// Remarks on pages that were made.
    static REMARKS: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// The remarks on the page that was made last.
pub(crate) fn take_remarks() -> Vec<String> {
    REMARKS.take()
}

/// A step of making a page, by which an error finds its place.
#[derive(Clone, Copy)]
enum PageStage {
    /// The page is read.
    Reading,
    /// A hole is parsed, by its number.
    Hole(usize),
    /// A function is made of one of its two texts.
    Plain,
}

/// Makes the function of a page, and calls `after` after each statement.
///
/// # Errors
/// An error of PostgreSQL's, whose position is that in the file.
pub(crate) fn run(deployment: &Deployment, path: &str, text: &str, after: impl Fn()) -> Result<(), PgError> {
    let application = &deployment.application;
    REMARKS.take();
    let page = read(path, text).map_err(|faults| of_faults(&faults, text))?;
    let compiled = library::with(deployment, |library| match &layout_faults(&page, library)[..] {
        [] => Ok(compile(&page, library)),
        faults => Err(of_faults(faults, text)),
    })?;
    let plain = PageStatement::of(&page, &compiled.plain, PageVolatility::Stable);
    let stage = Cell::new(PageStage::Reading);
    let made = as_deployer(application.owner, &application.schema, || {
        parse_holes(&page, &stage);
        stage.set(PageStage::Plain);
        make(&page, &compiled, &plain, &after);
    });
    made.map_err(|error| match stage.get() {
        PageStage::Reading => error,
        PageStage::Hole(number) => in_hole(error, &page, number),
        PageStage::Plain => in_statement(error, &page, &plain),
    })
}

/// Parses each hole alone, so that what is wrong in one is not told in another.
fn parse_holes(page: &PageFile, stage: &Cell<PageStage>) {
    for (number, hole) in page.holes().iter().enumerate() {
        stage.set(PageStage::Hole(number));
        let (before, behind) = hole.kind.around();
        let text = format!("{before}{}{behind}", &page.text()[hole.span.range()]);
        let Ok(text) = CString::new(text) else {
            refuse(PgSqlErrorCode::ERRCODE_SYNTAX_ERROR, "the page has a byte 0");
        };
        // SAFETY: inside a transaction; what is parsed is used no more.
        unsafe { steps::parse(&text) };
    }
}

/// Makes the function: first with calls as calls, which says whether names and types are right, then with the parts in their place.
fn make(page: &PageFile, compiled: &CompiledPage, plain: &PageStatement, after: &impl Fn()) {
    let before = recorder::since(0).len();
    stored(&[QUICK], || statements::run_each(&plain.text, Use::Replace, after));
    let made = recorder::since(before);
    let Some(function) = made.iter().find_map(|one| match one {
        Made::Object(_, number, _) => Some(*number),
        _ => None,
    }) else {
        return;
    };
    let found = names::look(function, page, &compiled.plain);
    if let Some(clash) = found.clash {
        unwind(in_plain(clash, plain));
    }
    for raw in page.raws() {
        note(format!("http.raw in line {}", raw.line));
    }
    let volatility = if found.is_volatile { PageVolatility::Volatile } else { PageVolatility::Stable };
    if let Some(name) = &found.volatile_function {
        note(format!("is VOLATILE, as {name} is: its answers are not kept"));
    }
    if compiled.is_ambiguous {
        refuse_name(page);
    }
    let expanded = PageStatement::of(page, &compiled.expanded, volatility);
    if expanded.text != plain.text {
        // With calls it is as right, only slower.
        // The function is noted already.
        let run = |text: &str| stored(&[QUICK, CHECKED], || statements::run_each(text, Use::Replace, after));
        let again = |text: &str| recorder::unrecorded(|| run(text));
        let Err(error) = attempted(|| again(&expanded.text)) else { return };
        // Locks, cancels and the like are no matter of the text.
        if !is_of_text(&error) {
            unwind(error);
        }
        if compiled.is_read_otherwise {
            refuse_name(page);
        }
        if volatility == PageVolatility::Volatile {
            let plain = PageStatement::of(page, &compiled.plain, volatility);
            again(&plain.text);
        }
    }
}

/// The tree of a page has hundreds of kilobytes, which pglz takes longer to compress than PostgreSQL to parse.
const QUICK: (&CStr, &CStr) = (c"default_toast_compression", c"lz4");
/// The same body was checked with its calls.
const CHECKED: (&CStr, &CStr) = (c"check_function_bodies", c"off");

/// Runs `work`, which stores a page's function, with settings.
fn stored<T>(settings: &[(&CStr, &CStr)], work: impl FnOnce() -> T) -> T {
    // SAFETY: inside the subtransaction of the file.
    unsafe { with_if_known(settings, work) }
}

/// Refuses a page of which a dump would be read as something else.
fn refuse_name(page: &PageFile) -> ! {
    let name = &page.name().function;
    let message = format!(
        "the page is called {name} as a table or a row in it, so that a dump would take its arguments for columns"
    );
    let hint = format!("Give its file another name: {name}_page.html, say.");
    unwind(at(PgError { sqlstate: *b"42702", message, hint: Some(hint), ..PgError::default() }, 1))
}

/// Whether an error is of what a statement says: its names, types, subqueries and size.
fn is_of_text(error: &PgError) -> bool {
    [b"42", b"0A", b"54", b"22", b"21"].iter().any(|class| error.sqlstate.starts_with(*class))
}

fn note(remark: String) {
    REMARKS.with_borrow_mut(|remarks| remarks.push(remark));
}

/// The faults of a page as one error, which is told at the first.
fn of_faults(faults: &[PageFault], text: &str) -> PgError {
    let Some(first) = faults.first() else { return PgError::default() };
    let others: Vec<String> = faults[1..].iter().map(|fault| format!("also in {fault}")).collect();
    let error = PgError {
        sqlstate: *b"42601",
        message: first.message.clone(),
        detail: (!others.is_empty()).then(|| others.join("\n")),
        hint: first.hint.clone(),
        ..PgError::default()
    };
    at(error, position_of(text, first.line, first.column))
}

/// The same error, at a character of the file, counted from 1.
fn at(mut error: PgError, position: usize) -> PgError {
    let mut more = error.more.take().unwrap_or_else(|| Box::new(More::default()));
    more.position = i32::try_from(position).unwrap_or(1);
    more.internal = None;
    // It would name the statement that was made of the page.
    more.context = None;
    error.more = Some(more);
    error
}

fn position(error: &PgError) -> Option<usize> {
    let more = error.more.as_deref()?;
    usize::try_from(more.position).ok().filter(|position| *position > 0)
}

/// An error of a hole that was parsed alone.
fn in_hole(error: PgError, page: &PageFile, number: usize) -> PgError {
    let hole = page.holes()[number];
    let inside = &page.text()[hole.span.range()];
    let before = hole.kind.around().0.chars().count();
    let length = inside.trim_end().chars().count();
    let ahead = position(&error).unwrap_or(1).saturating_sub(1 + before).min(length);
    let start = page.text()[..hole.span.start].chars().count();
    let mut told = at(error, start + ahead + 1);
    // The parser has read beyond the hole.
    if told.message.ends_with("at or near \")\"") && ahead == length {
        told.message = format!("syntax error: {} is not complete here", said(hole.kind));
    }
    told
}

fn said(kind: HoleKind) -> &'static str {
    match kind {
        HoleKind::Query => "the query",
        HoleKind::Condition => "the condition",
        HoleKind::ArgumentType => "the type",
        _ => "the expression",
    }
}

/// An error of the statement that makes the function.
fn in_statement(error: PgError, page: &PageFile, statement: &PageStatement) -> PgError {
    let internal = error.more.as_deref().and_then(|more| more.internal.clone());
    let character = match (position(&error), internal) {
        (Some(position), _) => position - 1,
        (None, Some((position, query))) => {
            statement.of_body(&query, usize::try_from(position).unwrap_or(1).saturating_sub(1))
        }
        (None, None) => return at(error, 1),
    };
    let place = statement.place(character);
    if place.path == page.path() {
        return at(error, position_of(page.text(), place.line, place.column));
    }
    let message = format!("{}:{}:{}: {}", place.path, place.line, place.column, error.message);
    at(PgError { message, ..error }, 1)
}

/// An error at a character of the expression, as one of the statement.
fn in_plain((message, hint, character): (String, String, usize), plain: &PageStatement) -> PgError {
    let error = PgError { sqlstate: *b"42702", message, hint: Some(hint), ..PgError::default() };
    at(error, plain.begin() + character + 1)
}
