//! Where everything lies in the region.

use crate::lane::MAX_EXECUTORS;
use crate::queue::Ends;
use crate::sync::{Area, AtomicU32, AtomicU64};

/// Bytes of a slot's inline area. Most requests and responses are smaller and need no block.
#[cfg(not(loom))]
pub const INLINE: usize = 2048;
/// Bytes of a block.
#[cfg(not(loom))]
pub const BLOCK: usize = 8192;

/// Small in the models, so that a message of a few bytes needs blocks.
#[cfg(loom)]
pub const INLINE: usize = 4;
/// Small in the models, as [`INLINE`].
#[cfg(loom)]
pub const BLOCK: usize = 4;

/// What the region is aligned to, and everything in it that several processes write.
pub const ALIGNMENT: usize = 128;

/// The most of each kind: indexes have 32 bits, and queues are rounded up to a power of two.
const MAX_COUNT: u32 = 1 << 24;

/// How many of everything there are. Fixed when the region is formatted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Sizes {
    /// Requests in flight, of all gateways together.
    pub slots: u32,
    /// Blocks of the arena, of [`BLOCK`] bytes each.
    pub blocks: u32,
    /// Lanes: run queues.
    pub lanes: u32,
    /// Executors of all lanes together, at most [`MAX_EXECUTORS`].
    pub executors: u32,
    /// Gateways.
    pub gateways: u32,
    /// Gates; 0 if no route has a limit. Each costs a queue: 8 bytes for each slot.
    pub gates: u32,
}

impl Sizes {
    /// How many bytes the region needs.
    ///
    /// # Errors
    /// If a number is out of range or their product does not fit into memory.
    pub fn bytes(&self) -> Result<usize, RegionError> {
        Ok(Layout::of(self)?.bytes)
    }

    /// Cells of a queue that can hold every slot, and so is never full.
    pub(crate) fn queue_cells(&self) -> usize {
        self.slots.next_power_of_two() as usize
    }

    fn check(&self) -> Result<(), RegionError> {
        let ranges = [
            ("slots", self.slots, 1, MAX_COUNT),
            ("blocks", self.blocks, 1, MAX_COUNT),
            ("lanes", self.lanes, 1, MAX_COUNT),
            ("executors", self.executors, 1, MAX_EXECUTORS),
            ("gateways", self.gateways, 1, MAX_COUNT),
            ("gates", self.gates, 0, MAX_COUNT),
        ];
        for (name, value, least, most) in ranges {
            if !(least..=most).contains(&value) {
                return Err(RegionError::OutOfRange { name, value, least, most });
            }
        }
        Ok(())
    }
}

/// Why a region cannot be formatted or attached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RegionError {
    /// One of the [`Sizes`] is too small or too large.
    OutOfRange {
        /// Which.
        name: &'static str,
        /// Its value.
        value: u32,
        /// The least that is allowed.
        least: u32,
        /// The most that is allowed.
        most: u32,
    },
    /// The sizes together exceed the address space.
    TooLarge,
    /// The region does not begin at a multiple of [`ALIGNMENT`].
    Misaligned,
    /// The region was not formatted, or by another version.
    NotFormatted,
}

impl std::fmt::Display for RegionError {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            RegionError::OutOfRange { name, value, least, most } => {
                write!(out, "the exchange cannot have {value} {name}: from {least} to {most} are possible")
            }
            RegionError::TooLarge => write!(out, "the exchange would not fit into memory"),
            RegionError::Misaligned => write!(out, "the exchange must begin at a multiple of {ALIGNMENT}"),
            RegionError::NotFormatted => write!(out, "this memory holds no exchange of this version"),
        }
    }
}

impl std::error::Error for RegionError {}

pub(crate) type Inline = Area<INLINE>;
pub(crate) type Block = Area<BLOCK>;
/// Free slots and free blocks.
pub(crate) const TOPS: usize = 2;
const QUEUE_ENDS: usize = size_of::<Ends>();

/// "exchange", with the version of the layout in the last byte.
pub(crate) const MAGIC: u64 = u64::from_be_bytes(*b"exchang\x01");

/// The first bytes of a region.
#[repr(C)]
pub(crate) struct Header {
    pub(crate) magic: u64,
    pub(crate) sizes: Sizes,
}

/// Offsets of the sections. Each is an array and begins at a multiple of [`ALIGNMENT`].
pub(crate) struct Layout {
    pub(crate) tops: usize,
    pub(crate) lanes: usize,
    pub(crate) gates: usize,
    pub(crate) gateways: usize,
    pub(crate) seats: usize,
    /// Ends of the queues: of the lanes, then the gates, then the gateways.
    pub(crate) ends: usize,
    /// Cells of the queues, in the same order.
    pub(crate) cells: usize,
    pub(crate) slots: usize,
    pub(crate) slot_links: usize,
    pub(crate) block_links: usize,
    pub(crate) inline: usize,
    pub(crate) blocks: usize,
    bytes: usize,
}

impl Layout {
    pub(crate) fn of(sizes: &Sizes) -> Result<Layout, RegionError> {
        sizes.check()?;
        Layout::place(sizes).ok_or(RegionError::TooLarge)
    }

    fn place(sizes: &Sizes) -> Option<Layout> {
        let queues = queues(sizes);
        let cells = queues.checked_mul(sizes.queue_cells())?;
        let mut end = size_of::<Header>();
        Some(Layout {
            tops: section(&mut end, size_of::<crate::stack::Top>(), TOPS)?,
            lanes: section(&mut end, size_of::<crate::lane::Lane>(), sizes.lanes as usize)?,
            gates: section(&mut end, size_of::<crate::gate::Gate>(), sizes.gates as usize)?,
            gateways: section(&mut end, size_of::<crate::seat::Desk>(), sizes.gateways as usize)?,
            seats: section(&mut end, size_of::<crate::seat::Seat>(), sizes.executors as usize)?,
            ends: section(&mut end, QUEUE_ENDS, queues)?,
            cells: section(&mut end, size_of::<AtomicU64>(), cells)?,
            slots: section(&mut end, size_of::<crate::slot::Slot>(), sizes.slots as usize)?,
            slot_links: section(&mut end, size_of::<AtomicU32>(), sizes.slots as usize)?,
            block_links: section(&mut end, size_of::<AtomicU32>(), sizes.blocks as usize)?,
            inline: section(&mut end, size_of::<Inline>(), sizes.slots as usize)?,
            blocks: section(&mut end, size_of::<Block>(), sizes.blocks as usize)?,
            bytes: end,
        })
    }
}

pub(crate) fn queues(sizes: &Sizes) -> usize {
    sizes.lanes as usize + sizes.gates as usize + sizes.gateways as usize
}

/// Reserves an array behind `end` and returns its offset. No offset may exceed isize::MAX.
fn section(end: &mut usize, size: usize, count: usize) -> Option<usize> {
    let start = end.checked_next_multiple_of(ALIGNMENT)?;
    *end = start.checked_add(size.checked_mul(count)?).filter(|&end| end <= isize::MAX as usize)?;
    Some(start)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const SIZES: Sizes = Sizes { slots: 3, blocks: 5, lanes: 2, executors: 4, gateways: 1, gates: 2 };

    #[test]
    fn sizes_out_of_range_are_refused_by_name() {
        let error = Sizes { slots: 0, ..SIZES }.bytes().unwrap_err();
        assert_eq!(error.to_string(), "the exchange cannot have 0 slots: from 1 to 16777216 are possible");
        assert!(Sizes { executors: MAX_EXECUTORS + 1, ..SIZES }.bytes().is_err());
        assert!(Sizes { gates: 0, ..SIZES }.bytes().is_ok());
    }

    #[test]
    fn a_product_beyond_the_address_space_is_refused() {
        let most = Sizes { slots: MAX_COUNT, gates: MAX_COUNT, lanes: MAX_COUNT, ..SIZES };
        assert!(matches!(most.bytes(), Ok(bytes) if bytes > 1 << 50));
        let mut end = usize::MAX - 200;
        assert_eq!(section(&mut end, 8, 100), None);
        assert_eq!(section(&mut 0, usize::MAX, 2), None);
    }

    #[test]
    fn a_region_holds_at_least_its_areas() {
        let bytes = SIZES.bytes().unwrap();
        assert!(bytes > 3 * INLINE + 5 * BLOCK);
        assert!(bytes < 3 * INLINE + 5 * BLOCK + 16 * 1024);
    }
}
