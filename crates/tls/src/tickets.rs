//! Tickets, by which a client goes on with an earlier handshake's keys, at whichever process it arrives.
//!
//! A ticket is what rustls wants to know again, encrypted. The keys come from a secret that all processes share and that changes from
//! period to period, and from a label: a ticket of another listener, or given under other rules, cannot be read, and so means nothing.
//! The client then shakes hands in full.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use aws_lc_rs::aead::{AES_256_GCM, Aad, NONCE_LEN, RandomizedNonceKey};
use aws_lc_rs::hmac;
use rustls::server::ProducesTickets;

/// Seconds of a period, in which tickets are made with one secret. They are read in the next one, too.
pub const PERIOD: u64 = 6 * 3600;
/// Bytes that a ticket begins with: the period.
const HEAD: usize = 8;

/// A secret of 32 bytes for a period, counted in [`PERIOD`]s of the UNIX clock; none if there is none, as for one that is over.
pub type Secrets = fn(u64) -> Option<[u8; 32]>;

/// What makes and reads tickets of one listener.
#[derive(Clone)]
pub struct Tickets(Arc<Inner>);

struct Inner {
    secrets: Secrets,
    label: String,
    /// Those that were used last: of this period and the one before.
    keys: Mutex<Vec<(u64, Arc<RandomizedNonceKey>)>>,
}

impl Tickets {
    /// The label says which listener it is, and under which rules it gives them.
    pub fn new(secrets: Secrets, label: impl Into<String>) -> Tickets {
        Tickets(Arc::new(Inner { secrets, label: label.into(), keys: Mutex::default() }))
    }

    fn key(&self, period: u64) -> Option<Arc<RandomizedNonceKey>> {
        let mut keys = self.0.keys.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, key)) = keys.iter().find(|(known, _)| *known == period) {
            return Some(Arc::clone(key));
        }
        let secret = hmac::Key::new(hmac::HMAC_SHA256, &(self.0.secrets)(period)?);
        let bytes = hmac::sign(&secret, self.0.label.as_bytes());
        let key = Arc::new(RandomizedNonceKey::new(&AES_256_GCM, bytes.as_ref()).ok()?);
        keys.retain(|(known, _)| known + 1 >= period && *known <= period + 1);
        keys.push((period, Arc::clone(&key)));
        Some(key)
    }

    fn seal(&self, plain: &[u8], period: u64) -> Option<Vec<u8>> {
        let head = period.to_be_bytes();
        let mut sealed = plain.to_vec();
        let nonce = self.key(period)?.seal_in_place_append_tag(Aad::from(head), &mut sealed).ok()?;
        Some([&head[..], nonce.as_ref(), &sealed].concat())
    }

    fn open(&self, ticket: &[u8], now: u64) -> Option<Vec<u8>> {
        let (head, rest) = ticket.split_first_chunk::<HEAD>()?;
        let (nonce, sealed) = rest.split_first_chunk::<NONCE_LEN>()?;
        let period = u64::from_be_bytes(*head);
        if period != now && period.checked_add(1) != Some(now) {
            return None;
        }
        let mut sealed = sealed.to_vec();
        let key = self.key(period)?;
        let length = key.open_in_place(nonce.into(), Aad::from(*head), &mut sealed).ok()?.len();
        sealed.truncate(length);
        Some(sealed)
    }
}

/// The period that a second of the UNIX clock is in.
pub fn period_of(second: u64) -> u64 {
    second / PERIOD
}

fn this_period() -> u64 {
    period_of(SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()))
}

impl ProducesTickets for Tickets {
    fn enabled(&self) -> bool {
        true
    }

    fn lifetime(&self) -> u32 {
        PERIOD as u32
    }

    fn encrypt(&self, plain: &[u8]) -> Option<Vec<u8>> {
        self.seal(plain, this_period())
    }

    fn decrypt(&self, cipher: &[u8]) -> Option<Vec<u8>> {
        self.open(cipher, this_period())
    }
}

/// Without the keys.
impl fmt::Debug for Tickets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tickets").field("label", &self.0.label).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secrets(period: u64) -> Option<[u8; 32]> {
        (period > 4).then_some([period as u8; 32])
    }

    fn tickets(label: &str) -> Tickets {
        Tickets::new(secrets, label)
    }

    #[test]
    fn a_ticket_is_read_by_every_process_in_its_period_and_the_next() {
        let ticket = tickets("a").seal(b"state", 7).unwrap();
        for now in [7, 8] {
            assert_eq!(tickets("a").open(&ticket, now).as_deref(), Some(&b"state"[..]));
        }
        for now in [0, 6, 9, 10, u64::MAX] {
            assert_eq!(tickets("a").open(&ticket, now), None, "{now}");
        }
    }

    #[test]
    fn a_ticket_of_another_label_or_secret_is_none() {
        let ticket = tickets("a").seal(b"state", 7).unwrap();
        assert_eq!(tickets("b").open(&ticket, 7), None);
        assert_eq!(Tickets::new(|_| Some([0; 32]), "a").open(&ticket, 7), None);
    }

    #[test]
    fn a_ticket_that_was_changed_or_cut_is_none() {
        let ticket = tickets("a").seal(b"state", 7).unwrap();
        for place in 0..ticket.len() {
            let mut changed = ticket.clone();
            changed[place] ^= 1;
            assert_eq!(tickets("a").open(&changed, 7), None, "byte {place}");
            assert_eq!(tickets("a").open(&ticket[..place], 7), None, "{place} bytes");
        }
    }

    #[test]
    fn two_tickets_of_one_state_differ() {
        let tickets = tickets("a");
        assert_ne!(tickets.seal(b"state", 7), tickets.seal(b"state", 7));
    }

    #[test]
    fn without_a_secret_there_is_no_ticket() {
        assert_eq!(tickets("a").seal(b"state", 4), None);
    }

    #[test]
    fn keys_of_periods_that_are_over_are_forgotten() {
        let tickets = tickets("a");
        (5..50).for_each(|period| drop(tickets.seal(b"state", period).unwrap()));
        assert_eq!(tickets.0.keys.lock().unwrap().len(), 2);
    }
}
