//! The extension: PostgreSQL answers HTTP with SQL.
//!
//! This crate is the library that PostgreSQL loads: its hooks, and the functions of SQL's that need more than one of the crates
//! below. Logic is theirs: `pg`, `shared`, `session`, `queue`, `request`, `ingest` and `workers`; ARCHITECTURE.md says what each of them
//! must not know.
//!
//! - [`functions`]: functions of SQL's.
//! - [`status`]: the functions behind the views on the platform's state.
//! - [`drain`]: taking a database out of service without a lost request.
//! - [`private_commands`]: which commands write catalogs and mean nothing to other sessions.
//! - [`utility`]: the hook on utility commands, which withdraws workers for those that need their database empty.

mod drain;
mod functions;
mod private_commands;
mod status;
mod utility;

use pg::entry::{self, exported};
use session::log_rate;
use shared::settings;
use workers::supervisor;

pgrx::pg_module_magic!();

exported! {
    /// Called when the library is loaded: by the postmaster through `shared_preload_libraries`.
    fn _PG_init() {
        entry::copied_error::prepare();
        // SAFETY: PostgreSQL's own variable, read on the main thread.
        if !unsafe { pgrx::pg_sys::process_shared_preload_libraries_in_progress } {
            return;
        }
        settings::define();
        shared::prepare(&[queue::memory::PART, jobs::memory::PART, changes::memory::PART]);
        changes::install();
        supervisor::register();
        utility::install();
        log_rate::install();
    }
}
