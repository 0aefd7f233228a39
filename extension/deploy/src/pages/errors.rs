//! Pages of errors: `pages/errors/404.html` and its like. Their functions are called when they are deployed, for each error that they stand for, with
//! marks in the place of the values that a request has. So nothing runs when one is sent, and a page that fails fails the deployment.

use std::ffi::CStr;

use error_pages::marks::{PageMarks, Unmarked, template};
use error_pages::statuses::{ErrorKind, title};
use error_pages::{PageHole, PageTemplate};
use pages::{PageFile, PageKind};
use pg::guard::{PgError, unwind};
use pg::refuse::refuse;
use pgrx::datum::DatumWithOid;
use pgrx::pg_sys;
use pgrx::prelude::*;
use pgrx::spi::{Spi, quote_identifier};
use serde_json::{Value, json};
use session::authority::{name_of, rows_as_owner};
use session::deployer::as_deployer;
use session::settings_in_force::with_if_known;
use session::time_limit::within;

use super::super::application::Deployment;
use super::library;

/// Where they lie.
const FOLDER: &str = "pages/errors/";
/// Bytes of a page at most.
const LONGEST: usize = 256 << 10;
/// Bytes of all pages of an application at most: each gateway has them in memory.
const MOST: usize = 4 << 20;
/// Milliseconds that the calls of one file may take.
const TIME: i32 = 5000;

/// A file.
struct ErrorFile {
    path: String,
    text: String,
    /// The function, with its schema.
    function: String,
    kind: ErrorKind,
    arguments: Vec<String>,
}

impl ErrorFile {
    fn has(&self, argument: &str) -> bool {
        self.arguments.iter().any(|name| name == argument)
    }

    /// The errors for which it is called, with whether their detail is told: once for all that make no difference to it.
    fn cases(&self, kinds: &[ErrorKind]) -> Vec<(Vec<u16>, Option<bool>)> {
        let statuses = self.kind.statuses(kinds);
        let groups = match self.has("status") || self.has("title") {
            true => statuses.into_iter().map(|status| vec![status]).collect(),
            false => vec![statuses],
        };
        let told: &[Option<bool>] = if self.has("detail") { &[Some(true), Some(false)] } else { &[None] };
        let cases = groups.into_iter().filter(|group| !group.is_empty());
        cases.flat_map(|group| told.iter().map(move |told| (group.clone(), *told))).collect()
    }

    fn problem(&self, message: String, line: Option<usize>, hint: Option<&str>) -> Value {
        json!({ "path": self.path, "line": line, "message": message, "hint": hint })
    }

    /// The first line that names one of the values.
    fn line_of(&self, holes: &[PageHole]) -> Option<usize> {
        let names = |line: &str| line.contains("{{") && holes.iter().any(|hole| line.contains(hole.name()));
        let mut lines = self.text.lines().enumerate().filter(|(_, line)| !line.contains("arguments:"));
        lines.find(|(_, line)| names(line)).map(|(number, _)| number + 1)
    }
}

/// Makes the error pages of a deployment and keeps them in the place of those that there were. The faults of them; nothing is kept then.
pub(crate) fn make(deployment: &Deployment) -> Vec<Value> {
    let (files, mut problems) = files(deployment);
    let kinds: Vec<ErrorKind> = files.iter().map(|file| file.kind).collect();
    let mut made = Vec::new();
    for file in &files {
        match pages_of(deployment, file, &kinds) {
            Ok(pages) => made.extend(pages),
            Err(problem) => problems.push(problem),
        }
    }
    let length: usize = made.iter().map(|page| page.template.length()).sum();
    if length > MOST {
        let message = format!("the error pages have {length} bytes in all, more than {MOST}");
        let hint = "A page that does not ask for status and title is made once for all errors.";
        problems
            .push(json!({ "path": files.first().map(|file| &file.path), "message": message, "hint": hint }));
    }
    if problems.is_empty() {
        problems.extend(keep(deployment, &made, files.first()));
    }
    problems
}

/// A page that was made.
struct MadePage {
    statuses: Vec<u16>,
    with_detail: Option<bool>,
    template: PageTemplate,
}

/// The files of a deployment, and those that are none.
fn files(deployment: &Deployment) -> (Vec<ErrorFile>, Vec<Value>) {
    let schema = quote_identifier(&deployment.application.schema);
    let (mut files, mut problems) = (Vec::new(), Vec::new());
    library::with(deployment, |library| {
        for page in library.pages().filter(|page| page.name().kind == PageKind::Html) {
            let Some(stem) = page.path().strip_prefix(FOLDER).and_then(|name| name.strip_suffix(".html"))
            else {
                continue;
            };
            match (ErrorKind::of(stem), unknown_argument(page)) {
                (Ok(None), _) => {}
                (Err(message), _) => problems.push(json!({ "path": page.path(), "message": message,
                    "hint": "Error pages are called by a status from 400 to 599, 4xx, 5xx or default." })),
                (Ok(Some(_)), Some((name, line))) => problems.push(json!({ "path": page.path(), "line": line,
                    "message": format!("nothing gives an error page the argument {name}"),
                    "hint": "It gets status integer, title text, detail text, request_id text and path text, as far as it declares them. Give others a default." })),
                (Ok(Some(kind)), None) => files.push(ErrorFile {
                    path: page.path().to_owned(),
                    text: page.text().to_owned(),
                    function: format!("{schema}.{}", quote_identifier(&page.name().function)),
                    kind,
                    arguments: page.arguments().iter().map(|argument| argument.name.clone()).collect(),
                }),
            }
        }
    });
    files.sort_by(|one, other| one.path.cmp(&other.path));
    (files, problems)
}

/// An argument that has no value, with its line.
fn unknown_argument(page: &PageFile) -> Option<(String, usize)> {
    let is_known = |name: &str| {
        matches!(name, "status" | "title") || PageHole::ALL.iter().any(|hole| hole.name() == name)
    };
    let mut arguments = page.arguments().iter();
    let unknown = arguments.find(|argument| argument.default_span.is_none() && !is_known(&argument.name))?;
    let line = page.text()[..unknown.name_span.start].matches('\n').count() + 1;
    Some((unknown.name.clone(), line))
}

/// Calls the function of a file for all that it stands for.
fn pages_of(deployment: &Deployment, file: &ErrorFile, kinds: &[ErrorKind]) -> Result<Vec<MadePage>, Value> {
    let cases = file.cases(kinds);
    let marks = PageMarks::two(random);
    let application = &deployment.application;
    let called = as_deployer(application.owner, &application.schema, || {
        within(TIME, || {
            read_only(|| {
                cases.iter().map(|case| [0, 1].map(|set| call(file, case, &marks[set]))).collect::<Vec<_>>()
            })
        })
        .unwrap_or_else(|error| unwind(error))
    });
    let called = match called {
        Ok(Some(called)) => called,
        Ok(None) => {
            let message = format!("the page takes longer than {} seconds", TIME / 1000);
            return Err(file.problem(message, None, Some(Unmarked::HINT)));
        }
        Err(error) => return Err(failed(file, error)),
    };
    let mut made: Vec<MadePage> = Vec::new();
    for ((statuses, with_detail), returned) in cases.into_iter().zip(called) {
        let [Some(one), Some(other)] = &returned else {
            let message = format!("the page of {} is null", said(&statuses));
            return Err(file.problem(
                message,
                None,
                Some("A page whose only with finds no row is null: give it an else."),
            ));
        };
        let template = template(&marks, [one, other]).map_err(|unmarked| {
            let holes = match unmarked {
                Unmarked::Unescaped(hole) => vec![hole],
                Unmarked::Computed => PageHole::ALL.to_vec(),
            };
            file.problem(unmarked.message(), file.line_of(&holes), Some(Unmarked::HINT))
        })?;
        if template.length() > LONGEST {
            let message = format!(
                "the page of {} has {} bytes, more than {LONGEST}",
                said(&statuses),
                template.length()
            );
            return Err(file.problem(
                message,
                None,
                Some("Leave to routes of their own what it shows besides."),
            ));
        }
        made.push(MadePage { statuses, with_detail, template });
    }
    Ok(made)
}

/// The errors, for people.
fn said(statuses: &[u16]) -> String {
    match statuses {
        [status] => status.to_string(),
        _ => "errors".to_owned(),
    }
}

/// A word that nobody can guess.
fn random() -> String {
    let mut bytes = [0_u8; 16];
    // SAFETY: a place for so many bytes.
    if !unsafe { pg_sys::pg_strong_random(bytes.as_mut_ptr().cast(), bytes.len()) } {
        refuse(PgSqlErrorCode::ERRCODE_INTERNAL_ERROR, "there are no random numbers");
    }
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Runs `work`, which changes nothing.
fn read_only<T>(work: impl FnOnce() -> T) -> T {
    const READ_ONLY: (&CStr, &CStr) = (c"transaction_read_only", c"on");
    // SAFETY: inside a subtransaction, whose end takes it back.
    unsafe { with_if_known(&[READ_ONLY], work) }
}

/// Calls the function of a file, as the current user. None if it is null.
fn call(file: &ErrorFile, (statuses, told): &(Vec<u16>, Option<bool>), marks: &PageMarks) -> Option<String> {
    let status = statuses.first().copied().unwrap_or_default();
    let detail = (*told == Some(true)).then(|| marks.of(PageHole::Detail));
    let values: [(&str, &str, DatumWithOid<'_>); 5] = [
        ("status", "int4", i32::from(status).into()),
        ("title", "text", title(status).into()),
        ("detail", "text", detail.into()),
        ("request_id", "text", marks.of(PageHole::RequestId).into()),
        ("path", "text", marks.of(PageHole::Path).into()),
    ];
    let (mut text, mut arguments) = (Vec::new(), Vec::new());
    for (name, kind, value) in values.into_iter().filter(|(name, ..)| file.has(name)) {
        arguments.push(value);
        text.push(format!("{name} => ${}::pg_catalog.{kind}", arguments.len()));
    }
    let query = format!("select {}({})::pg_catalog.text", file.function, text.join(", "));
    let returned =
        Spi::connect(|client| client.select(&query, Some(1), &arguments)?.first().get::<String>(1));
    returned.unwrap_or_else(|error| pgrx::error!("the page cannot be read: {error}"))
}

/// The fault of a page whose function has failed.
fn failed(file: &ErrorFile, error: PgError) -> Value {
    let more = error.more.as_deref();
    let context = more.and_then(|more| more.context.as_deref());
    let detail = error.detail.as_deref().or(context);
    json!({ "path": file.path, "message": error.message, "detail": detail, "hint": error.hint })
}

/// Keeps the pages. A fault if another application has its own in their place.
fn keep(deployment: &Deployment, made: &[MadePage], first: Option<&ErrorFile>) -> Vec<Value> {
    let row = |page: &MadePage| json!({ "statuses": page.statuses, "with_detail": page.with_detail, "pieces": page.template.pieces().collect::<Vec<_>>() });
    let pages = Value::Array(made.iter().map(row).collect()).to_string();
    let owner = name_of(deployment.application.owner);
    let others = rows_as_owner(KEEP, &[owner.into(), pages.into()], |row| {
        Some((row.get::<String>(1).ok()??, row.get::<String>(2).ok()??))
    });
    let problem = |(prefix, other): (String, String)| {
        let message =
            format!("the error pages of {prefix} are those of {other}, who owns another application");
        let hint = "Say below which path these answer, in routes.sql: select http.error_pages('/path').";
        json!({ "path": first.map(|file| &file.path), "message": message, "hint": hint })
    };
    others.into_iter().map(problem).collect()
}

const KEEP: &str = "select k.prefix, k.other from deploy.keep_error_pages($1, $2::pg_catalog.json) k";
