//! The peer `axum_pipelined_per_core`: on each core a runtime, a listener and a connection to PostgreSQL.

use axum_peers::database::Error;
use axum_peers::pipelined::Pipelined;
use axum_peers::routes::routes;
use axum_peers::serve::{on_each_core, serve};

fn main() -> Result<(), Error> {
    on_each_core(|| async { serve(routes(Pipelined::connect().await?)).await })
}
