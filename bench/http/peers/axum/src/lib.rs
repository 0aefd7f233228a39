//! The axum peers of the http benchmark: the same pages as the other systems, over two ways to reach PostgreSQL.
//!
//! - `database`: the three statements, and the trait that both ways implement.
//! - `cached`: one of the pages, with Redis in front.
//! - `pipelined`: one connection that all requests share, each query sent without waiting for the one before.
//! - `pool`: deadpool-postgres with ten connections.
//! - `routes`: the pages.
//! - `serve`: the listener, on one runtime for all cores or on a runtime for each.
//! - `techempower`: TechEmpower's tests, as its repository has them.
//!
//! Settings come from the environment: `PORT` for HTTP, the files `TLS_CERTIFICATE` and `TLS_KEY` for HTTPS in its place,
//! `PGHOST`, `PGPORT`, `PGUSER` and `PGDATABASE` for PostgreSQL.

pub mod cached;
pub mod database;
pub mod pipelined;
pub mod pool;
pub mod routes;
pub mod serve;
pub mod techempower;
