//! What executors of the ingest lane do: each bucket of lines in a transaction of its own.
//!
//! The answer leaves when the commit has returned, and so, under the listener's durability, when it is flushed.

use std::ffi::CStr;
use std::rc::Rc;

use pgrx::pg_sys;
use wire::{Answer, Failure, Work, Written};

use crate::guard::{PgError, Report, attempt};
use crate::ingest::{self, Target};
use crate::intake::{self, Durability, Intake};
use crate::pg;
use crate::request::identity::Identity;
use crate::request::transaction::{self, Scope};
use crate::request::{Runner, changes};
use crate::shared::shared;
use crate::worker::signals;

/// What is kept between two buckets.
#[derive(Default)]
pub struct Lines {
    identity: Identity,
    /// What `synchronous_commit` was last set to.
    durability: Option<Durability>,
}

/// `STATE_RUNNING` of utils/backend_status.h.
const RUNNING: i32 = pg_sys::BackendState::STATE_RUNNING as i32;

impl Lines {
    /// Settings of the server or of a role may have changed.
    pub fn settings_changed(&mut self) {
        self.identity.doubt();
    }

    /// Does what has come by the exchange.
    pub fn run(&mut self, bytes: &[u8], runner: &mut Runner) -> Answer {
        let (work, lines) = match Work::parse(bytes) {
            Ok(parsed) => parsed,
            Err(error) => return failed("XX000", format!("a bucket cannot be read: {error}"), false),
        };
        // SAFETY: on the main thread, outside a transaction.
        if changes::configuration_is_stale() && unsafe { runner.refresh() }.is_err() {
            return failed("58000", "the configuration cannot be read".into(), false);
        }
        let Some(intake) = find(runner, work.listener) else {
            return failed("42704", format!("nothing listens on port {}", work.listener), true);
        };
        let cancels = signals::cancels();
        match self.prepare(&intake).and_then(|()| write(&intake, &work, lines)) {
            // What is sent again is known to be there: an answer too few does no harm.
            Ok(_) if work.origin.is_some() && was_interrupted(cancels) => {
                failed("57014", "the wait for the commit was cancelled".into(), false)
            }
            Ok(written) => Answer::Written(written),
            Err(error) => {
                let is_final = Self::is_final(&error, &work);
                failed(error.sqlstate(), error.message.clone(), is_final)
            }
        }
    }

    /// Puts the role's settings and the listener's durability in force.
    fn prepare(&mut self, intake: &Intake) -> Result<(), PgError> {
        if !self.identity.is(intake.role, &intake.search_path) {
            self.durability = None;
        }
        // SAFETY: on the main thread, outside a transaction.
        unsafe { self.identity.assume(intake.role, &intake.search_path)? };
        if self.durability != Some(intake.durability) {
            set(c"synchronous_commit", intake.durability.synchronous_commit())?;
            self.durability = Some(intake.durability);
        }
        Ok(())
    }

    /// Whether trying the bucket again is in vain. Then an acknowledged connection is ended: nothing that it was told of
    /// is lost. A plain one waits in any case: somebody may grant what is missing.
    fn is_final(error: &PgError, work: &Work) -> bool {
        let of_class = |class: &str| error.sqlstate().starts_with(class);
        // Missing things and missing rights, a new epoch, a gap in the numbers.
        work.origin.is_some()
            && (of_class("42") || of_class("28") || of_class("0A") || error.sqlstate() == "55000")
    }
}

/// Whether a cancel or the end of this process was asked for since so many cancels had come. A commit that waits for a
/// standby then returns although no standby has it.
fn was_interrupted(cancels: u64) -> bool {
    // SAFETY: PostgreSQL's own variable.
    unsafe { pg_sys::ProcDiePending != 0 || signals::cancels() != cancels }
}

fn find(runner: &Runner, port: u32) -> Option<Rc<Intake>> {
    let intakes = &runner.table()?.intakes;
    intakes.iter().find(|intake| u32::from(intake.listener.port) == port).cloned()
}

fn failed(code: &str, error: String, is_final: bool) -> Answer {
    Answer::Failed(Failure { code: code.to_owned(), error, is_final })
}

/// Sets a setting for the session.
fn set(name: &CStr, value: &CStr) -> Result<(), PgError> {
    crate::worker::transaction::transaction(Report::Log, || {
        // SAFETY: inside a transaction; constant texts.
        unsafe {
            pg_sys::set_config_option(
                name.as_ptr(),
                value.as_ptr(),
                pg_sys::GucContext::PGC_SUSET,
                pg_sys::GucSource::PGC_S_SESSION,
                pg_sys::GucAction::GUC_ACTION_SET,
                true,
                pgrx::PgLogLevel::WARNING as i32,
                false,
            );
        }
    })
}

/// Writes a bucket and commits it; of a hello, its epoch, and says how far the producer is.
fn write(intake: &Intake, work: &Work, lines: &[u8]) -> Result<Written, PgError> {
    let mut written = None;
    let mut way = None;
    // SAFETY: on the main thread, outside a transaction. What is called inside `pour` raises through pgrx's guards, so its
    // values are dropped; when the transaction begins and ends, no frame holds any.
    let result = unsafe {
        attempt(Report::Quiet, || {
            pg::pgstat_report_activity(RUNNING, intake.title.as_ptr());
            let begun = transaction::begin(Scope::Own { read_only: false }, intake.role);
            pour(intake, work, lines, &mut written, &mut way);
            transaction::finish(begun);
        })
    };
    if let Err(error) = result {
        // SAFETY: the transaction has failed.
        unsafe { transaction::abort() };
        return Err(error);
    }
    if let Some(way) = way {
        // SAFETY: PostgreSQL's own variable.
        shared().intakes.set_way(unsafe { pg_sys::MyDatabaseId }, work.listener, &way);
    }
    Ok(written.unwrap_or_default())
}

fn pour(intake: &Intake, work: &Work, lines: &[u8], written: &mut Option<Written>, way: &mut Option<String>) {
    let target = match &intake.target {
        intake::Target::Queue(name) => Target::queue(name, intake.keep.clone()),
        intake::Target::Table(table, _) => Target::table(*table, intake.keep.clone()),
    };
    let origin = work.origin.as_ref().map(|origin| ingest::Sender {
        producer: &origin.producer,
        epoch: origin.epoch,
        first: origin.first,
    });
    *way = Some(target.way());
    if work.hello {
        target.check();
        let flushed = intake.durability != Durability::Memory;
        let sequence = origin.map_or(0, |sender| target.greet(&sender, flushed));
        *written = Some(Written { sequence, ..Written::default() });
        return;
    }
    let bucket = ingest::Bucket {
        lines,
        origin,
        listener: work.listener as i32,
        cut: &work.too_long,
        longest: intake.longest_line(),
    };
    let done = ingest::write(&target, &bucket);
    let rejected = done.rejected.into_iter().map(|line| wire::Rejected {
        line: line.line,
        code: String::from_utf8_lossy(&line.sqlstate).into_owned(),
        error: line.message,
    });
    *written = Some(Written {
        stored: done.stored,
        repeated: done.repeated,
        rejected_count: done.rejected_count,
        rejected: rejected.collect(),
        sequence: done.sequence,
    });
}
