//! The peer `axum_techempower`: on each core a runtime, a listener and a connection to PostgreSQL, as TechEmpower's repository has it.

use axum_peers::database::Error;
use axum_peers::serve::on_each_core;
use axum_peers::techempower::serve;

fn main() -> Result<(), Error> {
    on_each_core(serve)
}
