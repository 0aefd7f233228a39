//! The region: laid out once, attached by every process.

use std::ptr::NonNull;

use crate::gate::{Gate, GateCounts};
use crate::lane::Lane;
use crate::layout::{ALIGNMENT, Block, Header, Inline, Layout, MAGIC, RegionError, Sizes, TOPS, queues};
use crate::queue::{Ends, Queue, vacant_cell};
use crate::seat::{Desk, Seat};
use crate::slot::{Generation, Phase, Slot};
use crate::stack::{NONE, Stack, Top};
use crate::sync::{AtomicU32, AtomicU64};

/// The exchange, as one process sees it. Copies are the same exchange.
#[derive(Clone, Copy)]
pub struct Exchange {
    sizes: Sizes,
    queue_cells: usize,
    pub(crate) lanes: &'static [Lane],
    pub(crate) gates: &'static [Gate],
    pub(crate) desks: &'static [Desk],
    pub(crate) seats: &'static [Seat],
    ends: &'static [Ends],
    cells: &'static [AtomicU64],
    pub(crate) slots: &'static [Slot],
    slot_links: &'static [AtomicU32],
    block_links: &'static [AtomicU32],
    pub(crate) inline: &'static [Inline],
    pub(crate) blocks: &'static [Block],
    tops: &'static [Top],
}

impl Exchange {
    /// Lays out an empty exchange at `base`, whatever stood there before.
    ///
    /// # Errors
    /// If the sizes are out of range or `base` is not a multiple of [`ALIGNMENT`].
    ///
    /// # Safety
    /// `base` points to [`Sizes::bytes`] writable bytes, which stay until the last handle is gone. Nobody else
    /// uses them until this returns.
    pub unsafe fn format(base: NonNull<u8>, sizes: &Sizes) -> Result<Exchange, RegionError> {
        check_alignment(base)?;
        let layout = Layout::of(sizes)?;
        // SAFETY: the caller gives the whole region, aligned, to this function alone.
        unsafe {
            let place = |offset: usize| base.as_ptr().add(offset);
            fill(place(layout.tops), TOPS, Top::empty);
            fill(place(layout.lanes), sizes.lanes as usize, || Lane::new(sizes.executors));
            fill(place(layout.gates), sizes.gates as usize, Gate::new);
            fill(place(layout.gateways), sizes.gateways as usize, Desk::new);
            fill(place(layout.seats), sizes.executors as usize, Seat::new);
            fill(place(layout.ends), queues(sizes), Ends::new);
            fill(place(layout.cells), queues(sizes) * sizes.queue_cells(), vacant_cell);
            fill(place(layout.slots), sizes.slots as usize, Slot::new);
            fill(place(layout.slot_links), sizes.slots as usize, || AtomicU32::new(NONE));
            fill(place(layout.block_links), sizes.blocks as usize, || AtomicU32::new(NONE));
            if cfg!(loom) {
                fill(place(layout.inline), sizes.slots as usize, Inline::zeroed);
                fill(place(layout.blocks), sizes.blocks as usize, Block::zeroed);
            }
            base.cast::<Header>().write(Header { magic: MAGIC, sizes: *sizes });
        }
        // SAFETY: the region has just been formatted, and the caller keeps it.
        let exchange = unsafe { Exchange::attach(base)? };
        (0..sizes.slots).rev().for_each(|slot| exchange.free_slots_stack().push(slot));
        (0..sizes.blocks).rev().for_each(|block| exchange.free_blocks_stack().push(block));
        Ok(exchange)
    }

    /// The exchange that was formatted at `base`, here or in another process.
    ///
    /// # Errors
    /// If there is none.
    ///
    /// # Safety
    /// `base` points to memory that was formatted, or at least to the readable bytes of a header that was not;
    /// it stays until the last handle is gone.
    pub unsafe fn attach(base: NonNull<u8>) -> Result<Exchange, RegionError> {
        check_alignment(base)?;
        // SAFETY: the caller vouches for a readable header.
        let header = unsafe { base.cast::<Header>().read() };
        if header.magic != MAGIC {
            return Err(RegionError::NotFormatted);
        }
        let sizes = header.sizes;
        let layout = Layout::of(&sizes)?;
        // SAFETY: the region was formatted with this layout. What lies in it is atomic, or an Area.
        unsafe {
            let place = |offset: usize| base.as_ptr().add(offset);
            Ok(Exchange {
                sizes,
                queue_cells: sizes.queue_cells(),
                tops: array(place(layout.tops), TOPS),
                lanes: array(place(layout.lanes), sizes.lanes as usize),
                gates: array(place(layout.gates), sizes.gates as usize),
                desks: array(place(layout.gateways), sizes.gateways as usize),
                seats: array(place(layout.seats), sizes.executors as usize),
                ends: array(place(layout.ends), queues(&sizes)),
                cells: array(place(layout.cells), queues(&sizes) * sizes.queue_cells()),
                slots: array(place(layout.slots), sizes.slots as usize),
                slot_links: array(place(layout.slot_links), sizes.slots as usize),
                block_links: array(place(layout.block_links), sizes.blocks as usize),
                inline: array(place(layout.inline), sizes.slots as usize),
                blocks: array(place(layout.blocks), sizes.blocks as usize),
            })
        }
    }

    /// The sizes it was formatted with.
    pub fn sizes(&self) -> &Sizes {
        &self.sizes
    }

    fn queue(&self, number: usize) -> Queue<'static> {
        let cells = self.queue_cells;
        Queue::new(&self.ends[number], &self.cells[number * cells..(number + 1) * cells])
    }

    pub(crate) fn run_queue(&self, lane: u32) -> Queue<'static> {
        assert!(lane < self.sizes.lanes, "lane {lane} of {}", self.sizes.lanes);
        self.queue(lane as usize)
    }

    pub(crate) fn parked(&self, gate: u32) -> Queue<'static> {
        assert!(gate < self.sizes.gates, "gate {gate} of {}", self.sizes.gates);
        self.queue((self.sizes.lanes + gate) as usize)
    }

    pub(crate) fn completions(&self, gateway: u32) -> Queue<'static> {
        assert!(gateway < self.sizes.gateways, "gateway {gateway} of {}", self.sizes.gateways);
        self.queue((self.sizes.lanes + self.sizes.gates + gateway) as usize)
    }

    pub(crate) fn free_slots_stack(&self) -> Stack<'static> {
        Stack::new(&self.tops[0], self.slot_links)
    }

    pub(crate) fn free_blocks_stack(&self) -> Stack<'static> {
        Stack::new(&self.tops[1], self.block_links)
    }

    pub(crate) fn slot(&self, slot: u32) -> &'static Slot {
        &self.slots[slot as usize]
    }

    /// Frees a slot with everything in it. The caller holds it.
    pub(crate) fn free(&self, index: u32, generation: Generation) {
        let slot = self.slot(index);
        self.free_chain(slot.request_chain.get());
        self.free_chain(slot.response_chain.get());
        slot.set(generation + 1, Phase::Free);
        self.free_slots_stack().push(index);
    }

    /// Requests in a lane's run queue.
    pub fn queued(&self, lane: u32) -> u32 {
        self.run_queue(lane).len()
    }

    /// Executors of a lane that sleep.
    pub fn idle(&self, lane: u32) -> u32 {
        self.lanes[lane as usize].idle()
    }

    /// Executors of a lane that count as looking for work.
    pub fn searching(&self, lane: u32) -> u32 {
        self.lanes[lane as usize].searching()
    }

    /// Slots that are free.
    pub fn free_slots(&self) -> u32 {
        self.free_slots_stack().len()
    }

    /// Blocks that are free.
    pub fn free_blocks(&self) -> u32 {
        self.free_blocks_stack().len()
    }

    /// A gate's limit and counters.
    pub fn gate(&self, gate: u32) -> GateCounts {
        let parked = self.parked(gate).len();
        let gate = &self.gates[gate as usize];
        GateCounts { limit: gate.limit(), running: gate.running(), parked }
    }
}

impl std::fmt::Debug for Exchange {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Exchange").field("sizes", &self.sizes).finish_non_exhaustive()
    }
}

fn check_alignment(base: NonNull<u8>) -> Result<(), RegionError> {
    let aligned = base.as_ptr().addr().is_multiple_of(ALIGNMENT);
    if aligned { Ok(()) } else { Err(RegionError::Misaligned) }
}

/// Writes an array.
///
/// # Safety
/// `base` points to memory for `count` values that nobody else uses yet.
unsafe fn fill<T>(base: *mut u8, count: usize, value: impl Fn() -> T) {
    for index in 0..count {
        // SAFETY: within the caller's memory.
        unsafe { base.cast::<T>().add(index).write(value()) };
    }
}

/// An array of the region.
///
/// # Safety
/// `base` points to `count` values that `fill` wrote, or for areas to any bytes, and that stay.
unsafe fn array<T>(base: *mut u8, count: usize) -> &'static [T] {
    // SAFETY: as the caller vouches.
    unsafe { std::slice::from_raw_parts(base.cast::<T>(), count) }
}
