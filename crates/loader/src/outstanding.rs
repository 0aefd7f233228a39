//! What is sent and not acknowledged. The thread that sends and the one that hears share it.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::block::Block;
use crate::protocol::{Rejected, Window};

/// How many rejected lines are kept to be shown.
const REJECTED_KEPT: usize = 1000;

/// What is sent and not acknowledged.
#[derive(Debug, Default)]
pub(crate) struct Outstanding {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
pub(crate) struct State {
    /// In the order of their sequences. Any of them may have to be sent again.
    blocks: VecDeque<Arc<Block>>,
    lines: u64,
    bytes: usize,
    /// The last sequence that is acknowledged.
    pub(crate) acknowledged: u64,
    /// How much of the files is acknowledged, in bytes as they are.
    pub(crate) position: u64,
    pub(crate) rejected: Vec<Rejected>,
    pub(crate) rejected_count: u64,
    /// Lines that are neither stored nor dead letters.
    pub(crate) dropped: u64,
    /// Nothing more will be heard on this connection.
    pub(crate) is_over: bool,
}

impl State {
    /// Whether everything that was sent is acknowledged.
    pub(crate) fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    fn has_room(&self, block: &Block, window: Window) -> bool {
        let fits = self.lines + block.lines <= window.lines && self.bytes + block.bytes.len() <= window.bytes;
        // A line that is larger than the window goes alone.
        fits || self.blocks.is_empty()
    }
}

impl Outstanding {
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A new connection begins: the server has everything up to this sequence.
    pub(crate) fn begin(&self, acknowledged: u64) {
        let mut state = self.lock();
        state.acknowledged = acknowledged;
        state.is_over = false;
    }

    /// Adds a block that is about to be sent, if the window has room for it.
    pub(crate) fn add(&self, block: &Arc<Block>, window: Window) -> bool {
        let mut state = self.lock();
        let has_room = state.has_room(block, window);
        if has_room {
            state.lines += block.lines;
            state.bytes += block.bytes.len();
            state.blocks.push_back(Arc::clone(block));
        }
        has_room
    }

    /// What of a block, which has just been read, the queue does not have.
    pub(crate) fn unsent(&self, block: Block) -> Option<Block> {
        let mut state = self.lock();
        if block.last() <= state.acknowledged {
            state.position = block.position;
        }
        block.after(state.acknowledged)
    }

    /// All lines up to this one have arrived, of which so many were dropped.
    pub(crate) fn acknowledge(&self, sequence: u64, dropped: u64) {
        let mut state = self.lock();
        state.dropped = state.dropped.saturating_add(dropped);
        state.acknowledged = state.acknowledged.max(sequence);
        while let Some(block) = state.blocks.pop_front_if(|block| block.last() <= sequence) {
            state.lines -= block.lines;
            state.bytes -= block.bytes.len();
            state.position = block.position;
        }
        self.changed.notify_one();
    }

    /// A line is a dead letter.
    pub(crate) fn reject(&self, rejected: Rejected) {
        let mut state = self.lock();
        state.rejected_count += 1;
        if state.rejected.len() < REJECTED_KEPT {
            state.rejected.push(rejected);
        }
    }

    /// The connection has ended.
    pub(crate) fn end(&self) {
        self.lock().is_over = true;
        self.changed.notify_one();
    }

    /// Waits until something has changed, or for a while.
    pub(crate) fn wait(&self, ready: impl Fn(&State) -> bool, longest: Duration) {
        let waiting = |state: &mut State| !ready(state) && !state.is_over;
        drop(self.changed.wait_timeout_while(self.lock(), longest, waiting));
    }

    /// Whether there is room for a block.
    pub(crate) fn wait_for_room(&self, block: &Block, window: Window, longest: Duration) {
        self.wait(|state| state.has_room(block, window), longest);
    }

    /// Takes out everything, to send it again.
    pub(crate) fn take(&self) -> VecDeque<Arc<Block>> {
        let mut state = self.lock();
        (state.lines, state.bytes) = (0, 0);
        std::mem::take(&mut state.blocks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Window = Window { lines: 4, bytes: 100 };

    fn block(first: u64, lines: usize) -> Arc<Block> {
        Arc::new(Block::new(b"x\n".repeat(lines), first, first))
    }

    #[test]
    fn the_window_is_kept() {
        let outstanding = Outstanding::default();
        assert!(outstanding.add(&block(1, 3), WINDOW));
        assert!(!outstanding.add(&block(4, 2), WINDOW), "too many lines");
        assert!(outstanding.add(&block(4, 1), WINDOW));
        outstanding.acknowledge(2, 0);
        assert!(!outstanding.add(&block(5, 3), WINDOW), "a block counts until all of it is acknowledged");
        outstanding.acknowledge(3, 0);
        assert!(outstanding.add(&block(5, 3), WINDOW));
        assert_eq!(outstanding.lock().acknowledged, 3);
    }

    #[test]
    fn a_line_larger_than_the_window_goes_alone() {
        let outstanding = Outstanding::default();
        let large = Arc::new(Block::new(vec![b'\n'; 1], 1, 0));
        let tiny = Window { lines: 1, bytes: 0 };
        assert!(outstanding.add(&large, tiny));
        assert!(!outstanding.add(&large, tiny));
    }

    #[test]
    fn what_is_not_acknowledged_can_be_taken_back() {
        let outstanding = Outstanding::default();
        outstanding.add(&block(1, 2), WINDOW);
        outstanding.add(&block(3, 2), WINDOW);
        outstanding.acknowledge(3, 0);
        let again = outstanding.take();
        assert_eq!(again.iter().map(|block| block.first).collect::<Vec<_>>(), [3]);
        assert!(outstanding.lock().is_empty() && outstanding.add(&block(3, 4), WINDOW));
    }
}
