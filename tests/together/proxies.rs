//! Whose request it is behind a proxy: `X-Forwarded-For` counts from whom `howdah.trusted_proxies` names.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::os::unix::net::UnixStream;

use howdah_tests::{Platform, free_port, wait_for};
use tokio::net::TcpSocket;

/// GET runs in the gateway as soon as it is known to be short, POST in an executor: each reads the setting.
const WHO: &str = "
    create function who(request http.request) returns text language sql stable
      return coalesce(host((request).remote_address), 'nobody');
    create function who_in_an_executor(request http.request) returns text language plpgsql volatile as
      $$ begin return who(request); end $$;
    select http.route('GET', '/who', 'who'), http.route('POST', '/who', 'who_in_an_executor')";

const CLIENT: &str = "203.0.113.7";
/// What a client has made up, and what its proxy has put behind it.
const FORWARDED: &str = "192.0.2.66, 203.0.113.7";

/// A connection that comes from this address.
fn from(address: [u8; 4], port: u16) -> TcpStream {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().expect("a runtime");
    let stream = runtime.block_on(async {
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.bind((Ipv4Addr::from(address), 0).into()).expect("an address of the loopback");
        socket.connect((Ipv4Addr::LOCALHOST, port).into()).await.expect("a connection")
    });
    let stream = stream.into_std().expect("a socket");
    stream.set_nonblocking(false).expect("a socket");
    stream
}

/// The address that the server takes for the client's.
fn who(mut stream: impl Read + Write, method: &str) -> String {
    let request = format!(
        "{method} /who HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: {FORWARDED}\r\n\
         Content-Length: 0\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).expect("it is sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    answer.rsplit("\r\n\r\n").next().unwrap_or_default().to_owned()
}

#[test]
fn a_forwarded_address_counts_from_a_trusted_peer_alone() {
    // One executor, so that what is in force for one request is so for the next.
    let platform = Platform::with(&[("howdah.min_executors", "1"), ("howdah.max_executors", "1")]);
    let socket = platform.cluster.socket().expect("a folder for sockets");
    let folder = socket.to_str().expect("a name").to_owned();
    let unix_port = free_port();
    platform.set("howdah.listen_addresses", &format!("localhost, {folder}"));
    wait_for("the setting is in force", || {
        platform.value("show howdah.listen_addresses").is_some_and(|setting| setting.contains(&folder))
    });
    platform.sql(&format!("select http.listen({unix_port}, '{folder}')"));
    platform.sql(WHO);
    let path = format!("{folder}/.s.howdah.{unix_port}");
    wait_for("it listens on the UNIX socket", || UnixStream::connect(&path).is_ok());

    // What the server says to a proxy at 127.0.0.1, to one at 127.0.0.2, and to one at the UNIX socket.
    let seen = |method: &str| {
        [
            who(from([127, 0, 0, 1], platform.port), method),
            who(from([127, 0, 0, 2], platform.port), method),
            who(UnixStream::connect(&path).expect("a connection"), method),
        ]
    };
    let untrusted = ["127.0.0.1", "127.0.0.2", "nobody"];
    for (setting, expected) in [
        ("", untrusted),
        ("127.0.0.2", ["127.0.0.1", CLIENT, "nobody"]),
        ("unix, 10.0.0.0/8", ["127.0.0.1", "127.0.0.2", CLIENT]),
        ("127.0.0.0/8", [CLIENT, CLIENT, "nobody"]),
    ] {
        platform.set("howdah.trusted_proxies", setting);
        for method in ["GET", "POST"] {
            wait_for(&format!("'{setting}' is in force for {method}"), || seen(method) == expected);
        }
        for method in ["GET", "POST"].repeat(5) {
            assert_eq!(seen(method), expected, "{method} with '{setting}'");
        }
    }
    let inline = platform.value("select inline from http.stats where method = 'GET' and pattern = '/who'");
    assert!(inline.is_some_and(|inline| inline != "0"), "no request ran in the gateway");
}

#[test]
fn a_list_of_proxies_with_a_mistake_is_refused_and_what_it_was_stays() {
    let platform = Platform::with(&[("howdah.trusted_proxies", "10.0.0.0/8")]);
    for list in ["bogus", "10.0.0.0/33", "127.0.0.1, proxy.example"] {
        let alter = format!("alter system set howdah.trusted_proxies = '{list}'");
        let error = platform.session().batch_execute(&alter).expect_err(list);
        assert!(error.as_db_error().is_some_and(|error| error.detail().is_some()), "{error:?}");
    }
    platform.cluster.reconfigure("howdah.trusted_proxies", "127.0.0.1, proxy.example").expect("a reload");
    wait_for("the log names the mistake", || {
        platform.log().contains("'proxy.example' is neither an address")
    });
    assert_eq!(platform.value("show howdah.trusted_proxies").as_deref(), Some("10.0.0.0/8"));
    platform.sql("alter system set howdah.trusted_proxies = 'unix, 192.0.2.1'");
}
