//! What a standby has replayed, in the place of counters: nobody is told there what a commit has changed, so that each changes everything.
//!
//! The server counts the transactions that it has seen end, in the moment from which others see them. What was computed after such a number was
//! read holds as long as it stands, unless a record was being replayed just then: others are told what to forget of the catalogs after they
//! can see the commit, and before its record is done.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::SeqCst;

use registry::commits::Moment;

/// Of a standby's moments. Counters never come so far.
const OF_STANDBY: u64 = 1 << 63;
/// No record was being replayed. Of two moments with one number that one is later.
const AT_REST: u64 = 1;

/// Whether the server is a standby, which a primary never becomes while it runs.
pub(crate) fn is_standby() -> bool {
    // SAFETY: looks at shared memory, and raises nothing.
    unsafe { pg::RecoveryInProgress() }
}

/// Now; none on a primary.
pub(crate) fn now() -> Option<Moment> {
    if !is_standby() {
        return None;
    }
    let ended = ended();
    // What had ended by then is done if what is being replayed afterwards is.
    // SAFETY: looks at shared memory, and raises nothing.
    let is_at_rest = unsafe {
        let replaying = pg::GetCurrentReplayRecPtr(std::ptr::null_mut());
        pg::GetXLogReplayRecPtr(std::ptr::null_mut()) == replaying
    };
    Some(Moment::of_number(number(ended) | if is_at_rest { AT_REST } else { 0 }))
}

/// Whether nothing has ended since this moment of a standby; none if it is no such moment.
pub(crate) fn holds(since: Moment) -> Option<bool> {
    let since = since.number();
    (since & OF_STANDBY != 0).then(|| is_standby() && since == number(ended()) | AT_REST)
}

fn number(ended: u64) -> u64 {
    OF_STANDBY | ended << 1
}

/// Transactions that have ended, in the moment from which others see them.
fn ended() -> u64 {
    // SAFETY: shared memory of the server's, which lives as long as the process; the startup process writes whole words.
    unsafe { AtomicU64::from_ptr(pg::version::completed_transactions().cast_mut()) }.load(SeqCst)
}
