//! Choosing rows and claiming them.

use claims::watch::Obstacle;
use claims::{BLOCK, Batch, Block, Claim, FOR_GOOD, Span, State, Watch, block_of};
use pgrx::pg_sys;

use super::definition::Definition;
use super::ledger::{self, Row, Scan, Sight};
use super::memory::{self, Locked};
use super::segment::{Purpose, Segment};
use super::transactions::{self, Server};
use super::{SEGMENTS, archive, now, wake};

/// Ranges of obstacles that one look remembers apart.
const OBSTACLES: usize = 64;

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
    pub segment: Segment,
    /// The rows, in the order of their positions.
    pub rows: Vec<Chosen>,
    /// Where to look for them.
    pub batches: Vec<Batch>,
}

impl Haul {
    /// Chooses a row whose block is known.
    pub fn choose(&mut self, block: &Block, position: u64, fate: Fate, now: i64) {
        let (known, batch) = (block.known(position), block.batch(position));
        let Some(batch) = batch else { return };
        if self.batches.last().is_none_or(|last| last.span != batch.span) {
            self.batches.push(*batch);
        }
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
                chosen.until = now.saturating_add(time);
            }
        }
        self.rows.push(chosen);
    }
}

/// Chooses free rows and claims them for the current transaction: fewer than wanted only if no more are free.
///
/// Where nothing is free, nothing is written: the transaction gets no number, and its commit costs nothing.
pub fn claim(queue: &Definition, wanted: Wanted) -> Vec<Haul> {
    if wanted.count == 0 {
        return Vec::new();
    }
    let purpose = if wanted.fate == Fate::Shown { Purpose::Look } else { Purpose::Take };
    // Mostly the oldest segment has enough, and the others need not be opened.
    let mut hauls = match promising(queue, purpose) {
        Some(order) if order.is_empty() => return Vec::new(),
        Some(order) => claim_in(queue, open_these(queue, &order[..1], purpose), wanted),
        None => Vec::new(),
    };
    let found: usize = hauls.iter().map(|haul| haul.rows.len()).sum();
    if found < wanted.count {
        let count = wanted.count - found;
        // What was shown is shown again with the rest: nothing was claimed.
        let (kept, count) = if wanted.fate == Fate::Shown { (0, wanted.count) } else { (hauls.len(), count) };
        hauls.truncate(kept);
        let segments = match promising(queue, purpose) {
            Some(order) => open_these(queue, &order, purpose),
            None => learn(queue, purpose),
        };
        hauls.extend(claim_in(queue, segments, Wanted { count, ..wanted }));
    }
    wake::claimed(queue, &hauls, wanted.fate);
    hauls
}

/// The segments to be looked through, the one with the oldest rows first; none if that is not known yet. A taker
/// looks where rows may have become free since somebody has looked, everybody else wherever there are any.
fn promising(queue: &Definition, purpose: Purpose) -> Option<Vec<usize>> {
    let mut lock = queue.lock();
    if !lock.is_known {
        return None;
    }
    let mut order = order(&lock);
    if purpose == Purpose::Take {
        let (server, now) = (Server::now(), now().max(lock.latest + 1));
        order.retain(|number| is_due(&mut lock.segments[*number].watch, now, &server));
    }
    Some(order)
}

fn is_due(watch: &mut Watch, now: i64, server: &Server) -> bool {
    if watch.next_range(now).is_none() {
        // Transactions may have ended since.
        watch.settle(now, server);
    }
    watch.next_range(now).is_some()
}

/// Claims rows of these segments, all at one moment.
fn claim_in(queue: &Definition, segments: Vec<Segment>, wanted: Wanted) -> Vec<Haul> {
    let mut lock = queue.lock();
    let server = Server::now();
    let now = now().max(lock.latest + 1);
    lock.latest = now;
    let mut hauls = Vec::new();
    let mut missing = wanted.count;
    for segment in segments {
        let watch = &mut lock.segments[segment.number].watch;
        let haul = choose(watch, segment, &server, Wanted { count: missing, ..wanted }, now);
        missing -= haul.rows.len();
        hauls.push(haul);
        if missing == 0 {
            break;
        }
    }
    hauls.retain(|haul| !haul.rows.is_empty());
    hauls
}

/// Moves the cursors past what is consumed, and claims nothing.
pub fn advance(queue: &Definition) {
    let segments = open(queue, Purpose::Look);
    let mut lock = queue.lock();
    let (server, now) = (Server::now(), now());
    for segment in segments {
        let watch = &mut lock.segments[segment.number].watch;
        watch.settle(now, &server);
        let mut haul = Haul { segment, rows: Vec::new(), batches: Vec::new() };
        while let Some(range) = watch.next_range(now) {
            let mut look = Look::new(&mut haul, Wanted { count: 1, fate: Fate::Shown }, now);
            let upto = look.through(range.span, range.rows_from, &server);
            let obstacles = std::mem::take(&mut look.obstacles);
            let found = haul.rows.pop().map(|row| row.position);
            watch.passed(range, found.unwrap_or(upto), 0, &obstacles, &server);
            if found.is_some() || range.is_rest() {
                break;
            }
        }
    }
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
fn order(state: &memory::State) -> Vec<usize> {
    let mut order: Vec<usize> =
        (0..SEGMENTS).filter(|number| !state.segments[*number].watch.is_drained()).collect();
    order.sort_by_key(|number| state.segments[*number].watch.lowest());
    order
}

/// After a restart: the next position is found in the ledgers, or above the archive, and everything is to be looked at.
pub fn learn(queue: &Definition, purpose: Purpose) -> Vec<Segment> {
    let segments: Vec<Segment> = (0..SEGMENTS).map(|number| Segment::open(queue, number, purpose)).collect();
    let archived = archive::last(queue);
    let mut lock = queue.lock();
    if !lock.is_known {
        learn_locked(&mut lock, &segments);
        lock.next = lock.next.max(archived + 1);
    }
    segments
}

fn learn_locked(lock: &mut Locked, segments: &[Segment]) {
    let server = Server::now();
    let ends: Vec<u64> = segments.iter().map(|segment| end_of(segment, &server)).collect();
    lock.next = ends.iter().copied().max().unwrap_or(0).max(1);
    lock.open = ends.iter().position(|end| *end == lock.next).unwrap_or(0);
    lock.latest = 0;
    lock.tidied = 0;
    for (place, segment) in segments.iter().enumerate() {
        let memory = &mut lock.segments[place];
        memory.is_clean = segment.rows.pages() == 0;
        memory.watch.begin(ends[place]);
    }
    // SAFETY: PostgreSQL's own state. On a standby rows come that this memory does not hear of.
    lock.is_known = unsafe { !pg_sys::RecoveryInProgress() };
}

/// A position above all that a segment's ledger speaks of: no row of it crosses a block.
fn end_of(segment: &Segment, server: &Server) -> u64 {
    let last = Scan::downwards(segment, server, Sight::All).next();
    match last {
        Some(Row::Batch(Batch { span, .. }) | Row::Claim(Claim { span, .. })) => block_of(span.first) + BLOCK,
        Some(Row::Mark(position)) => position + 1,
        None => 1,
    }
}

/// Looks through a segment until enough rows are chosen, and claims them.
fn choose(watch: &mut Watch, segment: Segment, server: &Server, wanted: Wanted, now: i64) -> Haul {
    let mut haul = Haul { segment, rows: Vec::new(), batches: Vec::new() };
    if wanted.fate == Fate::Shown {
        let span = Span { first: watch.lowest(), end: u64::MAX };
        Look::new(&mut haul, wanted, now).through(span, block_of(span.first), server);
        return haul;
    }
    watch.settle(now, server);
    while haul.rows.len() < wanted.count
        && let Some(range) = watch.next_range(now)
    {
        let before = haul.rows.len();
        let mut look = Look::new(&mut haul, wanted, now);
        let upto = look.through(range.span, range.rows_from, server);
        let (obstacles, rows_from) = (std::mem::take(&mut look.obstacles), look.rows_from);
        if haul.rows.len() > before {
            // The transaction gets its number. It may fail: before the cursor passes the rows.
            transactions::current();
        }
        let whole = watch.passed(range, upto, rows_from, &obstacles, server);
        watch_claims(watch, &haul.rows[before..], wanted.fate, now, server);
        // Ranges may overlap: the next look must see what is claimed.
        write_claims(&haul.segment, &haul.rows[before..], wanted.fate, now);
        if whole && range.is_rest() {
            break;
        }
    }
    haul.rows.sort_unstable_by_key(|row| row.position);
    haul
}

/// Claims rows that have been chosen.
pub fn claim_rows(watch: &mut Watch, haul: &Haul, fate: Fate, now: i64, server: &Server) {
    watch_claims(watch, &haul.rows, fate, now, server);
    write_claims(&haul.segment, &haul.rows, fate, now);
}

fn watch_claims(watch: &mut Watch, rows: &[Chosen], fate: Fate, now: i64, server: &Server) {
    if rows.is_empty() {
        return;
    }
    let claimant = transactions::current();
    for claim in claims_on(rows, fate, now) {
        watch.claimed(claimant, claim.span, claim.until, server);
    }
}

fn write_claims(segment: &Segment, rows: &[Chosen], fate: Fate, now: i64) {
    if rows.is_empty() {
        return;
    }
    let claims: Vec<Row> = claims_on(rows, fate, now).into_iter().map(Row::Claim).collect();
    ledger::append(segment, &claims, None);
}

/// The claims on rows: neighbours of one block that are alike share one.
fn claims_on(rows: &[Chosen], fate: Fate, at: i64) -> Vec<Claim> {
    let mut claims: Vec<Claim> = Vec::new();
    for row in rows {
        let until = match fate {
            Fate::Leased(..) if !row.is_dead => row.until,
            _ => FOR_GOOD,
        };
        match claims.last_mut() {
            Some(last)
                if last.span.end == row.position
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

/// A look through a range.
struct Look<'a> {
    haul: &'a mut Haul,
    wanted: Wanted,
    now: i64,
    obstacles: Vec<Obstacle>,
    /// Where the ledger's rows begin about what has not been looked at, when enough was found; otherwise 0.
    rows_from: u64,
}

impl<'a> Look<'a> {
    fn new(haul: &'a mut Haul, wanted: Wanted, now: i64) -> Look<'a> {
        Look { haul, wanted, now, obstacles: Vec::new(), rows_from: 0 }
    }

    /// Reads the ledger from `rows_from` on. Returns the position up to which it has come.
    fn through(&mut self, span: Span, rows_from: u64, server: &Server) -> u64 {
        let mut block = Block::new(span.first);
        // Positions below have been looked at; so many above may be free.
        let (mut seen, mut promising) = (span.first, 0);
        // The scan keeps the ledger's index busy; the haul is changed meanwhile.
        let segment: *const Segment = &self.haul.segment;
        // SAFETY: the segment stays where it is for as long as the haul is borrowed.
        let scan = Scan::upwards(unsafe { &*segment }, server, rows_from);
        for row in scan {
            let (Row::Batch(Batch { span: about, .. }) | Row::Claim(Claim { span: about, .. })) = row else {
                continue;
            };
            let other = block_of(about.first) != block.start;
            // Rows are in the order of their positions: nothing more comes about what is below this one.
            if other || (about.first > seen && promising >= self.left()) {
                let end = if other { block.start + BLOCK } else { about.first };
                if let Some(upto) = self.through_block(&mut block, seen, end.min(span.end)) {
                    return upto;
                }
                (seen, promising) = (end.max(seen), 0);
            }
            if about.first >= span.end {
                break;
            }
            if other {
                block.reset(about.first);
                seen = block.start.max(span.first);
            }
            match row {
                Row::Batch(batch) => {
                    promising += about.end.saturating_sub(about.first.max(seen)) as usize;
                    block.add_batch(batch);
                }
                Row::Claim(claim) => block.add_claim(claim),
                Row::Mark(_) => {}
            }
        }
        self.through_block(&mut block, seen, span.end).unwrap_or(span.end)
    }

    /// How many rows are wanted still.
    fn left(&self) -> usize {
        self.wanted.count - self.haul.rows.len()
    }

    /// Looks through a part of a block; the position after the last that was chosen, if nothing more is wanted.
    fn through_block(&mut self, block: &mut Block, from: u64, end: u64) -> Option<u64> {
        block.settle();
        for position in from.max(block.start)..end.min(block.start + BLOCK) {
            match block.state(position, self.now) {
                State::Absent | State::Consumed => {}
                State::Busy(transaction) => self.obstacle(position, transaction, i64::MIN),
                State::Waits(until) => self.obstacle(position, 0, until),
                State::Free => {
                    self.haul.choose(block, position, self.wanted.fate, self.now);
                    if self.left() == 0 {
                        self.rows_from = block.start_of_rows(position + 1);
                        return Some(position + 1);
                    }
                }
            }
        }
        None
    }

    fn obstacle(&mut self, position: u64, transaction: u64, until: i64) {
        let full = self.obstacles.len() >= OBSTACLES;
        let alike = |known: &&mut Obstacle| known.transaction == transaction;
        let known = if full {
            self.obstacles.iter_mut().rev().find(alike)
        } else {
            self.obstacles.last_mut().filter(|known| alike(known) && known.span.end + BLOCK >= position)
        };
        match known {
            Some(known) => {
                known.span.end = position + 1;
                known.until = known.until.min(until);
            }
            None => {
                let span = Span { first: position, end: position + 1 };
                self.obstacles.push(Obstacle { span, transaction, until });
            }
        }
    }
}
