//! Two-phase commit: what was prepared is found again after a crash, and ended.

use cluster::postgres::Client;
use hunt::Rng;

use super::world::{Outcome, World, ask, run};

/// A transaction that is being prepared.
pub(super) struct Pending {
    name: String,
    /// Whether it shall be committed.
    commits: bool,
    /// Whether its session ends between the two phases.
    leaves: bool,
}

impl Pending {
    pub(super) fn new(worker: i32, random: &mut Rng) -> Pending {
        let name = format!("{worker} {}", random.u64(..));
        Pending { name, commits: random.u8(..3) > 0, leaves: random.bool() }
    }
}

/// Prepares the session's transaction and ends it, however often the server has to be asked. Done if it was committed.
pub(super) fn settle(world: &World, session: &mut Client, pending: &mut Pending) -> Outcome {
    let Pending { name, commits, leaves } = pending;
    let prepared = run(session, &format!("prepare transaction '{name}'"));
    if prepared == Outcome::Undone {
        return Outcome::Undone;
    }
    let mut is_tried = false;
    loop {
        if session.is_closed() || std::mem::take(leaves) {
            *session = world.session();
        }
        let Ok(found) = ask(session, &format!("select 1 from pg_prepared_xacts where gid = '{name}'")) else {
            continue;
        };
        let end = if *commits { "commit" } else { "rollback" };
        if found.is_empty() {
            assert!(is_tried || prepared == Outcome::Unknown, "a prepared transaction is lost");
            return if *commits && is_tried { Outcome::Done } else { Outcome::Undone };
        }
        is_tried = true;
        run(session, &format!("{end} prepared '{name}'"));
    }
}
