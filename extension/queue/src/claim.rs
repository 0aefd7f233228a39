//! Choosing rows and claiming them.

use std::rc::Rc;

use claims::watch::Obstacle;
use claims::{BLOCK, Claim, FOR_GOOD, Rows, Span, block_of, times};

use super::claimed_rows::{Chosen, Fate, Haul, SLICE, Wanted, in_order};
use super::definition::Definition;
use super::learn::{compare_sometimes, learn, open};
use super::look::{Look, WORK};
use super::memory::{self, Locked, SegmentMemory, Watch};
use super::segment::{Purpose, Segment};
use super::transactions::{self, Server};
use super::{SEGMENTS, counted, ledger, savepoints, wake};

/// Dead rows after which a call is content with fewer rows than it wants, once it has some.
const DEAD: usize = 10_000;

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
pub(crate) struct Search<'a> {
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
    pub(crate) fn new(queue: &'a Definition, fate: Fate) -> Search<'a> {
        let opened = [const { None }; SEGMENTS];
        Search { queue, fate, has_learnt: false, opened, seen: [0; SEGMENTS], floor: 0, end: 0 }
    }

    fn purpose(&self) -> Purpose {
        if self.fate == Fate::Shown { Purpose::Look } else { Purpose::Take }
    }

    /// The next rows, so many at most and often fewer, or none; none at all once everything has been looked through.
    pub(crate) fn slice(&mut self, count: usize) -> Option<Vec<Haul>> {
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
            // Tables are opened without the lock, and who has none yet settles nothing before: others wait for the lock meanwhile.
            let has_none = self.opened.iter().all(Option::is_none);
            let guess = if has_none { self.window(&mut lock, now, None) } else { None };
            let window = guess.or_else(|| self.window(&mut lock, now, Some(&server)))?;
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
    /// everybody else wherever there are any. Without `server` it is only known where some are, not where all are.
    fn starts(
        &self,
        state: &mut memory::State,
        now: i64,
        server: Option<&Server>,
    ) -> [Option<u64>; SEGMENTS] {
        std::array::from_fn(|number| {
            let (watch, seen) = (&mut state.segments[number].watch, self.seen[number]);
            if self.fate == Fate::Shown {
                let start = watch.lowest().max(seen);
                return (start < watch.end()).then_some(start);
            }
            if let Some(server) = server {
                watch.settle(now, server);
            }
            watch.next_range_from(seen.max(self.floor), now).map(|range| range.span.first)
        })
    }

    /// The segment with the lowest positions is looked through up to where the next one begins. Where several have positions of
    /// one block, as when writers went over from one to the other, the block is looked through in all of them.
    fn window(&self, state: &mut memory::State, now: i64, server: Option<&Server>) -> Option<Window> {
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
        lock.note_claim(now);
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
            let upto = look.through(span, window.end, Rows::all(block_of(start)), server);
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
            watch.passed(range, upto, Rows::default(), &looked.obstacles, server);
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
            *seen =
                Look::new(&mut haul, wanted, now).through(span, end, Rows::all(block_of(span.first)), server);
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
            let upto = look.through(range.span, end, range.rows, server);
            work = look.work;
            let (obstacles, rows) = (std::mem::take(&mut look.obstacles), look.rows);
            if haul.rows.len() > before {
                // The transaction gets its number. It may fail: before the cursor passes the rows.
                transactions::current();
            }
            memory.watch.passed(range, upto, rows, &obstacles, server);
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

/// Moves the cursors past what is consumed, and claims nothing.
pub(crate) fn advance(queue: &Definition) {
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
    let upto = look.through(range.span, u64::MAX, range.rows, &server);
    let obstacles = std::mem::take(&mut look.obstacles);
    let found = haul.rows.first().map(|row| row.position);
    watch.passed(range, found.unwrap_or(upto), Rows::default(), &obstacles, &server);
    *seen = upto;
    found.is_some()
}

/// Claims rows that have been chosen.
pub(crate) fn claim_rows(
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
pub(crate) fn watch_claim(
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
        counted::consumed(queue, segment, span.len());
    }
    savepoints::claimed(queue, segment, span);
}

/// The current transaction is about to truncate so many rows: whoever looks before its end finds none of them, and its rollback, also
/// to a savepoint, brings all of them back. So to the watch list it is like a claim on every position.
pub(crate) fn claim_all(queue: &Definition, rows: usize) {
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
            Fate::Held(time) => times::after(at, time),
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
