//! When handshakes of TLS go on, and whose is the next.
//!
//! One costs as much as fifteen requests, with RSA as fifty, and whoever wants one pays nothing before. So each step of one waits until
//! the loop has nothing else to do and has looked at the sockets since the step before: a request waits for the step that it
//! finds at work, and no longer, however many want to shake hands. Looking costs a hundredth of a step. Where there is always something
//! else, every second turn has a step all the same.
//! Of those that wait, each origin has the same share: one that asks for a thousand keeps another waiting for one.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use crate::lines::fair::FairQueue;

/// Time after which the sockets are looked at: steps that find no whole message yet go on together.
const TIME: Duration = Duration::from_micros(50);

/// What handshakes have taken since the last look at the sockets, and those that wait.
#[derive(Default)]
pub(crate) struct HandshakeTime {
    spent: Cell<Duration>,
    waiting: RefCell<FairQueue<Rc<Waiting>>>,
    /// One has waited since the last turn began.
    passed_over: Cell<bool>,
}

/// A handshake that waits.
struct Waiting {
    task: Waker,
    state: Cell<State>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Waits,
    /// It is its turn.
    Called,
    /// Nobody shakes hands any more.
    Gone,
}

/// A handshake's place among those that wait, if it waits.
#[derive(Default)]
pub(crate) struct Place(Option<Rc<Waiting>>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.iter().for_each(|waiting| waiting.state.set(State::Gone));
    }
}

impl HandshakeTime {
    /// The sockets have been looked at.
    pub(crate) fn has_looked(&self) {
        self.spent.set(Duration::ZERO);
    }

    /// A turn begins. One goes on if others went before it in all of the last turn.
    pub(crate) fn begin_turn(&self) {
        let waits = !self.waiting.borrow().is_empty();
        if self.passed_over.replace(waits) && waits {
            self.call_next();
        }
    }

    /// Nobody else has anything to do: the first of those that wait goes on, once the sockets have been looked at.
    pub(crate) fn go_on(&self, look: impl FnOnce()) {
        if self.spent.get() < TIME {
            self.call_next();
        } else if !self.waiting.borrow().is_empty() {
            look();
        }
    }

    /// Does a step of a handshake of an origin, when it is its turn.
    pub(crate) fn poll_step<T>(
        &self,
        origin: u64,
        place: &mut Place,
        context: &mut Context<'_>,
        step: impl FnOnce(&mut Context<'_>) -> Poll<T>,
    ) -> Poll<T> {
        match place.0.as_ref().map(|waiting| waiting.state.get()) {
            // Something else has woken it.
            Some(State::Waits) => return Poll::Pending,
            Some(_) => place.0 = None,
            None => {
                let waiting =
                    Rc::new(Waiting { task: context.waker().clone(), state: Cell::new(State::Waits) });
                self.waiting.borrow_mut().push(origin, 1, Rc::clone(&waiting));
                place.0 = Some(waiting);
                return Poll::Pending;
            }
        }
        let begun = Instant::now();
        let done = step(context);
        self.spent.set(self.spent.get() + begun.elapsed());
        if self.spent.get() < TIME {
            self.call_next();
        }
        done
    }

    fn call_next(&self) {
        let mut waiting = self.waiting.borrow_mut();
        while let Some(turn) = waiting.first(|_| true).map(|(turn, _)| turn) {
            let next = waiting.take(turn).filter(|next| next.state.get() == State::Waits);
            if let Some(next) = next {
                self.passed_over.set(false);
                next.state.set(State::Called);
                return next.task.wake_by_ref();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread::sleep;

    use super::*;

    /// Polls once with a step that takes so long; whether it was done.
    fn step(time: &HandshakeTime, origin: u64, place: &mut Place, takes: Duration) -> bool {
        let mut context = Context::from_waker(Waker::noop());
        let done = time.poll_step(origin, place, &mut context, |_| {
            sleep(takes);
            Poll::Ready(())
        });
        done.is_ready()
    }

    /// Nobody else has anything to do; whether the sockets are to be looked at first.
    fn goes_on(time: &HandshakeTime) -> bool {
        let mut looks = false;
        time.go_on(|| looks = true);
        !looks
    }

    #[test]
    fn between_two_steps_the_sockets_are_looked_at_unless_they_are_short() {
        let time = HandshakeTime::default();
        let mut places: [Place; 4] = Default::default();
        let mut done = |number: usize, takes| step(&time, 1, &mut places[number], takes);
        for number in 0..3 {
            assert!(!done(number, TIME), "everything else goes first");
        }
        assert!(goes_on(&time));
        assert!(!done(3, TIME), "who comes now does not go first");
        assert!(!done(1, TIME), "nor does who is not called, whatever wakes it");
        assert!(done(0, TIME));
        assert!(!goes_on(&time) && !done(1, TIME));
        time.has_looked();
        assert!(goes_on(&time));
        assert!(done(1, Duration::ZERO));
        assert!(done(2, Duration::ZERO), "there is time left for the next");
        assert!(done(3, TIME));
        assert!(goes_on(&time), "nobody waits");
    }

    #[test]
    fn where_others_always_have_something_to_do_one_goes_on_in_every_second_turn() {
        let time = HandshakeTime::default();
        let mut places: [Place; 8] = Default::default();
        places.iter_mut().for_each(|place| assert!(!step(&time, 1, place, TIME)));
        let done: Vec<usize> = (0..8)
            .map(|_| {
                time.begin_turn();
                time.has_looked();
                places
                    .iter_mut()
                    .map(|place| usize::from(place.0.is_some() && step(&time, 1, place, TIME)))
                    .sum()
            })
            .collect();
        assert_eq!(done, [0, 1, 0, 1, 0, 1, 0, 1]);
    }

    #[test]
    fn an_origin_that_wants_many_keeps_another_waiting_for_few() {
        let time = HandshakeTime::default();
        let mut flood: Vec<Place> = (0..1000).map(|_| Place::default()).collect();
        flood.iter_mut().for_each(|place| assert!(!step(&time, 1, place, TIME)));
        let mut other = Place::default();
        assert!(!step(&time, 2, &mut other, TIME));
        let looks = (1..100).find(|_| {
            time.has_looked();
            assert!(goes_on(&time));
            flood.iter_mut().any(|place| step(&time, 1, place, TIME));
            step(&time, 2, &mut other, Duration::ZERO)
        });
        assert!(looks.is_some_and(|looks| looks <= 3), "{looks:?}");
    }

    #[test]
    fn those_that_have_gone_take_no_time() {
        let time = HandshakeTime::default();
        for _ in 0..1000 {
            assert!(!step(&time, 1, &mut Place::default(), TIME));
        }
        let mut place = Place::default();
        assert!(!step(&time, 1, &mut place, TIME));
        assert!(goes_on(&time));
        assert!(step(&time, 1, &mut place, TIME));
    }
}
