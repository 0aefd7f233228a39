//! TLS, from a client's side.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use gateway::{Address, Limits, Listener};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::pki_types::ServerName;
use rustls::pki_types::pem::PemObject;
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned, SupportedProtocolVersion};
use tls::{Choice, Configuration, Pair, Protocol, Terms};

use crate::harness::{PATIENCE, Running};

/// A second of 2027.
const NOW: i64 = 1_800_000_000;

type Client = StreamOwned<ClientConnection, TcpStream>;

/// A certificate for `example.test`, and what a client has to trust.
struct Certified {
    configuration: Configuration,
    authority: String,
}

fn certified() -> Certified {
    let mut authority = CertificateParams::new(Vec::new()).unwrap();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority_key = KeyPair::generate().unwrap();
    let pem = authority.self_signed(&authority_key).unwrap().pem();
    let issuer = Issuer::new(authority, authority_key);
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["example.test".to_owned()]).unwrap();
    let leaf = params.signed_by(&key, &issuer).unwrap().pem();
    let pair = Pair::load(format!("{leaf}{pem}").as_bytes(), Some(key.serialize_pem().as_bytes())).unwrap();
    let choice = Choice::new(vec![(Arc::new(pair), true)], NOW);
    Certified {
        configuration: tls::configuration(Terms::new(Protocol::Http), Arc::new(choice)).unwrap(),
        authority: pem,
    }
}

struct Secure {
    running: Running,
    authority: String,
}

impl Secure {
    fn start(limits: Limits) -> Self {
        let Certified { configuration, authority } = certified();
        let address = Address::Tcp("127.0.0.1:0".parse().unwrap());
        let listener = Listener { tls: Some(configuration), ..Listener::new(1, address) };
        Self { running: Running::with(limits, listener), authority }
    }

    fn config(&self, version: &'static SupportedProtocolVersion, alpn: &[&[u8]]) -> ClientConfig {
        let mut roots = RootCertStore::empty();
        roots
            .add(rustls::pki_types::CertificateDer::from_pem_slice(self.authority.as_bytes()).unwrap())
            .unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let builder =
            ClientConfig::builder_with_provider(provider).with_protocol_versions(&[version]).unwrap();
        let mut config = builder.with_root_certificates(roots).with_no_client_auth();
        config.alpn_protocols = alpn.iter().map(|name| name.to_vec()).collect();
        config
    }

    fn connection(&self, version: &'static SupportedProtocolVersion, alpn: &[&[u8]]) -> ClientConnection {
        let name = ServerName::try_from("example.test").unwrap();
        ClientConnection::new(Arc::new(self.config(version, alpn)), name).unwrap()
    }

    fn socket(&self) -> TcpStream {
        let socket = TcpStream::connect(self.running.address).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        socket.set_nodelay(true).unwrap();
        socket
    }

    fn connect(&self, version: &'static SupportedProtocolVersion, alpn: &[&[u8]]) -> Client {
        StreamOwned::new(self.connection(version, alpn), self.socket())
    }
}

/// All that comes until the server says that it is all.
fn all(client: &mut impl Read) -> Vec<u8> {
    let mut bytes = Vec::new();
    client.read_to_end(&mut bytes).expect("the end is said, and nothing is reset");
    bytes
}

const LAST: &[u8] = b"GET /scheme HTTP/1.1\r\nHost: example.test\r\nConnection: close\r\n\r\n";

#[test]
fn requests_are_answered_by_every_version_and_protocol() {
    let secure = Secure::start(Limits::default());
    for version in [&TLS12, &TLS13] {
        let protocols: [&[&[u8]]; 4] = [&[], &[b"http/1.1"], &[b"http/1.0"], &[b"h3", b"http/1.1"]];
        for alpn in protocols {
            let mut client = secure.connect(version, alpn);
            client.write_all(b"GET / HTTP/1.1\r\nHost: example.test\r\n\r\n").unwrap();
            client.write_all(LAST).unwrap();
            let said = String::from_utf8(all(&mut client)).unwrap();
            assert_eq!(said.matches("HTTP/1.1 200 OK").count(), 2, "{version:?} {alpn:?}: {said}");
            assert!(said.ends_with("Https"), "{said}");
        }
        let mut client = secure.connect(version, &[b"h2", b"http/1.1"]);
        client.conn.complete_io(&mut client.sock).unwrap();
        let suite = client.conn.negotiated_cipher_suite().unwrap().suite();
        assert!(suite.as_str().unwrap().contains("AES_128"), "the server chooses: {suite:?}");
        client.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0").unwrap();
        let mut head = [0; 9];
        client.read_exact(&mut head).unwrap();
        assert_eq!((client.conn.alpn_protocol(), head[3]), (Some(&b"h2"[..]), 4), "its settings come first");
    }
}

#[test]
fn bodies_of_any_size_come_and_go_whole() {
    let secure = Secure::start(Limits { max_body: 64 << 20, ..Limits::default() });
    for size in [1, 16_383, 16_384, 16_385, 65_536, 1_000_003, 20_000_000] {
        let body: Vec<u8> = (0..size).map(|at: usize| (at * 31 % 251) as u8).collect();
        let mut client = secure.connect(&TLS13, &[]);
        let head =
            format!("POST /echo HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: {size}\r\n\r\n");
        client.write_all(head.as_bytes()).unwrap();
        client.write_all(&body).unwrap();
        let answer = all(&mut client);
        assert!(answer.ends_with(&body), "{size} bytes");
    }
}

/// The first bytes that a client sends.
fn hello(secure: &Secure) -> (ClientConnection, Vec<u8>) {
    let mut connection = secure.connection(&TLS13, &[]);
    let mut bytes = Vec::new();
    connection.write_tls(&mut bytes).unwrap();
    (connection, bytes)
}

#[test]
fn a_hello_in_pieces_is_taken() {
    let secure = Secure::start(Limits::default());
    // Cut into records of a few bytes each.
    let spread = |bytes: &[u8], size: usize| -> Vec<u8> {
        let record = |part: &[u8]| [&[22, 3, 1, 0, part.len() as u8], part].concat();
        bytes[5..].chunks(size).flat_map(record).collect()
    };
    for size in [0, 1, 7, 200] {
        let (connection, bytes) = hello(&secure);
        let bytes = if size == 0 { bytes } else { spread(&bytes, size) };
        let mut socket = secure.socket();
        // A byte at a time where it is whole.
        bytes.chunks(if size == 0 { 1 } else { 50 }).for_each(|part| socket.write_all(part).unwrap());
        let mut client = StreamOwned::new(connection, socket);
        client.write_all(LAST).unwrap();
        assert!(all(&mut client).ends_with(b"Https"), "records of {size} bytes");
    }
}

#[test]
fn a_hello_that_stops_anywhere_ends_by_its_limit() {
    let limits = Limits { tls_handshake_timeout: Duration::from_millis(300), ..Limits::default() };
    let secure = Secure::start(limits);
    let (_, bytes) = hello(&secure);
    let cut: Vec<_> = (0..bytes.len()).step_by(11).collect();
    let mut sockets: Vec<_> = cut.iter().map(|_| secure.socket()).collect();
    sockets.iter_mut().zip(&cut).for_each(|(socket, cut)| socket.write_all(&bytes[..*cut]).unwrap());
    for (socket, cut) in sockets.iter_mut().zip(cut) {
        let mut rest = Vec::new();
        socket.read_to_end(&mut rest).unwrap_or_else(|error| panic!("cut at {cut}: {error}"));
        assert!(rest.is_empty(), "cut at {cut}: {rest:?}");
    }
    secure.running.until(|server| server.counters().open == 0);
}

#[test]
fn a_hello_without_end_is_refused_before_it_holds_much() {
    let secure = Secure::start(Limits::default());
    // A hello that says it has 60,000 bytes, of which as many come as there may be, and one record more.
    let record = |part: &[u8]| [&[22, 3, 1, 16, 0], part].concat();
    let mut socket = secure.socket();
    let mut first = vec![0; 4096];
    first[..4].copy_from_slice(&[1, 0, 0xea, 0x60]);
    socket.write_all(&record(&first)).unwrap();
    (0..4).for_each(|_| socket.write_all(&record(&[0; 4096])).unwrap());
    assert_eq!(all(&mut socket), [21, 3, 3, 0, 2, 2, 50], "an alert, fatal, decode_error");
    drop(socket);
    secure.running.until(|server| server.counters().open == 0);
}

#[test]
fn http_in_clear_text_is_told_where_to_go_and_other_bytes_get_an_alert() {
    let secure = Secure::start(Limits::default());
    let answer = |bytes: &[u8]| {
        let mut socket = secure.socket();
        socket.write_all(bytes).unwrap();
        all(&mut socket)
    };
    for request in
        ["GET / HTTP/1.1\r\nHost: a\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "POST /x HTTP/1.1\r\n\r\n"]
    {
        let answer = String::from_utf8(answer(request.as_bytes())).unwrap();
        assert!(answer.starts_with("HTTP/1.1 400 ") && answer.ends_with("https://"), "{answer}");
    }
    let long: Vec<u8> = (0..50_000).map(|at: u32| (at % 256) as u8).collect();
    for bytes in [&b"SSH-2.0-x\r\n"[..], b"\0\0\0\0\0\0", b"\x80\x2e\x01\x03\x01\0\x15\0\0", &long] {
        let answer = answer(bytes);
        // An alert, fatal.
        assert!(matches!(answer[..], [21, 3, _, 0, 2, 2, _]), "{answer:?}");
    }
}

#[test]
fn a_client_that_breaks_the_protocol_gets_an_alert() {
    let secure = Secure::start(Limits::default());
    let mut client = secure.connect(&TLS13, &[]);
    client.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    let mut first = [0; 4];
    client.read_exact(&mut first).unwrap();
    // A record that nobody has encrypted.
    client
        .sock
        .write_all(&[23, 3, 3, 0, 20, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20])
        .unwrap();
    let mut rest = Vec::new();
    let error = client.read_to_end(&mut rest).expect_err("an alert");
    assert_eq!(error.kind(), ErrorKind::InvalidData, "{error}");
    assert!(error.to_string().contains("BadRecordMac"), "{error}");
    secure.running.until(|server| server.counters().open == 0);
}

#[test]
fn a_client_that_ends_its_side_and_one_that_is_cut_off_leave_nothing() {
    let secure = Secure::start(Limits::default());
    for says_so in [true, false] {
        let mut client = secure.connect(&TLS13, &[]);
        client.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
        let mut first = [0; 4];
        client.read_exact(&mut first).unwrap();
        if says_so {
            client.conn.send_close_notify();
            client.flush().unwrap();
        }
        client.sock.shutdown(Shutdown::Write).unwrap();
        secure.running.until(|server| server.counters().open == 0);
    }
}

#[test]
fn a_new_certificate_is_for_who_comes_from_now_on() {
    let secure = Secure::start(Limits::default());
    let mut before = secure.connect(&TLS13, &[]);
    before.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    let Certified { configuration, authority } = certified();
    assert!(secure.running.run(move |server| server.set_tls(1, &configuration)));
    let after = Secure { authority, running: secure.running };
    let mut client = after.connect(&TLS13, &[]);
    client.write_all(LAST).unwrap();
    assert!(all(&mut client).ends_with(b"Https"));
    before.write_all(LAST).unwrap();
    assert!(all(&mut before).ends_with(b"Https"), "who was there goes on");
}

#[test]
fn records_that_do_not_come_whole_give_way_to_others() {
    const HELD: usize = 12 << 10;
    let limits = Limits { max_bodies: 10 * HELD, ..Limits::default() };
    let secure = Secure::start(limits);
    // As much of a hello, and of a record after the handshake.
    let mut hello = [&[22, 3, 1, 64, 0, 1, 0, 0x3f, 0xfc][..], &[0; HELD]].concat();
    hello.truncate(HELD);
    let begun: Vec<_> = (0..20)
        .map(|number| {
            let mut socket = secure.socket();
            if number % 2 == 0 {
                socket.write_all(&hello).unwrap();
                return socket;
            }
            let mut client = StreamOwned::new(secure.connection(&TLS13, &[]), socket);
            client.write_all(b"GET / HTTP/1.1\r\nHost: example.test\r\n\r\n").unwrap();
            let mut answer = [0; 12];
            client.read_exact(&mut answer).unwrap();
            client.sock.write_all(&[&[23, 3, 3, 64, 0][..], &[7; HELD]].concat()).unwrap();
            client.sock
        })
        .collect();
    // Some have to go, and who comes then finds room.
    secure.running.until(|server| server.counters().open < 14);
    let mut client = secure.connect(&TLS13, &[]);
    client.write_all(LAST).unwrap();
    assert!(all(&mut client).ends_with(b"Https"));
    drop(begun);
    secure.running.until(|server| server.counters().open == 0);
}

fn all_are_proxies(_: Option<std::net::IpAddr>) -> bool {
    true
}

#[test]
fn a_proxy_that_is_drained_is_heard_to_the_end_of_what_it_has_sent() {
    let secure = Secure::start(Limits::default());
    secure.running.run(|server| server.trust_proxies(all_are_proxies));
    let mut silent = secure.socket();
    let mut begun = secure.socket();
    begun.write_all(b"PROXY TCP4 203.0.113.7 ").unwrap();
    secure.running.until(|server| server.counters().open == 2);
    secure.running.run(|server| server.unlisten(1));
    begun.write_all(b"10.0.0.1 1 2\r\n").unwrap();
    let mut client = StreamOwned::new(secure.connection(&TLS13, &[]), begun);
    client.write_all(LAST).unwrap();
    assert!(all(&mut client).ends_with(b"Https"));
    assert!(all(&mut silent).is_empty(), "who says nothing is not waited for");
}

#[test]
fn a_client_that_never_reads_ends_by_its_limit_and_records_of_no_bytes_do_no_harm() {
    let limits = Limits { write_timeout: Duration::from_millis(300), ..Limits::default() };
    let secure = Secure::start(limits);
    let mut client = secure.connect(&TLS13, &[]);
    client.write_all(b"GET /big/30000000 HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    let mut first = [0; 4];
    client.read_exact(&mut first).unwrap();
    secure.running.until(|server| server.counters().open == 0);
    // Records without content, which say nothing and end nothing.
    let mut socket = secure.socket();
    let sent = socket.write_all(&[22, 3, 1, 0, 0].repeat(10_000));
    assert!(sent.is_err() || all(&mut socket).first() == Some(&21), "an alert");
    let mut other = secure.connect(&TLS13, &[]);
    other.write_all(LAST).unwrap();
    assert!(all(&mut other).ends_with(b"Https"));
    secure.running.until(|server| server.counters().open == 0);
}
