//! Changes of catalogs that mean nothing to anybody else: of temporary tables, which their session alone sees, of a table's file, where it gets
//! another, and those of maintenance, such as VACUUM FULL.
//!
//! PostgreSQL counts rows of catalogs, and does not say whose they are. So the rows are counted before such a command and after it. What commands
//! inside of it have changed, by a trigger or the function of an index say, is theirs. If in the end such commands have changed all rows of a catalog
//! that the transaction has changed, that catalog has changed for nobody. Where a part of a transaction was undone, nothing is told apart any more.
//!
//! A command of maintenance may begin and commit transactions of its own: in those each row is its own that no command inside of it has
//! changed. The processes of autovacuum do that all their life.

use std::cell::{Cell, RefCell};

use pg::table_counts::{Changed, ChangedTable, Rows, rows_of};
use pg::transaction_end::{SubtransactionEnd, at_subtransaction_end};
use pgrx::pg_sys::{self, Oid};

use crate::things::means_nothing;

/// Catalogs of what makes up a table.
const CATALOGS: [u32; 10] = [
    1259, // pg_class
    1249, // pg_attribute
    1247, // pg_type
    2610, // pg_index
    2604, // pg_attrdef
    2606, // pg_constraint
    2224, // pg_sequence
    2615, // pg_namespace
    2620, // pg_trigger
    2611, // pg_inherits
];
/// Places among them.
const CLASS: usize = 0;
const ATTRIBUTE: usize = 1;
const DEFAULT: usize = 4;
const CONSTRAINT: usize = 5;
const INHERITS: usize = 9;
type Counts = [u64; CATALOGS.len()];

/// What a command changes that means nothing to others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Private {
    /// Whatever it writes about tables.
    Tables,
    /// The rows of pg_class alone: files.
    Files,
    /// Whatever it writes about tables and their indexes, in this transaction and in others that it begins.
    Maintenance,
}

/// Rows that were counted when a command of maintenance began, or the transaction in which it goes on.
#[derive(Clone, Copy, Default)]
struct Before {
    /// All that the transaction had changed.
    rows: Counts,
    /// [`SEEN`].
    seen: Counts,
}

thread_local! {
    /// Rows that such commands have changed in this transaction.
    static PRIVATE: Cell<Counts> = const { Cell::new([0; CATALOGS.len()]) };
    /// Rows that commands have changed that have ended inside of others.
    static SEEN: Cell<Counts> = const { Cell::new([0; CATALOGS.len()]) };
    /// How many such commands run.
    static OPEN: Cell<u32> = const { Cell::new(0) };
    /// The command of maintenance that runs.
    static MAINTAINED: Cell<Option<Before>> = const { Cell::new(None) };
    /// Temporary tables that the transaction had changed when it was looked at before its commit, which may drop them.
    static TEMPORARY: RefCell<Vec<Oid>> = const { RefCell::new(Vec::new()) };
    /// Whether rows that were counted may have been undone.
    static IS_UNDONE: Cell<bool> = const { Cell::new(false) };
}

/// Runs a command, and notes what of it is private. An error may jump out of it.
///
/// # Safety
/// Inside a transaction, where an error may jump; nothing is owned meanwhile.
pub unsafe fn while_running(private: Option<Private>, command: impl FnOnce()) {
    if IS_UNDONE.get() || private.is_none() && OPEN.get() == 0 && maintained().is_none() {
        return command();
    }
    at_subtransaction_end(part_ended);
    // SAFETY: by contract.
    let before = Before { rows: unsafe { counts() }, seen: SEEN.get() };
    if private == Some(Private::Maintenance) {
        MAINTAINED.set(Some(before));
        command();
        let before = MAINTAINED.take().unwrap_or_default();
        // SAFETY: by contract.
        return unsafe { note(before, private) };
    }
    OPEN.set(OPEN.get() + u32::from(private.is_some()));
    command();
    OPEN.set(OPEN.get().saturating_sub(u32::from(private.is_some())));
    // SAFETY: by contract.
    unsafe { note(before, private) };
}

/// Notes what a command has changed that began when so much was.
unsafe fn note(before: Before, private: Option<Private>) {
    // SAFETY: the caller's contract.
    let after = unsafe { counts() };
    let Some(own) = own(&after, &before) else { return IS_UNDONE.set(true) };
    let mut all = PRIVATE.get();
    for place in 0..CATALOGS.len() {
        let is_private = match private {
            Some(Private::Tables) => place != INHERITS,
            Some(Private::Files) => place == CLASS,
            Some(Private::Maintenance) => true,
            None => false,
        };
        all[place] += if is_private { own[place] } else { 0 };
    }
    PRIVATE.set(all);
    let seen = |place: usize| before.seen[place] + (after[place] - before.rows[place]);
    SEEN.set(std::array::from_fn(seen));
}

/// Rows of these that no command has changed inside of the one that began when so much was; none if some were undone.
fn own(rows: &Counts, before: &Before) -> Option<Counts> {
    let seen = SEEN.get();
    let mut own = [0; CATALOGS.len()];
    for place in 0..CATALOGS.len() {
        let within = seen[place].saturating_sub(before.seen[place]);
        own[place] = rows[place].checked_sub(before.rows[place])?.checked_sub(within)?;
    }
    Some(own)
}

/// The maintenance that this process does, which in a process of autovacuum's is whatever it does.
fn maintained() -> Option<Before> {
    // SAFETY: PostgreSQL's own variable.
    let is_vacuumed = unsafe { pg_sys::MyBackendType == pg_sys::BackendType::B_AUTOVAC_WORKER };
    MAINTAINED.get().or_else(|| is_vacuumed.then(Before::default))
}

/// Rows that the transaction has changed so far.
unsafe fn counts() -> Counts {
    // SAFETY: the caller's contract.
    unsafe { rows_of(&CATALOGS) }.map(Rows::all)
}

fn part_ended(end: SubtransactionEnd) {
    if matches!(end, SubtransactionEnd::RolledBack(_)) {
        IS_UNDONE.set(true);
    }
}

/// Whether anything is noted.
pub(crate) fn is_noted() -> bool {
    IS_UNDONE.get() || OPEN.get() > 0 || MAINTAINED.get().is_some() || PRIVATE.get() != [0; CATALOGS.len()]
}

/// Forgets what is noted: the transaction has ended. A command of maintenance goes on after a commit of its own.
pub(crate) fn forget(is_committed: bool) {
    MAINTAINED.set(MAINTAINED.get().filter(|_| is_committed).map(|_| Before::default()));
    PRIVATE.take();
    SEEN.take();
    OPEN.set(0);
    IS_UNDONE.set(false);
}

/// Tells which catalogs the transaction of this process, which is about to commit, has changed for nobody else.
///
/// # Safety
/// Inside a guard and a transaction, with no subtransaction open.
pub(crate) unsafe fn catalogs() -> impl Fn(Oid) -> bool {
    // SAFETY: PostgreSQL's own variable.
    let ends = unsafe { pg_sys::proc_exit_inprogress };
    let (private, maintained) = (PRIVATE.get(), maintained());
    let mut is_private = [false; CATALOGS.len()];
    if ends || !IS_UNDONE.get() && (maintained.is_some() || private != [0; CATALOGS.len()]) {
        // SAFETY: by contract.
        let rows = unsafe { rows_of(&CATALOGS) };
        let all = rows.map(Rows::all);
        let of_maintenance = maintained.and_then(|before| own(&all, &before)).unwrap_or_default();
        // A session that ends drops its temporary tables.
        let drops = ends && is_about_temporary() && drops_tables(&rows);
        is_private =
            std::array::from_fn(|place| drops || all[place] == private[place] + of_maintenance[place]);
    }
    move |catalog| CATALOGS.iter().zip(is_private).any(|(one, is)| is && *one == catalog.to_u32())
}

/// Whether tables were dropped and nothing else. With a default goes what its column says of it, and with a constraint what its table says. Of a
/// table that stays, and whose column goes with the type of a temporary one, a row is another.
fn drops_tables(rows: &[Rows; CATALOGS.len()]) -> bool {
    let may_update = |place| match place {
        CLASS => rows[CONSTRAINT].deleted,
        ATTRIBUTE => rows[DEFAULT].deleted,
        _ => 0,
    };
    rows.iter().enumerate().all(|(place, rows)| rows.inserted == 0 && rows.updated <= may_update(place))
}

/// Whether the transaction has touched a temporary table.
fn is_about_temporary() -> bool {
    // SAFETY: PostgreSQL's own variable.
    unsafe { pg_sys::MyXactFlags & pg_sys::XACT_FLAGS_ACCESSEDTEMPNAMESPACE as i32 != 0 }
}

/// Looks at what a transaction has changed, before its commit: the [`sum`] of it.
///
/// # Safety
/// As for [`Changed::now`]. Nothing is borrowed while PostgreSQL is called.
pub(crate) unsafe fn look() -> u64 {
    TEMPORARY.with_borrow_mut(Vec::clear);
    if is_about_temporary() {
        // SAFETY: by contract; look-ups.
        let changed = unsafe { Changed::now() };
        for ChangedTable { table, .. } in changed.filter(|changed| !is_catalog(changed.table)) {
            // SAFETY: as above. One that has gone has no kind.
            let is_temporary = unsafe {
                pg_sys::get_rel_relkind(table) != 0
                    && pg_sys::get_rel_persistence(table) as u8 == pg_sys::RELPERSISTENCE_TEMP
            };
            if is_temporary {
                TEMPORARY.with_borrow_mut(|temporary| temporary.push(table));
            }
        }
    }
    // SAFETY: by contract.
    unsafe { sum() }
}

/// A sum of what a transaction has changed that others may see, which is another if something was changed after the look. Between the look and the
/// commit temporary tables are dropped.
///
/// # Safety
/// As for [`Changed::now`].
pub(crate) unsafe fn sum() -> u64 {
    let drops = is_about_temporary();
    let mut sum = 0_u64;
    // SAFETY: by contract.
    for ChangedTable { table, rows, how, .. } in unsafe { Changed::now() } {
        let is_left_out = match is_catalog(table) {
            true => means_nothing(table.to_u32()),
            false => TEMPORARY.with_borrow(|temporary| temporary.contains(&table)),
        };
        if drops && is_left_out {
            continue;
        }
        let is_dropped = drops && CATALOGS.contains(&table.to_u32());
        let counted = if is_dropped { rows.inserted + rows.updated } else { rows.all() };
        let counted = counted * 2 + u64::from(how.truncated);
        sum = sum.wrapping_add(counted.wrapping_mul(u64::from(table.to_u32()) | 1));
    }
    sum
}

fn is_catalog(table: Oid) -> bool {
    table.to_u32() < pg_sys::FirstNormalObjectId
}
