//! An HTTP/1.1 client that sends what it is told and hides nothing of the answer.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// A keep-alive connection.
pub struct Connection {
    stream: BufReader<TcpStream>,
}

/// An answer.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The status.
    pub status: u16,
    /// The headers, names in lower case, in order.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Reply {
    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    /// The first header of this name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// All headers of this name.
    pub fn all_headers(&self, name: &str) -> Vec<&str> {
        self.headers.iter().filter(|(known, _)| known == name).map(|(_, value)| value.as_str()).collect()
    }
}

impl Connection {
    /// Connects to a port of 127.0.0.1.
    pub fn open(port: u16) -> Connection {
        Connection::try_open(port).expect("a connection")
    }

    /// Connects to a port of 127.0.0.1; none if nobody listens.
    pub fn try_open(port: u16) -> Option<Connection> {
        Connection::try_open_at("127.0.0.1", port)
    }

    /// Connects to a port of an address; none if nobody listens.
    pub fn try_open_at(address: &str, port: u16) -> Option<Connection> {
        let stream = TcpStream::connect((address, port)).ok()?;
        stream.set_nodelay(true).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(60))).ok()?;
        Some(Connection { stream: BufReader::new(stream) })
    }

    /// Sends a request and reads its answer; none if the server has closed the connection.
    pub fn try_request(&mut self, method: &str, path: &str, body: &[u8]) -> Option<Reply> {
        let length = body.len();
        let head = format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n\r\n");
        self.stream.get_mut().write_all(&[head.as_bytes(), body].concat()).ok()?;
        self.read_reply(method == "HEAD")
    }

    /// Sends a request without a body and reads its answer; none if the server has closed the connection.
    pub fn try_ask(&mut self, method: &str, path: &str, headers: &[(&str, &str)]) -> Option<Reply> {
        let lines: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let head = format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\n{lines}Content-Length: 0\r\n\r\n");
        self.stream.get_mut().write_all(head.as_bytes()).ok()?;
        self.read_reply(method == "HEAD")
    }

    /// Sends a request and reads its answer.
    pub fn request(&mut self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Reply {
        self.send(method, path, headers, body);
        self.read_reply(method == "HEAD").expect("an answer")
    }

    /// Sends a request.
    pub fn send(&mut self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) {
        let mut request = format!("{method} {path} HTTP/1.1\r\n");
        if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
            request.push_str("Host: localhost\r\n");
        }
        for (name, value) in headers {
            request.push_str(&format!("{name}: {value}\r\n"));
        }
        if !body.is_empty() || method == "POST" {
            request.push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
        request.push_str("\r\n");
        let mut bytes = request.into_bytes();
        bytes.extend_from_slice(body);
        self.send_bytes(&bytes);
    }

    /// Sends these bytes.
    pub fn send_bytes(&mut self, bytes: &[u8]) {
        self.stream.get_mut().write_all(bytes).expect("bytes are sent");
    }

    /// Whether bytes of an answer have come, or the end. Does not wait.
    pub fn has_arrived(&mut self) -> bool {
        if !self.stream.buffer().is_empty() {
            return true;
        }
        let stream = self.stream.get_mut();
        stream.set_nonblocking(true).expect("a socket");
        let arrived = stream.peek(&mut [0]).is_ok();
        stream.set_nonblocking(false).expect("a socket");
        arrived
    }

    /// Reads an answer; none if the server has closed the connection.
    pub fn read_reply(&mut self, head_only: bool) -> Option<Reply> {
        let line = self.read_line()?;
        let status = line.split(' ').nth(1)?.parse().ok()?;
        let mut headers = Vec::new();
        loop {
            let line = self.read_line()?;
            if line.is_empty() {
                break;
            }
            let (name, value) = line.split_once(':')?;
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let mut reply = Reply { status, headers, body: Vec::new() };
        let length = reply.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
        if !head_only {
            reply.body.resize(length, 0);
            self.stream.read_exact(&mut reply.body).ok()?;
        }
        Some(reply)
    }

    /// Whether the server has closed the connection; waits for it, and fails if nothing comes for long.
    pub fn is_closed(&mut self) -> bool {
        match self.stream.read(&mut [0]) {
            Ok(read) => read == 0,
            Err(error) if error.kind() == ErrorKind::ConnectionReset => true,
            Err(error) => panic!("the connection stays open: {error}"),
        }
    }

    /// The socket.
    pub fn socket(&self) -> &TcpStream {
        self.stream.get_ref()
    }

    fn read_line(&mut self) -> Option<String> {
        let mut line = String::new();
        let read = self.stream.read_line(&mut line).ok()?;
        (read > 0).then(|| line.trim_end().to_owned())
    }
}

/// Lets this process open many connections: each is a file, and many systems begin with 1,024.
pub fn allow_as_many_files_as_possible() {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: a valid structure for both calls.
    unsafe {
        assert_eq!(libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit), 0);
        limit.rlim_cur = limit.rlim_max;
        assert_eq!(libc::setrlimit(libc::RLIMIT_NOFILE, &limit), 0);
    }
}
