//! Moving what stays out of a segment, so that it can be truncated: survivors by the hundred thousand, and how far so many
//! producers are.
//!
//! A truncation that wrote all of it to its segment again would keep others out for seconds. So it is moved to the segment that is
//! written to, a slice at a time. Rows are claimed for good where they were and written where they are to be, with what is
//! known of them, in one transaction: so each is in one place or the other. How far a producer is may be told twice. A
//! snapshot from before sees a row where it was alone, so the segment is not truncated before there is no such snapshot.

use claims::{FOR_GOOD, Span};

use super::compact::{Kept, Kind, Survivor, part, sizes_elsewhere, unknown_to};
use super::definition::Definition;
use super::ledger::{self, Row};
use super::look::WORK;
use super::memory::{Locked, Removal};
use super::segment::{Purpose, Segment};
use super::transactions::{self, Server};
use super::{claim, counted, layout, producer, rotation, rows, settle, wake};

/// Rows of a slice; the last block is moved whole, unless its rows are large.
pub(crate) const ROWS: usize = 512;
/// Bytes that the rows of a slice have elsewhere, if they are more than one.
const BYTES: u64 = 1 << 20;
/// Parts of a ledger that are looked through for one slice.
const PARTS: usize = 8;
/// Producers that are carried over in a slice, and that are looked at for it.
const PRODUCERS: (usize, usize) = (10_000, 1_000);
/// Slices of one call of `queue.maintain`, whose transaction is not ours: what is moved is kept from others until its end.
const AT_ONCE: usize = 16;

/// What is moved out of a segment.
pub(crate) struct Shift {
    number: usize,
    stage: Stage,
}

enum Stage {
    Rows,
    /// Those whose names are below.
    Producers(Option<String>),
}

impl Shift {
    /// Of a segment of a queue.
    pub(crate) fn of(number: usize) -> Shift {
        Shift { number, stage: Stage::Rows }
    }

    /// Moves a slice; whether there is more. It is there for others when the transaction commits.
    pub(crate) fn step(&mut self, queue: &Definition) -> bool {
        match &self.stage {
            Stage::Rows => {
                if !move_rows(queue, self.number) {
                    self.stage = Stage::Producers(None);
                }
                true
            }
            Stage::Producers(below) => match carry(queue, self.number, below.as_deref()) {
                Some(last) => {
                    self.stage = Stage::Producers(Some(last));
                    true
                }
                None => false,
            },
        }
    }
}

/// Moves a bounded part of what is to be moved out of these segments.
pub(crate) fn some(queue: &Definition, segments: &[usize]) {
    for number in segments {
        let mut shift = Shift::of(*number);
        // What is left comes with the next call.
        let _ = (0..AT_ONCE).all(|_| shift.step(queue));
    }
}

/// Moves rows; whether there may be more.
fn move_rows(queue: &Definition, number: usize) -> bool {
    let Some((source, target)) = open(queue, number, Purpose::Take) else {
        queue.lock().segments[number].removal = Removal::None;
        return false;
    };
    for _ in 0..PARTS {
        let end = end_of_slice(queue, &source);
        let mut lock = queue.lock();
        let server = Server::now();
        if lock.open == number {
            // It has become the open one meanwhile.
            return false;
        }
        let from = lock.segments[number].moving;
        let (mut found, mut next) = part(&source, &server, from, ROWS, WORK);
        if found.last().is_some_and(|last| last.position >= end) {
            found.retain(|survivor| survivor.position < end);
            next = end;
        }
        let survivors = unknown_to(&target, &found, &server);
        let until =
            (!survivors.is_empty()).then(|| claim(queue, &mut lock, &source, &target, &survivors, &server));
        // What stays waits for another target; until then the segment is looked through no more often than any.
        let is_blocked = survivors.len() < found.len();
        if is_blocked {
            next = 0;
        }
        let memory = &mut lock.segments[number];
        memory.moving = next;
        if next == 0 {
            memory.removal = if is_blocked { Removal::None } else { Removal::Done };
        }
        drop(lock);
        if let Some(until) = until {
            // It asks for the queue's time, under its lock.
            wake::settled(queue, survivors.len(), until);
            Kept::gather(&source, &survivors).write(&target, &survivors, Kind::Plain);
        }
        if next == 0 || !survivors.is_empty() {
            return next != 0;
        }
        queue.memory().give_way();
    }
    true
}

/// The position before which the next slice of a segment ends, if its rows are large. What they are is looked at without the
/// queue's lock: nobody writes rows to the segment meanwhile.
fn end_of_slice(queue: &Definition, source: &Segment) -> u64 {
    if source.rows.pages_elsewhere() == 0 {
        return u64::MAX;
    }
    let from = queue.lock().segments[source.number].moving;
    let (found, _) = part(source, &Server::now(), from, ROWS, WORK);
    let mut bytes = 0;
    let is_too_much = |size: &u64| {
        let is_first = bytes == 0;
        bytes += size;
        !is_first && bytes > BYTES
    };
    let place = sizes_elsewhere(source, &found).iter().position(is_too_much);
    place.map_or(u64::MAX, |place| found[place].position)
}

/// The segment, and the one that is written to; none if that is it, or if somebody keeps others from it.
fn open(queue: &Definition, number: usize, purpose: Purpose) -> Option<(Segment, Segment)> {
    let target = rotation::open_for_sending(queue);
    if target.number == number {
        return None;
    }
    // Without waiting, whatever the order of the two.
    let source = Segment::try_open(queue, number, purpose)?;
    // Rows are copied as they are: both tables were made alike, and altered together.
    // SAFETY: the tables are open.
    let are_alike = unsafe { layout::have_same_columns((**source.rows).rd_att, (**target.rows).rd_att) };
    are_alike.then_some((source, target))
}

/// Claims rows for good where they are, and gives their positions out where they will be. Until when the first of them waits.
fn claim(
    queue: &Definition,
    lock: &mut Locked,
    source: &Segment,
    target: &Segment,
    survivors: &[Survivor],
    server: &Server,
) -> i64 {
    let latest = survivors.iter().filter_map(|survivor| survivor.claim).map(|claim| claim.at).max();
    let now = lock.clock();
    lock.note_claim(now);
    // That of a claim from before a restart may be later than any now, if the clock was set back.
    let at = now.max(latest.map_or(0, |latest| latest.saturating_add(1)));
    let top = transactions::top();
    // So that this subtransaction, which the claims belong to, has a number.
    transactions::current();
    let claims = survivors.iter().map(|survivor| {
        let span = Span { first: survivor.position, end: survivor.position + 1 };
        let (reads, read_at) = survivor.claim.map_or((0, 0), |claim| (claim.reads, claim.read_at));
        claims::Claim { span, at, until: FOR_GOOD, reads, read_at, claimant: 0 }
    });
    let memory = &mut lock.segments[source.number];
    memory.moved = top;
    for span in rows::spans_of(survivors.iter().map(|survivor| survivor.position)) {
        claim::watch_claim(queue, source.number, memory, span, FOR_GOOD, server);
    }
    let claims = settle::merge(claims, memory.watch.cursor());
    ledger::append(source, &[Row::Moved], None);
    ledger::append(source, &claims.into_iter().map(Row::Claim).collect::<Vec<_>>(), None);
    let until = survivors.iter().map(Survivor::until).min().unwrap_or(i64::MIN).max(i64::MIN + 1);
    let span = Span { first: survivors[0].position, end: survivors[survivors.len() - 1].position + 1 };
    let memory = &mut lock.segments[target.number];
    memory.received = top;
    memory.reserve(top, span, survivors.len(), until, server);
    counted::written(queue, target.number, survivors.len() as u64);
    until
}

/// Has the segment that is written to say how far producers are, if their names are below one. The last of the names, if more
/// follow.
fn carry(queue: &Definition, number: usize, below: Option<&str>) -> Option<String> {
    let (source, target) = open(queue, number, Purpose::Look)?;
    let lacking = producer::lacking(queue, &source, below, PRODUCERS, |_| true);
    if !lacking.origins.is_empty() {
        transactions::current();
        let last = {
            let mut lock = queue.lock();
            let last = lock.next.saturating_sub(1);
            let memory = &mut lock.segments[target.number];
            memory.is_clean = false;
            memory.told = memory.told.max(last + 1);
            last
        };
        let before = target.ledger.pages();
        for origin in &lacking.origins {
            ledger::append(&target, &[Row::Mark(last)], Some(origin));
        }
        queue.lock().segments[target.number].carried += target.ledger.pages().saturating_sub(before);
    }
    lacking.last
}
