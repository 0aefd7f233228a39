//! A client of HTTP/2.

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http2::{SendRequest, handshake};
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};

use crate::harness::{PATIENCE, Running};

/// Runs a client on a runtime of its own.
pub(crate) fn with_client<F: Future<Output = ()>>(
    running: &Running,
    talk: impl FnOnce(SendRequest<Full<Bytes>>) -> F,
) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let stream = tokio::net::TcpStream::connect(running.address).await.unwrap();
        let (sender, connection) = handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        tokio::time::timeout(PATIENCE, talk(sender)).await.expect("it hangs");
    });
}

/// A request.
pub(crate) fn request(method: &str, path: &str, body: impl Into<Bytes>) -> Request<Full<Bytes>> {
    let uri = format!("http://example.org{path}");
    Request::builder().method(method).uri(uri).body(Full::new(body.into())).unwrap()
}

/// The body of an answer, whole.
pub(crate) async fn body(response: Response<hyper::body::Incoming>) -> Bytes {
    response.into_body().collect().await.unwrap().to_bytes()
}
