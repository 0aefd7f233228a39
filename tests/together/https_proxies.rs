//! Proxies that pass TLS on, and say for whom by the PROXY protocol; strangers on a port; Strict-Transport-Security.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};

use howdah_tests::https::{Https, run};
use howdah_tests::{free_port, wait_for};

/// What comes back on a connection that sends these bytes. A client that ends its side would have left, for HTTP.
fn exchange(port: u16, sent: &[u8]) -> Vec<u8> {
    read_all(&mut send(port, sent))
}

fn send(port: u16, sent: &[u8]) -> TcpStream {
    let mut socket = TcpStream::connect(("127.0.0.1", port)).unwrap();
    socket.write_all(sent).unwrap();
    socket
}

fn read_all(socket: &mut TcpStream) -> Vec<u8> {
    let mut back = Vec::new();
    // A reset ends it as well.
    let _ = socket.read_to_end(&mut back);
    back
}

/// Sends lines, and waits until the server has seen their end.
fn send_lines(port: u16, sent: &[u8]) {
    let mut socket = send(port, sent);
    // Who may not send has been closed already.
    let _ = socket.shutdown(Shutdown::Write);
    read_all(&mut socket);
}

const V2: &[u8] = b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\xcb\0\x71\x07\x0a\0\0\x01\xdc\x04\x01\xbb";

#[test]
fn a_trusted_proxy_says_who_the_client_is() {
    let https = Https::serving();
    https.platform.sql(
        "create function who() returns text language sql stable
         return host((http.current_request()).remote_address) || ' by ' || (http.current_request()).scheme;
         select http.route('GET', '/who', 'who')",
    );
    let clear = https.platform.port;
    let get = b"GET /who HTTP/1.0\r\n\r\n";
    let ask = |header: &[u8]| String::from_utf8_lossy(&exchange(clear, &[header, get].concat())).into_owned();
    let v1 = b"PROXY TCP4 203.0.113.7 10.0.0.1 56324 443\r\n";
    assert!(ask(v1).starts_with("HTTP/1.1 400"), "nobody is trusted yet: {}", ask(v1));
    https.platform.set("howdah.trusted_proxies", "127.0.0.1");
    wait_for("it is trusted", || ask(v1).ends_with("203.0.113.7 by http"));
    for (header, client) in [
        (V2, "203.0.113.7"),
        (b"PROXY TCP6 2001:db8::7 ::1 1 2\r\n", "2001:db8::7"),
        (b"PROXY UNKNOWN\r\n", "127.0.0.1"),
        // One that says nothing is served as before.
        (b"", "127.0.0.1"),
    ] {
        let said = ask(header);
        assert!(said.ends_with(&format!("{client} by http")), "{client}: {said}");
    }
    assert_eq!(ask(b"PROXY TCP4 203.0.113.7\r\n"), "", "a broken header ends the connection");
    wait_for("the log says so", || https.log_count("a header of the PROXY protocol that cannot be read") > 0);
    // Before the handshake, and in pieces.
    let port = https.port;
    let script = format!(
        "import socket, ssl, time\n\
         context = ssl.create_default_context(cafile='ca.pem')\n\
         connection = socket.create_connection(('127.0.0.1', {port}), 20)\n\
         header = b'PROXY TCP4 203.0.113.7 10.0.0.1 56324 443\\r\\n'\n\
         for byte in header[:20]:\n\
         \x20   connection.sendall(bytes([byte])); time.sleep(0.005)\n\
         connection.sendall(header[20:])\n\
         with context.wrap_socket(connection, server_hostname='localhost') as client:\n\
         \x20   client.sendall(b'GET /who HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\\r\\n')\n\
         \x20   answer = b''\n\
         \x20   while part := client.recv(4096): answer += part\n\
         \x20   print(answer.decode())\n"
    );
    let output = run(&https.folder, "python3", &["-c", &script]);
    let said = String::from_utf8_lossy(&output.stdout);
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(said.trim_end().ends_with("203.0.113.7 by https"), "{said} {complaint}");
    let url = format!("https://localhost:{port}/who");
    let resolve = format!("localhost:{port}:127.0.0.1");
    let arguments = ["-sS", "--haproxy-protocol", "--cacert", "ca.pem", "--resolve", &resolve, &url];
    let curl = String::from_utf8_lossy(&run(&https.folder, "curl", &arguments).stdout).into_owned();
    assert_eq!(curl, "127.0.0.1 by https");
}

#[test]
fn limits_by_address_count_the_client_that_is_announced() {
    let https = Https::start();
    let port = free_port();
    https.platform.set("howdah.trusted_proxies", "127.0.0.1");
    https.platform.sql(&format!(
        "create table note (body text); grant insert on note to howdah_web;
         select queue.listen({port}, into_table => 'note', address => '127.0.0.1', allow => '{{203.0.113.0/24}}')"
    ));
    wait_for("it listens", || TcpStream::connect(("127.0.0.1", port)).is_ok());
    send_lines(port, b"PROXY TCP4 203.0.113.7 10.0.0.1 1 2\r\n{\"body\": \"a\"}\n");
    wait_for("who may is stored", || https.platform.count("note where body = 'a'") == 1);
    send_lines(port, b"PROXY TCP4 198.51.100.1 10.0.0.1 1 2\r\n{\"body\": \"b\"}\n");
    send_lines(port, b"{\"body\": \"c\"}\n");
    send_lines(port, b"PROXY TCP4 203.0.113.8 10.0.0.1 1 2\r\n{\"body\": \"d\"}\n");
    wait_for("the next is stored", || https.platform.count("note where body = 'd'") == 1);
    assert_eq!(https.platform.count("note"), 2, "who may not is refused, as is the proxy itself");
}

#[test]
fn strangers_on_a_port_hear_what_is_wrong() {
    let https = Https::serving();
    let clear = https.platform.port;
    let hello = b"\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00";
    let said = String::from_utf8_lossy(&exchange(clear, hello)).into_owned();
    assert!(said.starts_with("HTTP/1.1 400") && said.contains("begin the address with http://"), "{said}");
    wait_for("the log says so", || {
        https.log_count("a client began TLS on a port that speaks clear text") == 1
    });
    let https_text = exchange(https.port, b"GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    assert!(https_text.ends_with(b"begin the address with https://"));
    wait_for("the log says so", || https.log_count("a client spoke HTTP without TLS") == 1);
    let alert = exchange(https.port, b"SSH-2.0-OpenSSH_9.2\r\n");
    assert_eq!(alert.first(), Some(&21), "an alert and no text: {alert:?}");
    drop(send(https.port, b""));
    drop(exchange(https.port, hello));
    // Who knows nobody that has signed it.
    let resolve = format!("other.test:{}:127.0.0.1", https.port);
    let url = format!("https://other.test:{}/hello", https.port);
    assert!(!run(&https.folder, "curl", &["-sS", "--resolve", &resolve, &url]).status.success());
    let both = "asked for other.test; the certificate is that of CN=localhost";
    wait_for("the client's alert is told, with both names", || https.log_count(both) > 0);
    assert_eq!(https.log_count("TLS on port"), 5, "who says nothing is not told of");
}

#[test]
fn browsers_are_told_to_stay_with_https_for_names_that_others_know() {
    let https = Https::start();
    https.certify("public", "www.a.test");
    https.certify("local", "localhost");
    https.set(&format!("{}, {}", https.pair("public"), https.pair("local")));
    https.platform.sql(
        "create function own() returns http.response language sql stable
         return http.response('own', headers => array[http.header('Strict-Transport-Security', 'max-age=1')]);
         select http.route('GET', '/own', 'own')",
    );
    https.listen();
    https.wait_until_bound();
    let said = |host: &str, path: &str, more: &[&str]| {
        let url = format!("https://{host}:{}{path}", https.port);
        let resolve = format!("{host}:{}:127.0.0.1", https.port);
        let common = ["-sSi", "-k", "--resolve", &resolve, &url];
        let output = run(&https.folder, "curl", &[&common[..], more].concat());
        let text = String::from_utf8_lossy(&output.stdout).to_lowercase();
        let header = "strict-transport-security: ";
        text.lines().filter_map(|line| line.strip_prefix(header)).map(str::to_owned).collect::<Vec<_>>()
    };
    assert!(said("www.a.test", "/hello", &[]).is_empty(), "none by default");
    https.platform.set("howdah.hsts", "max-age=31536000; includeSubDomains");
    wait_for("it is said", || !said("www.a.test", "/hello", &[]).is_empty());
    for more in [&[][..], &["--http1.1"]] {
        for path in ["/hello", "/nothing/here"] {
            assert_eq!(
                said("www.a.test", path, more),
                ["max-age=31536000; includesubdomains"],
                "{path} {more:?}"
            );
        }
        assert_eq!(said("www.a.test", "/own", more)[0], "max-age=1", "{more:?}");
        for host in ["localhost", "127.0.0.1", "other.test"] {
            assert!(said(host, "/hello", more).is_empty(), "{host}");
        }
    }
    assert_eq!(
        https.platform.get("/hello").header("strict-transport-security"),
        None,
        "in clear text it means nothing"
    );
}

#[test]
fn a_header_that_does_not_end_ends_by_its_limit() {
    let https = Https::serving();
    https.platform.set("howdah.trusted_proxies", "127.0.0.1");
    https.platform.set("howdah.head_timeout", "300ms");
    wait_for("both are in force", || exchange(https.platform.port, b"PROXY TCP4 203.0.113").is_empty());
    for port in [https.platform.port, https.port] {
        for header in [&b""[..], b"PROXY TCP4 203.0.113", &V2[..14]] {
            assert_eq!(exchange(port, header), b"", "it is closed without a word");
        }
    }
    assert_eq!(https.platform.get("/hello").text(), "hello");
}

#[test]
fn a_flood_of_failed_handshakes_writes_few_lines() {
    let https = Https::serving();
    https.platform.set("howdah.log_rate", "1");
    wait_for("the rate is in force", || https.platform.value("show howdah.log_rate").as_deref() == Some("1"));
    for _ in 0..300 {
        assert_eq!(exchange(https.port, b"SSH-2.0-OpenSSH_9.2\r\n").first(), Some(&21));
    }
    // A burst of ten seconds, and what has come since.
    let lines = https.log_count("TLS on port");
    assert!((1..200).contains(&lines), "{lines} lines");
    let left_out = "select left_out::text from http.log where kind = 'client errors'";
    wait_for("the others are counted", || https.platform.value(left_out).is_some_and(|count| count != "0"));
}
