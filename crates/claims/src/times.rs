//! Times that a ledger may have: PostgreSQL computes with 64 bits, but writes and reads as text those of some 300,000 years alone. One that it
//! cannot write breaks every dump of the database.

/// The time of a claim that is final: PostgreSQL's `infinity`.
pub const FOR_GOOD: i64 = i64::MAX;

/// The earliest time that PostgreSQL knows. What has waited since before, be it for ever, has waited since then.
pub const EARLIEST: i64 = -211_813_488_000_000_000;

/// The latest time that PostgreSQL knows. What waits for longer, be it for ever, waits until then: [`FOR_GOOD`] would mean that it is
/// consumed.
pub const LATEST: i64 = 9_223_371_331_200_000_000 - 1;

/// The time so many microseconds after another, or before it, as far as there are times.
pub fn after(time: i64, microseconds: i64) -> i64 {
    within(time.saturating_add(microseconds))
}

/// A time that somebody has named, as far as there are times: his `infinity` consumes nothing.
pub fn within(time: i64) -> i64 {
    time.clamp(EARLIEST, LATEST)
}

/// A time as a ledger has it: one that PostgreSQL can write as text, or [`FOR_GOOD`].
pub fn stored(time: i64) -> i64 {
    if time == FOR_GOOD { FOR_GOOD } else { within(time) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_time_is_before_the_first_or_after_the_last() {
        for extreme in [i64::MIN, i64::MIN + 1, EARLIEST - 1, EARLIEST, -1, 0, LATEST, LATEST + 1, i64::MAX] {
            for from in [0, 800_000_000_000_000, EARLIEST, LATEST] {
                let time = after(from, extreme);
                assert!((EARLIEST..=LATEST).contains(&time), "{from} and {extreme}");
                assert_eq!(stored(time), time);
            }
            let is_known = (EARLIEST..=LATEST).contains(&stored(extreme));
            assert!(is_known != (extreme == FOR_GOOD), "{extreme}");
        }
        assert_eq!(after(5, -7), -2);
        assert_eq!(stored(FOR_GOOD), FOR_GOOD);
        assert_eq!(within(FOR_GOOD), LATEST);
    }
}
