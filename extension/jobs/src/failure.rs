//! What becomes of a job that has failed: written down, and put off, or dead.

use std::rc::Rc;
use std::time::Duration;

use claims::times;
use pg::guard::{PgError, Report};
use pg::log_line;
use pg::refuse::refuse;
use pgrx::prelude::*;
use queue::definition::Definition;
use queue::items::{self, Fate, Found, Item};
use schedule::Priority;
use serde_json::json;
use serde_json::value::RawValue;
use session::authority::run_as_owner;
use session::log_rate;
use session::own_transaction::transaction;
use shared::databases::LineKind;
use shared::{Tick, tick};

use crate::entry::{self, Entry};
use crate::id;
use crate::keys::{self, New};
use crate::kind::{self, Right};
use crate::kinds::{Kind, Row};

/// Attempts of a job that are kept.
const KEPT: u32 = 10;
/// Characters of a text that are kept.
const LONGEST: usize = 1000;

/// The SQLSTATE of `job.retry`: its detail is the microseconds after which the job comes again.
pub(crate) const RETRY: [u8; 5] = *b"JB001";
/// The SQLSTATE of `job.give_up`.
pub(crate) const GIVE_UP: [u8; 5] = *b"JB002";

/// A job that was taken.
#[derive(Clone, Debug)]
pub(crate) struct Taken {
    /// Its queue.
    pub queue: Rc<Definition>,
    /// Its position there.
    pub position: u64,
    /// Its priority.
    pub priority: Priority,
    /// The id as which it was enqueued first.
    pub root: i64,
    /// Which attempt it is.
    pub attempt: u32,
    /// When the attempt began, for people, and to find out how long it took.
    pub began_at: i64,
    pub began: Tick,
}

impl Taken {
    /// Its id.
    pub(crate) fn id(&self) -> i64 {
        id::of(self.queue.id, self.position)
    }

    /// Microseconds since it began.
    pub(crate) fn took_us(&self) -> u64 {
        tick().since(self.began)
    }
}

/// How an attempt has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum End {
    /// By an error.
    Failed,
    /// Somebody has cancelled the job: it is dead.
    Cancelled,
    /// Its process has crashed.
    Crashed,
}

/// Writes a failure down, in a transaction of its own.
pub(crate) fn record(kind: &Kind, taken: &Taken, error: &PgError, end: End) -> Result<(), PgError> {
    let failed = Failed { kind: &kind.row, taken, end, is_held: false };
    failed.write(error, |write| transaction(Report::Quiet, write)).inspect_err(|why| {
        log_line::log!(
            "howdah cannot write down that job {} of kind {} has failed: {}: {}",
            taken.id(),
            kind.row.name,
            why.in_short(LONGEST),
            error.in_short(LONGEST)
        );
    })
}

/// An attempt that has failed, and all that it has done was undone.
pub(crate) struct Failed<'a> {
    /// Its kind.
    pub kind: &'a Row,
    /// Its job.
    pub taken: &'a Taken,
    /// How it has ended.
    pub end: End,
    /// Whether the job is the current transaction's still.
    pub is_held: bool,
}

impl Failed<'_> {
    /// Writes it down. It may not fail: what cannot be written with an alert is written without, and what cannot be with its texts
    /// without those. `once` undoes what fails.
    pub(crate) fn write(
        &self,
        error: &PgError,
        mut once: impl FnMut(&mut dyn FnMut()) -> Result<(), PgError>,
    ) -> Result<(), PgError> {
        let mut write = |error: &PgError, alerts| once(&mut || self.try_to_write(error, alerts));
        let Err(first) = write(error, true) else { return Ok(()) };
        if self.kind.alert != 0 && write(error, false).is_ok() {
            if log_rate::allows(LineKind::Server) {
                log_line::log!(
                    "howdah has enqueued no alert for job {} of kind {}: {}",
                    self.taken.id(),
                    self.kind.name,
                    first.in_short(LONGEST)
                );
            }
            return Ok(());
        }
        let bare = PgError {
            sqlstate: error.sqlstate,
            message: format!("its error could not be written down: {}", first.sqlstate()),
            ..PgError::default()
        };
        write(&bare, false)
    }

    fn try_to_write(&self, error: &PgError, alerts: bool) {
        let taken = self.taken;
        let is_last =
            error.sqlstate == GIVE_UP || self.end == End::Cancelled || taken.attempt >= self.kind.attempts;
        let root = match is_last {
            true => self.bury(error, alerts),
            false => self.put_off(error),
        };
        if let Some(root) = root {
            note(self.kind.id, root, taken, error);
        }
    }

    /// Makes the job a dead one. The id as which it was enqueued first; none if it is gone.
    fn bury(&self, error: &PgError, alerts: bool) -> Option<i64> {
        let reason = match self.end {
            End::Cancelled => "cancelled",
            End::Crashed => "crashed",
            End::Failed if error.sqlstate == GIVE_UP => "given up",
            End::Failed => "failed",
        };
        let taken = self.taken;
        let mut buried = None;
        let mut bury = |item: &Item<'_>| {
            let job = (taken.id(), taken.priority, taken.attempt);
            buried = Some(bury_item(self.kind.id, job, item, reason, Some(error)));
        };
        match self.is_held {
            true => _ = items::remove(&taken.queue, &[taken.position], bury),
            false => _ = claim_back(taken, Fate::Consumed, &mut bury),
        }
        let buried = buried?;
        // Who has cancelled it knows.
        if alerts && self.kind.alert != 0 && self.end != End::Cancelled {
            self.alert(error, reason, &buried.arguments);
        }
        Some(buried.root.unwrap_or(taken.root))
    }

    /// Has the job come again after a while. As above.
    fn put_off(&self, error: &PgError) -> Option<i64> {
        let taken = self.taken;
        let after = || self.kind.backoff.after(taken.attempt, fastrand::u32(..));
        let wait = asked_for(error).unwrap_or_else(after);
        let mut root = taken.root;
        let is_claimed = match self.is_held {
            true => items::put_off(&taken.queue, taken.position, times::after(taken.queue.time(), wait)),
            false => {
                let again = Fate::Leased(wait, None);
                claim_back(taken, again, |item| root = entry::root(item).unwrap_or(root))
            }
        };
        is_claimed.then_some(root)
    }

    /// Enqueues a job of the kind that alerts, in the transaction in which this one dies.
    fn alert(&self, error: &PgError, reason: &str, arguments: &str) {
        let Some(kind) = kind::of_number(self.kind.alert).filter(|kind| kind.alert == 0) else { return };
        if !kind.allows_to(self.kind.owner, Right::Enqueue) {
            refuse(
                PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
                &format!("the owner of kind {} may not enqueue jobs of kind {}", self.kind.name, kind.name),
            );
        }
        let told = json!({
            "job": self.taken.id(),
            "kind": self.kind.name,
            "reason": reason,
            "attempts": self.taken.attempt,
            "sqlstate": error.sqlstate(),
            "message": cut(&error.message),
        });
        let told = serde_json::to_string(&Alert { told, arguments: raw(arguments) }).unwrap_or_default();
        // SAFETY: inside a transaction.
        let arguments = unsafe { entry::jsonb_of(&told) };
        New { kind: &kind, priority: kind.priority, arguments, at: 0, root: None, key: None }.put(0);
    }
}

/// The arguments of a job that alerts.
#[derive(serde::Serialize)]
struct Alert<'a> {
    #[serde(flatten)]
    told: serde_json::Value,
    /// Those of the job that is dead, as they are.
    arguments: &'a RawValue,
}

/// The text of a jsonb, as JSON that is not looked into.
fn raw(arguments: &str) -> &RawValue {
    serde_json::from_str(arguments).unwrap_or(RawValue::NULL)
}

/// Claims the job of an attempt that has failed, which has been free since; false if it is gone. Whoever has taken it meanwhile gives it
/// back at once, as it is in this executor's slot.
fn claim_back(taken: &Taken, fate: Fate, mut hand_out: impl FnMut(&Item<'_>)) -> bool {
    const LOOKS: u32 = 2000;
    for _ in 0..LOOKS {
        if items::take_named(&taken.queue, &[taken.position], fate, &mut hand_out) > 0 {
            return true;
        }
        if !matches!(items::look_at(&taken.queue, taken.position, |_| ()), Found::Claimed(_)) {
            return false;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    false
}

/// The time that `job.retry` has asked for.
fn asked_for(error: &PgError) -> Option<i64> {
    if error.sqlstate != RETRY {
        return None;
    }
    schedule::retry_after(error.detail.as_deref()?)
}

/// Makes the job of an item a dead one: its id, its priority, and how many attempts it has had. What its queue had of it.
pub(crate) fn bury_item(
    kind: u32,
    (id, priority, attempts): (i64, Priority, u32),
    item: &Item<'_>,
    reason: &str,
    error: Option<&PgError>,
) -> Entry {
    let entry = entry::of(item);
    if let Some(key) = &entry.key {
        keys::release(kind, key, id);
    }
    run_as_owner(
        "insert into job.dead (id, kind, priority, arguments, key, holds, root, attempts, enqueued_at, died_at, reason,
           sqlstate, message)
         values ($1, $2, $3, $4::jsonb, $5, $10, $6, $7, $8, pg_catalog.clock_timestamp(), $9, $11, $12)",
        &[
            id.into(),
            (kind as i32).into(),
            priority.word().into(),
            entry.arguments.as_str().into(),
            entry.key.as_deref().into(),
            entry.root.into(),
            (attempts as i32).into(),
            timestamp(item.sent_at).into(),
            reason.into(),
            entry.holds.as_deref().into(),
            error.map(|error| error.sqlstate().to_owned()).into(),
            error.map(|error| cut(&error.message).to_owned()).into(),
        ],
    );
    entry
}

fn note(kind: u32, root: i64, taken: &Taken, error: &PgError) {
    let more = error.more.as_deref();
    let context = more.and_then(|more| more.context.as_deref());
    run_as_owner(
        "select job.note_failure($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
        &[
            root.into(),
            ((taken.attempt % KEPT) as i32).into(),
            (kind as i32).into(),
            (taken.attempt as i32).into(),
            timestamp(taken.began_at).into(),
            error.sqlstate().into(),
            cut(&error.message).into(),
            error.detail.as_deref().filter(|_| error.sqlstate != RETRY).map(cut).into(),
            error.hint.as_deref().map(cut).into(),
            context.map(cut).into(),
        ],
    );
}

fn cut(text: &str) -> &str {
    text.char_indices().nth(LONGEST).map_or(text, |(end, _)| &text[..end])
}

fn timestamp(time: i64) -> TimestampWithTimeZone {
    TimestampWithTimeZone::try_from(time).unwrap_or_else(|_| TimestampWithTimeZone::positive_infinity())
}
