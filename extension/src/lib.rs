//! The extension: PostgreSQL answers HTTP with SQL.
//!
//! - [`entry`]: the doors through which PostgreSQL comes in.
//! - [`settings`]: the `howdah.*` settings.
//! - [`user_settings`]: what the settings that users may set do here.
//! - [`guard`]: one guard around many calls into PostgreSQL; errors become values; [`subtransaction`]: the same, and the
//!   transaction goes on.
//! - [`at_rest`]: what a worker is like between two requests, and how it comes back to that.
//! - [`request`]: running a request; [`proxies`]: whose it is.
//! - [`functions`]: the functions of schema `http` that are written here.
//! - [`queue`]: queues: rows in, rows out.
//! - [`ingest`]: lines of JSON into queues and tables.
//! - [`listener`], [`intake`]: the listeners for HTTP and for lines.
//! - [`log_line`]: lines in the log that no interrupt comes out of; [`log_rate`]: how much requests may make the workers log.
//! - [`out_of_memory`]: a process without memory ends in order.
//! - [`pg`]: PostgreSQL functions called directly, and those that pgrx does not bind.
//! - [`shared`]: the shared memory: who runs, what is served, what was counted.
//! - [`status`]: the functions behind the views on the platform's state.
//! - [`supervisor`]: starts, sizes and restarts the workers.
//! - [`utility`]: withdraws workers for commands that need their database empty.
//! - [`drain`]: taking a database out of service without a lost request.
//! - [`worker`]: what gateways and executors have in common.
//! - [`gateway`], [`executor`]: what they do.
//! - `faults`: panics, things left behind and interrupts on demand, in the build for the tests of those alone.

pub mod at_rest;
pub mod authority;
pub mod drain;
pub mod entry;
pub mod executor;
pub mod faults;
pub mod functions;
pub mod gateway;
pub mod guard;
pub mod ingest;
pub mod intake;
pub mod listener;
pub mod log_line;
pub mod log_rate;
pub mod out_of_memory;
pub mod pg;
pub mod proxies;
pub mod queue;
pub mod request;
pub mod settings;
pub mod shared;
pub mod status;
pub mod subtransaction;
pub mod supervisor;
pub mod transaction_end;
pub mod user_settings;
pub mod utility;
pub mod worker;

use entry::exported;

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
        shared::prepare(&[queue::memory::PART]);
        supervisor::register();
        utility::install();
        log_rate::install();
    }
}
