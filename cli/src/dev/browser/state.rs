//! How the application is, and what all connections use.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::sync::{Semaphore, watch};

/// How the application is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Now {
    /// Nothing is loaded yet.
    Starts,
    /// The last that was saved is live.
    Live,
    /// The last that was saved could not be loaded: the terminal was told this.
    Failed(String),
    /// Likewise, as a migration that has run was changed.
    Outdated(String),
}

/// How the application is, and how often that has changed.
#[derive(Debug)]
pub(super) struct State {
    pub(super) now: Now,
    /// Of this run of the command: a page that another has made is older.
    pub(super) run: u64,
    pub(super) number: u64,
}

impl State {
    /// Tells a page whether it is still as it would be.
    pub(super) fn version(&self) -> String {
        format!("{:016x}.{}", self.run, self.number)
    }
}

/// State that all connections share.
pub(super) struct Shared {
    /// Where the platform is.
    pub(super) behind: SocketAddr,
    /// Names that it is asked by, beside those of this machine.
    pub(super) names: Vec<String>,
    pub(super) state: watch::Receiver<Arc<State>>,
    pub(super) listeners: Arc<Semaphore>,
    /// Each answer that is under way has one, too.
    pub(super) under_way: Arc<()>,
}
