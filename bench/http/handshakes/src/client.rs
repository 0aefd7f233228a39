//! One connection after the other, each with a handshake, a request and its answer.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::client::Resumption;
use rustls::crypto::CryptoProvider;
use rustls::crypto::ring::cipher_suite::TLS13_AES_128_GCM_SHA256;
use rustls::crypto::ring::{self, kx_group};
use rustls::pki_types::ServerName;
use rustls::version::TLS13;
use rustls::{ClientConfig, ClientConnection, HandshakeKind, Stream};

use crate::arguments::Arguments;
use crate::unverified::Unverified;

/// A server that says nothing for so long has failed.
const PATIENCE: Duration = Duration::from_secs(10);
/// After so many failures in turn a client gives up: the server is not there.
const FAILURES_IN_TURN: u32 = 10;
const PAGES: u32 = 1_000;

/// What has happened on the connections of one client, or of all.
#[derive(Default)]
pub struct Count {
    /// Connections that were answered.
    pub handshakes: u64,
    /// Those of them whose handshake went on from an earlier one.
    pub resumed: u64,
    /// Connections that broke before they were answered.
    pub failed: u64,
    /// Answers that were no success.
    pub bad_statuses: u64,
    /// Why the first connection failed.
    pub first_failure: Option<String>,
}

impl Count {
    /// Adds what another client has counted.
    pub fn add(&mut self, other: Count) {
        self.handshakes += other.handshakes;
        self.resumed += other.resumed;
        self.failed += other.failed;
        self.bad_statuses += other.bad_statuses;
        self.first_failure = self.first_failure.take().or(other.first_failure);
    }
}

/// Connects with tickets of its own, so that none is used twice.
pub struct Client<'a> {
    arguments: &'a Arguments,
    tls: Arc<ClientConfig>,
    page: u32,
}

struct Answered {
    resumed: bool,
    success: bool,
}

impl<'a> Client<'a> {
    /// The client of this number; clients begin at different pages.
    pub fn new(arguments: &'a Arguments, number: u32) -> Self {
        Client { arguments, tls: Arc::new(configuration(arguments.resume)), page: number * 37 }
    }

    /// Begins one connection after the other until `end`.
    pub fn connect_until(mut self, end: Instant) -> Count {
        let mut count = Count::default();
        let mut failures = 0;
        while Instant::now() < end && failures < FAILURES_IN_TURN {
            match self.connect() {
                Ok(answered) => {
                    failures = 0;
                    count.handshakes += 1;
                    count.resumed += u64::from(answered.resumed);
                    count.bad_statuses += u64::from(!answered.success);
                }
                Err(error) => {
                    failures += 1;
                    count.failed += 1;
                    count.first_failure.get_or_insert_with(|| error.to_string());
                }
            }
        }
        count
    }

    fn connect(&mut self) -> io::Result<Answered> {
        let mut socket = TcpStream::connect((Ipv4Addr::LOCALHOST, self.arguments.port))?;
        socket.set_nodelay(true)?;
        socket.set_read_timeout(Some(PATIENCE))?;
        let name = ServerName::try_from("localhost").expect("it is the name of a host");
        let mut connection = ClientConnection::new(self.tls.clone(), name).map_err(io::Error::other)?;
        let request = self.request();
        let mut stream = Stream::new(&mut connection, &mut socket);
        stream.write_all(request.as_bytes())?;
        let answer = read_to_end(&mut stream)?;
        let resumed = connection.handshake_kind() == Some(HandshakeKind::Resumed);
        Ok(Answered { resumed, success: answer.starts_with(b"HTTP/1.1 2") })
    }

    fn request(&mut self) -> String {
        self.page = self.page % PAGES + 1;
        let path = self.arguments.path.replace("%d", &self.page.to_string());
        format!("{} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", self.arguments.method)
    }
}

/// The answer, whose tickets come before it. Some servers close without saying so by TLS.
fn read_to_end(stream: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut answer = Vec::with_capacity(1024);
    match stream.read_to_end(&mut answer) {
        Err(error) if error.kind() != ErrorKind::UnexpectedEof || answer.is_empty() => Err(error),
        _ => Ok(answer),
    }
}

/// One group and one suite, so that every server does the same work: those that most browsers and servers agree on.
fn configuration(resume: bool) -> ClientConfig {
    let provider = CryptoProvider {
        kx_groups: vec![kx_group::X25519],
        cipher_suites: vec![TLS13_AES_128_GCM_SHA256],
        ..ring::default_provider()
    };
    let mut configuration = ClientConfig::builder_with_provider(Arc::new(provider))
        .with_protocol_versions(&[&TLS13])
        .expect("the suite is of TLS 1.3")
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Unverified))
        .with_no_client_auth();
    configuration.resumption =
        if resume { Resumption::in_memory_sessions(1) } else { Resumption::disabled() };
    configuration
}
