//! Accepts connections and gives each to hyper's HTTP/1 server.

use std::env;
use std::net::Ipv4Addr;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;

use crate::database::Error;

/// Serves `routes` on the port that `PORT` names until the process ends.
pub async fn serve(routes: Router) -> Result<(), Error> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, env::var("PORT")?.parse()?)).await?;
    loop {
        let (socket, _) = listener.accept().await?;
        socket.set_nodelay(true)?;
        let service = TowerToHyperService::new(routes.clone());
        // An error here is the client's own end of the connection.
        tokio::spawn(async move { http1::Builder::new().serve_connection(TokioIo::new(socket), service).await });
    }
}
