//! A request on its way to the platform, and the answer on its way back.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::header::EXPECT;
use hyper::{Request, Response, StatusCode, Version};
use hyper_util::rt::TokioIo;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::body::{Answer, Driver, Passed, Upload, plain};
use super::client::{Client, PATIENCE};
use super::front::SOURCE;
use super::headers::leave_connection;
use super::state::{Shared, State};
use super::{headers, live, navigation, page};

/// Headers that are passed on at most; the platform refuses fewer.
pub(super) const MOST_HEADERS: usize = 1000;
/// What is read of a connection ahead of what is passed on, and the longest head.
pub(super) const MOST_READ: usize = 128 * 1024;

/// Answers a request: with what is ours, with the page of an error, or with what the platform answers.
pub(super) async fn answer(
    shared: Arc<Shared>,
    client: Client,
    mut request: Request<Incoming>,
) -> Result<Response<Answer>, hyper::Error> {
    let is_ours = headers::is_by_own_name(&request, &shared.names);
    if let Some(path) = request.uri().path().strip_prefix(live::FOLDER) {
        return Ok(live::answer(&shared, path, &request, is_ours));
    }
    let mut end = None;
    if is_ours && navigation::is_for_a_page(&request) {
        // The page is of this state, or of a later one: then it is loaded once more.
        let state = Arc::clone(&shared.state.borrow());
        if let Some(page) = page::of(&state) {
            return Ok(page);
        }
        end = Some(Bytes::from(live::script(&state.version())));
        navigation::ask_for_the_whole(request.headers_mut());
    }
    let is_page = end.is_some();
    match pass(&shared, client, request).await {
        Ok((answer, driver)) if is_page && navigation::is_problem(answer.status(), answer.headers()) => {
            let state = Arc::clone(&shared.state.borrow());
            let page = problem(answer, &state).await;
            drop(driver);
            Ok(page)
        }
        Ok((answer, driver)) => Ok(on_the_way_back(answer, driver, end, Arc::clone(&shared.under_way))),
        Err(why) => Ok(plain(StatusCode::SERVICE_UNAVAILABLE, &why)),
    }
}

/// The page of an error that the application has answered with.
async fn problem(answer: Response<Incoming>, state: &State) -> Response<Answer> {
    let (head, body) = answer.into_parts();
    let told = timeout(PATIENCE, Limited::new(body, MOST_READ).collect()).await;
    match told.ok().and_then(Result::ok).and_then(|told| serde_json::from_slice(&told.to_bytes()).ok()) {
        Some(told) => page::of_problem(state, head.status, &told),
        None => plain(head.status, "The application has failed, and does not say how."),
    }
}

/// Passes a request on, by a connection of its own.
async fn pass(
    shared: &Shared,
    client: Client,
    mut request: Request<Incoming>,
) -> Result<(Response<Incoming>, Driver), String> {
    let stream = connect(shared.behind, client)
        .await
        .map_err(|error| format!("The platform of howdah dev does not answer (yet): {error}."))?;
    let (mut sender, connection) = http1::Builder::new()
        .preserve_header_case(true)
        .max_headers(MOST_HEADERS)
        .max_buf_size(MOST_READ)
        .handshake(TokioIo::new(stream))
        .await
        .map_err(lost)?;
    let driver = Driver(tokio::spawn(async {
        // What has failed the request tells, too.
        let _ = connection.await;
    }));
    leave_connection(request.headers_mut());
    let may_go_on = asks_to_go_on(&request).then(|| notice(&mut request));
    let request = request.map(|body| Upload::new(body, may_go_on));
    let answer = sender.send_request(request).await.map_err(lost)?;
    Ok((answer, driver))
}

fn lost(error: hyper::Error) -> String {
    format!("The platform of howdah dev has ended the connection: {error}.")
}

/// A connection to the platform that says for whom it is.
pub(super) async fn connect(behind: SocketAddr, client: Client) -> io::Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    socket.bind(SocketAddr::from((Ipv4Addr::from(SOURCE), 0)))?;
    let mut stream = socket.connect(behind).await?;
    stream.set_nodelay(true)?;
    stream.write_all(client.announced().as_bytes()).await?;
    Ok(stream)
}

/// Whether it waits for a word before it sends its body. HTTP/1.0 knows none.
fn asks_to_go_on<B>(request: &Request<B>) -> bool {
    let expects = request.headers().get(EXPECT);
    request.version() == Version::HTTP_11
        && expects.is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"100-continue"))
}

/// Learns when the platform says that the body may come.
fn notice(request: &mut Request<Incoming>) -> oneshot::Receiver<()> {
    let (sender, receiver) = oneshot::channel();
    let sender = Mutex::new(Some(sender));
    hyper::ext::on_informational(request, move |answer| {
        if answer.status() == StatusCode::CONTINUE
            && let Some(sender) = sender.lock().ok().and_then(|mut sender| sender.take())
        {
            // Nobody waits any more where the answer was first.
            let _ = sender.send(());
        }
    });
    receiver
}

/// The platform's answer as the client gets it.
fn on_the_way_back(
    mut answer: Response<Incoming>,
    driver: Driver,
    mut end: Option<Bytes>,
    under_way: Arc<()>,
) -> Response<Answer> {
    leave_connection(answer.headers_mut());
    end = end.filter(|_| navigation::takes_script(answer.status(), answer.headers()));
    if end.is_some() {
        navigation::forget_the_bytes(answer.headers_mut());
    }
    answer.map(|body| Passed::new(body, end, driver, under_way).boxed_unsync())
}
