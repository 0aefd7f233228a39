//! How far the slowest standby is behind: the age of what was written first and is not replayed yet.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Places in the write-ahead log, with the times at which they were written.
#[derive(Debug, Default)]
pub(crate) struct Standbys {
    written: VecDeque<(i64, Instant)>,
}

impl Standbys {
    /// So much was written until now.
    pub(crate) fn wrote(&mut self, place: Option<i64>, now: Instant) {
        self.written.extend(place.map(|place| (place, now)));
    }

    /// So much was replayed by the slowest; none if there is no standby.
    pub(crate) fn replayed(&mut self, place: Option<i64>) {
        let Some(place) = place else { return self.written.clear() };
        while self.written.front().is_some_and(|(written, _)| *written <= place) {
            self.written.pop_front();
        }
    }

    /// How far it is behind.
    pub(crate) fn behind(&self, now: Instant) -> Duration {
        self.written.front().map_or(Duration::ZERO, |(_, written)| now.saturating_duration_since(*written))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_behind_by_what_it_has_not_replayed() {
        let begun = Instant::now();
        let after = |seconds| begun + Duration::from_secs(seconds);
        let mut standbys = Standbys::default();
        assert_eq!(standbys.behind(after(5)), Duration::ZERO);
        standbys.wrote(Some(100), begun);
        standbys.wrote(Some(200), after(2));
        assert_eq!(standbys.behind(after(5)), Duration::from_secs(5));
        standbys.replayed(Some(150));
        assert_eq!(standbys.behind(after(5)), Duration::from_secs(3));
        standbys.replayed(Some(200));
        assert_eq!(standbys.behind(after(50)), Duration::ZERO);
        standbys.wrote(Some(300), after(50));
        standbys.replayed(None);
        assert_eq!(standbys.behind(after(90)), Duration::ZERO, "there is none");
    }
}
