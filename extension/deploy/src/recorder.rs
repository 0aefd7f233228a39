//! What a text makes: told by PostgreSQL's event trigger, and by whoever registers routes and query handlers.

use std::cell::RefCell;
use std::collections::BTreeSet;

use pg::entry::sql_function;
use pg::refuse::refuse;
use pgrx::pg_sys::Oid;
use pgrx::prelude::*;

/// What a text has made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Made {
    /// An object: catalog, number, part.
    Object(Oid, Oid, i32),
    /// A route, by its method and pattern, or a query handler, by its name.
    Registered(Registered, Vec<String>),
    /// The same, where it was registered so already.
    Kept(Registered, Vec<String>),
    /// An object was altered: catalog, number.
    Altered(Oid, Oid),
    /// What objects that are made later are like.
    Defaults,
    /// A table whose rows were all written anew.
    Rewritten(Oid),
    /// Something was dropped: catalog, number, and what it was, as a row of `pg_event_trigger_dropped_objects()` in JSON.
    Dropped(Oid, Oid, String),
}

/// What is registered with this extension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Registered {
    /// By `http.route()`.
    Route,
    /// By `http.page()`.
    Page,
    /// By `http.handle()`.
    Handler,
    /// By `http.guard()`.
    Guard,
    /// By `http.error_pages()`.
    ErrorPages,
    /// By `http.files()`.
    Files,
    /// By `job.define()`.
    Job,
    /// By `job.schedule()`.
    Schedule,
}

impl Registered {
    /// The column `type` of `deploy.object`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Route => "route",
            Self::Page => "page",
            Self::Handler => "handler",
            Self::Guard => "guard",
            Self::ErrorPages => "error pages",
            Self::Files => "files",
            Self::Job => "job",
            Self::Schedule => "schedule",
        }
    }
}

/// Answers of [`note_answer`] that are kept.
const ANSWERS: usize = 3;

thread_local! {
    /// What requests of the statement that runs were answered.
    static ANSWERS_GIVEN: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
    /// Routes that were asked, in a text that runs.
    static ROUTES_CALLED: RefCell<BTreeSet<String>> = const { RefCell::new(BTreeSet::new()) };
    /// What the text that runs has made; none if none runs.
    static MADE: RefCell<Option<Vec<Made>>> = const { RefCell::new(None) };
}

/// Runs `work` and returns what it has made besides.
pub(crate) fn recorded<T>(work: impl FnOnce() -> T) -> (T, Vec<Made>) {
    /// Stops, after an error as well.
    struct Recording;
    impl Drop for Recording {
        fn drop(&mut self) {
            MADE.set(None);
        }
    }
    MADE.set(Some(Vec::new()));
    let recording = Recording;
    let result = work();
    let made = MADE.take().unwrap_or_default();
    drop(recording);
    (result, made)
}

/// Runs `work`, which makes what belongs to this extension and not to the text that runs.
pub fn unrecorded<T>(work: impl FnOnce() -> T) -> T {
    /// Goes on, after an error as well.
    struct Paused(Option<Vec<Made>>);
    impl Drop for Paused {
        fn drop(&mut self) {
            MADE.set(self.0.take());
        }
    }
    let _paused = Paused(MADE.take());
    work()
}

/// What the text that runs has made since it had made so many.
pub(crate) fn since(count: usize) -> Vec<Made> {
    MADE.with_borrow(|made| made.iter().flatten().skip(count).cloned().collect())
}

/// Whether a text of a deployment runs.
pub fn is_recording() -> bool {
    MADE.with_borrow(Option::is_some)
}

/// Notes what the text that runs has registered, if one runs. It registers each once: the later would replace the earlier.
pub fn note_registered(what: Registered, names: &[&str]) {
    note_once(what, names, Made::Registered);
}

/// Notes likewise what is registered as the text says already.
pub fn note_kept(what: Registered, names: &[&str]) {
    note_once(what, names, Made::Kept);
}

/// Whether the text that runs has registered this.
pub(crate) fn is_noted(what: Registered, names: &[&str]) -> bool {
    let is_this = |one: &Made| matches!(one, Made::Registered(kind, others) | Made::Kept(kind, others) if *kind == what && others == names);
    MADE.with_borrow(|known| known.iter().flatten().any(is_this))
}

fn note_once(what: Registered, names: &[&str], made: fn(Registered, Vec<String>) -> Made) {
    if is_noted(what, names) {
        refuse(
            PgSqlErrorCode::ERRCODE_DUPLICATE_OBJECT,
            &format!("the {} {} stands here twice", what.word(), names.join(" ")),
        );
    }
    note([made(what, names.iter().map(|&name| name.to_owned()).collect())]);
}

/// Notes how a request was answered, if a text runs: whoever has written a test that fails wants to know.
pub fn note_answer(describe: impl FnOnce() -> String) {
    if is_recording() {
        ANSWERS_GIVEN.with_borrow_mut(|answers| {
            if answers.len() < ANSWERS {
                answers.push(describe());
            }
        });
    }
}

/// Notes which route or query handler has answered a request, if a text runs.
pub fn note_route(title: &str) {
    if is_recording() {
        ROUTES_CALLED.with_borrow_mut(|called| called.insert(title.to_owned()));
    }
}

/// The routes and query handlers that were noted since this was last called.
pub(crate) fn routes_called() -> BTreeSet<String> {
    ROUTES_CALLED.take()
}

/// The answers that were noted since this was last called.
pub(crate) fn answers() -> Vec<String> {
    ANSWERS_GIVEN.take()
}

fn note(made: impl IntoIterator<Item = Made>) {
    MADE.with_borrow_mut(|known| {
        for one in made {
            if let Some(known) = known.as_mut().filter(|known| !known.contains(&one)) {
                known.push(one);
            }
        }
    });
}

sql_function!(
    /// `deploy.note()`: after each command that makes something. It runs as whoever runs the command, and reads what that may read.
    deploy_note,
    |call| {
        call.need_event();
        if is_recording() {
            note(commands());
        }
        call.null()
    }
);

sql_function!(
    /// `deploy.note_rewrite()`: before the rows of a table are written anew.
    deploy_note_rewrite,
    |call| {
        call.need_event();
        if is_recording() {
            let table = Spi::get_one::<Oid>("select pg_catalog.pg_event_trigger_table_rewrite_oid()");
            note(table.ok().flatten().map(Made::Rewritten));
        }
        call.null()
    }
);

sql_function!(
    /// `deploy.note_drop()`: after each command that drops something.
    deploy_note_drop,
    |call| {
        call.need_event();
        if is_recording() {
            note(drops());
        }
        call.null()
    }
);

fn drops() -> Vec<Made> {
    Spi::connect(|client| {
        let rows = client.select(
            "select d.classid, d.objid, pg_catalog.to_json(d)::text from pg_catalog.pg_event_trigger_dropped_objects() d
             where (d.original or d.normal) and not d.is_temporary",
            None,
            &[],
        )?;
        let dropped = rows.map(|row| {
            let (class, number, about) = (row.get(1)?, row.get(2)?, row.get(3)?);
            Ok::<_, spi::Error>(class.zip(number).zip(about).map(|((class, number), about)| Made::Dropped(class, number, about)))
        });
        dropped.filter_map(Result::transpose).collect::<Result<Vec<_>, _>>()
    })
    .unwrap_or_else(|error| error!("cannot read what was dropped: {error}"))
}

fn commands() -> Vec<Made> {
    Spi::connect(|client| {
        let rows = client.select(
            "select c.command_tag, c.classid, c.objid, c.objsubid from pg_catalog.pg_event_trigger_ddl_commands() c
             where not c.in_extension",
            None,
            &[],
        )?;
        let made = rows.map(|row| {
            let tag: String = row.get(1)?.unwrap_or_default();
            let (class, object, part) = (row.get(2)?, row.get(3)?, row.get(4)?);
            let object = class.zip(object).filter(|(_, number)| *number != Oid::INVALID);
            Ok::<_, spi::Error>(match (tag.split(' ').next(), object) {
                _ if tag == "ALTER DEFAULT PRIVILEGES" => Some(Made::Defaults),
                (Some("CREATE"), Some((class, number))) => {
                    Some(Made::Object(class, number, part.unwrap_or_default()))
                }
                (Some("ALTER"), Some((class, number))) => Some(Made::Altered(class, number)),
                _ => None,
            })
        });
        made.filter_map(Result::transpose).collect::<Result<Vec<_>, _>>()
    })
    .unwrap_or_else(|error| error!("cannot read what was made: {error}"))
}
