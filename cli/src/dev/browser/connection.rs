//! A connection of a client.

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use socket2::SockRef;
use tokio::io::{AsyncWriteExt, ReadBuf, copy};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{sleep, timeout};

use super::body::Driver;
use super::client::{Client, PATIENCE};
use super::pass::{self, MOST_HEADERS, MOST_READ};
use super::state::Shared;

/// How long a client may take nothing of what it is sent.
const STALLED: Duration = Duration::from_secs(60);
/// Before it is tried again to accept connections where files have run out, and to see more of a client's first word.
const PAUSE: Duration = Duration::from_millis(10);
/// What HTTP/2 begins with; no method of HTTP/1.1 does.
const HTTP2: &[u8] = b"PRI * HTTP/2.0";

/// Accepts connections as long as there are places.
pub(super) async fn accept(listener: TcpListener, shared: Arc<Shared>, places: Arc<Semaphore>) {
    while let Ok(place) = Arc::clone(&places).acquire_owned().await {
        match listener.accept().await {
            Ok((stream, remote)) => {
                tokio::spawn(serve(stream, remote, Arc::clone(&shared), place));
            }
            Err(_) => sleep(PAUSE).await,
        }
    }
}

async fn serve(stream: TcpStream, remote: SocketAddr, shared: Arc<Shared>, _place: OwnedSemaphorePermit) {
    // Without them it is slower, or gone later.
    let _ = stream.set_nodelay(true);
    let _ = SockRef::from(&stream).set_tcp_user_timeout(Some(STALLED));
    let Ok(local) = stream.local_addr() else { return };
    let client = Client { remote, local };
    match timeout(PATIENCE, speaks_http2(&stream)).await {
        Ok(Ok(true)) => drop(tunnel(stream, &shared, client).await),
        Ok(Ok(false)) => drop(speak(stream, shared, client).await),
        Ok(Err(_)) | Err(_) => {}
    }
}

/// Whether it begins as HTTP/2 does. What has come stays to be read.
async fn speaks_http2(stream: &TcpStream) -> io::Result<bool> {
    loop {
        let mut space = [0; HTTP2.len()];
        let mut seen = ReadBuf::new(&mut space);
        poll_fn(|context| stream.poll_peek(context, &mut seen)).await?;
        let seen = seen.filled();
        if seen.is_empty() || seen.len() == HTTP2.len() || !HTTP2.starts_with(seen) {
            return Ok(seen == HTTP2);
        }
        sleep(PAUSE).await;
    }
}

async fn speak(stream: TcpStream, shared: Arc<Shared>, client: Client) -> hyper::Result<()> {
    let service = service_fn(|request| pass::answer(Arc::clone(&shared), client, request));
    http1::Builder::new()
        .auto_date_header(false)
        .preserve_header_case(true)
        .max_headers(MOST_HEADERS)
        .max_buf_size(MOST_READ)
        .timer(TokioTimer::new())
        .header_read_timeout(PATIENCE)
        .serve_connection(TokioIo::new(stream), service)
        .await
}

/// HTTP/2 is between client and platform: pages that come by it are as the application makes them. It ends when the platform ends it.
async fn tunnel(client_side: TcpStream, shared: &Shared, client: Client) -> io::Result<()> {
    let _under_way = Arc::clone(&shared.under_way);
    let (mut from_platform, mut to_platform) = pass::connect(shared.behind, client).await?.into_split();
    let (mut from_client, mut to_client) = client_side.into_split();
    let _upwards = Driver(tokio::spawn(async move {
        // However it ends, the platform is told that no more comes.
        let _ = copy(&mut from_client, &mut to_platform).await;
        let _ = to_platform.shutdown().await;
    }));
    copy(&mut from_platform, &mut to_client).await?;
    Ok(())
}
