//! What executors of the ingest lane do: each bucket of lines in a transaction of its own.
//!
//! The answer leaves when the commit has returned, and so, under the listener's durability, when it is flushed.

use std::ffi::{CStr, CString};
use std::rc::Rc;

use ingest::blame::Refusal;
use ingest::{Keep, Target};
use pg::guard::{PgError, Report, attempt};
use pg::refuse::refuse_with_hint;
use pgrx::PgSqlErrorCode;
use pgrx::pg_sys::{self, Oid};
use pgrx::spi::SpiClient;
use problem::Meaning;
use queue::definition::{self, Definition};
use request::table::NoTable;
use request::{Runner, author};
use session::authority::name_of;
use session::identity::{self, Identity};
use session::request_transaction::{self, Leftovers, Scope};
use session::standbys::Confirmation;
use session::{deployments, leftovers, settings_in_force, stored_settings, watch};
use shared::shared;
use wire::{Answer, Destination, Durability, Failure, Work, Written};

use crate::intake::{self, Intake};

/// What is kept between two buckets.
#[derive(Default)]
pub(crate) struct Lines {
    identity: Identity,
    /// What `synchronous_commit` was last set to.
    durability: Option<Durability>,
    /// The listeners, as last read.
    intakes: Vec<Rc<Intake>>,
}

/// `STATE_RUNNING` of utils/backend_status.h.
const RUNNING: i32 = pg_sys::BackendState::STATE_RUNNING as i32;

impl Lines {
    /// Settings of the server or of a role may have changed.
    pub(crate) fn settings_changed(&mut self) {
        self.identity.doubt();
    }

    /// Reads the configuration again if it has changed; whether it has. What this process knows it goes on with while it is locked.
    ///
    /// # Safety
    /// On the main thread, outside a transaction.
    pub(crate) unsafe fn refresh(&mut self, runner: &mut Runner) -> Result<bool, NoTable> {
        let mut read = Vec::new();
        let mut along = |client: &SpiClient<'_>| {
            read = intake::read(client)?;
            Ok(())
        };
        // SAFETY: by contract.
        unsafe {
            let has_changed = runner.refresh_if_unlocked(&mut along)?;
            if has_changed {
                stored_settings::learn(read.iter().map(|intake| Oid::from(intake.destination.role)));
                self.intakes = read;
            }
            Ok(has_changed)
        }
    }

    /// Does what has come by the exchange.
    pub(super) fn run(&mut self, bytes: &[u8], runner: &mut Runner) -> Answer {
        let (work, lines) = match Work::parse(bytes) {
            Ok(parsed) => parsed,
            Err(error) => return failed("XX000", format!("a bucket cannot be read: {error}")),
        };
        // SAFETY: on the main thread, outside a transaction.
        if unsafe { self.refresh(runner) }.is_err() {
            return failed("58000", "the configuration cannot be read".into());
        }
        let present = self.present(&work);
        let work = Work { destination: present.clone().unwrap_or(work.destination), ..work };
        let write = || self.prepare(&work.destination).and_then(|role| write(role, &work, lines));
        let is_mixed = |result: &Result<_, PgError>| {
            result.as_ref().is_err_and(|error| error.sqlstate == deployments::MIXED)
        };
        // SAFETY: on the main thread, outside a transaction.
        let Some(result) = (unsafe { deployments::unmixed(write, is_mixed) }) else {
            return failed("55006", "the application is being deployed".into());
        };
        match result {
            // What is sent again is known to be there, and waits again.
            Ok((written, _)) if written.unconfirmed && work.origin.is_some() => {
                failed("08007", "no standby has confirmed the commit".into())
            }
            Ok((written, way)) => {
                if present.is_some() {
                    // SAFETY: PostgreSQL's own variable.
                    shared().intakes.set_way(unsafe { pg_sys::MyDatabaseId }.to_u32(), work.listener, &way);
                }
                Answer::Written(written)
            }
            Err(error) => {
                let is_final = Self::is_final(&error, &work);
                let is_harm = watch::has_taken_too_much();
                let (code, error) = (error.sqlstate().to_owned(), error.message);
                Answer::Failed(Failure { code, error, is_final, is_harm })
            }
        }
    }

    /// How the listener has lines written now, if it still takes them for the same place: whoever has mended its role or
    /// durability need not wait for connections to end. If the listener has another place by now, the bucket still goes to the old
    /// one.
    fn present(&self, work: &Work) -> Option<Destination> {
        let intake = self.intakes.iter().find(|intake| u32::from(intake.listener.port) == work.listener)?;
        intake.destination.is_place_of(&work.destination).then(|| intake.destination.clone())
    }

    /// Puts the role's settings and the listener's durability in force. The role.
    fn prepare(&mut self, destination: &Destination) -> Result<Oid, PgError> {
        let role = Oid::from(destination.role);
        let search_path = text(&destination.search_path);
        // SAFETY: on the main thread, outside a transaction.
        if unsafe { self.identity.assume(role, &search_path)? } {
            // The role's settings may have another.
            self.durability = None;
        }
        if self.durability != Some(destination.durability) {
            let value = synchronous_commit(destination.durability);
            session::own_transaction::transaction(Report::Log, || {
                // SAFETY: inside a transaction and a guard.
                unsafe { settings_in_force::set(c"synchronous_commit", Some(value)) }
            })?;
            self.durability = Some(destination.durability);
        }
        Ok(role)
    }

    /// Whether trying the bucket again is in vain. Then an acknowledged connection is ended: nothing that it was told of
    /// is lost. A plain one waits in any case: somebody may grant what is missing.
    fn is_final(error: &PgError, work: &Work) -> bool {
        work.origin.is_some() && Meaning::of(&error.sqlstate).lasts()
    }
}

fn synchronous_commit(durability: Durability) -> &'static CStr {
    match durability {
        Durability::Commit => c"on",
        Durability::RemoteApply => c"remote_apply",
        Durability::Memory => c"off",
    }
}

fn text(text: &str) -> CString {
    // What PostgreSQL has stored as text has no byte 0.
    CString::new(text).unwrap_or_default()
}

fn failed(code: &str, error: String) -> Answer {
    Answer::Failed(Failure { code: code.to_owned(), error, is_final: false, is_harm: false })
}

/// Writes a bucket and commits it; of a hello, its epoch, and says how far the producer is. With it, which way rows
/// are written.
fn write(role: Oid, work: &Work, lines: &[u8]) -> Result<(Written, String), PgError> {
    let mut done: (Written, String) = Default::default();
    let title = text(&format!("queue.listen({}) {}", work.listener, work.destination.name));
    // SAFETY: on the main thread, outside a transaction. What is called inside `pour` raises through pgrx's guards, so its
    // values are dropped; when the transaction begins and ends, no frame holds any.
    let result = unsafe {
        attempt(Report::Quiet, || {
            pg::pgstat_report_activity(RUNNING, title.as_ptr());
            let begun = request_transaction::begin(Scope::Own { read_only: false }, role);
            identity::require(role);
            done = pour(work, lines);
            let confirmation = request_transaction::finish(begun, Leftovers::Possible);
            done.0.unconfirmed = confirmation == Confirmation::Missing;
        })
    };
    if let Err(error) = result {
        // SAFETY: the transaction has failed.
        unsafe { leftovers::abort() };
        return Err(watch::out_of_memory(&error).unwrap_or(error));
    }
    Ok(done)
}

fn pour(work: &Work, lines: &[u8]) -> (Written, String) {
    let destination = &work.destination;
    let keep = Keep { line: destination.line_column.clone(), rest: destination.rest_column.clone() };
    let target = match destination.table {
        Some(table) => Target::table(Oid::from(table), keep),
        None => {
            let queue = definition::find(&destination.name);
            check_owner(&queue, destination);
            Target::of_queue(queue, keep)
        }
    };
    let origin = work.origin.as_ref().map(|origin| ingest::Sender {
        producer: &origin.producer,
        epoch: origin.epoch,
        first: origin.first,
    });
    target.check();
    let way = target.hold().way();
    if work.hello {
        let flushed = destination.durability != Durability::Memory;
        let sequence = origin.map_or(0, |sender| target.greet(&sender, flushed));
        return (Written { sequence, ..Written::default() }, way);
    }
    let refused = work.refused.as_ref().map(refusal);
    let bucket = ingest::Bucket {
        lines,
        origin,
        listener: work.listener as i32,
        cut: &work.too_long,
        longest: work.longest_line,
        refused: refused.as_ref(),
    };
    let done = ingest::write(&target, &bucket);
    if let Some(sender) = origin.filter(|_| destination.durability != Durability::Memory) {
        target.cover_repeated(&sender, &done);
    }
    let rejected = done.rejected.into_iter().map(|line| wire::Rejected {
        line: line.line,
        code: String::from_utf8_lossy(&line.sqlstate).into_owned(),
        error: line.message,
    });
    let written = Written {
        stored: done.stored,
        repeated: done.repeated,
        rejected_count: done.rejected_count,
        dropped: done.dropped,
        rejected: rejected.collect(),
        sequence: done.sequence,
        unconfirmed: false,
    };
    (written, way)
}

/// A listener names its queue by text, and the row type's code runs as the listener's role. So the queue has to be that of whoever
/// owned it when the listener was registered, or of whoever might register it ([`author`]).
fn check_owner(queue: &Definition, destination: &Destination) {
    let Some(registered) = &destination.queue_owner else { return };
    if !author::may_answer(queue.owner, registered, Oid::from(destination.role)) {
        refuse_with_hint(
            PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
            &format!(
                "queue {} is {}'s now, and was {registered}'s when the listener was registered",
                queue.name,
                name_of(queue.owner)
            ),
            "If that is right, register the listener anew by queue.listen().",
        );
    }
}

fn refusal(refused: &wire::Rejected) -> Refusal {
    let sqlstate = refused.code.as_bytes().try_into().unwrap_or(*b"XX000");
    Refusal { sqlstate, message: refused.error.clone() }
}
