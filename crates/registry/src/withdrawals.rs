//! Databases that commands need empty.

use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

/// Withdrawals at the same time, over all databases.
const PLACES: usize = 256;

/// Who needs which database empty: nobody starts a worker for it meanwhile. A database is known by its oid, as its name
/// may be what the command changes. A withdrawal is its backend's, so that giving back twice does no harm, and that of
/// a backend that has gone is found.
#[repr(C)]
pub struct Withdrawals([AtomicU64; PLACES]);

impl Default for Withdrawals {
    fn default() -> Self {
        Self([const { AtomicU64::new(0) }; PLACES])
    }
}

/// The oid above the process id; 0 in a free place.
fn word(database: u32, pid: i32) -> u64 {
    u64::from(database) << 32 | u64::from(pid as u32)
}

fn parts(word: u64) -> (u32, i32) {
    ((word >> 32) as u32, word as u32 as i32)
}

impl Withdrawals {
    /// Keeps workers away until [`Withdrawals::give_back`]; false if there is no place.
    pub fn withdraw(&self, database: u32, pid: i32) -> bool {
        let word = word(database, pid);
        // A backend's own do not change meanwhile.
        self.0.iter().any(|place| place.load(SeqCst) == word)
            || self.0.iter().any(|place| place.compare_exchange(0, word, SeqCst, SeqCst).is_ok())
    }

    /// Ends all withdrawals of a backend. Returns whether there was any.
    pub fn give_back(&self, pid: i32) -> bool {
        self.end(|holder| holder == pid)
    }

    /// The backend whose command needs the database empty.
    pub fn of(&self, database: u32) -> Option<i32> {
        let held = self.0.iter().map(|place| parts(place.load(SeqCst)));
        held.filter(|(oid, pid)| *oid == database && *pid != 0).map(|(_, pid)| pid).next()
    }

    /// Ends the withdrawals of backends that have gone without doing so. Returns whether there was any.
    pub fn end_those_of_the_gone(&self, has_gone: impl Fn(i32) -> bool) -> bool {
        self.end(has_gone)
    }

    fn end(&self, is_over: impl Fn(i32) -> bool) -> bool {
        let mut any = false;
        for place in &self.0 {
            let word = place.load(SeqCst);
            let ended = word != 0 && is_over(parts(word).1);
            any |= ended && place.compare_exchange(word, 0, SeqCst, SeqCst).is_ok();
        }
        any
    }
}
