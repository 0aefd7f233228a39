//! How much of a turn handshakes of TLS take, and whose is the next.
//!
//! One costs as much as ten requests, with RSA as a hundred, and whoever wants one pays nothing before. So a turn has time for
//! a few, and the others wait for the next: those that make requests wait for a part of a millisecond, however many want to shake hands.
//! Of those that wait, each origin has the same share: one that asks for a thousand keeps another waiting for one.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use crate::lines::fair::FairQueue;

/// Time after which the others wait for the next turn. One of RSA takes longer by itself.
const TIME: Duration = Duration::from_micros(500);

/// What handshakes have taken of this turn.
#[derive(Default)]
pub(crate) struct HandshakeTime {
    spent: Cell<Duration>,
    waiting: RefCell<FairQueue<Rc<Waiting>>>,
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
    /// A turn begins: the first of those that wait goes on.
    pub(crate) fn begin_turn(&self) {
        self.spent.set(Duration::ZERO);
        self.call_next();
    }

    /// Whether one waits.
    pub(crate) fn is_wanted(&self) -> bool {
        !self.waiting.borrow().is_empty()
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
            None if self.spent.get() < TIME && !self.is_wanted() => {}
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

    #[test]
    fn a_turn_has_time_for_some_and_the_next_for_others() {
        let time = HandshakeTime::default();
        let mut places: [Place; 4] = Default::default();
        assert!(step(&time, 1, &mut places[0], TIME));
        assert!(!step(&time, 1, &mut places[1], TIME) && !step(&time, 1, &mut places[2], TIME));
        assert!(time.is_wanted());
        time.begin_turn();
        assert!(!step(&time, 1, &mut places[3], TIME), "who comes now does not go first");
        assert!(!step(&time, 1, &mut places[2], TIME), "nor does who is not called, whatever wakes it");
        assert!(step(&time, 1, &mut places[1], TIME));
        time.begin_turn();
        assert!(step(&time, 1, &mut places[2], Duration::ZERO));
        assert!(step(&time, 1, &mut places[3], Duration::ZERO), "there is time left for the next");
        assert!(!time.is_wanted());
    }

    #[test]
    fn an_origin_that_wants_many_keeps_another_waiting_for_few() {
        let time = HandshakeTime::default();
        let mut flood: Vec<Place> = (0..1000).map(|_| Place::default()).collect();
        assert!(step(&time, 1, &mut Place::default(), TIME));
        flood.iter_mut().for_each(|place| assert!(!step(&time, 1, place, TIME)));
        let mut other = Place::default();
        assert!(!step(&time, 2, &mut other, TIME));
        let turns = (1..100).find(|_| {
            time.begin_turn();
            flood.iter_mut().any(|place| step(&time, 1, place, TIME));
            step(&time, 2, &mut other, Duration::ZERO)
        });
        assert!(turns.is_some_and(|turns| turns <= 3), "{turns:?}");
    }

    #[test]
    fn those_that_have_gone_take_no_time() {
        let time = HandshakeTime::default();
        assert!(step(&time, 1, &mut Place::default(), TIME));
        for _ in 0..1000 {
            assert!(!step(&time, 1, &mut Place::default(), TIME));
        }
        let mut place = Place::default();
        assert!(!step(&time, 1, &mut place, TIME));
        time.begin_turn();
        assert!(step(&time, 1, &mut place, TIME));
    }
}
