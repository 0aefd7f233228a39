//! Clients that send a body beyond the limit, and read only then: what each of them reads.

use std::fs;
use std::path::Path;
use std::process::Command;

use howdah_tests::abilities::skip;
use howdah_tests::https::{Https, run};

/// Bytes that a body may have.
const LIMIT: usize = 1 << 20;

/// A client, as docs/limits.md calls it.
struct Sender {
    name: &'static str,
    /// The program, its arguments before the address, and whether the gate has time for it.
    program: &'static str,
    before: &'static [&'static str],
    is_quick: bool,
}

const SENDERS: [Sender; 11] = [
    Sender { name: "curl", program: "sh", before: &["curl.sh", "--http1.1"], is_quick: true },
    Sender {
        name: "curl, HTTP/2",
        program: "sh",
        before: &["curl.sh", "--http2-prior-knowledge"],
        is_quick: true,
    },
    Sender { name: "Python, urllib", program: "python3", before: &["client.py", "urllib"], is_quick: true },
    Sender {
        name: "Python, requests",
        program: "python3",
        before: &["client.py", "requests"],
        is_quick: true,
    },
    Sender { name: "Node", program: "node", before: &["client.js", "1"], is_quick: true },
    Sender { name: "Node, HTTP/2", program: "node", before: &["client.js", "2"], is_quick: true },
    Sender { name: "Go", program: "go", before: &["main.go", "1"], is_quick: false },
    Sender { name: "Go, HTTP/2", program: "go", before: &["main.go", "2"], is_quick: false },
    Sender { name: "Java, java.net.http", program: "java", before: &["Client.java", "1"], is_quick: false },
    Sender {
        name: "Java, java.net.http, HTTP/2",
        program: "java",
        before: &["Client.java", "2"],
        is_quick: false,
    },
    Sender {
        name: "Java, HttpURLConnection",
        program: "java",
        before: &["Client.java", "old"],
        is_quick: false,
    },
];

impl Sender {
    /// Whether the machine has it. If not, says so.
    fn is_here(&self) -> bool {
        let look: &[&str] = match self.name {
            "Python, requests" => &["-c", "import requests"],
            _ if self.program == "go" => &["version"],
            _ => &["--version"],
        };
        let program = if self.program == "sh" { "curl" } else { self.program };
        let is_here = Command::new(program).args(look).output().is_ok_and(|output| output.status.success());
        if !is_here {
            skip(&format!("a body beyond the limit by {}", self.name), "there is none");
        }
        is_here
    }

    /// What bodies of some lengths are answered.
    fn send(&self, folder: &Path, url: &str, lengths: &[usize]) -> Vec<String> {
        let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("large_bodies");
        let file = programs.join(self.before[0]).display().to_string();
        let mut arguments = if self.program == "go" { vec!["run", &file] } else { vec![file.as_str()] };
        arguments.extend(&self.before[1..]);
        arguments.extend([url, "ca.pem"]);
        let lengths: Vec<String> = lengths.iter().map(usize::to_string).collect();
        arguments.extend(lengths.iter().map(String::as_str));
        let output = run(folder, self.program, &arguments);
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{}: {said} {}", self.name, String::from_utf8_lossy(&output.stderr));
        said.lines().map(str::to_owned).collect()
    }
}

/// Bytes of its own that the gateway has in memory.
fn memory(https: &Https) -> u64 {
    let pid = https.platform.value("select pid::text from http.workers where kind = 'gateway'").unwrap();
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
}

/// Who of these sends bodies of these lengths reads the answer, by clear text and by TLS; the memory of the gateway does not move.
fn read_by(senders: &[&Sender], lengths: &[usize]) {
    let https = Https::serving();
    https.platform.sql(
        "create function take() returns int language sql stable return 1;
         select http.route('POST', '/take', 'take')",
    );
    https.platform.set("howdah.max_body", &format!("{}kB", LIMIT >> 10));
    let clear = format!("http://127.0.0.1:{}/take", https.platform.port);
    let secured = format!("https://localhost:{}/take", https.port);
    let (mut wrong, mut before) = (Vec::new(), 0);
    for sender in senders.iter().filter(|sender| sender.is_here()) {
        for url in [&clear, &secured] {
            let said = sender.send(&https.folder, url, lengths);
            for (length, said) in lengths.iter().zip(&said) {
                if *said != if *length > LIMIT { "413" } else { "200" } {
                    wrong.push(format!("{} {url} {length}: {said}", sender.name));
                }
            }
            assert_eq!(said.len(), lengths.len());
        }
        before = if before == 0 { memory(&https) } else { before };
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    let now = memory(&https);
    assert!(now < before + (8 << 20), "{before} bytes of memory, and then {now}");
}

#[test]
fn who_sends_a_body_beyond_the_limit_before_it_reads_reads_413() {
    let quick: Vec<_> = SENDERS.iter().filter(|sender| sender.is_quick).collect();
    read_by(&quick, &[LIMIT, LIMIT + 1, LIMIT + 100_000, LIMIT + (20 << 20)]);
}

#[test]
#[cfg_attr(not(feature = "long"), ignore = "it takes long: make test-long")]
fn who_sends_a_gigabyte_beyond_the_limit_before_it_reads_reads_413() {
    let all: Vec<_> = SENDERS.iter().collect();
    read_by(&all, &[LIMIT, LIMIT + 1, LIMIT + 100_000, LIMIT + (1 << 30)]);
}

#[test]
fn the_page_of_limits_names_the_clients_that_are_tried() {
    let page = include_str!("../../docs/limits.md");
    let is_row = |line: &&str| line.contains("| reads it");
    let mut rows: Vec<_> =
        page.lines().filter(is_row).map(|line| line.split('|').collect::<Vec<_>>()).collect();
    for sender in &SENDERS {
        let (name, cell) = match sender.name.strip_suffix(", HTTP/2") {
            Some(name) => (name, 3),
            None => (sender.name, 2),
        };
        let of_client = |row: &&mut Vec<&str>| {
            let (client, way) = row[1].trim().split_once(", ").unwrap_or((row[1].trim(), ""));
            let client = client.split(' ').next().unwrap_or_default();
            name == client || name == format!("{client}, {way}")
        };
        let row = rows.iter_mut().find(of_client).unwrap_or_else(|| panic!("{name} is not on the page"));
        assert!(std::mem::take(&mut row[cell]).trim().starts_with("reads it"), "{name}");
    }
    let left: Vec<_> =
        rows.iter().flat_map(|row| &row[2..4]).filter(|cell| cell.contains("reads it")).collect();
    assert!(left.is_empty(), "nobody tries {rows:?}");
}
