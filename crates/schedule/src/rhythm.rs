//! When a schedule is due: by a cron expression and the clock on the wall of a zone, or every so often.
//!
//! Moments are microseconds since 1970 in UTC; times by the clock on the wall are seconds of the same kind, as if the zone were UTC.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::Offset;

use crate::cron::{Cron, Unfit};

const SECOND: i64 = 1_000_000;
/// The shortest pause between two due times.
const SHORTEST: i64 = SECOND;
/// The longest.
const LONGEST: i64 = 100 * 366 * 86_400 * SECOND;
/// Seconds between two looks for a change of a zone's clock: no zone changes twice within that.
const STRIDE: i64 = 7 * 86_400;
/// The longest time that a clock is set back by, in seconds.
const LONGEST_FOLD: i64 = 86_400;

/// A time zone.
pub trait Zone {
    /// Seconds by which its clock on the wall is ahead of UTC at a moment, in seconds since 1970.
    fn offset(&self, second: i64) -> i64;
}

/// When a schedule is due.
#[derive(Clone, Debug)]
pub enum Rhythm {
    /// At the times that a cron expression names.
    Cron(Box<Cron>),
    /// Every so many microseconds, beginning with a moment.
    Every {
        /// From one due time to the next.
        interval: i64,
        /// The first one.
        anchor: i64,
    },
}

impl Rhythm {
    /// By an expression; [`Cron::parse`] says what it may be.
    pub fn cron(expression: &str) -> Result<Rhythm, Unfit> {
        Cron::parse(expression).map(|cron| Rhythm::Cron(Box::new(cron)))
    }

    /// Every so many microseconds from a moment on.
    pub fn every(interval: i64, anchor: i64) -> Result<Rhythm, Unfit> {
        if !(SHORTEST..=LONGEST).contains(&interval) {
            return Err(Unfit::new("every must be between a second and a hundred years"));
        }
        Ok(Rhythm::Every { interval, anchor })
    }

    /// The first due time after a moment; none if that is too far away.
    pub fn next(&self, after: i64, zone: &impl Zone) -> Option<i64> {
        let next = match self {
            Rhythm::Every { interval, anchor } => {
                let elapsed = after.checked_sub(*anchor)?;
                let passed = if elapsed < 0 { 0 } else { elapsed / interval + 1 };
                anchor.checked_add(passed.checked_mul(*interval)?)
            }
            Rhythm::Cron(cron) => next_by_clock(cron, after.div_euclid(SECOND), zone)?.checked_mul(SECOND),
        };
        next.filter(|next| *next > after)
    }
}

/// The first second after one at which an expression is due.
///
/// Between two changes of the clock a time on the wall is a moment. Where the clock is set forward, times that an expression names are
/// due right after the change; others are left out. Where it is set back, times that are named come at the first of the two moments;
/// others at both.
fn next_by_clock(cron: &Cron, after: i64, zone: &impl Zone) -> Option<i64> {
    let (mut moment, mut offset) = (after, zone.offset(after));
    let mut wall = after.checked_add(offset + 1)?;
    if cron.is_fixed()
        && let Some((change, before)) = last_fold(moment, offset, zone)
    {
        // What is named has been due before the clock was set back.
        wall = wall.max(change + before);
    }
    loop {
        let due = to_seconds(cron.first_from(to_wall(wall)?)?) - offset;
        let Some((change, next)) = first_change(moment, offset, due, zone) else { return Some(due) };
        let (from, to) = (change + offset, change + next);
        if from < to {
            // The clock is set forward, and what is due lies behind that, by the old clock.
            if cron.is_fixed() && due < change + (to - from) {
                return Some(change);
            }
            wall = to;
        } else {
            wall = if cron.is_fixed() { from } else { to };
        }
        (moment, offset) = (change, next);
    }
}

/// The first second in `(from, upto]` at which a zone's clock is changed, and its offset from then on.
fn first_change(from: i64, offset: i64, upto: i64, zone: &impl Zone) -> Option<(i64, i64)> {
    let mut before = from;
    while before < upto {
        let at = (before + STRIDE).min(upto);
        if zone.offset(at) != offset {
            let change = change_between(before, at, offset, zone);
            return Some((change, zone.offset(change)));
        }
        before = at;
    }
    None
}

/// The first second in `(before, at]` with another offset than this, which `before` has.
fn change_between(mut before: i64, mut at: i64, offset: i64, zone: &impl Zone) -> i64 {
    while at - before > 1 {
        let middle = before + (at - before) / 2;
        if zone.offset(middle) == offset { before = middle } else { at = middle }
    }
    at
}

/// If a moment is one of those whose times on the wall have been before: when the clock was set back, and its offset before.
fn last_fold(moment: i64, offset: i64, zone: &impl Zone) -> Option<(i64, i64)> {
    let earlier = moment - LONGEST_FOLD;
    let before = zone.offset(earlier);
    if before <= offset {
        return None;
    }
    Some((change_between(earlier, moment, before, zone), before))
}

fn to_wall(seconds: i64) -> Option<DateTime> {
    Timestamp::from_second(seconds).ok().map(|moment| Offset::UTC.to_datetime(moment))
}

fn to_seconds(wall: DateTime) -> i64 {
    // Whatever croner finds is before the year 5000.
    Offset::UTC.to_timestamp(wall).map_or(i64::MAX / SECOND, Timestamp::as_second)
}

/// A moment as RFC 3339 writes it, in UTC.
pub fn shown(moment: i64) -> String {
    Timestamp::from_microsecond(moment).map_or_else(|_| "infinity".to_owned(), |moment| moment.to_string())
}
