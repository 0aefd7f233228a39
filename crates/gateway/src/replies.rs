//! How much memory replies hold, all together, while they wait for their clients.
//!
//! A large reply is counted from when the owner hands it in, who has looked whether there is room. A small one may be handed
//! in at any time: mostly it leaves at once and is never counted. It is counted when its client does not take it at
//! the first try, and gives way where there is no room. A body that several get is counted once, for as long as one of them has not taken it.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use bytes::Bytes;
use error_pages::PageWish;

use crate::parts::Rest;
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
    /// How many replies share a body, by where it lies and how long it is. Whoever shares it keeps it where it is.
    bodies: RefCell<HashMap<Lies, usize>>,
}

/// Where a body lies, and how long it is.
type Lies = (usize, usize);

fn lies(body: &Bytes) -> Lies {
    (body.as_ptr() as usize, body.len())
}

impl Replies {
    /// Bytes that a reply needs which shares a body, beside those that are there.
    pub(crate) fn needs(&self, head: usize, body: &Bytes) -> usize {
        let is_there = self.bodies.borrow().contains_key(&lies(body));
        head + BESIDE + if is_there { 0 } else { body.len() }
    }

    fn add(&self, bytes: usize) {
        self.held.set(self.held.get() + bytes);
    }

    fn subtract(&self, bytes: usize) {
        self.held.set(self.held.get() - bytes);
    }

    fn begin_sharing(&self, body: Lies) {
        let mut bodies = self.bodies.borrow_mut();
        let count = bodies.entry(body).or_default();
        *count += 1;
        if *count == 1 {
            self.add(body.1);
        }
    }

    fn end_sharing(&self, body: Lies) {
        let mut bodies = self.bodies.borrow_mut();
        let Some(count) = bodies.get_mut(&body) else { return };
        *count -= 1;
        if *count == 0 {
            bodies.remove(&body);
            self.subtract(body.1);
        }
    }

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
    /// The rest of the body, which comes in parts later.
    pub rest: Option<Rest>,
    pub held: Option<Held>,
}

impl Reply {
    pub(crate) fn new(shared: &Rc<Shared>, bytes: Vec<u8>) -> Self {
        let held = (bytes.len() > SMALL_REPLY).then(|| Held::new(shared, bytes.capacity()));
        Self { bytes, shared: None, rest: None, held }
    }

    /// One whose body others get, too; of a reply to HEAD nothing is counted.
    pub(crate) fn sharing(shared: &Rc<Shared>, head: Vec<u8>, body: Bytes, is_head: bool) -> Self {
        let held = (!is_head && body.len() > SMALL_REPLY).then(|| Held::sharing(shared, head.len(), &body));
        Self { bytes: head, shared: Some(body), rest: None, held }
    }

    /// The reply with a page in the place of an error's document, if its client wishes that. Where there is no room for a long page the document
    /// stays.
    pub(crate) fn paged(self, shared: &Rc<Shared>, wish: Option<&PageWish>) -> Self {
        let page = wish.filter(|_| self.shared.is_none()).and_then(|wish| {
            let pages = shared.error_pages.borrow();
            pages.response(&self.bytes, wish)
        });
        let room = || shared.limits().max_replies.saturating_sub(shared.replies.held());
        match page {
            Some(page) if page.len() <= SMALL_REPLY || page.capacity() <= room() => Self::new(shared, page),
            _ => self,
        }
    }

    /// The body, if `own` is the one that stands in the message.
    pub(crate) fn body<'r>(&'r self, own: &'r [u8]) -> &'r [u8] {
        self.shared.as_deref().unwrap_or(own)
    }

    /// How long the body is, if the one that stands in the message is so long.
    pub(crate) fn length(&self, own: usize) -> u64 {
        let here = self.shared.as_ref().map_or(own, Bytes::len);
        here as u64 + self.rest.as_ref().map_or(0, Rest::len)
    }

    /// What a body lies in, from the start in the message or from 0 where it is shared.
    pub(crate) fn long_body(&self) -> &[u8] {
        self.shared.as_deref().unwrap_or(&self.bytes)
    }
}

/// A short one.
impl From<Vec<u8>> for Reply {
    fn from(bytes: Vec<u8>) -> Self {
        Self { bytes, shared: None, rest: None, held: None }
    }
}

/// Memory of a reply; given back when dropped.
pub(crate) struct Held {
    shared: Rc<Shared>,
    bytes: usize,
    /// A body that others may hold, too.
    body: Option<Lies>,
}

impl Held {
    fn new(shared: &Rc<Shared>, bytes: usize) -> Self {
        shared.replies.add(bytes);
        Self { shared: Rc::clone(shared), bytes, body: None }
    }

    fn sharing(shared: &Rc<Shared>, head: usize, body: &Bytes) -> Self {
        shared.replies.begin_sharing(lies(body));
        let mut held = Self::new(shared, head + BESIDE);
        held.body = Some(lies(body));
        held
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
        self.shared.replies.subtract(self.bytes);
        if let Some(body) = self.body {
            self.shared.replies.end_sharing(body);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_that_several_share_is_counted_once_until_the_last_has_taken_it() {
        let (replies, body) = (Replies::default(), Bytes::from(vec![b'x'; 100_000]));
        let other = Bytes::from(vec![b'x'; 100_000]);
        assert_eq!(replies.needs(10, &body), 100_010 + BESIDE);
        replies.begin_sharing(lies(&body));
        replies.begin_sharing(lies(&body.clone()));
        assert_eq!((replies.held(), replies.needs(10, &body)), (100_000, 10 + BESIDE));
        replies.begin_sharing(lies(&other));
        replies.end_sharing(lies(&body));
        assert_eq!(replies.held(), 200_000);
        replies.end_sharing(lies(&body));
        assert_eq!((replies.held(), replies.needs(10, &body)), (100_000, 100_010 + BESIDE));
    }

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
