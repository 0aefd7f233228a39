//! Whether it pays to keep something.

use std::time::{Duration, Instant};

/// Whether it pays to keep the answers of a route: to find out what one has read costs more than to run it.
#[derive(Debug, Default)]
pub struct Score {
    /// Requests that were run to be kept.
    asked: u32,
    /// Requests that were answered without a run since.
    answered: u32,
    /// When it is tried again.
    again: Option<Instant>,
}

/// How much an answer without a run saves, by which it pays to run some to be kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Saving {
    /// A run in an executor, which costs little where it would run there anyway: the client has the answer.
    Run,
    /// The same, and the answer need not be made.
    Answer,
    /// A run in the gateway: the way to an executor costs several times what that saves.
    ShortRun,
}

impl Saving {
    /// So many may be run to be kept for each four that are answered without.
    fn most(self) -> u32 {
        match self {
            Saving::Run => 16,
            Saving::Answer => 64,
            Saving::ShortRun => 1,
        }
    }
}

/// How long it is not tried again where it does not pay.
pub const PAUSE: Duration = Duration::from_secs(1);
/// Requests that are run to be kept before anybody knows.
const TRIED: u32 = 16;
/// After so many what was before counts half.
const FADES: u32 = 1 << 10;

impl Score {
    /// Notes that so many were answered without a run.
    pub fn answered(&mut self, count: usize) {
        self.answered = self.answered.saturating_add(u32::try_from(count).unwrap_or(u32::MAX));
    }

    /// Whether one more is run to be kept, which is noted.
    pub fn pays(&mut self, saving: Saving, now: Instant) -> bool {
        if self.asked > FADES {
            self.asked /= 2;
            self.answered /= 2;
        }
        let pays = self.asked < TRIED + self.answered.saturating_mul(saving.most()) / 4;
        if !pays && self.again.is_some_and(|again| now < again) {
            return false;
        }
        self.again = Some(now + PAUSE);
        self.asked += 1;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(score: &mut Score, saving: Saving, now: Instant) -> usize {
        (0..10_000).filter(|_| score.pays(saving, now)).count()
    }

    #[test]
    fn some_are_tried_and_then_one_a_second() {
        let (mut score, now) = (Score::default(), Instant::now());
        assert_eq!(asked(&mut score, Saving::Run, now), TRIED as usize);
        assert_eq!(asked(&mut score, Saving::Run, now + PAUSE / 2), 0);
        for second in 1..5 {
            assert_eq!(asked(&mut score, Saving::Run, now + PAUSE * second), 1);
        }
    }

    #[test]
    fn it_goes_on_as_long_as_enough_are_answered_without_a_run() {
        // Of what is answered without a run, so many thousandths may be run to be kept.
        for (saving, most) in [(Saving::Run, 4000), (Saving::Answer, 16_000), (Saving::ShortRun, 250)] {
            for (ran, does) in [(most * 9 / 10, true), (most * 11 / 10, false)] {
                let (mut score, now) = (Score::default(), Instant::now());
                let (mut refused, mut due) = (0, 0);
                for _ in 0..20_000 {
                    score.answered(1);
                    due += ran;
                    while due >= 1000 {
                        due -= 1000;
                        refused += usize::from(!score.pays(saving, now));
                    }
                }
                assert_eq!(refused == 0, does, "{saving:?} {ran}: {refused}");
            }
        }
    }

    #[test]
    fn what_was_long_ago_fades() {
        let (mut score, now) = (Score::default(), Instant::now());
        score.answered(usize::MAX);
        assert_eq!(asked(&mut score, Saving::Run, now), 10_000);
        let (mut long, mut runs) = (Score::default(), 0);
        long.answered(100_000);
        while long.pays(Saving::Answer, now) {
            runs += 1;
        }
        assert!(runs < 20_000, "{runs}: 100,000 would be worth 1.6 million");
    }
}
