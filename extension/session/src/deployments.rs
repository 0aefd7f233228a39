//! Deployments that become visible while a request runs. Who deploys says when; who runs a request asks at its end, before it commits.

use std::cell::Cell;
use std::time::{Duration, Instant};

use pg::guard::{PgError, Report, attempt};
use pg::transaction_end::{Stage, SubtransactionEnd, at_stages, at_subtransaction_end};
use pgrx::pg_sys;
use shared::databases::Database;
use shared::{attached, now_us};

use super::invalidations;

/// The SQLSTATE of a request that is given up because of a deployment.
pub const MIXED: [u8; 5] = *b"HDM01";

/// How often something runs when deployments come across it.
const RUNS: u32 = 100;
/// How long a request waits for the commit of a deployment: one may wait for a standby.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often it looks.
const LOOK: Duration = Duration::from_millis(1);
/// How long a request that was undone keeps others from deploying.
const LONGEST_CALM: Duration = Duration::from_secs(30);

thread_local! {
    /// The entry of this process's database; none until it is first asked for, and in a database that is not served.
    static DATABASE: Cell<Option<&'static Database>> = const { Cell::new(None) };
    /// How many had ended when the request began.
    static NOTED: Cell<u64> = const { Cell::new(0) };
    /// The subtransaction that makes this transaction one.
    static DEPLOYS: Cell<Option<pg_sys::SubTransactionId>> = const { Cell::new(None) };
    /// Whether it is only tried.
    static TRIES: Cell<bool> = const { Cell::new(false) };
    /// Whether it is under way.
    static UNDER_WAY: Cell<bool> = const { Cell::new(false) };
}

fn database() -> Option<&'static Database> {
    DATABASE.get().or_else(|| {
        // SAFETY: PostgreSQL's own variable.
        let database = attached()?.database_of(unsafe { pg_sys::MyDatabaseId });
        DATABASE.set(database);
        database
    })
}

/// A request begins, or begins anew, or a transaction that requests will share. What has become visible since the last is known before
/// anything is looked up.
///
/// # Safety
/// On the main thread, outside a transaction.
pub unsafe fn note() {
    let Some(database) = database() else { return };
    let ended = database.deployments.ended();
    if ended != NOTED.replace(ended) {
        // SAFETY: by contract. Nothing is planned.
        let _ = unsafe { attempt(Report::Log, || invalidations::accept()) };
    }
}

/// Whether what was looked up since [`note`] may be of two deployments.
pub fn may_be_mixed() -> bool {
    database().is_some_and(|database| database.deployments.may_be_mixed(NOTED.get()))
}

/// The error of a request of which that is so. It runs again.
pub(crate) fn refuse_mixed() {
    if may_be_mixed() {
        pg::guard::raise(PgError {
            sqlstate: MIXED,
            message: "the application was deployed while the request ran".into(),
            ..PgError::default()
        });
    }
}

/// What a request that was undone more than once asks for: that nobody but superusers deploys before it has ended. Whatever becomes of it,
/// that ends.
struct Calm(Option<i64>);

impl Calm {
    /// For twice as long as it has run.
    fn ask(&mut self, ran: Duration) {
        if let Some(database) = database() {
            let time = (ran * 2).clamp(LOOK, LONGEST_CALM);
            let until = now_us().cast_signed() + time.as_micros() as i64;
            database.deployments.keep_calm(until);
            self.0 = Some(until);
        }
    }
}

impl Drop for Calm {
    fn drop(&mut self) {
        if let (Some(until), Some(database)) = (self.0, database()) {
            database.deployments.end_calm(until);
        }
    }
}

/// Runs `work`, which ends as a request does, and again if its result is the error of [`MIXED`] because of a deployment. None if it is
/// given up: others follow, or one does not end.
///
/// # Safety
/// On the main thread, outside a transaction.
pub unsafe fn unmixed<T>(mut work: impl FnMut() -> T, is_mixed: impl Fn(&T) -> bool) -> Option<T> {
    let mut calm = Calm(None);
    for run in 0..RUNS {
        // The clock is not asked where nothing is under way.
        let begun = (run > 0).then(Instant::now);
        // SAFETY: by contract.
        unsafe { note() };
        let result = work();
        // What runs in it may raise the same.
        if !is_mixed(&result) || !may_be_mixed() {
            return Some(result);
        }
        if let Some(begun) = begun {
            calm.ask(begun.elapsed());
        }
        if !wait() {
            break;
        }
    }
    None
}

/// Waits until none is under way; false if that takes too long, or the request is cancelled.
fn wait() -> bool {
    let begun = Instant::now();
    while database().is_some_and(|database| database.deployments.is_under_way()) {
        // SAFETY: PostgreSQL's own variable.
        if begun.elapsed() > PATIENCE || unsafe { pg_sys::QueryCancelPending } != 0 {
            return false;
        }
        std::thread::sleep(LOOK);
    }
    true
}

/// The transaction is a deployment from now on.
pub fn announce() {
    at_stages(at_stage, is_concerned);
    at_subtransaction_end(at_subtransaction);
    if DEPLOYS.get().is_none() {
        // SAFETY: inside a transaction.
        DEPLOYS.set(Some(unsafe { pg_sys::GetCurrentSubTransactionId() }));
    }
}

fn at_subtransaction(end: SubtransactionEnd) {
    match end {
        SubtransactionEnd::Committed(child, parent) if DEPLOYS.get() == Some(child) => {
            DEPLOYS.set(Some(parent));
        }
        SubtransactionEnd::RolledBack(child) if DEPLOYS.get() == Some(child) => DEPLOYS.set(None),
        _ => {}
    }
}

/// The transaction, which is a deployment, can only be rolled back.
pub fn forbid_commit() {
    at_stages(at_stage, is_concerned);
    TRIES.set(true);
}

/// Waits for its turn, unless a superuser deploys.
fn take_turn(database: &Database) {
    // SAFETY: PostgreSQL's own state.
    if unsafe { pg_sys::superuser() } {
        return;
    }
    let turn = database.deployments.turn(now_us().cast_signed(), PATIENCE.as_micros() as i64);
    let Some(wait) = turn else {
        pg::guard::raise(PgError {
            sqlstate: *b"53400",
            message: "there are too many deployments in this database".into(),
            hint: Some("Try again later, or deploy as a superuser.".into()),
            ..PgError::default()
        });
    };
    let wait = Duration::from_micros(wait.unsigned_abs());
    let begun = Instant::now();
    loop {
        let is_calm = database.deployments.is_calm(now_us().cast_signed());
        if begun.elapsed() >= wait && !is_calm {
            return;
        }
        if is_calm && begun.elapsed() > wait + PATIENCE {
            pg::guard::raise(PgError {
                sqlstate: *b"53400",
                message: "a request runs that deployments have undone more than once".into(),
                hint: Some("Try again later, or deploy as a superuser.".into()),
                ..PgError::default()
            });
        }
        pgrx::check_for_interrupts!();
        std::thread::sleep(LOOK);
    }
}

/// Whether the transaction is, or was, a deployment.
fn is_concerned() -> bool {
    DEPLOYS.get().is_some() || TRIES.get() || UNDER_WAY.get()
}

fn at_stage(stage: Stage) {
    match stage {
        Stage::BeforeCommit | Stage::BeforePrepare if TRIES.get() => pg::guard::raise(PgError {
            sqlstate: *b"25000",
            message: "a deployment that is only tried cannot be committed".into(),
            ..PgError::default()
        }),
        Stage::BeforePrepare if DEPLOYS.get().is_some() => pg::guard::raise(PgError {
            sqlstate: *b"0A000",
            message: "a deployment cannot be prepared".into(),
            ..PgError::default()
        }),
        Stage::BeforeCommit if DEPLOYS.get().is_some() => {
            if let Some(database) = database() {
                take_turn(database);
                UNDER_WAY.set(true);
                database.deployments.begin();
            }
        }
        Stage::Released { .. } => {
            DEPLOYS.set(None);
            TRIES.set(false);
            if UNDER_WAY.take()
                && let Some(database) = database()
            {
                database.deployments.end();
            }
        }
        Stage::BeforePrepare | Stage::BeforeCommit => {}
    }
}
