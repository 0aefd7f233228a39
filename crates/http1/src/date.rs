//! The Date header, which changes once per second.

use std::time::{SystemTime, UNIX_EPOCH};

/// The current time as HTTP writes it, kept for the second that it is right.
#[derive(Debug, Clone)]
pub struct DateCache {
    second: u64,
    text: String,
}

impl DateCache {
    /// A cache that knows this time.
    pub fn new(now: SystemTime) -> Self {
        Self { second: second(now), text: httpdate::fmt_http_date(now) }
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

/// httpdate writes years up to 9999 and panics beyond; a clock before 1970 or so far ahead is not set.
fn second(now: SystemTime) -> u64 {
    now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn the_date_is_that_of_the_second() {
        let mut cache = DateCache::new(UNIX_EPOCH + Duration::from_millis(784_111_777_999));
        assert_eq!(cache.as_str(), "Sun, 06 Nov 1994 08:49:37 GMT");
        cache.update(UNIX_EPOCH + Duration::from_millis(784_111_778_000));
        assert_eq!(cache.as_str(), "Sun, 06 Nov 1994 08:49:38 GMT");
    }
}
