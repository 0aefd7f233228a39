//! How much memory the bodies of requests hold, all together; those of HTTP/2 with their heads and streams.
//!
//! A body that is sent in part and then stops costs its client little. So where there is no room for more, bodies that have not
//! come whole give way, first the one that has not grown for longest: who stalls keeps nobody out who sends. Small bodies and
//! large ones give way apart from each other, as a flood of either is cheap. The last of the memory is for small ones: requests
//! that run, and can give up nothing, may hold all of the rest.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::task::{Context, Waker};

use ::http1::Reject;

use crate::shared::Shared;

/// A body up to this length is small.
const SMALL: usize = 16 << 10;
/// Large bodies leave this part of the memory to small ones.
const RESERVE: usize = 16;
/// A body has grown when this part of it is new: a byte now and then is as good as none.
const PART: usize = 8;

/// What is said to a client whose body has given way.
pub(crate) const GAVE_WAY: Reject =
    Reject::new(408, "the body of the request came too slowly, and gave way to others");
const NO_ROOM: Reject = Reject::new(503, "the server holds as many request bodies as it may");

/// All bodies.
#[derive(Default)]
pub(crate) struct Bodies {
    small: Class,
    large: Class,
    /// How often bodies have grown.
    growths: Cell<u64>,
}

/// Bodies of a size.
#[derive(Default)]
struct Class {
    /// Bytes in all of them.
    held: Cell<usize>,
    /// Bytes in those that have not come whole.
    unfinished_bytes: Cell<usize>,
    /// These, by when they have last grown.
    unfinished: RefCell<BTreeMap<u64, Rc<Body>>>,
}

/// One body.
#[derive(Default)]
struct Body {
    bytes: Cell<usize>,
    /// Its place among those that have not come whole.
    place: Cell<Option<u64>>,
    /// How long it was when it was given this place.
    placed_at: Cell<usize>,
    gave_way: Cell<bool>,
    /// The task that reads it.
    task: RefCell<Option<Waker>>,
}

impl Bodies {
    pub(crate) fn held(&self) -> usize {
        self.small.held.get() + self.large.held.get()
    }

    fn class(&self, bytes: usize) -> &Class {
        if bytes > SMALL { &self.large } else { &self.small }
    }

    /// Takes a body out of account.
    fn remove(&self, body: &Body) -> Option<Rc<Body>> {
        let bytes = body.bytes.take();
        let class = self.class(bytes);
        class.held.set(class.held.get() - bytes);
        let place = body.place.take()?;
        class.unfinished_bytes.set(class.unfinished_bytes.get() - bytes);
        class.unfinished.borrow_mut().remove(&place)
    }

    /// Takes a body into account, at its place among those that have not come whole if it is one.
    fn insert(&self, body: &Rc<Body>, bytes: usize, place: Option<u64>) {
        let class = self.class(bytes);
        body.bytes.set(bytes);
        body.place.set(place);
        class.held.set(class.held.get() + bytes);
        if let Some(place) = place {
            class.unfinished_bytes.set(class.unfinished_bytes.get() + bytes);
            class.unfinished.borrow_mut().insert(place, Rc::clone(body));
        }
    }

    /// The place of a body that has not come whole: behind all others if it has grown.
    fn place(&self, body: &Body, bytes: usize) -> u64 {
        let (before, placed_at) = (body.place.get(), body.placed_at.get());
        if let Some(place) = before.filter(|_| bytes - placed_at <= placed_at / PART) {
            return place;
        }
        body.placed_at.set(bytes);
        self.growths.replace(self.growths.get() + 1)
    }

    /// Whether a body of a length finds no room, itself included in what is held.
    fn are_full(&self, bytes: usize, most: usize) -> bool {
        self.held() > most || bytes > SMALL && self.large.held.get() > most - most / RESERVE
    }

    /// The body that gives way next. Large ones do if those that have not come whole hold more than the small ones, or if only
    /// they are too many.
    fn next_to_give_way(&self, most: usize) -> Option<Rc<Body>> {
        let (small, large) = (&self.small, &self.large);
        let is_large = large.unfinished_bytes.get() >= small.unfinished_bytes.get() || self.held() <= most;
        let class = if is_large { large } else { small };
        class.unfinished.borrow().first_key_value().map(|(_, body)| Rc::clone(body))
    }
}

impl Body {
    /// Gives its memory up; its task is told.
    fn give_way(&self, bodies: &Bodies) {
        self.gave_way.set(true);
        bodies.remove(self);
        self.task.take().into_iter().for_each(Waker::wake);
    }
}

/// What one body holds; given back when dropped, with the reply.
pub(crate) struct Charge {
    shared: Rc<Shared>,
    body: Rc<Body>,
}

impl Charge {
    pub(crate) fn new(shared: &Rc<Shared>) -> Self {
        Self { shared: Rc::clone(shared), body: Rc::default() }
    }

    /// Takes account of a body that has grown to `bytes`, and may have come whole by that.
    pub(crate) fn grow_to(&mut self, bytes: usize, is_whole: bool) -> Result<(), Reject> {
        self.check()?;
        let (bodies, most) = (&self.shared.bodies, self.shared.limits().max_bodies);
        let place = (!is_whole && bytes > 0).then(|| bodies.place(&self.body, bytes));
        bodies.remove(&self.body);
        bodies.insert(&self.body, bytes, place);
        while bodies.are_full(bytes, most) {
            let next = bodies.next_to_give_way(most).filter(|next| !Rc::ptr_eq(next, &self.body));
            next.ok_or(NO_ROOM)?.give_way(bodies);
        }
        Ok(())
    }

    /// Gives back what it holds, as another begins.
    pub(crate) fn begin_anew(&mut self) {
        *self = Self::new(&Rc::clone(&self.shared));
    }

    /// An error if the body has given way.
    fn check(&self) -> Result<(), Reject> {
        if self.body.gave_way.get() { Err(GAVE_WAY) } else { Ok(()) }
    }

    /// As [`Self::check`]; the task is woken if that happens later.
    pub(crate) fn poll(&self, context: &Context<'_>) -> Result<(), Reject> {
        let mut task = self.body.task.borrow_mut();
        if !task.as_ref().is_some_and(|task| task.will_wake(context.waker())) {
            *task = Some(context.waker().clone());
        }
        self.check()
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.shared.bodies.remove(&self.body);
    }
}
