//! What all workers of a round know: the queues, how to reach the server, and whether it is being disturbed.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use cluster::postgres::error::Severity;
use cluster::postgres::{Client, Error, NoTls, Row as Record};
use hunt::Rng;

use super::truth::Log;

/// A queue of a round.
pub(super) struct Queue {
    pub name: String,
    /// Whether its rows are of type `item`; else it has messages.
    pub typed: bool,
    pub unlogged: bool,
    pub max_reads: Option<i32>,
    /// Takes lines for it.
    pub port: u16,
}

pub(super) struct World {
    pub connection: String,
    /// The port for HTTP.
    pub web: u16,
    pub queues: Vec<Queue>,
    /// Whether workers shall end.
    pub over: AtomicBool,
    /// Whether the round has failed: then nobody waits for a server any more.
    pub failed: AtomicBool,
    /// Crashes that have begun and that have ended: odd while there is one.
    pub crashes: AtomicU32,
    /// Likewise of all faults.
    pub faults: AtomicU32,
    /// What workers have done.
    pub steps: AtomicUsize,
}

/// No statement may take longer, whatever happens: leases, locks and restarts are all shorter.
const PATIENCE: Duration = Duration::from_secs(40);

/// What became of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Done,
    Undone,
    Unknown,
}

impl World {
    /// Counts a piece of work; whether there shall be another.
    pub(super) fn goes_on(&self) -> bool {
        self.steps.fetch_add(1, SeqCst);
        !self.over.load(SeqCst)
    }

    /// Waits a moment for the server.
    pub(super) fn wait(&self) {
        assert!(!self.failed.load(SeqCst), "the round has failed");
        thread::park_timeout(Duration::from_millis(20));
    }

    /// The number of the life between two crashes that the server has now.
    pub(super) fn era(&self) -> u32 {
        self.crashes.load(SeqCst)
    }

    /// A session, once there can be one.
    pub(super) fn session(&self) -> Client {
        let begin = Instant::now();
        loop {
            match Client::connect(&self.connection, NoTls) {
                Ok(mut session) => {
                    let limit = format!("set statement_timeout = {}; set jit = off", PATIENCE.as_millis());
                    if session.batch_execute(&limit).is_ok() {
                        return session;
                    }
                }
                Err(error) => assert!(begin.elapsed() < PATIENCE, "no session: {error:?}"),
            }
            self.wait();
        }
    }

    /// The number of a random queue that is fit.
    pub(super) fn any(&self, random: &mut Rng, fit: impl Fn(&Queue) -> bool) -> usize {
        loop {
            let queue = random.usize(..self.queues.len());
            if fit(&self.queues[queue]) {
                return queue;
            }
        }
    }

    /// Works in one session after another, until the round is over.
    pub(super) fn work(&self, log: &mut Log, mut step: impl FnMut(&mut Client, &mut Log)) {
        while self.goes_on() {
            let mut session = self.session();
            while !session.is_closed() && self.goes_on() {
                step(&mut session, log);
            }
        }
    }
}

/// Microseconds since 1970, by the clock that the server has too.
pub(super) fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock").as_micros() as i64
}

/// Runs statements; what has become of them, if the last is what commits.
pub(super) fn run(session: &mut Client, statements: &str) -> Outcome {
    let begin = Instant::now();
    outcome(session.batch_execute(statements), begin, statements)
        .map_or_else(|outcome| outcome, |()| Outcome::Done)
}

/// Runs a query that commits, or is a part of a transaction.
pub(super) fn ask(session: &mut Client, query: &str) -> Result<Vec<Record>, Outcome> {
    let begin = Instant::now();
    outcome(session.query(query, &[]), begin, query)
}

fn outcome<T>(result: Result<T, Error>, begin: Instant, statements: &str) -> Result<T, Outcome> {
    result.map_err(|error| {
        assert!(begin.elapsed() < PATIENCE, "{error:?} after {:?}\n{statements}", begin.elapsed());
        let Some(raised) = error.as_db_error() else { return Outcome::Unknown };
        // Cancelled; a deadlock; a lock that is not to be had; a port that a gateway is about to leave; ended; the server ends, or
        // begins.
        let known = ["57014", "40P01", "55P03", "55006", "57P01", "57P02", "57P03"];
        assert!(known.contains(&raised.code().code()), "{error:?}\n{statements}");
        match raised.parsed_severity() {
            Some(Severity::Error) => Outcome::Undone,
            _ => Outcome::Unknown,
        }
    })
}
