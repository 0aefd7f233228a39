//! A queue by its name, and who may do what.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;
use std::ffi::CString;
use std::rc::Rc;

use pg::refuse::{refuse, refuse_with_hint};
use pg::small_table::{self, numbers_for_anybody, rows};
use pg::text::string;
use pgrx::pg_sys::{self, Oid};
use pgrx::prelude::*;
use session::authority::current_user;

use super::SEGMENTS;
use super::memory::{Locked, QueueMemory};
use super::shape::Shape;
use crate::memory::queues;

/// What somebody may be allowed to do with a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Right {
    /// Put rows in.
    Send,
    /// Take rows out, and look at them.
    Take,
    /// All of it, and purge, dead letters, rights.
    Manage,
}

impl Right {
    /// By its word.
    pub fn of(word: &str) -> Option<Right> {
        [Right::Send, Right::Take, Right::Manage].into_iter().find(|right| right.word() == word)
    }

    /// The word that `queue.grant` takes.
    pub fn word(self) -> &'static str {
        match self {
            Right::Send => "send",
            Right::Take => "take",
            Right::Manage => "manage",
        }
    }
}

/// A queue, as its row in `queue.queue` says.
#[derive(Debug)]
pub struct Definition {
    /// Its number, in the names of its tables.
    pub id: u32,
    /// Its name.
    pub name: String,
    /// The composite type of its rows; none for a queue of messages.
    pub row_type: Option<Oid>,
    /// The role that owns it.
    pub owner: Oid,
    /// How often a row is read at most before it becomes a dead letter.
    pub max_reads: Option<i32>,
    /// Whether a crash empties it.
    pub is_unlogged: bool,
    /// Number of its entry in shared memory, once it has been asked for.
    memory: OnceCell<usize>,
    rights: Vec<(Oid, Right)>,
    tables: [(Oid, Oid); SEGMENTS],
}

thread_local! {
    static KNOWN: RefCell<HashMap<String, Rc<Definition>>> = RefCell::default();
    /// The same by their numbers.
    static NUMBERED: RefCell<HashMap<u32, Rc<Definition>>> = RefCell::default();
    static WATCHED: Cell<[Oid; 2]> = const { Cell::new([Oid::INVALID; 2]) };
    /// [`changes`] when they were read; at first no number that it can have.
    static KNOWN_AT: Cell<u64> = const { Cell::new(u64::MAX) };
}

/// Grows with every change of the definitions, once they have been read.
fn changes() -> u64 {
    WATCHED.get().into_iter().map(small_table::changes).sum()
}

/// The queue of this name; an error if there is none.
pub fn find(name: &str) -> Rc<Definition> {
    match look_up(name) {
        Some(definition) => definition,
        None => refuse_with_hint(
            PgSqlErrorCode::ERRCODE_UNDEFINED_OBJECT,
            &format!("there is no queue \"{name}\""),
            "queue.list_queues() shows those that there are.",
        ),
    }
}

/// The queue of this name, if there is one.
pub fn look_up(name: &str) -> Option<Rc<Definition>> {
    forget_changed();
    if let Some(known) = KNOWN.with_borrow(|known| known.get(name).cloned()) {
        return Some(known);
    }
    let definition = Rc::new(read(name)?);
    // What has changed while it was read is read again next time.
    if KNOWN_AT.get() == changes() {
        KNOWN.with_borrow_mut(|known| known.insert(name.to_owned(), definition.clone()));
        NUMBERED.with_borrow_mut(|known| known.insert(definition.id, definition.clone()));
    }
    Some(definition)
}

/// Forgets what is known if the definitions may have changed.
fn forget_changed() {
    if KNOWN_AT.get() != changes() {
        KNOWN.with_borrow_mut(HashMap::clear);
        NUMBERED.with_borrow_mut(HashMap::clear);
        WATCHED.set([relation("queue"), relation("permission")]);
        KNOWN_AT.set(changes());
    }
}

/// The queue of this number, if there is one.
pub fn of_number(id: u32) -> Option<Rc<Definition>> {
    forget_changed();
    if let Some(known) = NUMBERED.with_borrow(|known| known.get(&id).cloned()) {
        return Some(known);
    }
    let row = rows::<7>(relation("queue")).into_iter().find(|row| row[0].number() == id)?;
    look_up(&row[1].text()?)
}

/// The oid of a relation of schema `queue`; invalid if there is none.
pub fn relation(name: &str) -> Oid {
    let name = CString::new(name).unwrap_or_default();
    // SAFETY: look-ups inside a transaction.
    unsafe { pg_sys::get_relname_relid(name.as_ptr(), pg_sys::get_namespace_oid(c"queue".as_ptr(), false)) }
}

fn read(name: &str) -> Option<Definition> {
    let watched = [relation("queue"), relation("permission")];
    let row = rows::<7>(watched[0]).into_iter().find(|row| row[1].text().as_deref() == Some(name))?;
    let id = row[0].number();
    let rights = rows::<3>(watched[1]).into_iter().filter(|right| right[0].number() == id);
    let rights = rights.filter_map(|right| Some((right[1].oid(), Right::of(&right[2].text()?)?))).collect();
    Some(Definition {
        id,
        name: name.to_owned(),
        row_type: row[2].0.map(|_| row[2].oid()),
        owner: row[3].oid(),
        max_reads: row[4].0.map(|_| row[4].number() as i32),
        is_unlogged: row[5].is_true(),
        memory: OnceCell::new(),
        rights,
        tables: std::array::from_fn(|place| {
            let number = place + 1;
            (relation(&format!("rows_{id}_{number}")), relation(&format!("ledger_{id}_{number}")))
        }),
    })
}

/// The entry of a queue, which is made if need be; none if there is no room.
fn place_of(id: u32, table: Oid) -> Option<usize> {
    queues().number_of(id, relation(&format!("rows_{id}_1")), || numbers_for_anybody(table))
}

/// Has all queues of this database have their entries, the oldest first: so who is there keeps its place, whoever is used first after a
/// restart, and whoever else is made. Inside a transaction.
pub fn keep_places() {
    keep_places_before(u32::MAX);
}

fn keep_places_before(number: u32) {
    let table = relation("queue");
    let mut ids: Vec<u32> = rows::<1>(table).iter().map(|row| row[0].number()).collect();
    ids.retain(|id| *id < number);
    ids.sort_unstable();
    // Where there is no room for one there is none for a later one.
    let _ = ids.into_iter().all(|id| place_of(id, table).is_some());
}

impl Definition {
    /// An error unless the current user may do this.
    pub fn check(&self, right: Right) {
        if !self.allows(right) {
            refuse_with_hint(
                PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
                &format!("permission denied for queue {}", self.name),
                &format!(
                    "Its owner may allow it: select queue.grant('{}', '{}', 'your_role').",
                    self.name.replace('\'', "''"),
                    right.word()
                ),
            );
        }
    }

    /// The same for who has waited since: the right may be gone, or the queue, also if there is another of its name.
    pub(crate) fn check_again(&self, right: Right) {
        // SAFETY: inside a transaction, and in no planning.
        unsafe { pg_sys::AcceptInvalidationMessages() };
        let now = find(&self.name);
        if now.id != self.id {
            refuse(PgSqlErrorCode::ERRCODE_UNDEFINED_OBJECT, &format!("queue {} was dropped", self.name));
        }
        now.check(right);
    }

    /// Whether the current user may do this.
    pub fn allows(&self, right: Right) -> bool {
        self.allows_role(current_user(), right)
    }

    /// Whether a role may do this.
    pub fn allows_role(&self, user: Oid, right: Right) -> bool {
        // SAFETY: look-ups inside a transaction.
        unsafe {
            pg_sys::has_privs_of_role(user, self.owner)
                || self.rights.iter().any(|(role, allowed)| {
                    (*allowed == right || *allowed == Right::Manage) && pg_sys::has_privs_of_role(user, *role)
                })
        }
    }

    /// The tables of a segment: rows and ledger.
    pub fn tables(&self, segment: usize) -> (Oid, Oid) {
        let (rows, ledger) = self.tables[segment];
        if rows == Oid::INVALID || ledger == Oid::INVALID {
            refuse_with_hint(
                PgSqlErrorCode::ERRCODE_UNDEFINED_TABLE,
                &format!("a table of queue {} is missing", self.name),
                "queue.drop_queue removes what is left of it.",
            );
        }
        (rows, ledger)
    }

    /// The number of its entry in shared memory; none if there is no room for it. The first time inside a transaction.
    pub fn place(&self) -> Option<usize> {
        if let Some(number) = self.memory.get() {
            return Some(*number);
        }
        let table = relation(&format!("rows_{}_1", self.id));
        let number = queues().find(self.id, table).or_else(|| {
            keep_places_before(self.id);
            place_of(self.id, relation("queue"))
        })?;
        Some(*self.memory.get_or_init(|| number))
    }

    /// The number of its entry in shared memory; an error if there is no room for it.
    pub fn memory_number(&self) -> usize {
        self.place().unwrap_or_else(|| queues().refuse_full())
    }

    /// The entry in shared memory.
    pub fn memory(&self) -> &'static QueueMemory {
        queues().entry(self.memory_number())
    }

    /// Locks the entry in shared memory.
    pub(crate) fn lock(&self) -> Locked {
        queues().lock(self.memory_number())
    }

    /// The time as it is for this queue, from which delays are counted: it never goes back while the server runs.
    pub fn time(&self) -> i64 {
        self.lock().clock()
    }

    /// How many rows are not consumed, roughly; none if nobody has looked since the server started.
    pub fn live_roughly(&self) -> Option<u64> {
        self.place()?;
        let lock = self.lock();
        lock.is_known.then(|| lock.segments.iter().map(|segment| segment.live()).sum())
    }

    /// The row type; an error, which names the right function, if the queue is one of messages.
    pub fn typed(&self, instead: &str) -> Oid {
        match self.row_type {
            Some(row_type) => row_type,
            None => refuse_with_hint(
                PgSqlErrorCode::ERRCODE_WRONG_OBJECT_TYPE,
                &format!("queue {} is one of messages", self.name),
                &format!("Use {instead}."),
            ),
        }
    }

    /// Keeps the queue from being dropped until the transaction ends. That it has gone already is seen by who looks it up again.
    pub fn hold(&self) {
        self.hold_row_type();
        let rows = relation(&format!("rows_{}_1", self.id));
        if rows != Oid::INVALID {
            // SAFETY: inside a transaction; the lock brings the news of what it has waited for.
            unsafe { pg_sys::LockRelationOid(rows, pg_sys::AccessShareLock as i32) };
        }
    }

    /// Keeps the row type as it is until the transaction ends. What is converted, stored or handed out from here on has one
    /// and the same type: whoever alters it waits, and has been waited for. It comes before the locks on a segment, as in
    /// ALTER TYPE, whose trigger reaches the segments last.
    pub fn hold_row_type(&self) {
        if let Some(row_type) = self.row_type {
            // SAFETY: a look-up and a lock inside a transaction; the lock brings the news of what it has waited for.
            unsafe {
                let relation = pg_sys::get_typ_typrelid(row_type);
                pg_sys::LockRelationOid(relation, pg_sys::AccessShareLock as i32);
            }
        }
    }

    /// The same while code of users runs that is not to alter it either; none for a queue of messages.
    pub fn shape(&self) -> Option<Shape> {
        self.row_type.map(Shape::of_type)
    }

    /// The same as [`Definition::hold_row_type`] for values that have been formed already; an error if the type has been altered since.
    pub(crate) fn hold_row_type_of_values(&self) {
        let Some(row_type) = self.row_type else { return };
        // SAFETY: look-ups of a composite type inside a transaction.
        let version = || unsafe { pg_sys::assign_record_type_identifier(row_type, -1) };
        let before = version();
        self.hold_row_type();
        if version() != before {
            self.refuse_altered();
        }
    }

    /// An error: the row type has been altered meanwhile.
    pub(crate) fn refuse_altered(&self) -> ! {
        let row_type = type_name(self.row_type.unwrap_or(Oid::INVALID));
        refuse_with_hint(
            PgSqlErrorCode::ERRCODE_T_R_SERIALIZATION_FAILURE,
            &format!("type {row_type} was altered while its rows were on their way"),
            "Try again.",
        )
    }

    /// An error, which names the right function, unless the queue is one of messages.
    pub fn messages(&self, instead: &str) {
        if self.row_type.is_some() {
            refuse_with_hint(
                PgSqlErrorCode::ERRCODE_WRONG_OBJECT_TYPE,
                &format!("queue {} is one of typed rows", self.name),
                &format!("Use {instead}."),
            );
        }
    }

    /// An error unless rows of this type go into the queue.
    pub(crate) fn check_row_type(&self, given: Oid) {
        let own = self.row_type.unwrap_or(Oid::INVALID);
        if own != given {
            let [own, given] = [own, given].map(type_name);
            refuse(
                PgSqlErrorCode::ERRCODE_DATATYPE_MISMATCH,
                &format!("queue {} holds rows of type {own}, not {given}", self.name),
            );
        }
    }
}

fn type_name(oid: Oid) -> String {
    // SAFETY: a look-up inside a transaction; the result is a string that ends with NUL.
    unsafe { string(pg_sys::format_type_be(oid)) }
}
