//! A bounded queue of indexes with many producers and many consumers.
//!
//! A cell holds its lap and its value in one word, so an element appears and disappears by a single
//! compare-and-swap on its cell; head and tail only follow, and anybody moves them on. Vyukov's queue, which
//! first claims a position and then fills it, is a few nanoseconds cheaper, but a producer that loses the
//! processor between the two hides everything behind it. Here nobody waits for anybody, and "empty" is true.

use crate::sync::{AtomicU64, Line, Ordering};

/// In place of a value: nothing here yet.
const VACANT: u32 = u32::MAX;

/// Both ends of a queue, in shared memory. The cells lie elsewhere.
#[repr(C)]
pub(crate) struct Ends {
    head: Line<AtomicU64>,
    tail: Line<AtomicU64>,
}

impl Ends {
    pub(crate) fn new() -> Self {
        Ends { head: Line(AtomicU64::new(0)), tail: Line(AtomicU64::new(0)) }
    }
}

/// The content of a vacant cell on its first lap.
pub(crate) fn vacant_cell() -> AtomicU64 {
    AtomicU64::new(pack(0, VACANT))
}

fn pack(lap: u32, value: u32) -> u64 {
    u64::from(lap) << 32 | u64::from(value)
}

fn unpack(cell: u64) -> (u32, u32) {
    ((cell >> 32) as u32, cell as u32)
}

/// What the cell at the head of a queue says.
enum Front {
    Empty,
    Holds(u64),
    /// Somebody has taken the element and not yet moved the head.
    Stale,
}

/// A queue, seen through its ends and its cells. The number of cells is a power of two.
#[derive(Clone, Copy)]
pub(crate) struct Queue<'a> {
    ends: &'a Ends,
    cells: &'a [AtomicU64],
}

impl<'a> Queue<'a> {
    pub(crate) fn new(ends: &'a Ends, cells: &'a [AtomicU64]) -> Self {
        debug_assert!(cells.len().is_power_of_two());
        Queue { ends, cells }
    }

    fn cell(&self, position: u64) -> (&'a AtomicU64, u32) {
        let capacity = self.cells.len() as u64;
        (&self.cells[(position & (capacity - 1)) as usize], (position >> capacity.trailing_zeros()) as u32)
    }

    /// Appends a value.
    ///
    /// The queue has a cell for every slot there is, and a slot is in one queue at a time.
    ///
    /// # Panics
    /// If the queue is full, which means that shared memory is damaged.
    pub(crate) fn push(&self, value: u32) {
        debug_assert!(value != VACANT);
        loop {
            let position = self.ends.tail.0.load(Ordering::Acquire);
            let (cell, lap) = self.cell(position);
            let seen = cell.load(Ordering::Acquire);
            if seen == pack(lap, VACANT) {
                let filled = pack(lap, value);
                if cell.compare_exchange(seen, filled, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                    advance(&self.ends.tail.0, position);
                    return;
                }
            } else {
                // With a cell for every slot, the cell's last value was taken before the slot that is pushed
                // here became free, so an older lap is never seen.
                let full = unpack(seen).0 == lap.wrapping_sub(1);
                assert!(!full, "the exchange's memory is damaged: a queue is full");
                advance(&self.ends.tail.0, position);
            }
        }
    }

    /// Takes the oldest value.
    pub(crate) fn pop(&self) -> Option<u32> {
        self.pop_if(|_| true)
    }

    /// Takes the oldest value if `wanted` says so.
    pub(crate) fn pop_if(&self, wanted: impl Fn(u32) -> bool) -> Option<u32> {
        loop {
            let position = self.ends.head.0.load(Ordering::Acquire);
            let (cell, lap) = self.cell(position);
            match self.front(cell, lap) {
                Front::Empty => return None,
                Front::Stale => advance(&self.ends.head.0, position),
                Front::Holds(seen) => {
                    let value = unpack(seen).1;
                    if !wanted(value) {
                        return None;
                    }
                    let vacant = pack(lap.wrapping_add(1), VACANT);
                    if cell.compare_exchange(seen, vacant, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                        advance(&self.ends.head.0, position);
                        return Some(value);
                    }
                }
            }
        }
    }

    /// The oldest value, which somebody else may be taking meanwhile.
    pub(crate) fn peek(&self) -> Option<u32> {
        loop {
            let position = self.ends.head.0.load(Ordering::Acquire);
            let (cell, lap) = self.cell(position);
            match self.front(cell, lap) {
                Front::Empty => return None,
                Front::Holds(seen) => return Some(unpack(seen).1),
                Front::Stale => advance(&self.ends.head.0, position),
            }
        }
    }

    fn front(&self, cell: &AtomicU64, lap: u32) -> Front {
        let seen = cell.load(Ordering::Acquire);
        match unpack(seen) {
            (seen_lap, VACANT) if seen_lap == lap => Front::Empty,
            (seen_lap, _) if seen_lap == lap => Front::Holds(seen),
            _ => Front::Stale,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.peek().is_none()
    }

    /// How many values wait, for statistics: neither end stands still meanwhile.
    pub(crate) fn len(&self) -> u32 {
        let head = self.ends.head.0.load(Ordering::Relaxed);
        let tail = self.ends.tail.0.load(Ordering::Relaxed);
        tail.saturating_sub(head).min(self.cells.len() as u64) as u32
    }
}

/// Moves an end past `position`, unless somebody has done so already.
fn advance(end: &AtomicU64, position: u64) {
    let _ = end.compare_exchange(position, position + 1, Ordering::AcqRel, Ordering::Relaxed);
}
