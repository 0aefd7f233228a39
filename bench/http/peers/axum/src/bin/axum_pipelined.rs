//! The peer `axum_pipelined`.

use axum_peers::database::Error;
use axum_peers::pipelined::Pipelined;
use axum_peers::routes::routes;
use axum_peers::serve::serve;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[tokio::main]
async fn main() -> Result<(), Error> {
    serve(routes(Pipelined::connect().await?)).await
}
