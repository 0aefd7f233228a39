//! Changes of catalogs that mean nothing to anybody else: of temporary tables, which their session alone sees, and of a table's file, where it gets
//! another.
//!
//! PostgreSQL counts rows of catalogs, and does not say whose they are. So the rows are counted before such a command and after it. What commands
//! inside of it have changed, by a trigger say, is theirs. If in the end such commands have changed all rows of a catalog that the transaction has
//! changed, that catalog has changed for nobody. Where a part of a transaction was undone, nothing is told apart any more.

use std::cell::Cell;

use pg::table_counts::{ChangedTable, Rows, rows_of};
use pg::transaction_end::{SubtransactionEnd, at_subtransaction_end};
use pgrx::pg_sys::{self, Oid};

use crate::things::means_nothing;

/// Catalogs of what makes up a table.
const CATALOGS: [u32; 9] = [
    1259, // pg_class
    1249, // pg_attribute
    1247, // pg_type
    2610, // pg_index
    2604, // pg_attrdef
    2606, // pg_constraint
    2224, // pg_sequence
    2615, // pg_namespace
    2620, // pg_trigger
];
/// Places among them.
const CLASS: usize = 0;
const ATTRIBUTE: usize = 1;
const DEFAULT: usize = 4;
const CONSTRAINT: usize = 5;
type Counts = [u64; CATALOGS.len()];

/// What a command changes that means nothing to others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Private {
    /// Whatever it writes about tables.
    Tables,
    /// The rows of pg_class alone: files.
    Files,
}

thread_local! {
    /// Rows that such commands have changed in this transaction.
    static PRIVATE: Cell<Counts> = const { Cell::new([0; CATALOGS.len()]) };
    /// Rows that commands have changed that have ended inside of others.
    static SEEN: Cell<Counts> = const { Cell::new([0; CATALOGS.len()]) };
    /// How many such commands run.
    static OPEN: Cell<u32> = const { Cell::new(0) };
    /// Whether rows that were counted may have been undone.
    static IS_UNDONE: Cell<bool> = const { Cell::new(false) };
}

/// Runs a command, and notes what of it is private. An error may jump out of it.
///
/// # Safety
/// Inside a transaction, where an error may jump; nothing is owned meanwhile.
pub unsafe fn while_running(private: Option<Private>, command: impl FnOnce()) {
    if IS_UNDONE.get() || private.is_none() && OPEN.get() == 0 {
        return command();
    }
    at_subtransaction_end(part_ended);
    // SAFETY: by contract.
    let (before, seen) = (unsafe { counts() }, SEEN.get());
    OPEN.set(OPEN.get() + u32::from(private.is_some()));
    command();
    OPEN.set(OPEN.get().saturating_sub(u32::from(private.is_some())));
    // SAFETY: by contract.
    let after = unsafe { counts() };
    let (mut now_seen, mut now_private) = (seen, PRIVATE.get());
    for place in 0..CATALOGS.len() {
        let all = after[place].checked_sub(before[place]);
        let within = SEEN.get()[place].saturating_sub(seen[place]);
        let Some((all, own)) = all.and_then(|all| Some((all, all.checked_sub(within)?))) else {
            return IS_UNDONE.set(true);
        };
        now_seen[place] += all;
        let is_private = match private {
            Some(Private::Tables) => true,
            Some(Private::Files) => place == CLASS,
            None => false,
        };
        now_private[place] += if is_private { own } else { 0 };
    }
    SEEN.set(now_seen);
    PRIVATE.set(now_private);
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
    IS_UNDONE.get() || OPEN.get() > 0 || PRIVATE.get() != [0; CATALOGS.len()]
}

/// Forgets what is noted: the transaction has ended.
pub(crate) fn forget() {
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
    let private = PRIVATE.get();
    // SAFETY: PostgreSQL's own variable.
    let ends = unsafe { pg_sys::proc_exit_inprogress };
    let mut is_private = [false; CATALOGS.len()];
    if ends || !IS_UNDONE.get() && private != [0; CATALOGS.len()] {
        // SAFETY: by contract.
        let rows = unsafe { rows_of(&CATALOGS) };
        // A session that ends drops its temporary tables.
        let drops = ends && is_about_temporary() && drops_tables(&rows);
        is_private = std::array::from_fn(|place| drops || rows[place].all() == private[place]);
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

/// Whether what was changed after the look before the commit are temporary tables that were dropped then.
pub(crate) fn are_dropped(mut late: impl Iterator<Item = ChangedTable>) -> bool {
    is_about_temporary()
        && late.all(|ChangedTable { table, how, .. }| {
            let only_drops = !how.inserted && !how.updated && !how.truncated;
            CATALOGS.contains(&table.to_u32()) && only_drops || means_nothing(table.to_u32())
        })
}
