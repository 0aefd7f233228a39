//! Handshakes that have failed, for the owner's log.

use std::cell::RefCell;
use std::net::SocketAddr;

/// How many are kept until the owner takes them; more are forgotten, as a flood of them says nothing new.
const KEPT: usize = 64;

/// A handshake that has failed, or never began as it should.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedHandshake {
    /// The client, or the proxy that it came by.
    pub remote: Option<SocketAddr>,
    /// The port that it connected to.
    pub port: u16,
    /// The host that the client has named, in its hello or its request, as it has written it.
    pub named: Option<String>,
    /// Whose certificate it has got.
    pub certificate: Option<String>,
    /// What was wrong.
    pub reason: String,
}

/// Those that the owner has not taken.
#[derive(Default)]
pub(crate) struct Failures {
    new: RefCell<Vec<FailedHandshake>>,
}

impl Failures {
    pub(crate) fn note(&self, failed: FailedHandshake) {
        let mut new = self.new.borrow_mut();
        if new.len() < KEPT {
            new.push(failed);
        }
    }

    pub(crate) fn take(&self) -> Vec<FailedHandshake> {
        self.new.take()
    }
}
