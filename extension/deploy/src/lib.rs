//! Deployments: the files of an application, run as its owner in one transaction. The client decides what runs in which order
//! (`crates/folder`); this crate runs it, notes what it makes, and keeps both.
//!
//! - [`application`]: an application, and the deployment that this transaction is.
//! - [`statements`]: a text, cut into its statements by PostgreSQL's parser and run; where in it an error is.
//! - [`recorder`]: what a text has made.
//! - [`removal`]: dropping what a file has made; [`drops`]: what a file drops itself; [`conditional`]: files that leave out what is there.
//! - [`followed`]: objects under the names that a migration gives them.
//! - [`rights`]: what a file gives and takes; [`kept`]: what was said by hand of what is made again.
//! - [`checks`]: what is wrong with the whole; [`checker`]: what plpgsql_check says.
//! - [`ambiguous`]: names in PL/pgSQL that mean two things.
//! - [`acceptance`]: migrations whose comments have changed.
//! - [`testing`]: tests, which are undone; [`comparisons`]: what differed in one that fails.
//! - [`steps`]: migrations that are no part of the transaction; [`step_state`]: how far they are, by the catalogs; [`batch`]: a statement that
//!   runs in batches; [`outside`]: the functions by which a client runs them.
//! - [`new_values`]: what was added to enums.
//! - [`pages`]: files of HTML that become functions.
//! - [`static_files`]: files that clients get as they are.
//! - [`seeding`]: rows of files; [`seed_rows`]: how they are read and put into a table.
//! - [`trial`]: a deployment that is only tried.
//! - [`drift`]: what was changed by hand.
//! - [`file`]: a file, and running it; [`functions`]: the functions of schema `deploy` that deploy; [`reading`]: those that read.
//!
//! As whom and with what settings it runs is `session::deployer`'s. Whoever calls the functions must be allowed to become the owner;
//! rows are written as the extension's owner, so that nobody else writes history. This crate knows no folders and no HTTP: routes are
//! told to [`recorder`] by whoever registers them.

mod acceptance;
mod ambiguous;
mod application;
mod batch;
mod checker;
mod checks;
mod comparisons;
mod conditional;
mod drift;
mod drops;
mod file;
mod followed;
mod functions;
pub mod giving_way;
mod kept;
mod new_values;
mod outside;
mod pages;
mod reading;
pub mod recorder;
mod removal;
mod rights;
mod seed_rows;
mod seeding;
mod statements;
mod static_files;
mod step_state;
mod steps;
mod testing;
mod trial;
