//! Constraints that wait for the end of a transaction. [`check_constraints`](crate::request_transaction::check_constraints) runs what waits
//! by `SET CONSTRAINTS ALL IMMEDIATE`, which holds from then on; here they are made to wait again, as the transaction has said or as they
//! were made. A name that stands for a constraint that waits and for one that does not is left as it is: PostgreSQL sets both.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::ffi::{CStr, CString};

use pg::entry::unfailing_callback;
use pg::guard::direct;
use pg::transaction_end::{SubtransactionEnd, at_subtransaction_end, at_transaction_end};
use pgrx::pg_sys::{self, ConstraintsSetStmt, Datum, NodeTag, RangeVar};

use crate::authority::{as_owner, rows_as_owner};

/// A deferrable constraint, by its schema and name.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Constraint {
    schema: String,
    name: String,
    /// Whether it waits, as it was made.
    initially: bool,
}

/// A statement of `SET CONSTRAINTS`.
struct Said {
    /// The level of the transaction in which it was said.
    level: i32,
    meaning: Meaning,
}

enum Meaning {
    /// Nothing that was said before holds.
    Initially,
    /// It is about all, or about these names, each with the schema if that was said.
    Waits(Option<Vec<(Option<String>, String)>>, bool),
}

impl Said {
    fn is_beginning(&self) -> bool {
        matches!(self.meaning, Meaning::Initially)
    }
}

impl Meaning {
    /// Whether it holds for nothing any more once another is said.
    fn is_within(&self, other: &Meaning) -> bool {
        match (self, other) {
            (Meaning::Waits(Some(names), _), Meaning::Waits(Some(others), _)) => names == others,
            (Meaning::Waits(..), Meaning::Waits(None, _)) => true,
            _ => false,
        }
    }
}

thread_local! {
    /// Statements that hold in this transaction, the latest last.
    static SAID: RefCell<Vec<Said>> = const { RefCell::new(Vec::new()) };
    /// Those that there are, once they have been looked up.
    static THERE: RefCell<Option<Vec<Constraint>>> = const { RefCell::new(None) };
    /// Grows whenever they may have changed.
    static CHANGES: Cell<u64> = const { Cell::new(0) };
    /// Those that have been made to wait, or not to, by [`give_back`].
    static SEEN: RefCell<BTreeSet<Constraint>> = const { RefCell::new(BTreeSet::new()) };
    /// Whether changes are followed.
    static FOLLOWED: Cell<bool> = const { Cell::new(false) };
}

/// Those that are there and whose names stand for nothing else.
const DEFERRABLE: &str = "select n.nspname::text, c.conname::text, bool_or(c.condeferred)
    from pg_constraint c join pg_namespace n on n.oid = c.connamespace
    where not pg_is_other_temp_schema(n.oid)
    group by 1, 2 having bool_and(c.condeferrable) and bool_or(c.condeferred) = bool_and(c.condeferred)";

/// Notes what the user has said, after it was done.
///
/// # Safety
/// `statement` is a statement, inside a transaction.
pub unsafe fn note(statement: *const ConstraintsSetStmt) {
    let text = |text: *const std::ffi::c_char| {
        // SAFETY: a string of the parser, or null.
        (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
    };
    // SAFETY: by contract; the list is of RangeVars.
    let (names, waits) = unsafe {
        let names = pgrx::PgList::<RangeVar>::from_pg((*statement).constraints);
        let name = |name: *mut RangeVar| Some((text((*name).schemaname), text((*name).relname)?));
        let all = (*statement).constraints.is_null();
        ((!all).then(|| names.iter_ptr().filter_map(name).collect()), (*statement).deferred)
    };
    say(Meaning::Waits(names, waits));
}

fn say(meaning: Meaning) {
    at_transaction_end(|_| SAID.with_borrow_mut(Vec::clear));
    at_subtransaction_end(|end| {
        // SAFETY: PostgreSQL's own state; it is the level that ends.
        let level = unsafe { pg_sys::GetCurrentTransactionNestLevel() };
        SAID.with_borrow_mut(|said| match end {
            SubtransactionEnd::RolledBack(_) => said.retain(|one| one.level < level),
            SubtransactionEnd::Committed(..) => {
                said.iter_mut().for_each(|one| one.level = one.level.min(level - 1));
            }
        });
    });
    // SAFETY: PostgreSQL's own state.
    let level = unsafe { pg_sys::GetCurrentTransactionNestLevel() };
    SAID.with_borrow_mut(|said| {
        // Statements that are said again and again are kept once.
        let mut place = said.iter().rposition(Said::is_beginning).map_or(0, |place| place + 1);
        while place < said.len() {
            match said[place].level == level && said[place].meaning.is_within(&meaning) {
                true => drop(said.remove(place)),
                false => place += 1,
            }
        }
        said.push(Said { level, meaning });
    });
}

/// Runs `work`, at whose beginning each waits as it was made. What it says of them ends with it.
pub fn initially<T>(work: impl FnOnce() -> T) -> T {
    say(Meaning::Initially);
    give_back();
    let result = work();
    SAID.with_borrow_mut(|said| {
        let begin = said.iter().rposition(Said::is_beginning).unwrap_or(said.len());
        said.truncate(begin);
    });
    result
}

/// Has those wait again that did before what waits was run.
pub fn give_back() {
    let there = there();
    SEEN.set(there.iter().cloned().collect());
    defer(there.into_iter().filter(waits));
}

/// Has those wait that were made since, if they are made so.
pub fn keep_up() {
    if THERE.with_borrow(Option::is_some) {
        return;
    }
    let there: BTreeSet<Constraint> = there().into_iter().collect();
    let new: Vec<Constraint> = SEEN.with_borrow(|seen| there.difference(seen).cloned().collect());
    SEEN.set(there);
    defer(new.into_iter().filter(waits));
}

/// Whether one waits by what was said last of it.
fn waits(constraint: &Constraint) -> bool {
    let is_this = |(schema, name): &(Option<String>, String)| {
        *name == constraint.name && schema.as_ref().is_none_or(|schema| *schema == constraint.schema)
    };
    SAID.with_borrow(|said| {
        let found = said.iter().rev().find_map(|one| match &one.meaning {
            Meaning::Initially => Some(constraint.initially),
            Meaning::Waits(None, waits) => Some(*waits),
            Meaning::Waits(Some(names), waits) => names.iter().any(is_this).then_some(*waits),
        });
        found.unwrap_or(constraint.initially)
    })
}

fn there() -> Vec<Constraint> {
    if let Some(there) = THERE.with_borrow(Clone::clone) {
        return there;
    }
    follow();
    let before = CHANGES.get();
    let found = rows_as_owner(DEFERRABLE, &[], |row| {
        Some(Constraint { schema: row.get(1).ok()??, name: row.get(2).ok()??, initially: row.get(3).ok()?? })
    });
    // A change meanwhile has them looked up again, and so has an error.
    if CHANGES.get() == before {
        THERE.set(Some(found.clone()));
    }
    found
}

fn follow() {
    if FOLLOWED.replace(true) {
        return;
    }
    for cache in [pg_sys::SysCacheIdentifier::CONSTROID, pg_sys::SysCacheIdentifier::NAMESPACEOID] {
        // SAFETY: on the main thread; the callback touches a thread-local cell and cannot fail.
        unsafe { pg_sys::CacheRegisterSyscacheCallback(cache as i32, Some(changed), Datum::from(0)) };
    }
}

unfailing_callback! {
    unsafe fn changed(_: Datum, _cache: i32, _hash: u32) {
        THERE.set(None);
        CHANGES.set(CHANGES.get() + 1);
    }
}

/// Has constraints wait from now on, which runs nothing: so the names may be looked up as somebody who may look up all.
fn defer(constraints: impl Iterator<Item = Constraint>) {
    let text = |text: &str| CString::new(text).unwrap_or_default();
    let names: Vec<(CString, CString)> =
        constraints.map(|one| (text(&one.schema), text(&one.name))).collect();
    if names.is_empty() {
        return;
    }
    // SAFETY: inside a transaction; the names live as long as the statement, which copies nothing and is not kept.
    as_owner(|| unsafe {
        let mut list = std::ptr::null_mut();
        for (schema, name) in &names {
            let name = pg_sys::makeRangeVar(schema.as_ptr().cast_mut(), name.as_ptr().cast_mut(), -1);
            list = pg_sys::lappend(list, name.cast());
        }
        let mut statement =
            ConstraintsSetStmt { type_: NodeTag::T_ConstraintsSetStmt, constraints: list, deferred: true };
        direct(|| pg::AfterTriggerSetState(&raw mut statement));
    });
}
