//! The functions of schema `http` that are written here.
//!
//! - [`requests`]: the current request and its parts.
//! - [`responses`]: escaping, cookies.
//! - [`intakes`]: what the views on listeners for lines show.
//! - [`registering`]: routes and query handlers; [`listening`]: ports.
//! - [`configuration`]: what a change of the configuration sets off.
//! - [`roles`]: the roles that configuration names cannot be dropped.

pub mod configuration;
pub mod intakes;
pub mod listening;
pub mod registering;
pub mod requests;
pub mod responses;
pub mod roles;

/// Defines a function that PostgreSQL calls by its version-1 convention, for values that pgrx has no type
/// for. The body gets the call; an error of PostgreSQL's jumps out of it.
macro_rules! version_1 {
    ($(#[$doc:meta])* $name:ident, $record:ident, $body:expr) => {
        $(#[$doc])*
        ///
        /// # Safety
        /// Called by PostgreSQL alone.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name(call: pgrx::pg_sys::FunctionCallInfo) -> pgrx::pg_sys::Datum {
            // SAFETY: PostgreSQL passes a call.
            unsafe { $body(&mut *call) }
        }

        /// Tells PostgreSQL which convention the function of this name follows.
        #[unsafe(no_mangle)]
        pub extern "C" fn $record() -> *const pgrx::pg_sys::Pg_finfo_record {
            static RECORD: pgrx::pg_sys::Pg_finfo_record = pgrx::pg_sys::Pg_finfo_record { api_version: 1 };
            &RECORD
        }
    };
}
pub(crate) use version_1;
