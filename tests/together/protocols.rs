//! What the protocols ask of every server, whatever its routes.

use std::process::Command;

use howdah_tests::{Platform, Reply};
use serde_json::{Value, json};

const ECHO: &str = "
    create function echo(bytea) returns text language sql volatile return encode($1, 'escape');
    select http.route('POST', '/echo', 'echo')";

fn ask(platform: &Platform, bytes: &str) -> Reply {
    let mut connection = platform.connect();
    connection.send_bytes(bytes.as_bytes());
    connection.read_reply(false).expect("an answer")
}

/// RFC 9110, 9.3.7.
#[test]
fn options_of_the_server_as_a_whole_are_all_methods() {
    let platform = Platform::start();
    for version in ["1.1", "1.0"] {
        let reply = ask(&platform, &format!("OPTIONS * HTTP/{version}\r\nHost: a\r\n\r\n"));
        assert_eq!(reply.status, 204, "{version}");
        assert_eq!(reply.header("allow"), Some("DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT"));
        assert_eq!(reply.header("content-length"), None);
    }
    assert_eq!(ask(&platform, "GET * HTTP/1.1\r\nHost: a\r\n\r\n").status, 400);
}

/// RFC 9110, 2.5.
#[test]
fn a_later_version_of_http_1_is_served_as_http_1_1() {
    let platform = Platform::start();
    platform.sql(ECHO);
    let chunked = "Host: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n";
    let mut connection = platform.connect();
    for version in ["1.2", "1.9", "1.1"] {
        connection.send_bytes(format!("POST /echo HTTP/{version}\r\n{chunked}").as_bytes());
        let reply = connection.read_reply(false).expect("an answer");
        assert_eq!((reply.status, reply.text()), (200, "hello".into()), "{version}");
    }
    let reply = ask(&platform, &format!("POST /echo HTTP/3.0\r\n{chunked}"));
    assert_eq!(reply.status, 505);
}

/// A client that sends its body only once it is told to, and the answers of the statuses that it gets.
const CLIENT: &str = "
    const http2 = require('node:http2');
    const session = http2.connect('http://127.0.0.1:' + process.argv[1]);
    const ask = (headers) => new Promise((resolve, reject) => {
      const seen = { continued: false, body: '' };
      const stream = session.request({ ':method': 'POST', ':path': '/echo', expect: '100-continue', ...headers });
      stream.on('continue', () => { seen.continued = true; stream.end('the body'); });
      stream.on('response', (headers) => { seen.status = headers[':status']; });
      stream.setEncoding('utf8');
      stream.on('data', (part) => { seen.body += part; });
      stream.on('end', () => { stream.close(); resolve(seen); });
      stream.on('error', reject);
    });
    (async () => {
      const told = await ask({});
      const refused = await ask({ 'content-length': 100000000 });
      console.log(JSON.stringify([told.continued, told.status, told.body, refused.continued, refused.status]));
      session.close();
    })().catch((error) => { console.error(error); process.exit(1); });
    setTimeout(() => { console.error('it waits for ever'); process.exit(1); }, 30000).unref()";

/// RFC 9110, 10.1.1.
#[test]
fn a_node_client_over_http_2_that_waits_to_send_its_body_is_told_to() {
    if Command::new("node").arg("--version").output().is_err() {
        println!("SKIPPED: a client of HTTP/2 that waits with its body, as there is no node");
        return;
    }
    let platform = Platform::start();
    platform.sql(ECHO);
    let output =
        Command::new("node").args(["-e", CLIENT, &platform.port.to_string()]).output().expect("node runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let seen: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(seen, json!([true, 200, "the body", false, 413]), "{errors}");
}
