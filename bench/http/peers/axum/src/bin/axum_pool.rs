//! The peer `axum_pool`: ten connections to PostgreSQL for all cores.

use axum_peers::database::Error;
use axum_peers::pool::Pooled;
use axum_peers::routes::routes;
use axum_peers::serve::serve;

#[tokio::main]
async fn main() -> Result<(), Error> {
    serve(routes(Pooled::new()?)).await
}
