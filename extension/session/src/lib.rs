//! What a session of PostgreSQL's would do and a worker does itself: become a role, begin and end transactions, ask for rights, rest,
//! log. This crate knows no routes, queues or lines. Nobody else becomes a role, or begins or aborts a transaction.
//!
//! - [`identity`]: as whom requests run, with what settings; [`settings_in_force`]: how those are set; [`stored_settings`]: what is stored of them; [`user_settings`]: what those
//!   that users may set do here.
//! - [`authority`]: who asks, who may, and the one way to run something as somebody else.
//! - [`deployer`]: as whom and with what settings the files of an application run; [`deployments`]: those that become visible while a request
//!   runs.
//! - [`request_transaction`]: the transaction of a request, [`deferred`], constraints that wait for its end; [`cursors`] of the session in which `http.call` runs one; [`own_transaction`]: one for the platform's own look-ups;
//!   [`subtransaction`]: work that may fail without failing the transaction; [`time_limit`]: work that may take so long alone. [`standbys`]: whether they have what was committed.
//! - [`invalidations`]: what changes in the catalogs. [`file_settings`]: what the configuration's files say.
//! - [`kept_plans`], [`kept_domains`], [`kept_expressions`], [`kept_dictionaries`] and [`compiled`]: what PostgreSQL keeps of one role and another must not
//!   find; [`process_tables`] and [`relations`] find it.
//! - [`leftovers`]: what a request may leave, and how it is given up: [`temporary`], [`dblink`], [`isn`] and [`replication`]: what a session keeps past a transaction; of libraries if they are
//!   [`loaded`].
//! - [`at_rest`]: what a worker is like between two requests, and how it comes back to that.
//! - [`signals`]: the handlers of signals, and [`handlers`]: whether they are still there.
//! - [`idle`]: what PostgreSQL does for a backend between two commands, and sleeping.
//! - [`watch`]: how long a cancelled request goes on, and how much memory it takes; [`libraries`]: what is loaded into the process.
//! - [`vacuum`]: VACUUM of a table of the platform's own.
//! - [`withheld`]: which values no message shows. [`log_rate`]: how much requests may make the workers log.
//! - [`faults`]: what a mistake of ours would do, in the build for the tests of those alone.

pub mod at_rest;
pub mod authority;
pub mod compiled;
mod cursors;
mod dblink;
pub mod deferred;
pub mod deployer;
pub mod deploying;
pub mod deployments;
pub mod faults;
pub mod file_settings;
pub mod handlers;
pub mod identity;
pub mod idle;
pub mod invalidations;
mod isn;
mod kept_dictionaries;
pub mod kept_domains;
mod kept_expressions;
pub mod kept_plans;
pub mod leftovers;
mod libraries;
mod loaded;
pub mod log_rate;
pub mod own_transaction;
mod process_tables;
pub mod relations;
mod replication;
pub mod request_transaction;
pub mod settings_in_force;
pub mod signals;
pub mod standbys;
pub mod stored_settings;
pub mod subtransaction;
pub mod temporary;
pub mod time_limit;
pub mod user_settings;
pub mod vacuum;
pub mod watch;
pub mod withheld;
