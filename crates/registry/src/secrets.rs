//! Secrets that processes share and that change from period to period.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};

/// A secret of this period, and of the one before. All-zero bytes have none.
///
/// Whoever needs one first makes it. It is erased when it is of no use any more, so that nobody finds out later what it has kept.
#[derive(Default, Debug)]
#[repr(C)]
pub struct Secrets {
    /// By the period: its own, those before it, and room for the next one.
    slots: [Slot; 3],
}

#[derive(Default, Debug)]
#[repr(C)]
struct Slot {
    /// 0 for none, [`CHANGING`] while it is written.
    period: AtomicU64,
    words: [AtomicU64; 4],
}

/// No period is this one.
const CHANGING: u64 = u64::MAX;

impl Secrets {
    /// The secret of a period, as long as it is this one or the one before. It is made, if it is this one's and there is none; then
    /// 32 random bytes are needed. None while another process makes it, or if the clock has been set back.
    pub fn of(&self, period: u64, now: u64, random: impl FnOnce() -> Option<[u8; 32]>) -> Option<[u8; 32]> {
        if period != now && period.checked_add(1) != Some(now) {
            return None;
        }
        let slot = self.slot(period);
        slot.read(period).or_else(|| {
            let made = (period == now).then(|| slot.write(period, random)).flatten();
            self.slot(now.wrapping_add(1)).erase_before(now);
            self.slot(now.wrapping_sub(1)).erase_before(now.saturating_sub(1));
            made
        })
    }

    fn slot(&self, period: u64) -> &Slot {
        &self.slots[(period % 3) as usize]
    }
}

impl Slot {
    fn read(&self, period: u64) -> Option<[u8; 32]> {
        if self.period.load(Acquire) != period {
            return None;
        }
        let mut secret = [0; 32];
        for (bytes, word) in secret.chunks_exact_mut(8).zip(&self.words) {
            bytes.copy_from_slice(&word.load(Acquire).to_ne_bytes());
        }
        // Nobody has begun to change it meanwhile.
        (self.period.load(SeqCst) == period).then_some(secret)
    }

    /// None if another process is at it, or the slot has a later one.
    fn write(&self, period: u64, random: impl FnOnce() -> Option<[u8; 32]>) -> Option<[u8; 32]> {
        let secret = random()?;
        self.change(|before| before < period, &secret, period).then_some(secret)
    }

    fn erase_before(&self, period: u64) {
        self.change(|before| before != 0 && before < period, &[0; 32], 0);
    }

    fn change(&self, may: impl FnOnce(u64) -> bool, secret: &[u8; 32], period: u64) -> bool {
        let before = self.period.load(Acquire);
        let is_mine = before != CHANGING
            && may(before)
            && self.period.compare_exchange(before, CHANGING, SeqCst, Relaxed).is_ok();
        if is_mine {
            for (bytes, word) in secret.chunks_exact(8).zip(&self.words) {
                word.store(bytes.try_into().map_or(0, u64::from_ne_bytes), Release);
            }
            self.period.store(period, SeqCst);
        }
        is_mine
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::thread;

    use super::*;

    fn unneeded() -> Option<[u8; 32]> {
        panic!("there is a secret already")
    }

    #[test]
    fn a_secret_is_made_once_and_lasts_for_two_periods() {
        let secrets = Secrets::default();
        assert_eq!(secrets.of(10, 10, || Some([1; 32])), Some([1; 32]));
        assert_eq!(secrets.of(10, 10, unneeded), Some([1; 32]));
        assert_eq!(secrets.of(11, 11, || Some([2; 32])), Some([2; 32]));
        assert_eq!(secrets.of(10, 11, unneeded), Some([1; 32]));
        assert_eq!(secrets.of(10, 12, unneeded), None);
        assert_eq!(secrets.of(9, 10, unneeded), None, "none is made for what is over");
        assert_eq!(secrets.of(12, 11, unneeded), None, "nor for what is to come");
    }

    #[test]
    fn what_is_over_is_erased() {
        let secrets = Secrets::default();
        for period in 10..14 {
            secrets.of(period, period, || Some([period as u8; 32])).unwrap();
        }
        let kept: Vec<u64> = secrets.slots.iter().map(|slot| slot.period.load(Relaxed)).collect();
        assert_eq!(kept, [12, 13, 0]);
        assert!(secrets.slots[2].words.iter().all(|word| word.load(Relaxed) == 0));
        // Nobody needed one for long.
        secrets.of(100, 100, || Some([100; 32])).unwrap();
        let kept: Vec<u64> = secrets.slots.iter().map(|slot| slot.period.load(Relaxed)).collect();
        assert_eq!(kept, [0, 100, 0]);
    }

    #[test]
    fn a_clock_that_is_set_back_gives_none_until_it_is_right_again() {
        let secrets = Secrets::default();
        secrets.of(13, 13, || Some([1; 32])).unwrap();
        assert_eq!(secrets.of(10, 10, || Some([2; 32])), None);
        assert_eq!(secrets.of(13, 13, unneeded), Some([1; 32]));
    }

    #[test]
    fn without_random_bytes_there_is_none() {
        assert_eq!(Secrets::default().of(1, 1, || None), None);
    }

    #[test]
    fn processes_that_make_one_at_a_time_agree() {
        let secrets = Arc::new(Secrets::default());
        for period in 1..500u64 {
            let threads: Vec<_> = (0..3u8)
                .map(|number| {
                    let secrets = Arc::clone(&secrets);
                    thread::spawn(move || secrets.of(period, period, || Some([number; 32])))
                })
                .collect();
            let made: Vec<_> = threads.into_iter().filter_map(|thread| thread.join().unwrap()).collect();
            let agreed = secrets.of(period, period, unneeded).unwrap();
            assert!(made.iter().all(|made| *made == agreed), "{made:?} {agreed:?}");
        }
    }
}
