//! The job that this process runs: what `job.current()` reads.

use std::cell::{Cell, RefCell};

use session::authority;

/// A job that runs.
#[derive(Clone, Debug)]
pub(crate) struct Current {
    /// Its id.
    pub id: i64,
    /// The id as which it was enqueued first.
    pub root: i64,
    /// Its kind.
    pub kind: String,
    /// Which attempt it is.
    pub attempt: u32,
    /// How many it has.
    pub attempts: u32,
    /// When it was enqueued.
    pub enqueued_at: i64,
    /// The number of the executor that runs it.
    pub executor: usize,
}

thread_local! {
    /// The jobs that its transaction runs, if they are several.
    static BATCH: RefCell<Vec<i64>> = const { RefCell::new(Vec::new()) };
    static CURRENT: RefCell<Option<Current>> = const { RefCell::new(None) };
    /// The same for the context of errors, where nothing may fail: id, attempt.
    static SHOWN: Cell<Option<(i64, u32)>> = const { Cell::new(None) };
}

/// The job that runs from now on.
pub(crate) fn set(current: Option<Current>) {
    SHOWN.set(current.as_ref().map(|current| (current.id, current.attempt)));
    CURRENT.set(current);
}

/// The job that runs; none for who runs as somebody else.
pub(crate) fn get() -> Option<Current> {
    if authority::runs_restricted() { None } else { CURRENT.with_borrow(Clone::clone) }
}

/// The number of the executor that this process is, if it runs a job.
pub(crate) fn executor() -> Option<usize> {
    get().map(|current| current.executor)
}

/// The number of the executor that this process is, if it runs this job, as whoever.
pub(crate) fn executor_of(id: i64) -> Option<usize> {
    CURRENT.with_borrow(|current| {
        current.as_ref().filter(|current| current.id == id).map(|current| current.executor)
    })
}

/// This transaction runs these jobs, by their ids, one after the other.
pub(crate) fn set_batch(ids: Vec<i64>) {
    BATCH.set(ids);
}

/// Whether this transaction runs this job with others.
pub(crate) fn is_of_batch(id: i64) -> bool {
    BATCH.with_borrow(|batch| batch.contains(&id))
}

/// A kind for the context of errors, with the job that runs.
pub(crate) struct Shown<'a>(pub &'a str);

impl std::fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match SHOWN.get() {
            Some((id, attempt)) => write!(f, "job {id} of kind {}, attempt {attempt}", self.0),
            None => write!(f, "jobs of kind {}", self.0),
        }
    }
}
