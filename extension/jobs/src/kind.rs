//! A kind of jobs by its name, and who may do what: for sessions.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ffi::CString;
use std::rc::Rc;

use pg::refuse::refuse_with_hint;
use pg::small_table::{self, Field, rows};
use pgrx::pg_sys::{self, Oid};
use pgrx::prelude::*;
use queue::definition::{self, Definition};
use schedule::Priority;
use session::authority::{current_user, is_admin, value_as_owner};

use crate::id;
use crate::memory::jobs;

/// What somebody may be allowed to do with jobs of a kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Right {
    /// To enqueue them.
    Enqueue,
    /// To cancel them.
    Cancel,
    /// To send dead ones again, or discard them.
    Redrive,
}

impl Right {
    const ALL: [Right; 3] = [Right::Enqueue, Right::Cancel, Right::Redrive];

    /// By its word.
    pub(crate) fn of(word: &str) -> Option<Right> {
        Right::ALL.into_iter().find(|right| right.word() == word)
    }

    /// The word that `job.grant` takes.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Right::Enqueue => "enqueue",
            Right::Cancel => "cancel",
            Right::Redrive => "redrive",
        }
    }
}

/// A kind, as far as sessions need to know it.
#[derive(Debug)]
pub struct Kind {
    /// Its number.
    pub id: u32,
    /// Its name.
    pub name: String,
    /// The role that has defined it.
    pub owner: Oid,
    /// The priority of jobs that are enqueued without one.
    pub priority: Priority,
    /// The numbers of its queues, by the place of their priority; 0 for one that there is not.
    pub queues: [u32; Priority::ALL.len()],
    /// The kind that alerts when a job dies, by its number; 0 for none.
    pub alert: u32,
    rights: Vec<(Oid, Right)>,
}

thread_local! {
    static KNOWN: RefCell<HashMap<String, Rc<Kind>>> = RefCell::default();
    static WATCHED: Cell<[Oid; 3]> = const { Cell::new([Oid::INVALID; 3]) };
    /// [`changes`] when they were read; at first no number that it can have.
    static KNOWN_AT: Cell<u64> = const { Cell::new(u64::MAX) };
}

/// Grows with every change of the kinds, once they have been read.
fn changes() -> u64 {
    WATCHED.get().into_iter().map(small_table::changes).sum()
}

/// A relation of schema `job`.
pub(crate) fn relation(name: &str) -> Oid {
    let name = CString::new(name).unwrap_or_default();
    // SAFETY: look-ups inside a transaction.
    unsafe { pg_sys::get_relname_relid(name.as_ptr(), pg_sys::get_namespace_oid(c"job".as_ptr(), false)) }
}

/// The kind of this name; an error if there is none.
pub fn find(name: &str) -> Rc<Kind> {
    match look_up(name) {
        Some(kind) => kind,
        None => refuse_with_hint(
            PgSqlErrorCode::ERRCODE_UNDEFINED_OBJECT,
            &format!("there is no kind of jobs \"{name}\""),
            "job.define() makes one; the view job.kinds shows those that there are.",
        ),
    }
}

/// The kind of this name, if there is one.
pub fn look_up(name: &str) -> Option<Rc<Kind>> {
    if KNOWN_AT.get() != changes() {
        KNOWN.with_borrow_mut(HashMap::clear);
        WATCHED.set(["kind", "permission", "kind_queue"].map(relation));
        KNOWN_AT.set(changes());
    }
    if let Some(known) = KNOWN.with_borrow(|known| known.get(name).cloned()) {
        return Some(known);
    }
    let kind = Rc::new(read(name)?);
    // What has changed while it was read is read again next time.
    if KNOWN_AT.get() == changes() {
        KNOWN.with_borrow_mut(|known| known.insert(name.to_owned(), kind.clone()));
    }
    Some(kind)
}

fn read(name: &str) -> Option<Kind> {
    let [kinds, permissions, queues] = WATCHED.get();
    let row = rows::<5>(kinds).into_iter().find(|row| row[1].text().as_deref() == Some(name))?;
    Kind::of(&row, &rows(permissions), &rows(queues))
}

/// All kinds.
pub(crate) fn all() -> Vec<Kind> {
    let (permissions, queues) = (rows(relation("permission")), rows(relation("kind_queue")));
    rows(relation("kind")).iter().filter_map(|row| Kind::of(row, &permissions, &queues)).collect()
}

/// The kinds whose jobs the current user may see.
pub(crate) fn seen() -> Vec<Kind> {
    let mut kinds = all();
    kinds.retain(Kind::is_seen);
    kinds
}

/// The kind of this number, if there is one.
pub(crate) fn of_number(number: u32) -> Option<Kind> {
    all().into_iter().find(|kind| kind.id == number)
}

/// The kind whose jobs are in the queue of this number, and their priority.
pub(crate) fn of_queue(number: u32) -> Option<(Kind, Priority)> {
    let is_its =
        |kind: &Kind| Priority::ALL.into_iter().find(|priority| kind.queues[priority.place()] == number);
    all().into_iter().find_map(|kind| is_its(&kind).map(|priority| (kind, priority)))
}

impl Kind {
    fn of(row: &[Field; 5], permissions: &[[Field; 3]], queues: &[[Field; 3]]) -> Option<Kind> {
        let id = row[0].number();
        let rights = permissions.iter().filter(|right| right[0].number() == id);
        let mut its_queues = [0; Priority::ALL.len()];
        for [_, priority, queue] in queues.iter().filter(|[kind, ..]| kind.number() == id) {
            its_queues[Priority::of(&priority.text()?)?.place()] = queue.number();
        }
        Some(Kind {
            id,
            name: row[1].text()?,
            owner: row[2].oid(),
            priority: Priority::of(&row[3].text()?)?,
            queues: its_queues,
            alert: row[4].number(),
            rights: rights
                .filter_map(|right| Some((right[1].oid(), Right::of(&right[2].text()?)?)))
                .collect(),
        })
    }

    /// Whether the current user may see its jobs: its owner, whoever has a right to them, and howdah_admin.
    pub(crate) fn is_seen(&self) -> bool {
        is_admin() || Right::ALL.into_iter().any(|right| self.allows(right))
    }

    /// An error unless the current user may do this.
    pub fn check(&self, right: Right) {
        if !self.allows(right) {
            refuse_with_hint(
                PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
                &format!("permission denied for jobs of kind {}", self.name),
                &format!(
                    "Its owner may allow it: select job.grant('{}', '{}', 'your_role').",
                    self.name.replace('\'', "''"),
                    right.word()
                ),
            );
        }
    }

    /// Whether another kind names it as its alert.
    pub fn is_an_alert(&self) -> bool {
        all().iter().any(|kind| kind.alert == self.id)
    }

    /// Whether the current user may do this.
    pub(crate) fn allows(&self, right: Right) -> bool {
        self.allows_to(current_user(), right)
    }

    /// Whether a role may do this.
    pub(crate) fn allows_to(&self, user: Oid, right: Right) -> bool {
        // SAFETY: look-ups inside a transaction.
        let has = |role: Oid| unsafe { pg_sys::has_privs_of_role(user, role) };
        has(self.owner) || self.rights.iter().any(|(role, allowed)| *allowed == right && has(*role))
    }

    /// An error unless the current user may change the kind.
    pub fn check_owner(&self) {
        // SAFETY: a look-up inside a transaction.
        let has = unsafe { pg_sys::has_privs_of_role(current_user(), self.owner) };
        if !has && !is_admin() {
            refuse_with_hint(
                PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
                &format!("must be owner of the jobs of kind {}", self.name),
                "Members of the role that has defined the kind may, and members of howdah_admin.",
            );
        }
    }

    /// Makes the queue of its jobs of a priority, if there is none. An error if there is no room for that.
    pub fn make_ready(&self, priority: Priority) {
        self.queue(priority).memory();
    }

    /// An error if there is no room for a kind that was just made: those that exist keep their places.
    pub fn take_place(&self) {
        // SAFETY: PostgreSQL's own variable.
        let database = unsafe { pg_sys::MyDatabaseId }.to_u32();
        let mut oldest: Vec<u32> = all().iter().map(|kind| kind.id).filter(|id| *id <= self.id).collect();
        oldest.sort_unstable();
        let take = || oldest.iter().all(|id| jobs().number_of(database, *id).is_some());
        if take() {
            return;
        }
        let existing = small_table::numbers_for_anybody(relation("kind"));
        jobs().keep(database, |kind| existing.contains(&kind));
        jobs().keep_databases();
        if !take() {
            refuse_with_hint(
                PgSqlErrorCode::ERRCODE_CONFIGURATION_LIMIT_EXCEEDED,
                "there are as many kinds of jobs as may be, over all databases",
                "Raise howdah.max_job_kinds and restart the server.",
            );
        }
    }

    /// The queue of its jobs of a priority, which is made if need be.
    pub(crate) fn queue(&self, priority: Priority) -> Rc<Definition> {
        let number = match self.queues[priority.place()] {
            0 => self.make_queue(priority),
            number => number,
        };
        match definition::of_number(number) {
            Some(queue) if number < id::QUEUES => queue,
            Some(_) => refuse_with_hint(
                PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
                &format!("{} queues have been made in this database; their jobs cannot have ids", id::QUEUES),
                "Dump the database and restore it into another.",
            ),
            None => refuse_with_hint(
                PgSqlErrorCode::ERRCODE_UNDEFINED_OBJECT,
                &format!("the queue of the jobs of kind {} is gone", self.name),
                "Somebody has removed it by hand. job.undefine() removes what is left of the kind.",
            ),
        }
    }

    fn make_queue(&self, priority: Priority) -> u32 {
        let statement = "select job.make_queue($1, $2)";
        let number = value_as_owner::<i32>(statement, &[(self.id as i32).into(), priority.word().into()]);
        number.unwrap_or_default() as u32
    }
}
