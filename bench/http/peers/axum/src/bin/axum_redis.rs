//! The peer `axum_redis`: as `axum_pipelined_per_core`, with Redis in front of PostgreSQL.

use axum_peers::cached::routes;
use axum_peers::database::Error;
use axum_peers::pipelined::Pipelined;
use axum_peers::serve::{on_each_core, serve};

fn main() -> Result<(), Error> {
    on_each_core(|| async { serve(routes(Pipelined::connect().await?).await?).await })
}
