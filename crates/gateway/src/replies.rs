//! How much memory replies hold, all together, while they wait for their clients.
//!
//! A large reply is counted from when the owner hands it in, who has looked whether there is room. A small one may be handed
//! in at any time: mostly it leaves at once and is never counted. It is counted when its client does not take it at
//! the first try, and gives way where there is no room.

use std::cell::Cell;
use std::rc::Rc;

use bytes::Bytes;

use crate::shared::Shared;

/// A reply up to this length may be handed in without looking whether there is room.
pub const SMALL_REPLY: usize = 16 << 10;

/// What a reply that waits holds beside its bytes: its stream, its task and its headers, by measurement.
pub(crate) const BESIDE: usize = 4 << 10;

/// The capacity that a reply needs of which so many bytes are there, or come: twice what it had, so that many parts are not moved again
/// and again, or what it needs and no more where there is no other room. None where there is not even that. What counts is what is held
/// of the memory, and not what is used of it.
pub fn grown(capacity: usize, needed: usize, room: usize) -> Option<usize> {
    if needed <= capacity {
        return Some(capacity);
    }
    let has_room = |grown: &usize| grown - capacity <= room;
    [needed.max(capacity.saturating_mul(2)), needed].into_iter().find(has_room)
}

/// Bytes in all replies that are counted.
#[derive(Default)]
pub(crate) struct Replies {
    held: Cell<usize>,
}

impl Replies {
    pub(crate) fn held(&self) -> usize {
        self.held.get()
    }
}

/// A reply, and what it holds of the memory for all.
pub(crate) struct Reply {
    /// A [`message::Response`]; without its body where that is shared.
    pub bytes: Vec<u8>,
    /// A body that others get, too: it is not copied.
    pub shared: Option<Bytes>,
    pub held: Option<Held>,
}

impl Reply {
    pub(crate) fn new(shared: &Rc<Shared>, bytes: Vec<u8>) -> Self {
        let held = (bytes.len() > SMALL_REPLY).then(|| Held::new(shared, bytes.capacity()));
        Self { bytes, shared: None, held }
    }

    /// One whose body others get, too. It counts as if it were this one's own, as it stays as long as this one does; of a reply to HEAD nothing does.
    pub(crate) fn sharing(shared: &Rc<Shared>, head: Vec<u8>, body: Bytes, is_head: bool) -> Self {
        let held = (!is_head && body.len() > SMALL_REPLY).then(|| Held::new(shared, head.len() + body.len()));
        Self { bytes: head, shared: Some(body), held }
    }

    /// The body, if `own` is the one that stands in the message.
    pub(crate) fn body<'r>(&'r self, own: &'r [u8]) -> &'r [u8] {
        self.shared.as_deref().unwrap_or(own)
    }

    /// What a body lies in, from the start in the message or from 0 where it is shared.
    pub(crate) fn long_body(&self) -> &[u8] {
        self.shared.as_deref().unwrap_or(&self.bytes)
    }
}

/// A short one.
impl From<Vec<u8>> for Reply {
    fn from(bytes: Vec<u8>) -> Self {
        Self { bytes, shared: None, held: None }
    }
}

/// Memory of a reply; given back when dropped.
pub(crate) struct Held {
    shared: Rc<Shared>,
    bytes: usize,
}

impl Held {
    fn new(shared: &Rc<Shared>, bytes: usize) -> Self {
        let held = &shared.replies.held;
        held.set(held.get() + bytes);
        Self { shared: Rc::clone(shared), bytes }
    }

    /// Counts a small reply that stays. None if there is no room for it.
    pub(crate) fn staying(shared: &Rc<Shared>, bytes: usize) -> Option<Self> {
        let bytes = bytes + BESIDE;
        let has_room = shared.replies.held() + bytes <= shared.limits().max_replies;
        has_room.then(|| Self::new(shared, bytes))
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let held = &self.shared.replies.held;
        held.set(held.get() - self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_replies_hold_stays_within_the_room_however_their_parts_come() {
        assert_eq!(grown(100, 100, 0), Some(100));
        assert_eq!((grown(0, 10, 10), grown(0, 10, 9)), (Some(10), None));
        assert_eq!(
            (grown(100, 110, 100), grown(100, 110, 99), grown(100, 110, 9)),
            (Some(200), Some(110), None)
        );
        // Ten replies that grow by parts, side by side.
        const ALL: usize = 1 << 20;
        let (mut replies, mut held) = ([(0, 0); 10], 0);
        'full: for part in [100, 7000, 65_536].iter().cycle() {
            for (length, capacity) in &mut replies {
                let Some(next) = grown(*capacity, *length + part, ALL - held) else { break 'full };
                held += next - *capacity;
                (*length, *capacity) = (*length + part, next);
                assert!(held <= ALL && *length <= *capacity);
            }
        }
        let used: usize = replies.iter().map(|(length, _)| length).sum();
        assert!(used > ALL / 2, "{used} of {held}");
    }
}
