//! An HTTP/2 client whose streams run side by side and can be reset.

use std::time::Duration;

use h2::Reason;
use h2::client::{Builder, ResponseFuture, SendRequest};
use http::Request;
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use crate::client::Reply;

/// A connection that begins with HTTP/2.
pub struct Http2 {
    runtime: Runtime,
    sender: SendRequest<&'static [u8]>,
}

/// A request under way.
pub struct Stream {
    reply: oneshot::Receiver<Reply>,
    reset: mpsc::UnboundedSender<()>,
}

/// How long anything here may take.
const PATIENCE: Duration = Duration::from_secs(60);

impl Http2 {
    /// Connects to a port of 127.0.0.1.
    pub fn open(port: u16) -> Http2 {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("a runtime");
        let sender = runtime.block_on(async {
            let socket = TcpStream::connect(("127.0.0.1", port)).await.expect("a connection");
            let (sender, connection) = Builder::new().handshake(socket).await.expect("a handshake");
            tokio::spawn(connection);
            sender
        });
        Http2 { runtime, sender }
    }

    /// Sends a GET on a stream of its own.
    pub fn get(&mut self, path: &str) -> Stream {
        self.send("GET", path)
    }

    /// Sends a request without a body on a stream of its own.
    pub fn send(&mut self, method: &str, path: &str) -> Stream {
        let request = Request::builder().method(method).uri(format!("http://localhost{path}"));
        let request = request.body(()).expect("a request");
        let (response, mut stream) = self.runtime.block_on(async {
            self.sender.clone().ready().await.expect("room").send_request(request, true).expect("it is sent")
        });
        let (reset, mut asked) = mpsc::unbounded_channel();
        let (answer, reply) = oneshot::channel();
        self.runtime.spawn(async move {
            tokio::select! {
                reply = read(response) => {
                    if let Some(reply) = reply {
                        // Nobody may want it.
                        let _ = answer.send(reply);
                    }
                }
                Some(()) = asked.recv() => stream.send_reset(Reason::CANCEL),
            }
        });
        Stream { reply, reset }
    }

    /// The answer to a stream.
    pub fn wait(&self, stream: Stream) -> Reply {
        let Stream { reply, reset } = stream;
        let answer = self.runtime.block_on(async { timeout(PATIENCE, reply).await });
        drop(reset);
        answer.expect("an answer in time").expect("an answer")
    }
}

impl Stream {
    /// Resets the stream: the client wants no answer any more.
    pub fn reset(self) {
        // A stream that has been answered is over.
        let _ = self.reset.send(());
    }
}

async fn read(response: ResponseFuture) -> Option<Reply> {
    let (head, mut stream) = response.await.ok()?.into_parts();
    let mut body = Vec::new();
    while let Some(part) = stream.data().await {
        let part = part.ok()?;
        // What has been read makes room for more.
        stream.flow_control().release_capacity(part.len()).ok()?;
        body.extend_from_slice(&part);
    }
    let text = |value: &http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    let headers = head.headers.iter().map(|(name, value)| (name.to_string(), text(value))).collect();
    Some(Reply { status: head.status.as_u16(), headers, body })
}
