//! One connection, from the hello on.

use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};

use crate::error::Error;
use crate::outstanding::Outstanding;
use crate::protocol::{Hello, Said, Window};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The server may have to start an executor and to read how far the producer is.
const HELLO_TIMEOUT: Duration = Duration::from_secs(60);
/// A server's machine that has gone is noticed after three times this.
const KEEPALIVE: Duration = Duration::from_secs(15);
/// A line of a server's is not longer.
const LONGEST_REPLY: u64 = 1 << 20;
/// Whom a listener does not allow, or has no room for, it tells nothing.
const SILENT: &str =
    "it was closed without an answer. Does the listener allow this address? Has it too many connections?";
/// What is shown of a reply that nobody understands.
const SHOWN: usize = 80;

/// A connection on which the server has said hello.
pub(crate) struct Connection {
    to: String,
    stream: TcpStream,
    replies: BufReader<TcpStream>,
    /// The last line that the queue has of this producer.
    pub(crate) sequence: u64,
    /// How much may be under way.
    pub(crate) window: Window,
}

impl Connection {
    /// Connects and says hello.
    pub(crate) fn open(to: &str, hello: &Hello) -> Result<Self, Error> {
        let failed = |cause: io::Error| match cause.kind() {
            ErrorKind::ConnectionRefused => Error::Refused { to: to.to_owned() },
            _ => Error::Connection { to: to.to_owned(), cause },
        };
        let stream = connect(to).map_err(failed)?;
        let mut replies = BufReader::new(stream.try_clone().map_err(failed)?);
        (&stream).write_all(hello.line().as_bytes()).map_err(failed)?;
        stream.set_read_timeout(Some(HELLO_TIMEOUT)).map_err(failed)?;
        let said = hear(to, &mut replies)?;
        stream.set_read_timeout(None).map_err(failed)?;
        match said {
            Some(Said::Hello { sequence, window }) => {
                let window = Window { lines: window.lines.min(hello.window), ..window };
                Ok(Self { to: to.to_owned(), stream, replies, sequence, window })
            }
            Some(Said::Error { code, error }) => Err(Error::Server { code, error }),
            Some(other) => Err(Error::Foreign { to: to.to_owned(), said: format!("{other:?}") }),
            None => Err(failed(io::Error::new(ErrorKind::UnexpectedEof, SILENT))),
        }
    }

    /// Hears acknowledgements in a thread of its own until the connection ends.
    pub(crate) fn listen(self, outstanding: &Arc<Outstanding>) -> Sending {
        let outstanding = Arc::clone(outstanding);
        let Self { to, stream, mut replies, .. } = self;
        let address = to.clone();
        let hearing = thread::spawn(move || {
            let end = hear_all(&address, &mut replies, &outstanding);
            outstanding.end();
            end
        });
        Sending { to, stream, hearing }
    }
}

/// The side of a connection that sends.
pub(crate) struct Sending {
    to: String,
    stream: TcpStream,
    hearing: JoinHandle<Error>,
}

impl Sending {
    pub(crate) fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)
    }

    /// Says that there is no more.
    pub(crate) fn finish(&mut self) -> io::Result<()> {
        self.stream.shutdown(Shutdown::Write)
    }

    /// Closes the connection and returns why it ended, as far as the server said so.
    pub(crate) fn close(self, cause: Option<io::Error>) -> Error {
        // What the server has said last may still be on its way to the other thread.
        let _ = self.stream.shutdown(Shutdown::Write);
        if cause.is_none() {
            let _ = self.stream.shutdown(Shutdown::Both);
        }
        let heard = self.hearing.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        match (heard, cause) {
            (Error::Connection { .. }, Some(cause)) => Error::Connection { to: self.to, cause },
            (heard, _) => heard,
        }
    }
}

fn connect(to: &str) -> io::Result<TcpStream> {
    let mut refused = io::Error::new(ErrorKind::NotFound, "the name has no address");
    for address in to.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, CONNECT_TIMEOUT) {
            Ok(stream) => {
                stream.set_nodelay(true)?;
                let keepalive = TcpKeepalive::new().with_time(KEEPALIVE).with_interval(KEEPALIVE);
                SockRef::from(&stream).set_tcp_keepalive(&keepalive)?;
                return Ok(stream);
            }
            Err(error) => refused = error,
        }
    }
    Err(refused)
}

/// The server's next words, none at the end.
fn hear(to: &str, replies: &mut BufReader<TcpStream>) -> Result<Option<Said>, Error> {
    let mut line = Vec::new();
    replies
        .take(LONGEST_REPLY)
        .read_until(b'\n', &mut line)
        .map_err(|cause| Error::Connection { to: to.to_owned(), cause })?;
    let text = String::from_utf8_lossy(&line);
    if line.is_empty() {
        return Ok(None);
    }
    let said = || text.trim_end().chars().take(SHOWN).collect();
    Said::parse(&text).map(Some).ok_or_else(|| Error::Foreign { to: to.to_owned(), said: said() })
}

/// Why nothing more is heard.
fn hear_all(to: &str, replies: &mut BufReader<TcpStream>, outstanding: &Outstanding) -> Error {
    loop {
        match hear(to, replies) {
            Ok(Some(Said::Acknowledged { sequence, dropped })) => outstanding.acknowledge(sequence, dropped),
            Ok(Some(Said::Other)) => {}
            Ok(Some(Said::Rejected(rejected))) => outstanding.reject(rejected),
            Ok(Some(Said::Error { code, error })) => return Error::Server { code, error },
            Ok(Some(Said::Hello { .. })) => {
                return Error::Foreign { to: to.to_owned(), said: "hello twice".to_owned() };
            }
            Ok(None) => {
                let cause = io::Error::new(ErrorKind::UnexpectedEof, "the server closed it");
                return Error::Connection { to: to.to_owned(), cause };
            }
            Err(error) => return error,
        }
    }
}
