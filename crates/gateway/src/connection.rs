//! What is known of a connection outside of its own task: how to wake it, and what it is to be told.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::net::SocketAddr;
use std::rc::Rc;
use std::task::{Poll, Waker};

use message::Scheme;
use tls::Established;

use ::http1::Reject;

use crate::clock::{Millis, NEVER};
use crate::failures::FailedHandshake;
use crate::listener::ListenerState;
use crate::places::{Place, WaitsFor};
use crate::reads::LastRead;
use crate::shared::Shared;

/// Where a connection comes from and arrived.
#[derive(Debug, Clone)]
pub(crate) struct Peer {
    pub remote: Option<SocketAddr>,
    pub local_port: u16,
    /// What its handshake has agreed on, if it speaks TLS.
    pub tls: Option<Rc<Established>>,
}

impl Peer {
    /// Who comes by a UNIX socket.
    pub(crate) const LOCAL: Peer = Peer { remote: None, local_port: 0, tls: None };

    pub(crate) fn scheme(&self) -> Scheme {
        if self.tls.is_some() { Scheme::Https } else { Scheme::Http }
    }

    /// Who the client is, by its certificate, as JSON; empty if it has shown none.
    pub(crate) fn client(&self) -> &str {
        self.tls.as_ref().and_then(|tls| tls.client.as_deref()).unwrap_or_default()
    }

    /// The Strict-Transport-Security of responses.
    pub(crate) fn hsts(&self) -> Option<&str> {
        self.tls.as_ref()?.hsts.as_deref()
    }

    /// An error for a host that the connection's certificate does not cover, where that matters.
    #[inline]
    pub(crate) fn check_host(&self, shared: &Shared, authority: &str) -> Result<(), Reject> {
        match &self.tls {
            Some(tls) => self.check_host_of(tls, shared, authority),
            None => Ok(()),
        }
    }

    fn check_host_of(&self, tls: &Established, shared: &Shared, authority: &str) -> Result<(), Reject> {
        if tls.may_serve(authority) {
            return Ok(());
        }
        shared.failures.note(FailedHandshake {
            remote: self.remote,
            port: self.local_port,
            named: Some(authority.to_owned()),
            certificate: tls.strict_subject().map(str::to_owned),
            reason: "a request was for a host that the certificate is not for".into(),
        });
        Err(MISDIRECTED)
    }
}

/// RFC 9110, 15.5.20.
const MISDIRECTED: Reject =
    Reject::new(421, "the certificate of this connection is for another host: connect anew");

/// What the server and the timer see of a connection.
pub(crate) struct Link {
    pub listener: Rc<ListenerState>,
    pub last_read: LastRead,
    pub place: Place,
    waker: RefCell<Option<Waker>>,
    deadline: Cell<Millis>,
    expired: Cell<bool>,
    aborted: Cell<bool>,
}

impl Link {
    fn new(listener: Rc<ListenerState>) -> Self {
        let (waker, deadline) = (RefCell::new(None), Cell::new(NEVER));
        Self {
            listener,
            last_read: LastRead::default(),
            place: Place::default(),
            waker,
            deadline,
            expired: Cell::new(false),
            aborted: Cell::new(false),
        }
    }

    pub(crate) fn deadline(&self) -> Millis {
        self.deadline.get()
    }

    /// The deadline has come: the connection's task is told.
    pub(crate) fn expire(&self) {
        self.deadline.set(NEVER);
        self.expired.set(true);
        self.wake();
    }

    /// Whether the deadline has come since this was asked last.
    pub(crate) fn take_expired(&self) -> bool {
        self.expired.take()
    }

    /// The connection is to end at once.
    pub(crate) fn abort(&self) {
        self.aborted.set(true);
        self.wake();
    }

    /// Whether the connection is to end at once, or has given way to another.
    pub(crate) fn is_aborted(&self) -> bool {
        self.aborted.get() || self.place.gave_way()
    }

    /// The connection is to end, as there is no room for it any more.
    pub(crate) fn give_way(&self) {
        self.place.give_way();
        self.wake();
    }

    /// Whether the connection is to end once nothing runs on it.
    pub(crate) fn is_draining(&self) -> bool {
        self.listener.is_draining()
    }

    pub(crate) fn wake(&self) {
        if let Some(waker) = &*self.waker.borrow() {
            waker.wake_by_ref();
        }
    }
}

/// A connection's place among all; leaves it when dropped.
pub(crate) struct Registered {
    pub shared: Rc<Shared>,
    pub link: Rc<Link>,
    key: usize,
}

impl Registered {
    pub(crate) fn new(shared: &Rc<Shared>, listener: &Rc<ListenerState>) -> Self {
        let link = Rc::new(Link::new(Rc::clone(listener)));
        let key = shared.connections.borrow_mut().insert(Rc::clone(&link));
        listener.open.set(listener.open.get() + 1);
        Self { shared: Rc::clone(shared), link, key }
    }

    /// Takes one of the places for HTTP.
    pub(crate) fn take_place(&self) {
        self.shared.places.take(&self.link);
    }

    /// The connection waits for its client, and gives way if need be.
    pub(crate) fn wait(&self, what: WaitsFor) {
        self.shared.places.wait(&self.link, what);
    }

    /// Its request runs: the connection does not give way.
    pub(crate) fn stay(&self) {
        self.shared.places.stay(&self.link);
    }

    /// Whether it has one of the places for HTTP.
    pub(crate) fn has_place(&self) -> bool {
        self.link.place.is_taken()
    }

    /// Names this task as the one to be woken. Once, at its beginning: a task's waker stays the same.
    pub(crate) async fn name_task(&self) {
        let waker = poll_fn(|context| Poll::Ready(context.waker().clone())).await;
        self.link.waker.replace(Some(waker));
    }

    /// Sets the point in time at which the connection is told that it is late; [`NEVER`] for none.
    pub(crate) fn set_deadline(&self, at: Millis) {
        self.link.expired.set(false);
        self.link.deadline.set(at);
        if at != NEVER {
            self.shared.deadlines.cover(at);
        }
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        self.shared.places.leave(&self.link);
        self.shared.connections.borrow_mut().remove(self.key);
        self.link.listener.open.set(self.link.listener.open.get() - 1);
    }
}
