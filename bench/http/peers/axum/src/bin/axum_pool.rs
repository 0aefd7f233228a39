//! The peer `axum_pool`.

use axum_peers::database::Error;
use axum_peers::pool::Pooled;
use axum_peers::routes::routes;
use axum_peers::serve::serve;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[tokio::main]
async fn main() -> Result<(), Error> {
    serve(routes(Pooled::new()?)).await
}
