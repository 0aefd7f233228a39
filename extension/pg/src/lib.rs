//! PostgreSQL, as the extension calls it. This crate knows no table, role, setting or word of Howdah; it alone knows that there are
//! versions of PostgreSQL, and it alone defines functions of C's convention.
//!
//! - [`bindings`]: PostgreSQL functions called directly, and those that pgrx does not bind. They are here by their own names.
//! - [`version`]: what its versions call differently.
//! - [`entry`]: the doors through which PostgreSQL comes in.
//! - [`guard`]: one guard around many calls into PostgreSQL; errors become values. [`refuse`]: errors that say what is wrong.
//! - [`log_line`]: lines in the log that no interrupt comes out of.
//! - [`out_of_memory`]: a process without memory ends in order. [`own_memory`]: how much memory is the process's own.
//! - [`text`], [`list`]: its texts and lists. [`catalog`]: what its catalogs say. [`small_table`]: small tables that are kept until they change. [`scratch`]: memory for one row at a time.
//! - [`plpgsql_steps`]: what a function in PL/pgSQL computes and converts. [`plpgsql_names`]: names in it that mean two things. [`sql_names`]: columns that a function in SQL compares with themselves.
//! - [`table_counts`]: which tables a transaction has changed.
//! - [`transaction_end`]: the end of a transaction, for those who keep something until then.
//! - [`port`]: what a process says of its client's connection, which a worker has none of.

mod bindings;
pub mod catalog;
pub mod entry;
pub mod guard;
pub mod list;
mod locks;
pub mod log_line;
pub mod out_of_memory;
pub mod own_memory;
pub mod plpgsql_names;
pub mod plpgsql_steps;
pub mod port;
pub mod refuse;
pub mod scratch;
pub mod small_table;
pub mod sql_names;
pub mod table_counts;
pub mod text;
mod text_builder;
pub mod transaction_end;
pub mod version;

pub use bindings::*;
pub use locks::{LockTimeout, lock_tag};
pub use text_builder::TextBuilder;
