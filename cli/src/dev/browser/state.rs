//! How the application is, and what all connections use.

use std::collections::BTreeMap;
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
    /// The number since which nothing but style sheets has changed.
    pub(super) whole: u64,
    /// The style sheets by their paths in static/, each with the path that says what is in it.
    pub(super) styles: BTreeMap<String, String>,
}

impl State {
    /// Tells a page whether it is still as it would be.
    pub(super) fn version(&self) -> String {
        format!("{:016x}.{}", self.run, self.number)
    }

    /// The event that pages get: the version, and since which one they need other style sheets alone.
    pub(super) fn event(&self) -> String {
        let version = self.version();
        if self.whole == self.number {
            return version;
        }
        // Texts become JSON in any case.
        let styles = serde_json::to_string(&self.styles).unwrap_or_default();
        format!("{version} {:016x}.{} {styles}", self.run, self.whole)
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
