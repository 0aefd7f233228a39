//! What the frames of a client are good for.
//!
//! h2 answers PING and SETTINGS and drops PRIORITY and what it does not know, as often as they come. Clients send such
//! frames with requests, bodies and what they read of responses. One that sends them out of all proportion is cut off.

use super::frames::{DATA, END_STREAM, HEADERS, Head};
use crate::clock::Millis;

/// What a frame that carries nothing costs: so many bytes carried pay for it. Some clients send two of them for
/// each 4 kB of a response.
const COST: i64 = 1 << 10;
/// What a head is worth, however short it is.
const HEAD: i64 = 16 * COST;
/// What a client may owe: ten thousand such frames at once, and a thousand a second after that.
const CREDIT: i64 = 10_000 * COST;
const CREDIT_PER_SECOND: i64 = 1000 * COST;

/// What is left of a client's credit.
pub(super) struct Credit {
    /// What the client may owe yet. More than the credit is what it has paid.
    left: i64,
    /// When it was renewed.
    renewed: Millis,
}

impl Credit {
    pub(super) fn new(now: Millis) -> Self {
        Self { left: CREDIT, renewed: now }
    }

    /// The client has taken so many bytes.
    pub(super) fn earn(&mut self, bytes: usize) {
        self.left = self.left.saturating_add(bytes as i64);
    }

    /// Time gives it back.
    pub(super) fn renew(&mut self, now: Millis) {
        let since = (now - self.renewed).min(3_600_000) as i64;
        self.renewed = now;
        if self.left < CREDIT {
            self.left = CREDIT.min(self.left + since * CREDIT_PER_SECOND / 1000);
        }
    }

    /// Takes a frame into account.
    pub(super) fn weigh(&mut self, frame: Head) {
        self.left += match frame.kind {
            HEADERS => HEAD,
            DATA if frame.length > 0 || frame.flags & END_STREAM != 0 => frame.length as i64,
            _ => -COST,
        };
    }

    /// Whether the client owes more than it may.
    pub(super) fn is_used_up(&self) -> bool {
        self.left < 0
    }
}

#[cfg(test)]
mod tests {
    use super::super::frames::SETTINGS;
    use super::*;

    const PRIORITY: u8 = 2;
    const PING: u8 = 6;
    const WINDOW_UPDATE: u8 = 8;

    fn frame(kind: u8, flags: u8, length: usize) -> Head {
        Head { kind, flags, length }
    }

    /// How often these frames pass within a moment.
    fn passing(credit: &mut Credit, frames: &[Head], now: Millis) -> usize {
        credit.renew(now);
        let mut pass = || {
            frames.iter().for_each(|frame| credit.weigh(*frame));
            !credit.is_used_up()
        };
        (0..1_000_000).take_while(|_| pass()).count()
    }

    #[test]
    fn frames_that_carry_nothing_use_up_the_credit_and_time_renews_it() {
        for (kind, length) in [(PING, 8), (0x77, 0), (DATA, 0), (PRIORITY, 5), (SETTINGS, 6)] {
            let (mut credit, frame) = (Credit::new(0), frame(kind, 0, length));
            assert_eq!(passing(&mut credit, &[frame], 0), 10_000);
            assert_eq!(passing(&mut credit, &[frame], 1000), 999);
            assert_eq!(passing(&mut credit, &[frame], 1_000_000), 10_000);
        }
    }

    #[test]
    fn heads_and_bodies_pay_for_such_frames() {
        let request = [frame(HEADERS, 4, 20), frame(PRIORITY, 0, 5), frame(DATA, END_STREAM, 0)];
        assert_eq!(passing(&mut Credit::new(0), &request, 0), 1_000_000);
        let body = [frame(DATA, 0, 4 << 10), frame(PING, 0, 8), frame(PING, 1, 8)];
        assert_eq!(passing(&mut Credit::new(0), &body, 0), 1_000_000);
    }

    #[test]
    fn what_a_client_reads_pays_for_the_updates_of_its_windows() {
        let mut credit = Credit::new(0);
        // The window was large, and the updates come afterwards.
        credit.earn(100 << 20);
        let updates = [frame(WINDOW_UPDATE, 0, 4); 2];
        assert!(passing(&mut credit, &updates, 0) > (100 << 20) / (4 << 10));
    }
}
