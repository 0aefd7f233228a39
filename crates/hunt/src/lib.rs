//! Random attacks that run for a time and can be repeated from a seed.
//!
//! A hunt is a test whose module is called `hunts`. `make test` gives each a short run with a seed that is always the same,
//! `make hunt` ten minutes, or `HUNT_SECONDS`, with a new one.
//! What a hunt does in a round depends on the seed and the number of the round alone, so a failure is repeated with the
//! `HUNT_SEED` that it prints, from the very round on.
//!
//! ```
//! use std::time::Duration;
//!
//! let mut hunt = hunt::Hunt::begin("sums", Duration::from_millis(10));
//! while let Some(mut random) = hunt.next_round() {
//!     let (a, b) = (random.u8(..), random.u8(..));
//!     assert_eq!(a.wrapping_add(b), b.wrapping_add(a));
//! }
//! assert!(hunt.rounds() > 0);
//! ```

pub mod bytes;

use std::env;
use std::time::{Duration, Instant};

pub use fastrand::Rng;

/// One hunt. When it ends by a panic it prints how to repeat the round.
pub struct Hunt {
    name: &'static str,
    seed: u64,
    /// The round that comes next.
    next: u64,
    first: u64,
    begun: Instant,
    time: Duration,
    /// Whether one round was asked for, by `HUNT_SEED=SEED:ROUND`.
    single: bool,
}

impl Hunt {
    /// Begins a hunt that lasts for `HUNT_SECONDS`, with a new seed, or for `short` where that is not set, with the seed of its name.
    /// `HUNT_SEED=SEED` repeats a whole hunt, `HUNT_SEED=SEED:ROUND` one round of it.
    ///
    /// # Panics
    /// If one of the variables is not a number.
    pub fn begin(name: &'static str, short: Duration) -> Hunt {
        let time = variable("HUNT_SECONDS").map(|text| Duration::from_secs(number("HUNT_SECONDS", &text)));
        let (seed, round) = match variable("HUNT_SEED") {
            None if time.is_some() => (fastrand::u64(..), None),
            None => (
                name.bytes().fold(0, |seed: u64, byte| seed.wrapping_mul(31).wrapping_add(u64::from(byte))),
                None,
            ),
            Some(text) => match text.split_once(':') {
                Some((seed, round)) => (number("HUNT_SEED", seed), Some(number("HUNT_SEED", round))),
                None => (number("HUNT_SEED", &text), None),
            },
        };
        let (first, time) = (round.unwrap_or(0), time.unwrap_or(short));
        Hunt { name, seed, next: first, first, begun: Instant::now(), time, single: round.is_some() }
    }

    /// The numbers of the next round; none when the time is over. There is one round at least.
    pub fn next_round(&mut self) -> Option<Rng> {
        self.next_round_until(true)
    }

    /// The same, but the hunt goes on after its time until there has been enough: a slow machine gets less far.
    pub fn next_round_until(&mut self, enough: bool) -> Option<Rng> {
        let is_first = self.next == self.first;
        if !is_first && (self.single || (enough && self.begun.elapsed() >= self.time)) {
            return None;
        }
        let round = self.next;
        self.next += 1;
        Some(Rng::with_seed(self.seed ^ round.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
    }

    /// Rounds that have begun.
    pub fn rounds(&self) -> u64 {
        self.next - self.first
    }

    /// What is left of the time.
    pub fn time_left(&self) -> Duration {
        self.time.saturating_sub(self.begun.elapsed())
    }
}

impl Drop for Hunt {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let round = self.next.saturating_sub(1);
            eprintln!("The hunt {} fails with HUNT_SEED={}:{round}", self.name, self.seed);
        } else {
            eprintln!(
                "The hunt {}: {} rounds in {:?}, seed {}",
                self.name,
                self.rounds(),
                self.begun.elapsed(),
                self.seed
            );
        }
    }
}

fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|text| !text.is_empty())
}

fn number(variable: &str, text: &str) -> u64 {
    text.parse().unwrap_or_else(|_| panic!("{variable} is a number, and \"{text}\" is none"))
}
