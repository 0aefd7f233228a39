//! Choosing rows and claiming them.

use std::rc::Rc;

use claims::watch::Obstacle;
use claims::{BLOCK, Batch, Block, Claim, FOR_GOOD, Span, block_of};
use pgrx::pg_sys;

use super::definition::Definition;
use super::ledger::{self, Row, Scan, Sight};
use super::look::{Look, WORK};
use super::memory::{self, Locked, Removal, SegmentMemory, Watch};
use super::segment::{Purpose, Segment};
use super::transactions::{self, Server};
use super::{LATEST, SEGMENTS, archive, now, rotation, savepoints, wake};

/// Rows of a segment that are claimed under one hold of the queue's lock.
pub const SLICE: usize = 1024;

/// Microseconds between two looks whether others have written to the ledgers.
const COMPARE_EVERY: u64 = 100_000;

/// Dead rows after which a call is content with fewer rows than it wants, once it has some.
const DEAD: usize = 10_000;

/// What is wanted of a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wanted {
    /// How many rows at most.
    pub count: usize,
    /// What becomes of them.
    pub fate: Fate,
}

/// What becomes of rows that are chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// Nothing: they are looked at.
    Shown,
    /// They are consumed.
    Consumed,
    /// They are leased for so many microseconds, and consumed if they have been read so often before.
    Leased(i64, Option<i32>),
}

/// A row that was chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Chosen {
    /// Its position.
    pub position: u64,
    /// How often it has been read, this time included.
    pub reads: i32,
    /// When it came in.
    pub sent_at: i64,
    /// When it was read last, this time included; 0 if never.
    pub read_at: i64,
    /// Until when it is leased, or was delayed.
    pub until: i64,
    /// Whether it has been read too often: it is a dead letter.
    pub is_dead: bool,
}

/// What was chosen in a segment.
pub struct Haul {
    /// The segment, open.
    pub segment: Rc<Segment>,
    /// The rows, in the order of their positions.
    pub rows: Vec<Chosen>,
    /// How many of them are not dead.
    pub live: usize,
    /// Where to look for them.
    pub batches: Vec<Batch>,
    /// When the latest of the claims on them was made.
    pub latest: i64,
    /// Whether a block of theirs is crowded with claims.
    pub is_crowded: bool,
}

impl Haul {
    /// Nothing of a segment.
    pub fn of(segment: Rc<Segment>) -> Haul {
        let (rows, batches) = (Vec::new(), Vec::new());
        Haul { segment, rows, live: 0, batches, latest: i64::MIN, is_crowded: false }
    }

    /// Adds a row whose block and batch are known.
    pub fn add(&mut self, block: &Block, batch: &Batch, row: Chosen) {
        if self.batches.last().is_none_or(|last| last.span != batch.span) {
            self.batches.push(*batch);
        }
        self.latest = self.latest.max(block.known(row.position).at);
        self.is_crowded |= block.is_crowded();
        self.live += usize::from(!row.is_dead);
        self.rows.push(row);
    }

    /// When a claim on the rows is made, if that is now: after those that are there, whatever the clock says.
    pub fn moment(&self, now: i64) -> i64 {
        now.max(self.latest.saturating_add(1))
    }

    /// The claims on the rows, as few as may be, but in a crowded block as many as are not more than others in the end.
    pub fn rows_of(&self, claims: impl IntoIterator<Item = Claim>) -> Vec<Row> {
        let parts = |claim: Claim| claim.span.aligned().map(move |span| Row::Claim(Claim { span, ..claim }));
        if self.is_crowded {
            claims.into_iter().flat_map(parts).collect()
        } else {
            claims.into_iter().map(Row::Claim).collect()
        }
    }

    /// Chooses a row whose block is known.
    pub fn choose(&mut self, block: &Block, position: u64, fate: Fate, now: i64) {
        let (known, batch) = (block.known(position), block.batch(position));
        let Some(batch) = batch else { return };
        let mut chosen = Chosen {
            position,
            reads: known.reads,
            sent_at: batch.at,
            read_at: known.read_at,
            until: if known.until <= 0 { batch.at } else { known.until },
            is_dead: false,
        };
        if let Fate::Leased(time, most) = fate {
            chosen.is_dead = most.is_some_and(|most| known.reads >= most);
            if !chosen.is_dead {
                chosen.reads += 1;
                chosen.read_at = now;
                chosen.until = now.saturating_add(time).min(LATEST);
            }
        }
        self.add(block, batch, chosen);
    }

    /// Leaves out the rows that others have.
    fn leave_out(&mut self, others: &[Haul]) {
        let has =
            |other: &Haul, position| other.rows.binary_search_by_key(&position, |row| row.position).is_ok();
        self.rows.retain(|row| !others.iter().any(|other| has(other, row.position)));
        self.live = self.rows.iter().filter(|row| !row.is_dead).count();
    }

    /// Cuts off the rows from this place on.
    fn split_off(&mut self, place: usize) -> Haul {
        let rows = self.rows.split_off(place);
        let live = rows.iter().filter(|row| !row.is_dead).count();
        self.live -= live;
        Haul { segment: self.segment.clone(), rows, live, batches: self.batches.clone(), ..*self }
    }
}

/// Chooses free rows, claims them for the current transaction, and hands them out in the order of their positions: fewer than
/// wanted only if no more are free, or if very many were dead. Returns how many are not dead.
///
/// It goes in slices, between which others have the queue's lock and this session can be cancelled. Where nothing is
/// free, nothing is written: the transaction gets no number, and its commit costs nothing.
pub fn claim(queue: &Definition, wanted: Wanted, mut hand_out: impl FnMut(&Haul)) -> usize {
    compare_sometimes(queue);
    let mut search = Search::new(queue, wanted.fate);
    let (mut live, mut dead) = (0, 0);
    while live < wanted.count
        && let Some(hauls) = search.slice(wanted.count - live)
    {
        for haul in &hauls {
            live += haul.live;
            dead += haul.rows.len() - haul.live;
            hand_out(haul);
        }
        if live > 0 && dead >= DEAD {
            break;
        }
        if live < wanted.count {
            queue.memory().give_way();
        }
    }
    live
}

/// A search for free rows.
pub struct Search<'a> {
    queue: &'a Definition,
    fate: Fate,
    has_learnt: bool,
    opened: [Option<Rc<Segment>>; SEGMENTS],
    /// Up to where each segment has been looked through.
    seen: [u64; SEGMENTS],
    /// Above the last row that was handed out.
    floor: u64,
    /// Positions that were given out when the search began are below: it does not run after those who send.
    end: u64,
}

/// The segments to look through next, from where on, and up to which position.
struct Window {
    starts: [Option<u64>; SEGMENTS],
    end: u64,
}

/// What was found in a segment's part of a block, before anything of it is claimed.
struct Looked {
    haul: Haul,
    obstacles: Vec<Obstacle>,
    /// Up to where it was looked.
    upto: u64,
}

impl<'a> Search<'a> {
    /// A search from the first row on.
    pub fn new(queue: &'a Definition, fate: Fate) -> Search<'a> {
        let opened = [const { None }; SEGMENTS];
        Search { queue, fate, has_learnt: false, opened, seen: [0; SEGMENTS], floor: 0, end: 0 }
    }

    fn purpose(&self) -> Purpose {
        if self.fate == Fate::Shown { Purpose::Look } else { Purpose::Take }
    }

    /// The next rows, so many at most and often fewer, or none; none at all once everything has been looked through.
    pub fn slice(&mut self, count: usize) -> Option<Vec<Haul>> {
        loop {
            let mut lock = self.queue.lock();
            if !lock.is_known && !self.has_learnt {
                drop(lock);
                self.learn();
                continue;
            }
            if self.end == 0 {
                self.end = lock.next;
            }
            let server = Server::now();
            let now = lock.clock();
            let window = self.window(&mut lock, now, &server)?;
            let is_closed =
                |number: &usize| window.starts[*number].is_some() && self.opened[*number].is_none();
            let closed: Vec<usize> = (0..SEGMENTS).filter(is_closed).collect();
            if closed.is_empty() {
                let hauls =
                    self.claim_in(&mut lock, &window, Wanted { count, fate: self.fate }, now, &server);
                drop(lock);
                let count = hauls.iter().map(|haul| haul.rows.len()).sum();
                wake::claimed(self.queue, count, self.fate);
                return Some(hauls);
            }
            drop(lock);
            for number in closed {
                let segment = Segment::open(self.queue, number, self.purpose());
                self.opened[number] = Some(Rc::new(segment));
            }
        }
    }

    fn learn(&mut self) {
        self.has_learnt = true;
        for segment in learn(self.queue, self.purpose()) {
            let number = segment.number;
            self.opened[number] = Some(Rc::new(segment));
        }
    }

    /// Where each segment is to be looked through. A taker looks where rows may have become free since somebody has looked,
    /// everybody else wherever there are any.
    fn starts(&self, state: &mut memory::State, now: i64, server: &Server) -> [Option<u64>; SEGMENTS] {
        std::array::from_fn(|number| {
            let (watch, seen) = (&mut state.segments[number].watch, self.seen[number]);
            if self.fate == Fate::Shown {
                let start = watch.lowest().max(seen);
                return (start < watch.end()).then_some(start);
            }
            watch.settle(now, server);
            watch.next_range_from(seen.max(self.floor), now).map(|range| range.span.first)
        })
    }

    /// The segment with the lowest positions is looked through up to where the next one begins. Where several have positions of
    /// one block, as when writers went over from one to the other, the block is looked through in all of them.
    fn window(&self, state: &mut memory::State, now: i64, server: &Server) -> Option<Window> {
        let starts = self.starts(state, now, server).map(|start| start.filter(|start| *start < self.end));
        let lowest = starts.iter().flatten().copied().min()?;
        let end = block_of(lowest) + BLOCK;
        let above = starts.iter().flatten().copied().filter(|start| *start >= end).min().unwrap_or(self.end);
        let starts = starts.map(|start| start.filter(|start| *start < end));
        let is_alone = starts.iter().flatten().count() == 1;
        Some(Window { starts, end: if is_alone { above } else { end } })
    }

    /// Claims rows of the window, all at one moment.
    fn claim_in(
        &mut self,
        lock: &mut Locked,
        window: &Window,
        wanted: Wanted,
        now: i64,
        server: &Server,
    ) -> Vec<Haul> {
        lock.latest = now;
        let mut within = (0..SEGMENTS).filter(|number| window.starts[*number].is_some());
        let mut hauls = match (within.next(), within.next()) {
            (Some(number), None) => {
                self.choose(&mut lock.segments[number], number, server, wanted, now, window.end)
            }
            _ => self.choose_of_several(lock, window, wanted, now, server),
        };
        hauls.retain(|haul| !haul.rows.is_empty());
        let last = |haul: &Haul| haul.rows.iter().rfind(|row| !row.is_dead).map(|row| row.position);
        self.floor = hauls.iter().filter_map(last).map(|last| last + 1).fold(self.floor, u64::max);
        in_order(hauls)
    }

    /// Claims the lowest rows of a block that several segments have a part of: so all are looked through before any is claimed.
    fn choose_of_several(
        &mut self,
        lock: &mut Locked,
        window: &Window,
        wanted: Wanted,
        now: i64,
        server: &Server,
    ) -> Vec<Haul> {
        let mut found = Vec::new();
        for (opened, start) in self.opened.iter().zip(window.starts) {
            let (Some(segment), Some(start)) = (opened, start) else { continue };
            let span = Span { first: start, end: lock.segments[segment.number].watch.end().max(start) };
            let mut haul = Haul::of(segment.clone());
            let mut look = Look::new(&mut haul, wanted, now);
            let upto = look.through(span, window.end, block_of(start), server);
            let obstacles = std::mem::take(&mut look.obstacles);
            found.push(Looked { haul, obstacles, upto });
        }
        let end = end_of(&found, wanted.count);
        found.iter_mut().for_each(|looked| looked.cut(end));
        if wanted.fate != Fate::Shown && found.iter().any(|looked| !looked.haul.rows.is_empty()) {
            // As in `choose`.
            transactions::current();
        }
        for looked in &found {
            let number = looked.haul.segment.number;
            if wanted.fate == Fate::Shown {
                self.seen[number] = looked.upto;
                continue;
            }
            let memory = &mut lock.segments[number];
            self.pass(&mut memory.watch, number, looked, now, server);
            claim_rows(self.queue, memory, &looked.haul, wanted.fate, now, server);
        }
        found.into_iter().map(|looked| looked.haul).collect()
    }

    /// Moves a segment's cursor and ranges past what was looked through.
    fn pass(&mut self, watch: &mut Watch, number: usize, looked: &Looked, now: i64, server: &Server) {
        let seen = &mut self.seen[number];
        while let Some(range) = watch.next_range_from(self.floor.max(*seen), now)
            && range.span.first < looked.upto
        {
            let upto = range.span.end.min(looked.upto);
            watch.passed(range, upto, 0, &looked.obstacles, server);
            *seen = upto;
        }
    }

    /// Looks through a segment up to `end` until enough rows are chosen, and claims them.
    fn choose(
        &mut self,
        memory: &mut SegmentMemory,
        number: usize,
        server: &Server,
        wanted: Wanted,
        now: i64,
        end: u64,
    ) -> Vec<Haul> {
        let Some(segment) = &self.opened[number] else { return Vec::new() };
        let mut haul = Haul::of(segment.clone());
        let seen = &mut self.seen[number];
        if wanted.fate == Fate::Shown {
            let watch = &memory.watch;
            let span = Span { first: watch.lowest().max(*seen), end: watch.end() };
            *seen = Look::new(&mut haul, wanted, now).through(span, end, block_of(span.first), server);
            return vec![haul];
        }
        let mut work = WORK;
        while haul.live < wanted.count
            && haul.rows.len() < SLICE
            && work > 0
            && let Some(range) = memory.watch.next_range_from(self.floor.max(*seen), now)
            && range.span.first < end
        {
            let before = haul.rows.len();
            let mut look = Look::new(&mut haul, wanted, now);
            look.work = work;
            let upto = look.through(range.span, end, range.rows_from, server);
            work = look.work;
            let (obstacles, rows_from) = (std::mem::take(&mut look.obstacles), look.rows_from);
            if haul.rows.len() > before {
                // The transaction gets its number. It may fail: before the cursor passes the rows.
                transactions::current();
            }
            memory.watch.passed(range, upto, rows_from, &obstacles, server);
            *seen = upto;
            watch_claims(self.queue, memory, &haul, before, wanted.fate, now, server);
            // Ranges may overlap: the next look must see what is claimed.
            write_claims(&haul, before, wanted.fate, now, memory.watch.cursor());
        }
        haul.rows.sort_unstable_by_key(|row| row.position);
        vec![haul]
    }
}

impl Looked {
    /// Leaves out what is at `end` or above.
    fn cut(&mut self, end: u64) {
        self.upto = self.upto.min(end);
        self.haul.split_off(self.haul.rows.partition_point(|row| row.position < end));
        self.obstacles.retain(|obstacle| obstacle.span.first < end);
        self.obstacles.iter_mut().for_each(|obstacle| obstacle.span.end = obstacle.span.end.min(end));
    }
}

/// The position after the last row that is wanted: so many that are not dead are below, or all.
fn end_of(found: &[Looked], count: usize) -> u64 {
    let rows = found.iter().flat_map(|looked| &looked.haul.rows);
    let mut live: Vec<u64> = rows.filter(|row| !row.is_dead).map(|row| row.position).collect();
    live.sort_unstable();
    live.dedup();
    count.checked_sub(1).and_then(|last| live.get(last)).map_or(u64::MAX, |last| last + 1)
}

/// Cuts hauls of several segments so that all their rows are in the order of their positions. What several have is handed out
/// once: after the restore of a backup, say, whose rows were moved while it was made.
pub fn in_order(hauls: Vec<Haul>) -> Vec<Haul> {
    let mut rest = hauls;
    for place in 1..rest.len() {
        let (before, others) = rest.split_at_mut(place);
        others[0].leave_out(before);
    }
    rest.retain(|haul| !haul.rows.is_empty());
    let mut ordered = Vec::with_capacity(rest.len());
    while rest.len() > 1 {
        rest.sort_unstable_by_key(|haul| haul.rows[0].position);
        let next = rest[1].rows[0].position;
        let place = rest[0].rows.partition_point(|row| row.position < next);
        if place == rest[0].rows.len() {
            ordered.push(rest.remove(0));
        } else {
            let later = rest[0].split_off(place);
            ordered.push(std::mem::replace(&mut rest[0], later));
        }
    }
    ordered.extend(rest);
    ordered
}

/// Moves the cursors past what is consumed, and claims nothing.
pub fn advance(queue: &Definition) {
    for segment in open(queue, Purpose::Look) {
        let number = segment.number;
        let mut haul = Haul::of(Rc::new(segment));
        let mut seen = 0;
        while !advance_once(queue, number, &mut haul, &mut seen) {
            queue.memory().give_way();
        }
    }
}

/// Looks through one range, or a part of it; whether something is free, or nothing is left.
fn advance_once(queue: &Definition, number: usize, haul: &mut Haul, seen: &mut u64) -> bool {
    let mut lock = queue.lock();
    let (server, now) = (Server::now(), lock.clock());
    let watch = &mut lock.segments[number].watch;
    watch.settle(now, &server);
    let Some(range) = watch.next_range_from(*seen, now) else { return true };
    let mut look = Look::new(haul, Wanted { count: 1, fate: Fate::Shown }, now);
    let upto = look.through(range.span, u64::MAX, range.rows_from, &server);
    let obstacles = std::mem::take(&mut look.obstacles);
    let found = haul.rows.first().map(|row| row.position);
    watch.passed(range, found.unwrap_or(upto), 0, &obstacles, &server);
    *seen = upto;
    found.is_some()
}

/// Opens the segments that may have rows, the one with the oldest first, and finds out what shared memory does not
/// know yet.
pub fn open(queue: &Definition, purpose: Purpose) -> Vec<Segment> {
    let order = {
        let lock = queue.lock();
        lock.is_known.then(|| order(&lock))
    };
    match order {
        Some(order) => open_these(queue, &order, purpose),
        None => learn(queue, purpose),
    }
}

fn open_these(queue: &Definition, numbers: &[usize], purpose: Purpose) -> Vec<Segment> {
    numbers.iter().map(|number| Segment::open(queue, *number, purpose)).collect()
}

/// The segments that are not drained.
pub fn order(state: &memory::State) -> Vec<usize> {
    let mut order: Vec<usize> =
        (0..SEGMENTS).filter(|number| !state.segments[*number].watch.is_drained()).collect();
    order.sort_by_key(|number| state.segments[*number].watch.lowest());
    order
}

/// Whether all segments that are not drained are among these: rows may be moved to one that had none.
pub fn are_open(segments: &[Segment], state: &memory::State) -> bool {
    order(state).iter().all(|number| segments.iter().any(|segment| segment.number == *number))
}

/// After a restart: the next position is found in the ledgers, or above the archive, and everything is to be looked at.
pub fn learn(queue: &Definition, purpose: Purpose) -> Vec<Segment> {
    let segments: Vec<Segment> = (0..SEGMENTS).map(|number| Segment::open(queue, number, purpose)).collect();
    let archived = archive::last(queue);
    let pages: Vec<u32> = segments.iter().map(|segment| rotation::pages(segment, 0)).collect();
    let mut lock = queue.lock();
    if !lock.is_known {
        learn_locked(&mut lock, &segments, &pages);
        lock.next = lock.next.max(archived + 1);
        if queue.is_unlogged && lock.segments.iter().all(|segment| segment.told == 0) {
            // A crash has emptied the ledgers, and nobody knows the last number. There was none for each microsecond, so the
            // time is above all of them.
            lock.next = lock.next.max(now().try_into().unwrap_or(0));
        }
    }
    segments
}

fn learn_locked(lock: &mut Locked, segments: &[Segment], pages: &[u32]) {
    let server = Server::now();
    let lasts: Vec<Last> = segments.iter().map(|segment| last_of(segment, &server)).collect();
    let ends: Vec<u64> =
        segments.iter().zip(&lasts).map(|(segment, last)| end_of_positions(segment, &server, last)).collect();
    lock.next = ends.iter().copied().max().unwrap_or(0).max(1);
    lock.open = ends.iter().position(|end| *end == lock.next).unwrap_or(0);
    lock.latest = 0;
    (lock.tidied, lock.tidied_at, lock.measured, lock.kept_up) = (0, 0, 0, 0);
    for (place, segment) in segments.iter().enumerate() {
        let memory = &mut lock.segments[place];
        memory.is_clean = rotation::is_empty(segment, 0);
        // It may have survivors: without them the open segment would have none to give way to.
        memory.is_small = rotation::has_room(segment, pages[place]);
        memory.told = lasts[place].told;
        // No snapshot is as old as the start of the server, unless a transaction of before is prepared.
        let before = transactions::first_since_start() - 1;
        (memory.moved, memory.received) = (before, before);
        (memory.moving, memory.carried) = (0, 0);
        memory.count(0, 0);
        (memory.looked, memory.took, memory.removal) = (0, 0, Removal::None);
        memory.is_swollen = false;
        memory.watch.begin(ends[place]);
    }
    // SAFETY: PostgreSQL's own state. On a standby rows come that this memory does not hear of.
    lock.is_known = unsafe { !pg_sys::RecoveryInProgress() };
}

/// What the last row of a segment's ledger says.
struct Last {
    /// The position after the last that it speaks of; 0 if the ledger is empty.
    told: u64,
    /// Above all positions of the ledger: no row of it crosses a block, and the last need not be the one that ends last.
    end: u64,
}

fn last_of(segment: &Segment, server: &Server) -> Last {
    match Scan::downwards(segment, server, Sight::All).next() {
        Some(Row::Batch(Batch { span, .. }) | Row::Claim(Claim { span, .. })) => {
            Last { told: span.end, end: block_of(span.first) + BLOCK }
        }
        Some(Row::Mark(position)) => Last { told: position + 1, end: position + 1 },
        Some(Row::Moved) | None => Last { told: 0, end: 1 },
    }
}

/// The position after the last that a ledger speaks of, or one above: if the last block has very many rows not all are read.
fn end_of_positions(segment: &Segment, server: &Server, last: &Last) -> u64 {
    let start = block_of(last.end - 1);
    let rows = Scan::downwards(segment, server, Sight::All).take_while(|row| row.place() >= start);
    let ends: Vec<u64> = rows.map(|row| row.end()).take(WORK).collect();
    if ends.len() == WORK { last.end } else { ends.into_iter().fold(1, u64::max) }
}

/// Finds out at times whether others have written to the ledgers: COPY, a restore, the apply of logical replication. Then
/// everything is looked at again, and no number of theirs is given out.
pub fn compare_sometimes(queue: &Definition) {
    if !queue.memory().is_comparison_due(COMPARE_EVERY) || !queue.lock().is_known {
        return;
    }
    for number in 0..SEGMENTS {
        // One that somebody truncates is being written to by us.
        let Some(segment) = Segment::try_open(queue, number, Purpose::Look) else { continue };
        let last = last_of(&segment, &Server::now());
        segment.release_tried(Purpose::Look);
        let mut lock = queue.lock();
        if last.told > lock.segments[number].told {
            look_again(&mut lock, number, &last);
        }
    }
}

fn look_again(lock: &mut Locked, number: usize, last: &Last) {
    lock.next = lock.next.max(last.end);
    let memory = &mut lock.segments[number];
    memory.told = last.told;
    memory.is_clean = false;
    memory.watch.look_again(last.end);
}

/// Claims rows that have been chosen.
pub fn claim_rows(
    queue: &Definition,
    memory: &mut SegmentMemory,
    haul: &Haul,
    fate: Fate,
    now: i64,
    server: &Server,
) {
    watch_claims(queue, memory, haul, 0, fate, now, server);
    write_claims(haul, 0, fate, now, memory.watch.cursor());
}

/// Puts the rows from the place `from` on on the watch list.
fn watch_claims(
    queue: &Definition,
    memory: &mut SegmentMemory,
    haul: &Haul,
    from: usize,
    fate: Fate,
    now: i64,
    server: &Server,
) {
    for claim in claims_on(&haul.rows[from..], fate, now, memory.watch.cursor()) {
        watch_claim(queue, haul.segment.number, memory, claim.span, claim.until, server);
    }
}

/// Puts positions on the watch list that the current transaction claims, and counts those that it consumes.
pub fn watch_claim(
    queue: &Definition,
    segment: usize,
    memory: &mut SegmentMemory,
    span: Span,
    until: i64,
    server: &Server,
) {
    memory.watch.claimed(transactions::top(), span, until, server);
    if until == FOR_GOOD {
        memory.consumed += span.len();
    }
    savepoints::claimed(queue, segment, span);
}

/// The current transaction is about to truncate so many rows: whoever looks before its end finds none of them, and its rollback, also
/// to a savepoint, brings all of them back. So to the watch list it is like a claim on every position.
pub fn claim_all(queue: &Definition, rows: usize) {
    let mut lock = queue.lock();
    let server = Server::now();
    for (number, memory) in lock.segments.iter_mut().enumerate() {
        let span = Span { first: memory.watch.lowest(), end: memory.watch.end() };
        if !span.is_empty() {
            watch_claim(queue, number, memory, span, FOR_GOOD, &server);
        }
    }
    drop(lock);
    wake::claimed(queue, rows, Fate::Consumed);
}

fn write_claims(haul: &Haul, from: usize, fate: Fate, now: i64, cursor: u64) {
    let claims = haul.rows_of(claims_on(&haul.rows[from..], fate, haul.moment(now), cursor));
    if !claims.is_empty() {
        ledger::append(&haul.segment, &claims, None);
    }
}

/// The claims on rows: neighbours of one block that are alike share one, but none has positions on both sides of the
/// cursor.
fn claims_on(rows: &[Chosen], fate: Fate, at: i64, cursor: u64) -> Vec<Claim> {
    let mut claims: Vec<Claim> = Vec::new();
    for row in rows {
        let until = match fate {
            Fate::Leased(..) if !row.is_dead => row.until,
            _ => FOR_GOOD,
        };
        match claims.last_mut() {
            Some(last)
                if last.span.end == row.position
                    && row.position != cursor
                    && block_of(last.span.first) == block_of(row.position)
                    && (last.until, last.reads) == (until, row.reads) =>
            {
                last.span.end += 1;
            }
            _ => claims.push(Claim {
                span: Span { first: row.position, end: row.position + 1 },
                at,
                until,
                reads: row.reads,
                read_at: row.read_at,
                claimant: 0,
            }),
        }
    }
    claims
}
