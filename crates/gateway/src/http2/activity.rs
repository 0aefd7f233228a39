//! What goes on on a connection of HTTP/2, and when it is late.
//!
//! Each reply has the time that it has over HTTP/1. One that its client does not take in time loses its stream, by the
//! end of the stream's task; other streams go on, as a proxy may carry many clients on one connection. Where no task
//! waits any more, because h2 has the end of the reply, the connection ends.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::task::Waker;
use std::time::Duration;

use slab::Slab;

use crate::clock::{Millis, NEVER};
use crate::connection::Registered;
use crate::limits::Limits;
use crate::places::WaitsFor;
use crate::replies::Held;

/// How long a client that was told to go may take for it when nothing runs, and a stream that was told to end.
const FAREWELL: Duration = Duration::from_secs(2);

/// Requests that a client may reset before they are answered: so many at once, and so many a second after that.
const RESETS: Rate = Rate { at_once: 1000, per_second: 200 };
/// Requests of a connection whose bodies do not come, and give way to others. What h2 has taken for so many streams it keeps for as
/// long as the connection.
const STALLS: Rate = Rate { at_once: 16, per_second: 2 };

/// What is to become of the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It goes on, or takes no more streams and ends with those it has: [`Activity::is_leaving`].
    Stay,
    /// It ends now.
    End,
}

/// The connection's streams and deadlines.
pub(super) struct Activity {
    place: Registered,
    /// Streams whose request or reply is not complete.
    streams: Cell<usize>,
    /// Those whose requests have come whole and have no replies.
    running: Cell<usize>,
    /// There has been a stream.
    has_asked: Cell<bool>,
    /// Replies of which the client has not taken all.
    unsent: RefCell<Slab<Sending>>,
    /// Small replies have come of which it is not known whether they stay.
    are_new: Cell<bool>,
    /// It was told to go.
    leaving: Cell<bool>,
    /// Requests that the client has reset.
    resets: Tally,
    /// Requests that have given way.
    stalls: Tally,
}

/// How many a client may.
struct Rate {
    at_once: u64,
    per_second: u64,
}

/// How many there were of late, and when the last was.
#[derive(Default)]
struct Tally {
    count: Cell<u64>,
    last: Cell<Millis>,
}

impl Tally {
    fn add(&self, now: Millis, rate: &Rate) {
        let forgotten = (now - self.last.replace(now)) * rate.per_second / 1000;
        self.count.set(self.count.get().saturating_sub(forgotten) + 1);
    }

    fn is_above(&self, rate: &Rate) -> bool {
        self.count.get() > rate.at_once
    }
}

/// A reply that its client is taking.
struct Sending {
    /// What it holds of the memory for all. A small one holds nothing before it is known to stay.
    held: Option<Held>,
    begun: Millis,
    /// When the client last took something of it.
    progress: Millis,
    taken: usize,
    /// Of its body.
    length: usize,
    /// Of all of it.
    size: usize,
    /// The stream's task, while there is one.
    task: Option<Waker>,
    /// When the task was told to end.
    told: Option<Millis>,
}

impl Sending {
    /// Tells the stream's task to end. False if there is none, or it has been told before.
    fn tell(&mut self, now: Millis) -> bool {
        match &self.task {
            Some(task) if self.told.is_none() => {
                self.told = Some(now);
                task.wake_by_ref();
                true
            }
            _ => false,
        }
    }

    fn deadline(&self, limits: &Limits, held: usize) -> Millis {
        let after = |since: Millis, time: Duration| {
            since.saturating_add(Millis::try_from(time.as_millis()).unwrap_or(NEVER))
        };
        match self.told {
            Some(told) => after(told, FAREWELL),
            None => {
                let at_least_rate = after(self.begun, limits.response_time(self.taken, self.length, held));
                after(self.progress, limits.write_timeout).min(at_least_rate)
            }
        }
    }
}

impl Activity {
    pub(super) fn new(place: Registered) -> Self {
        let connections = &place.shared.http2_connections;
        connections.set(connections.get() + 1);
        let activity = Self {
            place,
            streams: Cell::new(0),
            running: Cell::new(0),
            has_asked: Cell::new(false),
            unsent: RefCell::default(),
            are_new: Cell::new(false),
            leaving: Cell::new(false),
            resets: Tally::default(),
            stalls: Tally::default(),
        };
        activity.set_deadline();
        activity.note_what_is_awaited();
        activity
    }

    fn limits(&self) -> Limits {
        self.place.shared.limits()
    }

    /// A stream has begun; it ends when the result, and all that is made of it, is dropped.
    pub(super) fn open_stream(self: &Rc<Self>) -> Rc<OpenStream> {
        self.streams.set(self.streams.get() + 1);
        self.has_asked.set(true);
        let all = &self.place.shared.http2_streams;
        all.set(all.get() + 1);
        self.place.shared.reads.count_task();
        self.set_deadline();
        Rc::new(OpenStream {
            activity: Rc::clone(self),
            place: Cell::new(None),
            is_running: Cell::new(false),
            is_answered: Cell::new(false),
        })
    }

    /// The connection is over, and the tasks of its streams end: it counts as what is read, before thousands of connections that
    /// end at the same time have made ready all of their tasks.
    pub(super) fn count_what_ends(&self) {
        self.place.shared.reads.count_tasks(self.streams.get());
    }

    /// What is to become of the connection now. Asked whenever its task is polled.
    pub(super) fn judge(&self) -> Verdict {
        let link = &self.place.link;
        if link.is_aborted() && !self.gave_way() || self.resets.is_above(&RESETS) {
            return Verdict::End;
        }
        if link.take_expired() {
            if !self.unsent.borrow().is_empty() {
                if self.end_the_late() {
                    return Verdict::End;
                }
                self.set_deadline();
            } else if self.leaving.get() {
                // It has been told to go and stays.
                return Verdict::End;
            } else {
                self.leave();
            }
        } else if link.is_draining() {
            self.leave();
        }
        Verdict::Stay
    }

    /// Whether another connection has this one's place: the client is told to go, and not waited for.
    pub(super) fn gave_way(&self) -> bool {
        self.place.link.place.gave_way()
    }

    /// Whether so many of its requests have given way that the connection does, too.
    pub(super) fn stalls(&self) -> bool {
        self.stalls.is_above(&STALLS)
    }

    /// Whether a request runs that has come whole.
    pub(super) fn has_running(&self) -> bool {
        self.running.get() > 0
    }

    /// Takes note of what the connection waits for: for its client, unless a request runs.
    pub(super) fn note_what_is_awaited(&self) {
        if self.running.get() > 0 {
            return self.place.stay();
        }
        self.place.wait(match self.streams.get() {
            0 if !self.has_asked.get() => WaitsFor::FirstWord,
            0 => WaitsFor::NextRequest,
            _ if self.unsent.borrow().is_empty() => WaitsFor::RestOfRequest,
            _ => WaitsFor::Reader,
        });
    }

    /// Whether the client has been told to go, or is to be told so.
    pub(super) fn is_leaving(&self) -> bool {
        self.leaving.get()
    }

    /// Tells the tasks of the streams whose clients are late to end. True if one of them cannot, or does not.
    fn end_the_late(&self) -> bool {
        let (now, limits) = (self.place.shared.clock.now(), self.limits());
        let held = self.place.shared.replies.held();
        let mut unsent = self.unsent.borrow_mut();
        let late = unsent.iter_mut().filter(|(_, sending)| sending.deadline(&limits, held) <= now);
        late.map(|(_, sending)| sending).any(|sending| !sending.tell(now))
    }

    /// Counts the small replies that have not left with the connection's last writes. Those for which there is no room are
    /// told to end. True if one of them cannot.
    pub(super) fn count_what_stays(&self) -> bool {
        if !self.are_new.take() {
            return false;
        }
        let shared = &self.place.shared;
        let mut unsent = self.unsent.borrow_mut();
        let uncounted = |sending: &Sending| sending.held.is_none() && sending.told.is_none();
        for (_, sending) in unsent.iter_mut().filter(|(_, sending)| uncounted(sending)) {
            sending.held = Held::staying(shared, sending.size);
            if sending.held.is_none() && !sending.tell(shared.clock.now()) {
                return true;
            }
        }
        false
    }

    pub(super) fn leave(&self) {
        if !self.leaving.replace(true) {
            self.set_deadline();
        }
    }

    /// Deadlines of replies move on without this: when an early one has come, [`Self::judge`] looks at all.
    fn set_deadline(&self) {
        let (clock, limits) = (&self.place.shared.clock, self.limits());
        let (unsent, held) = (self.unsent.borrow(), self.place.shared.replies.held());
        let first = unsent.iter().map(|(_, sending)| sending.deadline(&limits, held)).min();
        let deadline = match (first, self.streams.get()) {
            (Some(first), _) => first,
            (None, 0) if self.leaving.get() => clock.after(FAREWELL),
            (None, 0) => clock.after(limits.idle_timeout),
            (None, _) => NEVER,
        };
        self.place.set_deadline(deadline);
    }
}

impl Drop for Activity {
    fn drop(&mut self) {
        let connections = &self.place.shared.http2_connections;
        connections.set(connections.get() - 1);
    }
}

/// A stream that is not over yet.
pub(super) struct OpenStream {
    activity: Rc<Activity>,
    /// Its place among the replies that are being taken, once it is one.
    place: Cell<Option<usize>>,
    is_running: Cell<bool>,
    is_answered: Cell<bool>,
}

impl OpenStream {
    pub(super) fn listener(&self) -> u32 {
        self.activity.place.link.listener.id
    }

    /// The request has not come whole, and has given way to others.
    pub(super) fn has_given_way(&self) {
        let activity = &self.activity;
        activity.stalls.add(activity.place.shared.clock.now(), &STALLS);
    }

    /// The request has come whole, and runs.
    pub(super) fn received(&self) {
        self.is_running.set(true);
        let running = &self.activity.running;
        running.set(running.get() + 1);
        self.activity.note_what_is_awaited();
    }

    /// The reply is there, with a body or without.
    pub(super) fn answered(&self) {
        self.is_answered.set(true);
        self.stop_running();
    }

    fn stop_running(&self) {
        if self.is_running.take() {
            let running = &self.activity.running;
            running.set(running.get() - 1);
        }
    }

    /// The reply is there, its body of this length: from now on the client has to take it.
    pub(super) fn replied(&self, length: usize, size: usize, held: Option<Held>) {
        let activity = &self.activity;
        let now = activity.place.shared.clock.now();
        if held.is_none() {
            activity.are_new.set(true);
        }
        let sending =
            Sending { held, begun: now, progress: now, taken: 0, length, size, task: None, told: None };
        self.place.set(Some(activity.unsent.borrow_mut().insert(sending)));
        activity.set_deadline();
    }

    /// Another part of the body is there, of this length: the client has to take that.
    pub(super) fn goes_on(&self, length: usize, held: Option<Held>) {
        let now = self.activity.place.shared.clock.now();
        self.with_sending(|sending| {
            (sending.begun, sending.progress, sending.taken) = (now, now, 0);
            (sending.length, sending.size, sending.held) = (length, length, held);
        });
        self.activity.set_deadline();
    }

    /// The client has taken so much more.
    pub(super) fn took(&self, bytes: usize) {
        let now = self.activity.place.shared.clock.now();
        self.with_sending(|sending| {
            sending.progress = now;
            sending.taken += bytes;
        });
    }

    /// How much of the reply the client has taken.
    pub(super) fn taken(&self) -> usize {
        self.with_sending(|sending| sending.taken).unwrap_or_default()
    }

    /// Names the task of this stream.
    pub(super) fn set_task(&self, task: &Waker) {
        self.with_sending(|sending| match &mut sending.task {
            Some(known) => known.clone_from(task),
            none => *none = Some(task.clone()),
        });
    }

    /// The task has ended: h2 has all of the reply.
    pub(super) fn forget_task(&self) {
        self.with_sending(|sending| sending.task = None);
    }

    /// Wakes the task.
    pub(super) fn wake(&self) {
        self.with_sending(|sending| sending.task.iter().for_each(Waker::wake_by_ref));
    }

    /// Whether the task has been told to end.
    pub(super) fn is_late(&self) -> bool {
        self.with_sending(|sending| sending.told.is_some()).unwrap_or_default()
    }

    fn with_sending<T>(&self, look: impl FnOnce(&mut Sending) -> T) -> Option<T> {
        self.activity.unsent.borrow_mut().get_mut(self.place.get()?).map(look)
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        let activity = &self.activity;
        self.stop_running();
        activity.streams.set(activity.streams.get() - 1);
        let all = &activity.place.shared.http2_streams;
        all.set(all.get() - 1);
        activity.place.shared.reads.count_task();
        if !self.is_answered.get() {
            activity.resets.add(activity.place.shared.clock.now(), &RESETS);
        }
        if let Some(place) = self.place.get() {
            let sending = activity.unsent.borrow_mut().remove(place);
            drop(sending);
        }
        if activity.unsent.borrow().is_empty() {
            activity.set_deadline();
        }
    }
}
