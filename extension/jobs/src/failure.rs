//! What becomes of a job that has failed: written down, and put off, or dead.

use std::rc::Rc;
use std::time::Duration;

use pg::guard::{PgError, Report};
use pg::log_line;
use pgrx::prelude::*;
use queue::definition::Definition;
use queue::items::{self, Fate, Found, Item};
use schedule::Priority;
use session::authority::run_as_owner;
use session::own_transaction::transaction;

use crate::entry;
use crate::id;
use crate::keys;
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
    /// When the attempt began.
    pub began_at: i64,
}

impl Taken {
    /// Its id.
    pub(crate) fn id(&self) -> i64 {
        id::of(self.queue.id, self.position)
    }

    /// Microseconds since it began.
    pub(crate) fn took_us(&self) -> u64 {
        queue::now().saturating_sub(self.began_at).max(0) as u64
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

/// Writes a failure down. It may not fail: what cannot be written with its texts is written without.
pub(crate) fn record(kind: &Kind, taken: &Taken, error: &PgError, end: End) -> Result<(), PgError> {
    let Err(first) = transaction(Report::Quiet, || write(&kind.row, taken, error, end, false)) else {
        return Ok(());
    };
    let bare = bare(error, &first);
    transaction(Report::Log, || write(&kind.row, taken, &bare, end, false)).inspect_err(|_| {
        log_line::log!(
            "howdah cannot write down that job {} of kind {} has failed: {}",
            taken.id(),
            kind.row.name,
            error.in_short(LONGEST)
        );
    })
}

/// What is written of an error whose own texts cannot be.
pub(crate) fn bare(error: &PgError, why: &PgError) -> PgError {
    PgError {
        sqlstate: error.sqlstate,
        message: format!("its error could not be written down: {}", why.sqlstate()),
        ..PgError::default()
    }
}

/// Writes a failure down in the transaction that runs, after all that the attempt has done was undone.
///
/// `is_held` says whether the job is this transaction's still.
pub(crate) fn write(kind: &Row, taken: &Taken, error: &PgError, end: End, is_held: bool) {
    let is_given_up = error.sqlstate == GIVE_UP;
    let mut root = taken.root;
    if is_given_up || end == End::Cancelled || taken.attempt >= kind.attempts {
        let reason = match end {
            End::Cancelled => "cancelled",
            End::Crashed => "crashed",
            End::Failed if is_given_up => "given up",
            End::Failed => "failed",
        };
        let mut bury = |item: &Item<'_>| {
            root = entry::root(item).unwrap_or(root);
            bury(kind.id, taken, item, reason);
        };
        let is_claimed = match is_held {
            true => items::remove(&taken.queue, &[taken.position], bury) > 0,
            false => claim_back(taken, Fate::Consumed, &mut bury),
        };
        if !is_claimed {
            return;
        }
    } else {
        let wait = asked_for(error).unwrap_or_else(|| kind.backoff.after(taken.attempt, fastrand::u32(..)));
        let again = Fate::Leased(wait, None);
        let is_claimed = match is_held {
            true => items::put_off(&taken.queue, taken.position, queue::now().saturating_add(wait)),
            false => claim_back(taken, again, |item| root = entry::root(item).unwrap_or(root)),
        };
        if !is_claimed {
            return;
        }
    }
    note(kind.id, root, taken, error);
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
    error.detail.as_ref()?.split(' ').next()?.parse().ok()
}

/// Makes a job a dead one.
fn bury(kind: u32, taken: &Taken, item: &Item<'_>, reason: &str) {
    bury_item(kind, (taken.id(), taken.priority, taken.attempt), item, reason);
}

/// Makes the job of an item a dead one: its id, its priority, and how many attempts it has had.
pub(crate) fn bury_item(
    kind: u32,
    (id, priority, attempts): (i64, Priority, u32),
    item: &Item<'_>,
    reason: &str,
) {
    let entry = entry::of(item);
    if let Some(key) = &entry.key {
        keys::release(kind, key, id);
    }
    run_as_owner(
        "insert into job.dead (id, kind, priority, arguments, key, holds, root, attempts, enqueued_at, died_at, reason)
         values ($1, $2, $3, $4::jsonb, $5, $10, $6, $7, $8, pg_catalog.clock_timestamp(), $9)",
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
        ],
    );
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
