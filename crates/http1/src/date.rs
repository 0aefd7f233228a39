//! The Date header, which changes once per second.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The current time as HTTP writes it, kept for the second that it is right.
#[derive(Debug, Clone)]
pub struct DateCache {
    second: u64,
    text: String,
}

impl DateCache {
    /// A cache that knows this time.
    pub fn new(now: SystemTime) -> Self {
        let second = second(now);
        Self { second, text: httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(second)) }
    }

    /// Takes in the time.
    pub fn update(&mut self, now: SystemTime) {
        if second(now) != self.second {
            *self = Self::new(now);
        }
    }

    /// Such as `Sun, 06 Nov 1994 08:49:37 GMT`.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

/// Seconds since 1970. A clock before that, or after the year 9999, where httpdate panics, is not set right.
fn second(now: SystemTime) -> u64 {
    const YEAR_10000: u64 = 253_402_300_800;
    now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs().min(YEAR_10000 - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_date_is_that_of_the_second() {
        let mut cache = DateCache::new(UNIX_EPOCH + Duration::from_millis(784_111_777_999));
        assert_eq!(cache.as_str(), "Sun, 06 Nov 1994 08:49:37 GMT");
        cache.update(UNIX_EPOCH + Duration::from_millis(784_111_778_000));
        assert_eq!(cache.as_str(), "Sun, 06 Nov 1994 08:49:38 GMT");
    }
}
