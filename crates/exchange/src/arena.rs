//! Messages in the region: in a slot's inline area and in chains of blocks.

use crate::gather::Gather;
use crate::layout::{BLOCK, INLINE};
use crate::region::Exchange;
use crate::stack::NONE;

/// The most blocks that a response may hold at a time: 32 MiB, so that its length fits into 32 bits.
const MOST_OF_A_RESPONSE: u32 = 4096;

/// A chain of blocks that hold a message or a part of one.
pub(crate) struct Chain {
    pub(crate) first: u32,
    pub(crate) length: usize,
}

impl Exchange {
    /// Fills blocks until the message ends, `limit` blocks are filled, or none is free.
    pub(crate) fn fill_chain(&self, message: &mut Gather, limit: u32) -> Chain {
        let stack = self.free_blocks_stack();
        let (mut first, mut last, mut length) = (NONE, NONE, 0);
        for _ in 0..limit {
            if message.is_empty() {
                break;
            }
            let Some(block) = stack.pop() else { break };
            if first == NONE {
                first = block
            } else {
                stack.set_link(last, block)
            }
            last = block;
            length += self.fill_block(block, message);
        }
        if last != NONE {
            stack.set_link(last, NONE);
        }
        Chain { first, length }
    }

    fn fill_block(&self, block: u32, message: &mut Gather) -> usize {
        let mut filled = 0;
        while filled < BLOCK && !message.is_empty() {
            let bytes = message.take(BLOCK - filled);
            // SAFETY: the caller has just taken the block from the free list.
            unsafe { self.blocks[block as usize].write(filled, bytes) };
            filled += bytes.len();
        }
        filled
    }

    /// Fills a slot's inline area as far as the message goes. The caller holds the slot.
    pub(crate) fn fill_inline(&self, slot: u32, message: &mut Gather) -> usize {
        let mut filled = 0;
        while filled < INLINE && !message.is_empty() {
            let bytes = message.take(INLINE - filled);
            // SAFETY: the caller holds the slot, and with it the area.
            unsafe { self.inline[slot as usize].write(filled, bytes) };
            filled += bytes.len();
        }
        filled
    }

    /// Appends `length` bytes of a chain, which the caller holds.
    pub(crate) fn read_chain(&self, first: u32, length: usize, out: &mut Vec<u8>) {
        let (mut block, mut left) = (first, length);
        while left > 0 {
            let here = left.min(BLOCK);
            // SAFETY: the caller holds the chain; its bytes were written before it was handed over.
            out.extend_from_slice(unsafe { self.blocks[block as usize].bytes(here) });
            left -= here;
            block = self.free_blocks_stack().link(block);
        }
    }

    /// Frees a chain, which the caller holds. NONE is an empty one.
    pub(crate) fn free_chain(&self, first: u32) {
        if first == NONE {
            return;
        }
        let stack = self.free_blocks_stack();
        let (mut last, mut count) = (first, 1);
        loop {
            let next = stack.link(last);
            if next == NONE {
                break;
            }
            last = next;
            count += 1;
        }
        stack.push_chain(first, last, count);
    }

    /// How many blocks one response may hold at a time: an eighth, so that a large one leaves room for others.
    pub(crate) fn response_share(&self) -> u32 {
        (self.sizes().blocks / 8).clamp(1, MOST_OF_A_RESPONSE)
    }
}
