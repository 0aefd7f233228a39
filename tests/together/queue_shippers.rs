//! Shippers as people have them deliver into a queue: nc, rsyslog, pino-socket.
//!
//! `make test` installs what is missing; a test without its shipper fails and says so.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use howdah_tests::shippers::Intake;
use howdah_tests::wait_for;

/// Texts that a shipper may spoil.
const TEXTS: [&str; 4] =
    ["plain", "with \"quotes\" and \\ backslash", "ünïcödé 🐘 こんにちは", "tab\tand more"];

/// A program on the PATH or where Debian puts those of the system.
fn program(name: &str) -> PathBuf {
    let path = std::env::var("PATH").unwrap_or_default();
    let folders = path.split(':').chain(["/usr/sbin", "/sbin"]);
    let found = folders.map(|folder| Path::new(folder).join(name)).find(|path| path.is_file());
    found.unwrap_or_else(|| panic!("{name} is missing; run scripts/setup test"))
}

/// The texts in the queue with the users beside them, in order.
fn rows(intake: &Intake) -> Vec<(String, String)> {
    let mut session = intake.platform.session();
    let query = "select bip, coalesce(\"user\", '') from queue.peek('bips', 1000, null::t_bip) order by 1, 2";
    session.query(query, &[]).expect("rows").iter().map(|row| (row.get(0), row.get(1))).collect()
}

fn texts_from(user: &str) -> Vec<(String, String)> {
    let mut expected: Vec<_> = TEXTS.iter().map(|text| (text.to_string(), user.to_owned())).collect();
    expected.sort();
    expected
}

/// A process that ends with the value.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn nc_delivers_a_file() {
    let intake = Intake::start();
    let nc = program("nc.openbsd");
    let mut child = Command::new(nc)
        .args(["-N", "127.0.0.1", &intake.lines.to_string()])
        .stdin(Stdio::piped())
        .spawn()
        .expect("nc");
    let lines: String = (1..=20_000).map(|number| format!("{{\"userid\": {number}}}\n")).collect();
    child.stdin.take().unwrap().write_all(lines.as_bytes()).expect("nc reads");
    assert!(child.wait().expect("nc ends").success());
    intake.wait_for_rows(20_000);
    assert_eq!(intake.take_all(), (1..=20_000).collect::<Vec<i64>>());
}

#[test]
fn rsyslog_delivers_with_a_json_template() {
    let intake = Intake::start();
    let rsyslogd = program("rsyslogd");
    let folder = tempfile::tempdir().expect("a folder");
    let socket = folder.path().join("log");
    let configuration = folder.path().join("rsyslog.conf");
    fs::write(&configuration, rsyslog_configuration(folder.path(), intake.lines)).unwrap();
    let daemon = Command::new(rsyslogd)
        .args(["-n", "-i", "NONE", "-f"])
        .arg(&configuration)
        .spawn()
        .map(Running)
        .expect("rsyslogd");
    wait_for("rsyslog's socket", || socket.exists());
    for text in TEXTS {
        let mut logger = Command::new(program("logger"));
        let logger = logger.arg("--socket").arg(&socket).args(["-t", "syslog", "--", text]);
        assert!(logger.status().expect("logger").success());
    }
    intake.wait_for_rows(TEXTS.len() as i64);
    drop(daemon);
    assert_eq!(rows(&intake), texts_from("syslog"));
}

/// As docs/queue.md shows it, with a socket of its own to hear from.
fn rsyslog_configuration(folder: &Path, port: u16) -> String {
    let folder = folder.display();
    format!(
        r#"
global(workDirectory="{folder}" parser.escapeControlCharactersOnReceive="off")
module(load="imuxsock" SysSock.Use="off")
input(type="imuxsock" Socket="{folder}/log")
template(name="bip" type="list" option.jsonf="on") {{
  property(outname="bip" name="msg" format="jsonf" position.from="2")
  property(outname="user" name="programname" format="jsonf")
  property(outname="timestamp_ms" name="timereported" dateFormat="unixtimestamp" format="jsonf")
}}
action(type="omfwd" target="127.0.0.1" port="{port}" protocol="tcp" template="bip"
       action.resumeRetryCount="-1" queue.type="linkedList")
"#
    )
}

#[test]
fn pino_socket_delivers() {
    let intake = Intake::start();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("shippers");
    assert!(
        folder.join("node_modules/pino-socket").exists(),
        "pino-socket is missing; run scripts/setup test"
    );
    let node = Command::new(program("node"))
        .arg("pino.js")
        .arg(intake.lines.to_string())
        .args(TEXTS)
        .current_dir(folder)
        .status()
        .expect("node");
    assert!(node.success());
    intake.wait_for_rows(TEXTS.len() as i64);
    assert_eq!(rows(&intake), texts_from("pino"));
}
