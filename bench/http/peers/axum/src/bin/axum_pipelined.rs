//! The peer `axum_pipelined`: one connection to PostgreSQL for all cores.

use axum_peers::database::Error;
use axum_peers::pipelined::Pipelined;
use axum_peers::routes::routes;
use axum_peers::serve::serve;

#[tokio::main]
async fn main() -> Result<(), Error> {
    serve(routes(Pipelined::connect().await?)).await
}
