//! What a session keeps of replication and backups past its transactions: temporary slots, a slot that is in use after an error,
//! the origin of what it writes, a backup that has begun. Roles with the right to it use the same functions in handlers.

use pgrx::pg_sys;

/// Gives all of that up, as PostgreSQL does when a session ends.
///
/// # Safety
/// Inside a guard, outside a transaction.
pub(crate) unsafe fn forget() {
    // SAFETY: by contract; PostgreSQL's own variables.
    unsafe {
        if !pg_sys::MyReplicationSlot.is_null() {
            pg::ReplicationSlotRelease();
        }
        pg::drop_temporary_slots();
        if pg_sys::replorigin_session_origin != NO_ORIGIN {
            pg::replorigin_session_reset();
            pg_sys::replorigin_session_origin = NO_ORIGIN;
            pg_sys::replorigin_session_origin_lsn = 0;
            pg_sys::replorigin_session_origin_timestamp = 0;
        }
        if pg::get_backup_status() != pg_sys::SessionBackupState::SESSION_BACKUP_NONE {
            pg::do_pg_abort_backup(0, pg_sys::Datum::from(false));
        }
    }
}

/// `InvalidRepOriginId` of replication/origin.h.
const NO_ORIGIN: pg_sys::RepOriginId = 0;
