//! The end of each transaction of each process: it is marked before, and counted after its locks are released.
//!
//! Of a commit that is counted everybody else has been told by then: an executor that computes afterwards has no old plan.

use std::cell::Cell;
use std::ffi::{CStr, c_void};
use std::sync::OnceLock;

use pg::entry::infallible_callback;
use pg::guard::PgError;
use pg::table_counts::Changed;
use pg::transaction_end::{Stage, at_stages};
use pg::version;
use pgrx::pg_sys::{self, GucBoolAssignHook, TransactionId};
use registry::commits::{EVERYTHING, Thing};

use crate::memory::{attached, commits};
use crate::{faults, private, standing, things};

/// What has a mark of the transaction of this process.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Marked {
    /// Nothing.
    Nothing,
    /// The process, for its commit.
    Process,
    /// The transaction, which is prepared, if it has changed anything.
    Prepared(Option<u32>),
}

thread_local! {
    static MARKED: Cell<Marked> = const { Cell::new(Marked::Nothing) };
    /// What [`private::look`] gave when the transaction was looked at; 0 before.
    static LOOKED: Cell<u64> = const { Cell::new(0) };
    /// What the mark names; between transactions the memory for it.
    static THINGS: Cell<Vec<Thing>> = const { Cell::new(Vec::new()) };
    /// Whether rows may have been written since the last transaction's end that PostgreSQL has not counted.
    static BLIND: Cell<bool> = const { Cell::new(false) };
    /// The transaction that was settled last.
    static SETTLED: Cell<TransactionId> = const { Cell::new(TransactionId::INVALID) };
}

/// Room for things that is kept from one transaction to the next.
const KEPT: usize = 1024;

/// Begins. Called once, in the postmaster, while the library is loaded; it holds for all processes.
pub fn install() {
    at_stages(at_stage, is_concerned);
    watch_counting();
}

/// Whether the end of the transaction of this process means anything here: most only read.
fn is_concerned() -> bool {
    // SAFETY: it looks at PostgreSQL's own state and raises nothing.
    let writes = || unsafe { pg::GetTopTransactionIdIfAny() } != TransactionId::INVALID;
    writes() || BLIND.get() || private::is_noted() || MARKED.get() != Marked::Nothing
}

fn at_stage(stage: Stage) {
    match stage {
        // SAFETY: PostgreSQL calls, inside the transaction.
        Stage::BeforeCommit | Stage::BeforePrepare => unsafe { mark(stage == Stage::BeforePrepare) },
        // SAFETY: as above.
        Stage::Released { commits } => unsafe { settle(commits) },
    }
}

/// Marks what the transaction has changed. Nothing is borrowed or owned while PostgreSQL is called: an error jumps.
unsafe fn mark(prepares: bool) {
    // SAFETY: by contract.
    unsafe {
        let transaction = pg::GetTopTransactionIdIfAny();
        let Some(memory) = attached().filter(|_| transaction != TransactionId::INVALID) else { return };
        let commits = &memory.commits;
        LOOKED.set(private::look());
        let transaction = transaction.into_inner();
        let is_blind = (BLIND.get() || !pg_sys::pgstat_track_counts) && !faults::is_asked("no-blindness");
        let found = match is_blind {
            true => None,
            false => things::collect(Changed::now(), commits, private::catalogs(), THINGS.take()),
        };
        let things = found.unwrap_or_else(|| vec![EVERYTHING]);
        if prepares && faults::is_asked("no-prepared") {
            return;
        }
        if !things.is_empty() && prepares {
            let ask = |transaction, is_prepared| standing::of(transaction, is_prepared);
            if !commits.prepare(transaction, &things, ask) {
                no_room();
            }
        } else if !things.is_empty() {
            if faults::is_asked("early") {
                commits.count_unmarked(&things);
            } else if !faults::is_asked("unmarked") {
                commits.mark(version::process_number(), transaction, &things);
            }
            MARKED.set(Marked::Process);
        }
        if prepares {
            MARKED.set(Marked::Prepared((!things.is_empty()).then_some(transaction)));
        }
        THINGS.set(things);
    }
}

/// Counts what was marked, or takes the mark away. PostgreSQL tells of the release once for each owner of resources that is left.
unsafe fn settle(is_committed: bool) {
    // SAFETY: it looks at PostgreSQL's own state and raises nothing.
    let transaction = unsafe { pg::GetTopTransactionIdIfAny() };
    if transaction != TransactionId::INVALID && SETTLED.replace(transaction) == transaction {
        return;
    }
    let (marked, looked) = (MARKED.replace(Marked::Nothing), LOOKED.take());
    private::forget(is_committed);
    // SAFETY: PostgreSQL's own variable.
    BLIND.set(unsafe { !pg_sys::pgstat_track_counts });
    match marked {
        Marked::Process => {
            let things = THINGS.take();
            let process = version::process_number();
            faults::hold_if_asked();
            if faults::is_asked("early") {
                return;
            }
            if faults::is_asked("unmarked") {
                commits().count_unmarked(&things);
            } else if is_committed {
                // SAFETY: by contract.
                unsafe { count_late(looked) };
                commits().count(process, &things);
            } else {
                commits().withdraw(process, &things);
            }
            if things.capacity() <= KEPT {
                THINGS.set(things);
            }
        }
        Marked::Prepared(Some(transaction)) if !is_committed => commits().give_up(transaction),
        // The counts of the transaction went with it.
        Marked::Prepared(_) => {}
        // SAFETY: by contract.
        Marked::Nothing if is_committed => unsafe { count_late(looked) },
        Marked::Nothing => {}
    }
}

/// Counts what another library has written after the look before the commit: nobody can be told of it before it can be seen, so that it
/// has changed everything.
unsafe fn count_late(looked: u64) {
    // SAFETY: by contract. What the level is asked for lives as long as the transaction.
    unsafe {
        if pg::GetTopTransactionIdIfAny() != TransactionId::INVALID
            && let Some(memory) = attached()
            && private::sum() != looked
        {
            memory.commits.count_unmarked(&[EVERYTHING]);
        }
    }
}

fn no_room() -> ! {
    pg::guard::raise(PgError {
        sqlstate: *b"53400",
        message: "howdah has no room for another prepared transaction".into(),
        hint: Some("Raise max_prepared_transactions, or end those that are prepared.".into()),
        ..PgError::default()
    })
}

/// The setting without which PostgreSQL counts nothing. It is looked at when a table is opened.
const COUNTING: &CStr = c"track_counts";

static PREVIOUS: OnceLock<GucBoolAssignHook> = OnceLock::new();

fn watch_counting() {
    for setting in version::settings() {
        // SAFETY: PostgreSQL's own table of settings, changed while libraries are loaded; the setting is one of type boolean.
        unsafe {
            if CStr::from_ptr((*setting).name) == COUNTING {
                let setting = setting.cast::<pg_sys::config_bool>();
                // It is called once.
                let _ = PREVIOUS.set((*setting).assign_hook);
                (*setting).assign_hook = Some(counting_changed);
            }
        }
    }
}

infallible_callback! {
    unsafe fn counting_changed(is_on: bool, extra: *mut c_void) {
        // The variable still has what it had until now: it may have been off from the start.
        // SAFETY: PostgreSQL's own variable.
        if !is_on || unsafe { !pg_sys::pgstat_track_counts } {
            BLIND.set(true);
        }
        if let Some(Some(previous)) = PREVIOUS.get() {
            // SAFETY: called as PostgreSQL calls it.
            unsafe { previous(is_on, extra) };
        }
    }
}
