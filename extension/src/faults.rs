//! Panics and things left behind on demand: what a mistake of ours would do at a given place, for `tests/alone/panics.rs`.

use message::Request;
use pgrx::pg_sys;

use crate::pg;

/// Panics if the request's header X-Panic names this place.
pub fn panic_if_asked(request: &Request<'_>, place: &str) {
    assert!(request.header("x-panic") != Some(place), "asked to, {place}");
}

/// Leaves behind, after a request, what its header X-Leave names.
pub fn leave_if_asked(request: &Request<'_>) {
    // SAFETY: between two requests. What is left is wrong in itself; that is what it is for.
    unsafe {
        match request.header("x-leave") {
            Some("a transaction") => pg::StartTransactionCommand(),
            Some("a subtransaction") => pg_sys::BeginInternalSubTransaction(std::ptr::null()),
            Some("a lock") => {
                let mut table = pg_sys::LockRelId {
                    relId: pg_sys::Oid::from(pg_sys::RelationRelationId),
                    dbId: pg_sys::MyDatabaseId,
                };
                pg_sys::LockRelationIdForSession(&raw mut table, pg_sys::AccessShareLock as i32);
            }
            Some("interrupts held off") => pg_sys::InterruptHoldoffCount += 1,
            Some("an open portal") => pg_sys::ActivePortal = std::ptr::dangling_mut(),
            Some("another memory context") => {
                pg_sys::MemoryContextSwitchTo(pg_sys::CacheMemoryContext);
            }
            Some("another role") => {
                pg::SetUserIdAndSecContext(pg_sys::Oid::from(pg_sys::BOOTSTRAP_SUPERUSERID), 0);
            }
            Some("exit_on_error") => pg_sys::ExitOnAnyError = true,
            _ => {}
        }
    }
}
