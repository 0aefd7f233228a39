//! What stands between a browser and the platform of `howdah dev`: it passes requests and answers on, adds a script to pages that loads
//! them again when something was saved, and shows what is wrong with the application in place of its pages.
//!
//! - `front`: the addresses that it listens on, and what the platform has to know of it.
//! - `connection`: a connection of a client; `pass`: a request on its way to the platform, and the answer back; `body`: their bodies.
//! - `headers`: what concerns one connection alone, and who may ask; `navigation`: which requests are for a page, and which answers get
//!   the script.
//! - `live`: the script, and the events that it listens to.
//! - `state`: how the application is, and what all connections use; `client`: who asks.
//! - `told`: what the terminal is told of an error, in parts; `page`: the page that shows it.
//!
//! Each request has a connection of its own to the platform, which begins with a header of the PROXY protocol: so the application sees the
//! browser's address, and nothing that one client sends can be read as another's request. Whatever clients can make many of has a bound:
//! connections, listeners, headers, what is read ahead.

mod body;
mod client;
mod connection;
mod front;
mod headers;
mod live;
mod navigation;
mod page;
mod pass;
mod state;
#[cfg(test)]
mod tests;
mod told;

use std::collections::BTreeMap;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Runtime};
use tokio::sync::{Semaphore, oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::sleep;

pub(crate) use self::front::{Front, behind};
pub(crate) use self::state::Now;
use self::state::{Shared, State};
use crate::failure::{Failure, Result};

/// Connections at a time; others wait until one ends. Each has a second one to the platform: with those of this command they stay below
/// the 1,024 files that a process may usually open.
const MOST_CONNECTIONS: usize = 400;
/// Pages at a time that wait for events.
const MOST_LISTENERS: usize = 100;
/// How long answers that are under way may take at the end.
const AT_THE_END: Duration = Duration::from_secs(1);
/// How often it is looked then.
const LOOK: Duration = Duration::from_millis(5);

/// What browsers talk to. It ends when it is dropped.
pub(crate) struct Browser {
    state: watch::Sender<Arc<State>>,
    end: Option<oneshot::Sender<()>>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Browser {
    /// Takes connections from now on.
    pub(crate) fn begin(front: Front, behind: u16) -> Result<Browser> {
        let run = RandomState::new().build_hasher().finish();
        let (state, states) = watch::channel(Arc::new(State {
            now: Now::Starts,
            run,
            number: 0,
            whole: 0,
            styles: BTreeMap::new(),
        }));
        let (end, ended) = oneshot::channel();
        let shared = Arc::new(Shared {
            behind: SocketAddr::from(([127, 0, 0, 1], behind)),
            names: front.names,
            state: states,
            listeners: Arc::new(Semaphore::new(MOST_LISTENERS)),
            under_way: Arc::default(),
        });
        let runtime = Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .build()
            .map_err(|error| Failure::Said(format!("cannot serve browsers: {error}")))?;
        let thread = thread::Builder::new()
            .name("browser".into())
            .spawn(move || serve(&runtime, front.listeners, &shared, ended))
            .map_err(|error| Failure::Said(format!("cannot serve browsers: {error}")))?;
        Ok(Browser { state, end: Some(end), thread: Some(thread) })
    }

    /// Says how the application is now. Pages load again if that is another state, or if what is live was made anew.
    pub(crate) fn say(&self, now: Now, is_new: bool) {
        self.state.send_if_modified(|state| {
            let changes = is_new || state.now != now;
            if changes {
                let number = state.number + 1;
                let styles = BTreeMap::new();
                *state = Arc::new(State { now, run: state.run, number, whole: number, styles });
            }
            changes
        });
    }
}

impl Browser {
    /// Says that nothing but style sheets is new: pages take these, and are not loaded again.
    pub(crate) fn restyle(&self, styles: BTreeMap<String, String>) {
        self.state.send_modify(|state| {
            let State { now, run, number, whole, .. } = &**state;
            *state =
                Arc::new(State { now: now.clone(), run: *run, number: number + 1, whole: *whole, styles });
        });
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Serves until it is to end; then answers that are under way may go out.
fn serve(
    runtime: &Runtime,
    listeners: Vec<std::net::TcpListener>,
    shared: &Arc<Shared>,
    ended: oneshot::Receiver<()>,
) {
    runtime.block_on(async {
        let places = Arc::new(Semaphore::new(MOST_CONNECTIONS));
        let listeners =
            listeners.into_iter().filter_map(|listener| tokio::net::TcpListener::from_std(listener).ok());
        let accepting: Vec<_> = listeners
            .map(|listener| {
                tokio::spawn(connection::accept(listener, Arc::clone(shared), Arc::clone(&places)))
            })
            .collect();
        let _ = ended.await;
        accepting.iter().for_each(JoinHandle::abort);
        let begun = Instant::now();
        while Arc::strong_count(&shared.under_way) > 1 && begun.elapsed() < AT_THE_END {
            sleep(LOOK).await;
        }
    });
}
