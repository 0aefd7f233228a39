//! Rows one by one, for who runs them: claimed, given back, settled by their numbers, without SQL and without asking for rights.

use claims::{FOR_GOOD, Span, State, times};
use pgrx::pg_sys::{self, Datum, HeapTuple, HeapTupleData};
use shared::{Tick, tick};

use super::claim::claim;
pub use super::claimed_rows::Fate;
use super::claimed_rows::{Chosen, Haul, Wanted};
use super::definition::Definition;
use super::functions::typed::positions;
use super::settle::{self, Named};
use super::transactions::Server;
use super::{append, rows};

/// A row that was claimed.
pub struct Item<'a> {
    /// Its position.
    pub position: u64,
    /// How often it has been read, this time included if it is leased.
    pub reads: i32,
    /// When it came in.
    pub sent_at: i64,
    /// Since when it is free.
    pub due: i64,
    table: pg_sys::TupleDesc,
    tuple: &'a HeapTupleData,
}

impl Item<'_> {
    /// The value of a column of the row type, by its place from 0.
    pub fn column(&self, place: usize) -> Option<Datum> {
        let mut is_null = false;
        // SAFETY: the tuple is one of the table, whose first column is the position.
        let value = unsafe {
            let tuple = std::ptr::from_ref(self.tuple).cast_mut();
            pg_sys::heap_getattr(tuple, place as i32 + 2, self.table, &mut is_null)
        };
        (!is_null).then_some(value)
    }
}

/// When there may be something to take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outlook {
    /// Now.
    Now,
    /// Then, unless the server's clock is set forward meanwhile.
    At(Tick),
    /// When somebody sends.
    Never,
}

/// When there may be something to take, without looking at any table.
pub fn outlook(queue: &Definition) -> Outlook {
    let mut lock = queue.lock();
    if !lock.is_known {
        return Outlook::Now;
    }
    let (server, now) = (Server::now(), lock.clock());
    for segment in &mut lock.segments {
        segment.watch.settle(now, &server);
        if segment.watch.next_range(now).is_some() {
            return Outlook::Now;
        }
    }
    let after = |time: i64| Outlook::At(tick().after(time.saturating_sub(now).max(0) as u64));
    lock.next_time(now).map_or(Outlook::Never, after)
}

/// Claims up to `count` free rows for the current transaction; how many.
pub fn take(queue: &Definition, count: usize, fate: Fate, mut hand_out: impl FnMut(&Item<'_>)) -> usize {
    claim(queue, Wanted { count, fate }, |haul| show(haul, &mut hand_out))
}

/// Claims those of these positions that are free; how many.
pub fn take_named(
    queue: &Definition,
    positions: &[u64],
    fate: Fate,
    mut hand_out: impl FnMut(&Item<'_>),
) -> usize {
    let mut positions = positions.to_vec();
    positions.sort_unstable();
    let hauls = settle::claim_free(queue, &positions, fate);
    hauls.iter().for_each(|haul| show(haul, &mut hand_out));
    hauls.iter().map(|haul| haul.live).sum()
}

/// Has a row that this transaction holds wait until `until`, as one that was read once more; false if it is gone.
pub fn put_off(queue: &Definition, position: u64, until: i64) -> bool {
    let hauls = settle::settle_as(queue, &named(&[position]), times::within(until), 1);
    hauls.is_ok_and(|hauls| hauls.iter().any(|haul| !haul.rows.is_empty()))
}

/// Gives rows back that this transaction, or one before, has leased: they are free from `until` on. Waits for others that have them.
pub fn give_back(queue: &Definition, positions: &[u64], until: i64) -> usize {
    settle::settle(queue, &named(positions), times::within(until), |_| ())
}

/// Removes rows that this transaction holds; how many were there.
pub fn settle(queue: &Definition, positions: &[u64]) -> usize {
    settle::settle(queue, &named(positions), FOR_GOOD, |_| ())
}

/// Removes rows, and hands out those that were there. Waits for others that have them.
pub fn remove(queue: &Definition, positions: &[u64], mut hand_out: impl FnMut(&Item<'_>)) -> usize {
    settle::settle(queue, &named(positions), FOR_GOOD, |haul| show(haul, &mut hand_out))
}

/// Removes a row that nobody has claimed, and hands it out: false if somebody has, or if it is gone.
pub fn remove_unclaimed(queue: &Definition, position: u64, mut hand_out: impl FnMut(&Item<'_>)) -> Found {
    match settle::settle_unless_claimed(queue, &named(&[position]), FOR_GOOD) {
        Err(transaction) => Found::Claimed(transaction),
        Ok(hauls) => {
            hauls.iter().for_each(|haul| show(haul, &mut hand_out));
            if hauls.iter().all(|haul| haul.rows.is_empty()) { Found::Gone } else { Found::There }
        }
    }
}

/// Keeps a row that nobody has claimed from others until this transaction ends, and changes nothing about it.
pub fn touch(queue: &Definition, position: u64) -> Found {
    let mut until = None;
    look_at(queue, position, |item| until = Some(item.due));
    let Some(until) = until else { return Found::Gone };
    match settle::settle_unless_claimed(queue, &named(&[position]), until) {
        Err(transaction) => Found::Claimed(transaction),
        Ok(hauls) if hauls.iter().all(|haul| haul.rows.is_empty()) => Found::Gone,
        Ok(_) => Found::There,
    }
}

/// Shows a row, whoever has it: what it waits for.
pub fn look_at(queue: &Definition, position: u64, mut hand_out: impl FnMut(&Item<'_>)) -> Found {
    match settle::look_at(queue, position) {
        None => Found::Gone,
        Some((haul, state)) => {
            show(&haul, &mut hand_out);
            match state {
                State::Busy(transaction) => Found::Claimed(transaction),
                _ => Found::There,
            }
        }
    }
}

/// Waits for the end of a transaction, as for a lock.
///
/// # Panics
/// As PostgreSQL's error, if that would be a deadlock.
pub fn wait_for(transaction: u64) {
    settle::wait_for(transaction);
}

/// Whether a row is there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Found {
    /// It is not, or not any more.
    Gone,
    /// This transaction, which is in progress, has claimed it, or sends it.
    Claimed(u64),
    /// It is, and nobody has it.
    There,
}

fn named(positions: &[u64]) -> Vec<Named> {
    positions.iter().map(|position| Named { position: *position, receipt: None }).collect()
}

fn show(haul: &Haul, hand_out: &mut impl FnMut(&Item<'_>)) {
    let of = |position: u64| -> Option<&Chosen> {
        let at = haul.rows.binary_search_by_key(&position, |row| row.position).ok()?;
        Some(&haul.rows[at])
    };
    rows::fetch(&haul.segment, &haul.batches, &positions(&haul.rows), |position, tuple| {
        let Some(row) = of(position) else { return };
        // SAFETY: the table is open.
        let table = unsafe { (**haul.segment.rows).rd_att };
        let (reads, sent_at, due) = (row.reads, row.sent_at, row.until);
        hand_out(&Item { position, reads, sent_at, due, table, tuple });
    });
}

/// Appends a row of these values, in the order of the row type's columns; the others are null. It waits until `until`. Its position.
pub fn put(queue: &Definition, until: i64, values: &[Option<Datum>]) -> u64 {
    put_all(queue, until, 1, |_| values).first
}

/// Appends so many rows, of the values that each place has from 0 on; their positions.
pub fn put_all<V: AsRef<[Option<Datum>]>>(
    queue: &Definition,
    until: i64,
    count: usize,
    mut values: impl FnMut(usize) -> V,
) -> Span {
    append::write(queue, count, until, None, &mut |table, place, position| {
        // SAFETY: the table is open; the values are of its columns, by contract of the queue's owner.
        unsafe { tuple(table, position, values(place).as_ref()) }
    })
}

/// The elements of an array, whatever its shape.
///
/// # Safety
/// An array of elements of this type.
pub unsafe fn elements_of(array: Datum, element: pg_sys::Oid) -> Vec<Option<Datum>> {
    // SAFETY: by contract.
    unsafe { super::values::elements_of(array, element) }
}

unsafe fn tuple(table: &super::opened::Opened, position: u64, values: &[Option<Datum>]) -> HeapTuple {
    // SAFETY: by contract; the arrays have a place for each column.
    unsafe {
        let descriptor = (***table).rd_att;
        let count = (*descriptor).natts as usize;
        let (mut row, mut nulls) = (vec![Datum::null(); count], vec![true; count]);
        (row[0], nulls[0]) = (Datum::from(position as i64), false);
        for (place, value) in values.iter().enumerate() {
            if let Some(value) = value {
                (row[place + 1], nulls[place + 1]) = (*value, false);
            }
        }
        pg_sys::heap_form_tuple(descriptor, row.as_mut_ptr(), nulls.as_mut_ptr())
    }
}
