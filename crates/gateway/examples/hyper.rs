//! Answers what the example `constant` answers, with hyper's HTTP/1 alone: what a loop of our own is compared with.
//!
//! `cargo run --release -p gateway --example hyper -- 127.0.0.1:9001`

use std::convert::Infallible;
use std::error::Error;

use bytes::Bytes;
use http_body_util::Full;
use hyper::server::conn::http1::Builder;
use hyper::service::service_fn;
use hyper::{Request, Response, body::Incoming};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::task::LocalSet;

async fn answer(_request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let mut response = Response::new(Full::new(Bytes::from_static(b"Hello, World!")));
    response.headers_mut().insert("content-type", http::HeaderValue::from_static("text/plain"));
    response.headers_mut().insert("server", http::HeaderValue::from_static("hyper"));
    Ok(response)
}

async fn serve(address: String) -> Result<(), Box<dyn Error>> {
    let listener = TcpListener::bind(&address).await?;
    println!("listening on {address}");
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let mut builder = Builder::new();
        // The limits that a server on the open net needs: the gateway has them, too.
        builder.timer(TokioTimer::new()).header_read_timeout(std::time::Duration::from_secs(10));
        let connection = builder.serve_connection(TokioIo::new(stream), service_fn(answer));
        tokio::task::spawn_local(connection);
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:9001".to_owned());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    LocalSet::new().block_on(&runtime, serve(address))
}
