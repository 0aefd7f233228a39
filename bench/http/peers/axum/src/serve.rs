//! Listens and serves, on tokio's runtime for all cores or on a runtime for each core.

use std::env;
use std::future::Future;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::mpsc;
use std::thread;

use axum::Router;
use axum::serve::ListenerExt;
use axum_server::accept::NoDelayAcceptor;
use axum_server::tls_rustls::{RustlsAcceptor, RustlsConfig};
use tokio::net::{TcpListener, TcpSocket};
use tokio::runtime;

use crate::database::Error;

const BACKLOG: u32 = 1024;

/// Serves `routes` on the port that `PORT` names until the process ends: by TLS if there is a certificate.
pub async fn serve(routes: Router) -> Result<(), Error> {
    match env::var("TLS_CERTIFICATE") {
        Ok(certificate) => serve_by_tls(routes, &certificate, &env::var("TLS_KEY")?).await,
        Err(_) => serve_in_clear_text(routes).await,
    }
}

async fn serve_in_clear_text(routes: Router) -> Result<(), Error> {
    let listener = listen()?.tap_io(|socket| {
        // A socket that refuses the option still works, only later.
        let _ = socket.set_nodelay(true);
    });
    Ok(axum::serve(listener, routes).await?)
}

/// Speaks HTTP/2 or HTTP/1.1, as client and server agree. axum itself has no TLS; its authors' example is axum-server.
async fn serve_by_tls(routes: Router, certificate: &str, key: &str) -> Result<(), Error> {
    let config = RustlsConfig::from_pem_file(certificate, key).await?;
    let acceptor = RustlsAcceptor::new(config).acceptor(NoDelayAcceptor::new());
    let server = axum_server::from_tcp(listen()?.into_std()?)?.acceptor(acceptor);
    Ok(server.serve(routes.into_make_service()).await?)
}

/// Runs `server` once on each core, on a thread and a runtime of its own, as the axum entries of public framework
/// comparisons do: what arrives on a core is answered there.
pub fn on_each_core<Server>(server: fn() -> Server) -> Result<(), Error>
where
    Server: Future<Output = Result<(), Error>> + 'static,
{
    let cores = thread::available_parallelism()?.get();
    let (ended, first_ended) = mpsc::channel();
    for _ in 0..cores {
        let ended = ended.clone();
        thread::spawn(move || ended.send(on_this_thread(server())));
    }
    // Servers do not end by themselves: the first that does, ends the process with its error.
    first_ended.recv()?
}

fn on_this_thread(server: impl Future<Output = Result<(), Error>>) -> Result<(), Error> {
    runtime::Builder::new_current_thread().enable_all().build()?.block_on(server)
}

/// A listener that others of the same process may listen beside.
pub(crate) fn listen() -> Result<TcpListener, Error> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    socket.set_reuseport(true)?;
    socket.bind(SocketAddr::from((Ipv4Addr::LOCALHOST, env::var("PORT")?.parse()?)))?;
    Ok(socket.listen(BACKLOG)?)
}
