//! Clients that come back: whose keys they go on with, and where they shake hands in full.

use howdah_tests::https::{Https, run};
use howdah_tests::{free_port, wait_for};

/// A client that connects again and again, as its arguments say, and prints whether it went on with its first session.
const CLIENT: &str = "
import socket, ssl, sys
def ask(port, name, session):
    with socket.create_connection(('127.0.0.1', port), 20) as connection:
        with context.wrap_socket(connection, server_hostname=name, session=session) as client:
            client.sendall(b'GET /hello HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\\r\\n')
            answer = b''
            while part := client.recv(4096):
                answer += part
            assert answer.endswith(b'hello'), answer
            return client.session_reused, client.session
context = ssl.create_default_context(cafile='ca.pem')
context.maximum_version = getattr(ssl.TLSVersion, sys.argv[1])
_, session = ask(int(sys.argv[2]), 'localhost', None)
sys.stdout.write('first\\n')
sys.stdout.flush()
for line in sys.stdin:
    port, name = line.split()
    print(ask(int(port), name, session)[0], flush=True)
";

/// A client of a version, with a session of a port.
struct Returning {
    child: std::process::Child,
    answers: std::io::Lines<std::io::BufReader<std::process::ChildStdout>>,
}

impl Returning {
    fn with(https: &Https, version: &str) -> Returning {
        use std::io::BufRead;
        use std::process::{Command, Stdio};
        let mut child = Command::new("python3")
            .args(["-c", CLIENT, version, &https.port.to_string()])
            .current_dir(&https.folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let answers = std::io::BufReader::new(child.stdout.take().unwrap()).lines();
        let mut returning = Returning { child, answers };
        assert_eq!(returning.answers.next().unwrap().unwrap(), "first");
        returning
    }

    /// Whether it goes on with its session at a port, by a name.
    fn is_resumed(&mut self, port: u16, name: &str) -> bool {
        use std::io::Write;
        writeln!(self.child.stdin.as_mut().unwrap(), "{port} {name}").unwrap();
        self.answers.next().unwrap().unwrap() == "True"
    }
}

impl Drop for Returning {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        // It has ended by itself, or does now.
        let _ = self.child.kill();
        self.child.wait().unwrap();
    }
}

#[test]
fn every_gateway_goes_on_with_a_session_and_so_does_the_next_one() {
    let https = Https::start();
    https.platform.set("howdah.gateways", "3");
    https.certify("server", "localhost");
    https.set(&https.pair("server"));
    https.listen();
    https.wait_until_bound();
    let bound =
        || https.platform.count(&format!("http.listeners where port = {} and error is null", https.port));
    wait_for("all of them listen", || bound() == 3);
    for version in ["TLSv1_3", "TLSv1_2"] {
        let mut client = Returning::with(&https, version);
        for _ in 0..20 {
            assert!(client.is_resumed(https.port, "localhost"), "{version}");
        }
        https.platform.sql("select http.replace_gateways()");
        assert!(client.is_resumed(https.port, "localhost"), "{version}, by another process");
        // A new certificate changes no rule.
        https.certify("server", "localhost");
        https.platform.sql("select pg_reload_conf()");
        assert!(client.is_resumed(https.port, "localhost"), "{version}, after a renewal");
    }
}

#[test]
fn a_session_of_another_listener_name_or_rule_is_none() {
    let https = Https::serving();
    let other = free_port();
    https.platform.sql(&format!("select http.listen({other}, '127.0.0.1', tls => true)"));
    let bound = format!("http.listeners where port = {other} and error is null and gateway is not null");
    wait_for("the other listens", || https.platform.count(&bound) == 1);
    for version in ["TLSv1_3", "TLSv1_2"] {
        let mut client = Returning::with(&https, version);
        assert!(client.is_resumed(https.port, "localhost"), "{version}");
        assert!(!client.is_resumed(https.port, "127.0.0.1"), "{version}: another name");
        assert!(!client.is_resumed(other, "localhost"), "{version}: another port");
        https.platform.set("howdah.tls_client_authorities", &format!("{}/ca.pem", https.folder.display()));
        let rule = |rule: &str| {
            https.platform.sql(&format!(
                "select http.listen({}, '127.0.0.1', tls => true, client_certificates => '{rule}')",
                https.port
            ));
        };
        rule("ask");
        wait_for("the rule is in force", || !client.is_resumed(https.port, "localhost"));
        // Who is asked for a certificate gets no ticket at all.
        let mut asked = Returning::with(&https, version);
        assert!(!asked.is_resumed(https.port, "localhost"), "{version}");
        rule("off");
    }
    let lines = free_port();
    https.platform.sql(&format!(
        "create table note (body text); select queue.listen({lines}, into_table => 'note', tls => true)"
    ));
    let hello = format!(
        "sleep 1 | openssl s_client -CAfile ca.pem -servername localhost -connect 127.0.0.1:{lines} 2>&1"
    );
    let said = || String::from_utf8_lossy(&run(&https.folder, "sh", &["-c", &hello]).stdout).into_owned();
    wait_for("lines are taken", || said().contains("Verify return code: 0"));
    assert!(!said().contains("New Session Ticket arrived"), "who sends lines gets no ticket");
}
