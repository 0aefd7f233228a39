//! The record of a request that runs: relations that were read, and the first obstacle to knowing what was.

use std::cell::{Cell, RefCell};
use std::collections::HashSet;

use pgrx::pg_sys::{self, Oid};

/// Why it cannot be known whether an answer still holds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Obstacle {
    /// It writes, or locks rows.
    Writes,
    /// It reads a relation of a kind whose changes are no commits of this database: of a foreign server, temporary, a sequence.
    Relation(Oid),
    /// It reads a catalog.
    Catalog(Oid),
    /// It takes a sample of a table.
    Sample,
    /// It reads where a row lies, or which transaction has written it.
    SystemColumn,
    /// It calls a volatile function.
    Volatile(Oid),
    /// It calls a function of PostgreSQL's whose result depends on more than its arguments and settings.
    Stable(Oid),
    /// It calls a function that cannot be looked into.
    Closed(Oid),
    /// It calls an aggregate of a user's.
    Aggregate(Oid),
    /// It asks for the time.
    Time,
    /// It checks a domain's constraints.
    Domain(Oid),
    /// A part of its plan is not known here.
    Node,
    /// A text may mean another moment tomorrow.
    Moment(Oid),
    /// It takes the whole request.
    Request,
    /// A column is written by a function of a user's.
    Column(Oid),
    /// It reads more relations than are noted.
    Many,
    /// It takes more parts of the request than are noted, or one of a strange name.
    Inputs,
    /// It takes a header or a cookie that `vary` does not name.
    Unnamed,
    /// Settings of its role have changed, and could not be read.
    Settings,
    /// Its transaction is serializable.
    Transaction,
    /// It has caught an error.
    Error,
}

/// Relations that are noted.
pub(crate) const MOST: usize = 1024;

thread_local! {
    static RECORDS: Cell<bool> = const { Cell::new(false) };
    static OBSTACLE: Cell<Option<Obstacle>> = const { Cell::new(None) };
    /// Whether the answer may depend on the time, as long as nothing else is in the way.
    static MAY_AGE: Cell<bool> = const { Cell::new(false) };
    /// Whether it does.
    static AGES: Cell<bool> = const { Cell::new(false) };
    /// After how many seconds it does not hold any more, whatever commits change; [`FOR_EVER`] if it does.
    static LASTS: Cell<u32> = const { Cell::new(FOR_EVER) };
    static RELATIONS: RefCell<HashSet<Oid>> = RefCell::default();
}

/// Forgets the record before. An answer may be old, or not.
pub(crate) fn clear(may_age: bool) {
    OBSTACLE.set(None);
    AGES.set(false);
    LASTS.set(FOR_EVER);
    MAY_AGE.set(may_age);
    RELATIONS.with_borrow_mut(|relations| {
        relations.clear();
        relations.reserve(MOST);
    });
}

/// Records from now on.
pub(crate) fn start() {
    RECORDS.set(true);
}

/// Records no more. False if nothing was recorded.
pub(crate) fn stop() -> bool {
    RECORDS.replace(false)
}

/// The obstacle that was noted.
pub(crate) fn obstacle() -> Option<Obstacle> {
    OBSTACLE.get()
}

/// Shows the relations that were noted.
pub(crate) fn with_relations<T>(show: impl FnOnce(&HashSet<Oid>) -> T) -> T {
    RELATIONS.with_borrow(show)
}

/// Whether the answer depends on the time.
pub(crate) fn ages() -> bool {
    AGES.get()
}

/// The seconds of what has no end.
pub const FOR_EVER: u32 = u32::MAX;

/// Notes that it depends on the time, and holds for so many seconds at most.
pub fn ends_after(seconds: u32) {
    blame(Obstacle::Time);
    LASTS.set(LASTS.get().min(seconds));
}

/// For how many seconds it holds at most.
pub(crate) fn lasts() -> u32 {
    LASTS.get()
}

/// Whether a run is recorded.
pub(crate) fn records() -> bool {
    RECORDS.get()
}

/// Whether it is known already that it cannot be known.
pub(crate) fn is_blamed() -> bool {
    OBSTACLE.get().is_some()
}

/// Notes why it cannot be known; the first reason counts.
pub(crate) fn blame(obstacle: Obstacle) {
    if is_in_the_way(obstacle) && OBSTACLE.get().is_none() {
        OBSTACLE.set(Some(obstacle));
    }
}

/// Whether something is an obstacle to this answer. Where answers may be old, the time is none, and it is noted that it was asked for.
pub(crate) fn is_in_the_way(obstacle: Obstacle) -> bool {
    let is_allowed = MAY_AGE.get() && obstacle.is_the_time();
    if is_allowed {
        AGES.set(true);
    }
    !is_allowed
}

/// Notes a relation.
pub(crate) fn note(relation: Oid) {
    let is_noted = RELATIONS.with_borrow_mut(|relations| {
        let has_room = relations.len() < MOST || relations.contains(&relation);
        if has_room {
            relations.insert(relation);
        }
        has_room
    });
    if !is_noted {
        blame(Obstacle::Many);
    }
}

/// Functions of PostgreSQL's, by number, that depend on their arguments, on settings and on the time: clocks, `age` of today, the zone of an
/// hour of today, texts that may be `now`.
const OF_TIME: [u32; 14] =
    [274, 1084, 1143, 1150, 1299, 1312, 1350, 1386, 2037, 2047, 2059, 2647, 2648, 2649];

impl Obstacle {
    /// Whether it is the time and nothing else.
    fn is_the_time(self) -> bool {
        use pg_sys::*;
        match self {
            Obstacle::Time => true,
            Obstacle::Stable(function) | Obstacle::Volatile(function) => OF_TIME.contains(&function.to_u32()),
            Obstacle::Moment(of_type) => matches!(
                of_type,
                DATEOID
                    | TIMEOID
                    | TIMETZOID
                    | TIMESTAMPOID
                    | TIMESTAMPTZOID
                    | DATEARRAYOID
                    | TIMEARRAYOID
                    | TIMETZARRAYOID
                    | TIMESTAMPARRAYOID
                    | TIMESTAMPTZARRAYOID
                    | DATERANGEOID
                    | TSRANGEOID
                    | TSTZRANGEOID
            ),
            _ => false,
        }
    }
}
