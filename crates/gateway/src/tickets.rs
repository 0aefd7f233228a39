//! Which request a reply belongs to.

use std::task::Waker;

pub use dispatch::Ticket;

use crate::replies::Reply;

struct Slot {
    /// Of the ticket that holds the slot now, or will hold it next.
    generation: u32,
    /// The task that waits; none if the slot is free.
    waker: Option<Waker>,
    reply: Option<Reply>,
}

/// All requests that wait for their reply.
#[derive(Default)]
pub(crate) struct Tickets {
    slots: Vec<Slot>,
    free: Vec<usize>,
    /// Tasks to be woken once the runtime runs: waking one from outside costs a system call.
    replied: Vec<Ticket>,
}

impl Tickets {
    /// A ticket for a request whose task waits.
    pub(crate) fn open(&mut self, waker: Waker) -> Ticket {
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot { generation: 0, waker: None, reply: None });
            self.slots.len() - 1
        });
        let slot = &mut self.slots[index];
        slot.waker = Some(waker);
        Ticket::new(index, slot.generation)
    }

    /// How many there are.
    pub(crate) fn open_count(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Takes in a reply. False if nobody waits for it any more, or one is there already.
    pub(crate) fn reply(&mut self, ticket: Ticket, reply: Reply) -> bool {
        match self.slot(ticket) {
            Some(slot) if slot.reply.is_none() => slot.reply = Some(reply),
            _ => return false,
        }
        self.replied.push(ticket);
        true
    }

    /// Whether somebody waits for a reply that has not come.
    pub(crate) fn waits(&self, ticket: Ticket) -> bool {
        let slot = self.slots.get(ticket.index());
        slot.is_some_and(|slot| {
            slot.generation == ticket.generation() && slot.waker.is_some() && slot.reply.is_none()
        })
    }

    /// Wakes the tasks whose replies have come.
    pub(crate) fn wake_replied(&mut self) {
        let mut replied = std::mem::take(&mut self.replied);
        for ticket in replied.drain(..) {
            if let Some(waker) = self.slot(ticket).and_then(|slot| slot.waker.as_ref()) {
                waker.wake_by_ref();
            }
        }
        self.replied = replied;
    }

    /// The reply, once it is there.
    pub(crate) fn take_reply(&mut self, ticket: Ticket) -> Option<Reply> {
        self.slot(ticket)?.reply.take()
    }

    /// Gives the slot back. After 2^32 uses it gets no further: its tickets would come again.
    pub(crate) fn close(&mut self, ticket: Ticket) {
        let Some(slot) = self.slot(ticket) else { return };
        slot.waker = None;
        slot.reply = None;
        if let Some(next) = slot.generation.checked_add(1) {
            slot.generation = next;
            self.free.push(ticket.index());
        }
    }

    fn slot(&mut self, ticket: Ticket) -> Option<&mut Slot> {
        let slot = self.slots.get_mut(ticket.index())?;
        (slot.generation == ticket.generation() && slot.waker.is_some()).then_some(slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ticket_of_the_past_reaches_nobody() {
        let mut tickets = Tickets::default();
        let first = tickets.open(Waker::noop().clone());
        assert!(tickets.waits(first));
        assert!(tickets.reply(first, vec![1].into()));
        assert!(!tickets.waits(first));
        assert!(!tickets.reply(first, vec![2].into()), "a second reply");
        assert_eq!(tickets.take_reply(first).map(|reply| reply.bytes), Some(vec![1]));
        tickets.close(first);
        let second = tickets.open(Waker::noop().clone());
        assert_ne!(first, second);
        assert!(tickets.waits(second) && !tickets.waits(first));
        assert!(!tickets.reply(first, vec![3].into()));
        assert!(tickets.take_reply(second).is_none());
        assert!(!tickets.reply(Ticket(77), vec![].into()));
        tickets.wake_replied();
    }
}
