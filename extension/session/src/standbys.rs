//! Whether the standbys that are asked for have what was committed.
//!
//! PostgreSQL waits for them after the commit, when nothing can undo it any more. A cancel, a timeout, the end of the process or of the postmaster ends
//! that wait with a mere warning, for whoever reads it. What tells whether a standby has the commit are the positions that they have confirmed,
//! whatever has ended the wait.

use std::ffi::c_int;
use std::mem::offset_of;
use std::sync::OnceLock;

use pgrx::pg_sys;

/// Whether what was committed is where it is to be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub enum Confirmation {
    /// It is: as safe as the settings ask for.
    Given,
    /// It stands on this server, and no standby has confirmed it: a failover may lose it.
    Missing,
}

/// What the commit that is about to be made asks of standbys.
pub(crate) struct Awaited {
    /// The place of its level among those of the positions; none if it does not wait.
    level: Option<usize>,
    /// Where the last commit of this process ends.
    end: pg_sys::XLogRecPtr,
}

/// `SYNCHRONOUS_COMMIT_REMOTE_WRITE` of access/xact.h, the first level that waits: the others follow in the order of the positions.
const REMOTE_WRITE: c_int = 2;
/// `SyncRepLock` of storage/lwlocknames.h, in all versions.
const SYNC_REP_LOCK: usize = 32;
/// `NUM_SYNC_REP_WAIT_MODE`.
const LEVELS: usize = 3;

impl Awaited {
    /// Of the transaction of this process, with the settings that are in force now.
    ///
    /// # Safety
    /// On the main thread, inside a transaction that is about to commit.
    pub(crate) unsafe fn now() -> Awaited {
        // SAFETY: PostgreSQL's own variables.
        unsafe {
            // What has written nothing that standbys get waits for none: rows of unlogged tables, or a mere number.
            let has_id = pg::GetTopTransactionIdIfAny() != pg_sys::TransactionId::INVALID;
            let writes = has_id && pg_sys::XactLastRecEnd != 0;
            let level = usize::try_from(pg_sys::synchronous_commit - REMOTE_WRITE).ok();
            let waits = writes && pg_sys::max_wal_senders > 0;
            let level = level.filter(|level| waits && *level < LEVELS);
            Awaited { level, end: pg_sys::XactLastCommitEnd }
        }
    }

    /// Whether standbys have it, now that it is committed.
    ///
    /// # Safety
    /// On the main thread, after the commit.
    pub(crate) unsafe fn confirmation(self) -> Confirmation {
        let Some(level) = self.level else { return Confirmation::Given };
        // SAFETY: by contract; the shared memory of walsenders lives as long as the server. Its numbers are read without a lock: they grow, and
        // were written before this process was woken.
        unsafe {
            let end = pg_sys::XactLastCommitEnd;
            let confirmed = (&raw const (*pg_sys::WalSndCtl).lsn[level]).read_volatile();
            if end == self.end || confirmed >= end || !are_asked_for() {
                return Confirmation::Given;
            }
        }
        Confirmation::Missing
    }
}

/// Whether any standby is to confirm commits, as the checkpointer has read last: commits that waited when the setting was emptied wait no more.
unsafe fn are_asked_for() -> bool {
    const DEFINED: u8 = 1 << 1;
    // Before, it was one flag in the place of several.
    static IS_ONE_FLAG: OnceLock<bool> = OnceLock::new();
    let is_one_flag = *IS_ONE_FLAG.get_or_init(|| {
        let number = server_version();
        let since = [(15, 150_013), (16, 160_009), (17, 170_005)];
        since.iter().any(|(major, first)| number / 10_000 == *major && number < *first)
    });
    // SAFETY: as above. The flags stand behind the positions in all versions. They are written after those that wait were woken, under this lock.
    let flags = unsafe {
        let behind = offset_of!(pg_sys::WalSndCtlData, lsn) + size_of::<[pg_sys::XLogRecPtr; LEVELS]>();
        let lock = &raw mut (*pg_sys::MainLWLockArray.add(SYNC_REP_LOCK)).lock;
        pg_sys::LWLockAcquire(lock, pg_sys::LWLockMode::LW_SHARED);
        let flags = pg_sys::WalSndCtl.cast::<u8>().add(behind).read_volatile();
        pg_sys::LWLockRelease(lock);
        flags
    };
    if is_one_flag { flags != 0 } else { flags & DEFINED != 0 }
}

/// Of the server that runs: 150013.
fn server_version() -> u32 {
    // SAFETY: on the main thread; a setting that is always there.
    let text =
        unsafe { pg::text::string(pg_sys::GetConfigOption(c"server_version_num".as_ptr(), true, false)) };
    text.parse().unwrap_or(u32::MAX)
}
