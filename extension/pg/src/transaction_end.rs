//! The end of a transaction, for those who keep something until then.

use pgrx::pg_sys::XactEvent::{self, XACT_EVENT_ABORT, XACT_EVENT_COMMIT, XACT_EVENT_PREPARE};

/// How a session's transaction has ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum TransactionEnd {
    /// Its effects are there.
    Committed,
    /// It has had none.
    RolledBack,
    /// It is the session's no more: another may commit it or roll it back, now or after a restart. See
    /// [`howdah::utility`] for what is done then.
    Prepared,
}

impl TransactionEnd {
    /// None if the event is not the end.
    pub fn of(event: XactEvent::Type) -> Option<TransactionEnd> {
        match event {
            XACT_EVENT_COMMIT => Some(TransactionEnd::Committed),
            XACT_EVENT_ABORT => Some(TransactionEnd::RolledBack),
            XACT_EVENT_PREPARE => Some(TransactionEnd::Prepared),
            _ => None,
        }
    }
}
