//! What goes on on a connection of HTTP/2, and when it is late.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use crate::clock::{Millis, NEVER};
use crate::connection::Registered;
use crate::limits::Limits;

/// How long a client that was told to go may take for it when nothing runs.
const FAREWELL: Duration = Duration::from_secs(2);

/// What is to become of the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It goes on.
    Stay,
    /// It takes no more streams, and ends with those it has.
    GoAway,
    /// It ends now.
    End,
}

/// The connection's streams and deadlines.
pub(super) struct Activity {
    place: Registered,
    /// Streams whose request or reply is not complete.
    streams: Cell<usize>,
    /// Replies of which the client has not taken all.
    unsent: Cell<usize>,
    /// When the client last took something of a reply.
    progress: Cell<Millis>,
    /// It was told to go.
    leaving: Cell<bool>,
}

impl Activity {
    pub(super) fn new(place: Registered) -> Self {
        let zero = || Cell::new(0);
        let activity = Self {
            place,
            streams: zero(),
            unsent: zero(),
            progress: Cell::new(0),
            leaving: Cell::new(false),
        };
        activity.set_deadline();
        activity
    }

    pub(super) fn limits(&self) -> Limits {
        self.place.shared.limits()
    }

    pub(super) fn listener(&self) -> u32 {
        self.place.link.listener.id
    }

    /// A stream has begun; it ends when the result is dropped.
    pub(super) fn open_stream(self: &Rc<Self>) -> OpenStream {
        self.streams.set(self.streams.get() + 1);
        self.set_deadline();
        OpenStream { activity: Rc::clone(self), is_reply: false }
    }

    /// What is to become of the connection now. Asked whenever its task is polled.
    pub(super) fn judge(&self) -> Verdict {
        let link = &self.place.link;
        if link.is_aborted() {
            return Verdict::End;
        }
        if link.take_expired() {
            // Either the client takes nothing of a reply, or it has been told to go and stays.
            if self.unsent.get() > 0 || self.leaving.get() {
                return Verdict::End;
            }
            self.leave();
        } else if link.is_draining() {
            self.leave();
        }
        if self.leaving.get() { Verdict::GoAway } else { Verdict::Stay }
    }

    fn leave(&self) {
        if !self.leaving.replace(true) {
            self.set_deadline();
        }
    }

    fn set_deadline(&self) {
        let (clock, limits) = (&self.place.shared.clock, self.limits());
        let deadline = match (self.unsent.get(), self.streams.get()) {
            (0, 0) if self.leaving.get() => clock.after(FAREWELL),
            (0, 0) => clock.after(limits.idle_timeout),
            (0, _) => NEVER,
            (_, _) => self.progress.get().saturating_add(limits.write_timeout.as_millis() as Millis),
        };
        self.place.set_deadline(deadline);
    }
}

/// A stream that is not over yet.
pub(super) struct OpenStream {
    activity: Rc<Activity>,
    is_reply: bool,
}

impl OpenStream {
    /// The reply is there: from now on the client has to take it.
    pub(super) fn replied(&mut self) {
        if !std::mem::replace(&mut self.is_reply, true) {
            self.activity.unsent.set(self.activity.unsent.get() + 1);
            self.progressed();
        }
    }

    /// The client has taken something.
    pub(super) fn progressed(&self) {
        self.activity.progress.set(self.activity.place.shared.clock.now());
        self.activity.set_deadline();
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        let activity = &self.activity;
        activity.streams.set(activity.streams.get() - 1);
        if self.is_reply {
            activity.unsent.set(activity.unsent.get() - 1);
            activity.progress.set(activity.place.shared.clock.now());
        }
        activity.set_deadline();
    }
}
