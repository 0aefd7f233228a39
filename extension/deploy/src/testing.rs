//! Tests: a file runs as the application's owner, and is undone. Its functions whose names begin with `test_` are tests of their own, each
//! after the file's statements and undone by itself.

use std::cell::Cell;

use folder::Kind;
use folder::places_in_text::offset_of_line;
use pg::entry::sql_function;
use pg::guard::{PgError, direct, unwind};
use pg::refuse::refuse;
use pgrx::pg_sys::{self, Oid};
use pgrx::prelude::*;
use serde_json::{Value, json};
use session::authority::rows_as_owner;
use session::deferred;
use session::deployer::as_tester;
use session::request_transaction::check_constraints;
use session::subtransaction::attempted;

use super::application::Application;
use super::comparisons;
use super::file::{File, refuse_here};
use super::recorder::{self, Made, recorded};
use super::statements::{self, Use, describe};

/// The SQLSTATE by which a test that has passed is undone.
const PASSED: [u8; 5] = *b"HDT00";

thread_local! {
    /// Whether the test has passed: anybody can raise an error.
    static HAS_PASSED: Cell<bool> = const { Cell::new(false) };
}

/// What of a file runs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part<'a> {
    /// Its statements, then each of its functions.
    All,
    /// Its statements.
    Statements,
    /// Its statements, then this function.
    Function(&'a str),
}

/// A function that is a test.
struct Function {
    /// Its name.
    name: String,
    /// How it is called.
    call: String,
    /// Where in the file the statement begins that makes it, in bytes.
    begin: usize,
    /// Its body, as it stands in the file.
    body: String,
}

sql_function!(
    /// `deploy.test(path, content)`
    deploy_test_wrapper,
    |call| {
        let file = File::of(call);
        let answer = run(&file.deployment.application, file.text, Part::All);
        if answer.get("error").is_none() {
            file.keep_text();
        }
        call.give(answer.to_string())
    }
);

sql_function!(
    /// `deploy.note_test(path, content)`
    deploy_note_test_wrapper,
    |call| {
        let file = File::of(call);
        if Kind::of(file.path) != Some(Kind::Test) {
            refuse(PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE, &format!("{} is no test", file.path));
        }
        file.keep_text();
        call.null()
    }
);

sql_function!(
    /// `deploy.try_test(application, content, test_function)`
    deploy_try_test_wrapper,
    |call| {
        refuse_here();
        let application = Application::required(call.need_text(0, "application"));
        let text: &str = call.need(1, "content");
        let part = call.text(2).map_or(Part::Statements, Part::Function);
        call.give(run(&application, text, part).to_string())
    }
);

/// Runs a part of a file and undoes it: `error`, the names of its `functions`, and the routes that it has `called`.
fn run(application: &Application, text: &str, part: Part<'_>) -> Value {
    let mut functions = Vec::new();
    recorder::routes_called();
    comparisons::take();
    let (ran, _) =
        recorded(|| undone_as_owner(application, || run_part(application, text, part, &mut functions)));
    let names: Vec<&str> = functions.iter().map(|function| function.name.as_str()).collect();
    let mut answer = json!({ "functions": names, "called": recorder::routes_called() });
    if let Err(error) = ran {
        let mut error = describe(&error, text);
        error["differences"] = comparisons::take().into();
        answer["error"] = error;
    }
    answer
}

fn run_part(application: &Application, text: &str, part: Part<'_>, functions: &mut Vec<Function>) {
    let looked_at = Cell::new(0);
    let begun: Cell<Vec<(Oid, usize)>> = Cell::new(Vec::new());
    statements::run_each(text, Use::Test, || {
        let made = recorder::since(looked_at.get());
        looked_at.update(|count| count + made.len());
        let mut known = begun.take();
        known.extend(made.iter().filter_map(|one| match one {
            Made::Object(class, number, 0) if *class == pg_sys::ProcedureRelationId => {
                Some((*number, statements::begin()))
            }
            _ => None,
        }));
        begun.set(known);
    });
    // SAFETY: inside a transaction; an error unwinds.
    unsafe { direct(|| check_constraints()) };
    *functions = tests_of(application, &begun.take());
    match part {
        Part::Statements => {}
        Part::All => functions.iter().for_each(|function| {
            undone(|| run_function(function, text)).unwrap_or_else(|error| unwind(error));
        }),
        Part::Function(name) => match functions.iter().find(|function| function.name == name) {
            Some(function) => run_function(function, text),
            None => refuse(
                PgSqlErrorCode::ERRCODE_UNDEFINED_FUNCTION,
                &format!("the file makes no test {name}()"),
            ),
        },
    }
}

/// Those of the functions that are tests.
fn tests_of(application: &Application, made: &[(Oid, usize)]) -> Vec<Function> {
    let oids: Vec<Oid> = made.iter().map(|(number, _)| *number).collect();
    let found = rows_as_owner(
        "select p.oid, p.proname::text, format('select * from %I.%I()', n.nspname, p.proname), p.prosrc
         from pg_proc p join pg_namespace n on n.oid = p.pronamespace
         where p.oid = any ($1) and p.prokind = 'f' and p.pronargs = 0 and p.proname like 'test\\_%' and p.proowner = $2",
        &[oids.into(), application.owner.into()],
        |row| {
            let number: Oid = row.get(1).ok()??;
            let begin = made.iter().find(|(other, _)| *other == number)?.1;
            Some(Function { name: row.get(2).ok()??, call: row.get(3).ok()??, body: row.get(4).ok()??, begin })
        },
    );
    let mut found: Vec<Function> = found.into_iter().collect();
    found.sort_by_key(|function| function.begin);
    found
}

fn run_function(function: &Function, text: &str) {
    let ran = attempted(|| {
        deferred::give_back();
        statements::run(&function.call, Use::Test);
        // SAFETY: inside a transaction; an error unwinds.
        unsafe { direct(|| check_constraints()) };
    });
    if let Err(mut error) = ran {
        place_in_file(&mut error, function, text);
        unwind(error)
    }
}

/// An error of a function is told at the line of its body where it was raised, or else where the function is made.
fn place_in_file(error: &mut PgError, function: &Function, text: &str) {
    let mut place = function.begin;
    let body = text[place..].find(&function.body).filter(|_| !function.body.is_empty()).map(|at| place + at);
    if let Some(more) = &mut error.more {
        more.position = 0;
        let line = more.context.as_deref().and_then(|context| line_of(context, &function.name));
        if let Some((body, line)) = body.zip(line) {
            place = body + offset_of_line(&text[body..], line);
        }
    }
    statements::set_begin(place);
}

/// The line of a body in PL/pgSQL that was under way in this function.
fn line_of(context: &str, name: &str) -> Option<usize> {
    let frames = context.lines().filter(|frame| frame.starts_with("PL/pgSQL function "));
    let mut own = frames.filter(|frame| frame.contains(&format!("{name}() line ")));
    own.next_back()?.split(" line ").nth(1)?.split(' ').next()?.parse().ok()
}

/// Runs `work` as the application's owner and undoes it; its error, if it has failed.
fn undone_as_owner(application: &Application, work: impl FnOnce()) -> Result<(), PgError> {
    passed(as_tester(application.owner, &application.schema, || work_and_unwind(work)))
}

/// Runs `work` and undoes it.
fn undone(work: impl FnOnce()) -> Result<(), PgError> {
    passed(attempted(|| work_and_unwind(work)))
}

fn work_and_unwind(work: impl FnOnce()) -> ! {
    HAS_PASSED.set(false);
    work();
    HAS_PASSED.set(true);
    unwind(PgError { sqlstate: PASSED, ..PgError::default() })
}

fn passed(ran: Result<std::convert::Infallible, PgError>) -> Result<(), PgError> {
    match ran {
        Ok(never) => match never {},
        Err(error) if error.sqlstate == PASSED && HAS_PASSED.take() => Ok(()),
        Err(error) => Err(error),
    }
}
