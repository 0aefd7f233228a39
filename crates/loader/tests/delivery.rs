//! The loader against a server that keeps strictly to the protocol and breaks off whenever a test wants.

use std::fs::{self, File};
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use loader::{Error, Event, Options, Source, Summary, load};

/// What a server does on one connection.
#[derive(Clone, Copy)]
struct Manners {
    window_lines: u64,
    window_bytes: usize,
    /// After how many lines of this connection it vanishes without a word.
    dies_after: Option<usize>,
    /// How many lines it commits at once.
    bucket: usize,
    /// Whether the last bucket before its death is committed, though nobody learns it.
    commits_unheard: bool,
    /// How many of the stored lines it has forgotten when the connection begins.
    forgets: usize,
    /// What it says instead of hello.
    refuses: Option<&'static str>,
}

const POLITE: Manners = Manners {
    window_lines: 1000,
    window_bytes: 1 << 20,
    dies_after: None,
    bucket: 100,
    commits_unheard: false,
    forgets: 0,
    refuses: None,
};

#[derive(Default)]
struct Seen {
    /// Lines in the order in which they were committed.
    stored: Vec<String>,
    hellos: Vec<String>,
}

/// A queue that is reached over TCP: one connection for each of the manners, then no more.
struct Server {
    to: String,
    seen: Arc<Mutex<Seen>>,
}

impl Server {
    fn start(manners: Vec<Manners>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let to = listener.local_addr().unwrap().to_string();
        let seen = Arc::<Mutex<Seen>>::default();
        let shared = Arc::clone(&seen);
        thread::spawn(move || {
            for manners in manners {
                let (stream, _) = listener.accept().unwrap();
                serve(stream, manners, &shared);
            }
        });
        Self { to, seen }
    }

    fn stored(&self) -> Vec<String> {
        self.seen.lock().unwrap().stored.clone()
    }
}

fn serve(stream: TcpStream, manners: Manners, seen: &Mutex<Seen>) {
    let mut connection = Served { stream, manners, held: Vec::new(), heard: 0, ended: false };
    let hello = connection.hello();
    let mut sequence = {
        let mut seen = seen.lock().unwrap();
        seen.hellos.push(hello);
        let kept = seen.stored.len() - manners.forgets;
        seen.stored.truncate(kept);
        kept
    };
    if let Some(refusal) = manners.refuses {
        return connection.say(refusal);
    }
    let window = format!(r#"{{"lines": {}, "bytes": {}}}"#, manners.window_lines, manners.window_bytes);
    connection.say(&format!(
        r#"{{"$hello": {{"v": 1, "sequence": {sequence}, "window": {window}, "longest_line": 1000000}}}}"#
    ));
    loop {
        connection.listen();
        let bucket = connection.bucket();
        let dies = manners.dies_after.is_some_and(|limit| connection.heard >= limit);
        if dies && !manners.commits_unheard {
            return;
        }
        let dropped = bucket.iter().filter(|line| *line == "dropped").count();
        for line in bucket {
            sequence += 1;
            if line == "bad" || line == "dropped" {
                connection.say(&format!(
                    r#"{{"$reject": {{"sequence": {sequence}, "code": "22P02", "error": "not JSON"}}}}"#
                ));
            }
            seen.lock().unwrap().stored.push(line);
        }
        if dies {
            return;
        }
        match dropped {
            0 => connection.say(&format!(r#"{{"$ack": {sequence}}}"#)),
            _ => connection.say(&format!(r#"{{"$ack": {sequence}, "dropped": {dropped}}}"#)),
        }
        if connection.ended && connection.held.is_empty() {
            return;
        }
    }
}

/// A connection as the server has it.
struct Served {
    stream: TcpStream,
    manners: Manners,
    /// What has come and is not committed.
    held: Vec<u8>,
    /// Lines that have come.
    heard: usize,
    ended: bool,
}

impl Served {
    fn hello(&self) -> String {
        let mut hello = Vec::new();
        while hello.last() != Some(&b'\n') {
            let mut byte = [0];
            (&self.stream).read_exact(&mut byte).unwrap();
            hello.push(byte[0]);
        }
        String::from_utf8(hello).unwrap()
    }

    fn say(&self, line: &str) {
        // A client that has gone notices it itself.
        let _ = (&self.stream).write_all(format!("{line}\n").as_bytes());
    }

    /// Hears until nothing more comes: it must be within the window.
    fn listen(&mut self) {
        self.stream.set_read_timeout(Some(Duration::from_millis(3))).unwrap();
        let mut buffer = vec![0; 1 << 16];
        while !self.ended {
            match self.stream.read(&mut buffer) {
                Ok(0) => self.ended = true,
                Ok(read) => {
                    self.held.extend_from_slice(&buffer[..read]);
                    self.heard += lines_in(&buffer[..read]);
                }
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => break,
                Err(_) => self.ended = true,
            }
        }
        let (lines, bytes) = (lines_in(&self.held), self.held.len());
        assert!(lines as u64 <= self.manners.window_lines, "{lines} lines under way");
        assert!(bytes <= self.manners.window_bytes || lines <= 1, "{bytes} bytes under way");
    }

    /// The next lines to commit.
    fn bucket(&mut self) -> Vec<String> {
        let ends = self.held.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1);
        let end = ends.take(self.manners.bucket).last().unwrap_or(0);
        let rest = self.held.split_off(end);
        let bytes = std::mem::replace(&mut self.held, rest);
        String::from_utf8(bytes).unwrap().lines().map(str::to_owned).collect()
    }
}

fn lines_in(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| **byte == b'\n').count()
}

fn options(server: &Server) -> Options {
    Options {
        to: server.to.clone(),
        queue: Some("bips".into()),
        producer: "tests".into(),
        former_producers: Vec::new(),
        epoch: 1,
        token: None,
        window: 100_000,
        patience: Duration::from_secs(20),
    }
}

struct Files(tempfile::TempDir);

impl Files {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.0.path().join(name);
        fs::write(&path, bytes).unwrap();
        path
    }
}

fn numbered(count: usize) -> Vec<String> {
    (1..=count)
        .map(|number| format!("{{\"n\": {number}, \"text\": \"{}\"}}", "x".repeat(number % 300)))
        .collect()
}

fn text(lines: &[String]) -> Vec<u8> {
    lines.iter().flat_map(|line| [line.as_bytes(), b"\n"].concat()).collect()
}

/// Loads one file of these lines.
fn load_lines(server: &Server, lines: &[String]) -> (Result<Summary, Error>, Vec<String>) {
    let files = Files::new();
    let source = Source::open(&[files.write("lines", &text(lines))]).unwrap();
    let mut events = Vec::new();
    let summary = load(&options(server), &source, &mut |event| {
        if !matches!(event, Event::Progress { .. }) {
            events.push(format!("{event:?}"));
        }
    });
    (summary, events)
}

#[test]
fn all_lines_arrive_in_order() {
    let server = Server::start(vec![POLITE]);
    let lines = numbered(20_000);
    let (summary, _) = load_lines(&server, &lines);
    let summary = summary.unwrap();
    assert_eq!((summary.lines, summary.skipped, summary.rejected_count), (20_000, 0, 0));
    assert!(server.stored() == lines);
}

#[test]
fn the_smallest_windows_are_kept() {
    for (window_lines, window_bytes) in [(1, 1 << 20), (7, 1 << 20), (1000, 1), (1000, 2000)] {
        let server = Server::start(vec![Manners { window_lines, window_bytes, ..POLITE }]);
        let lines = numbered(300);
        load_lines(&server, &lines).0.unwrap();
        assert!(server.stored() == lines, "window of {window_lines} lines, {window_bytes} bytes");
    }
}

#[test]
fn a_server_that_dies_again_and_again_gets_every_line_once() {
    let manners = |(turn, dies_after): (usize, usize)| Manners {
        dies_after: Some(dies_after),
        commits_unheard: turn.is_multiple_of(2),
        bucket: 1 + turn * 37,
        window_lines: 1 + turn as u64 * 100,
        ..POLITE
    };
    let deaths = [1, 2, 500, 30, 999, 400, 1, 200].into_iter().enumerate().map(manners);
    let server = Server::start(deaths.chain([POLITE]).collect());
    let lines = numbered(5_000);
    let (summary, events) = load_lines(&server, &lines);
    assert_eq!(summary.unwrap().lines, 5_000);
    assert_eq!(events.iter().filter(|event| event.starts_with("Broken")).count(), 8, "{events:?}");
    assert!(server.stored() == lines);
    let hellos = &server.seen.lock().unwrap().hellos;
    assert!(hellos.iter().all(|hello| hello.contains("\"queue\":\"bips\"") && hello == &hellos[0]));
}

#[test]
fn a_second_call_goes_on_where_the_first_ended() {
    let server = Server::start(vec![POLITE, POLITE, POLITE]);
    let lines = numbered(3_000);
    load_lines(&server, &lines[..1234]).0.unwrap();
    let (summary, events) = load_lines(&server, &lines);
    let summary = summary.unwrap();
    assert_eq!((summary.lines, summary.skipped), (3_000 - 1234, 1234));
    assert_eq!(events, ["Begun { producer: \"tests\", skipped: 1234 }"]);
    assert!(server.stored() == lines);
    assert_eq!(load_lines(&server, &lines).0.unwrap().lines, 0, "a third has nothing to do");
}

#[test]
fn a_queue_with_more_lines_than_there_are_is_an_error() {
    let server = Server::start(vec![POLITE, POLITE]);
    load_lines(&server, &numbered(10)).0.unwrap();
    let error = load_lines(&server, &numbered(4)).0.unwrap_err().to_string();
    assert!(error.contains("has 10 lines of the producer tests") && error.contains("only 4"), "{error}");
}

#[test]
fn lines_that_the_queue_has_forgotten_are_sent_again() {
    let dies = Manners { dies_after: Some(900), commits_unheard: true, ..POLITE };
    let server = Server::start(vec![dies, Manners { forgets: 450, ..POLITE }]);
    let lines = numbered(1_500);
    let (summary, events) = load_lines(&server, &lines);
    assert_eq!(summary.unwrap().lines, 1_500);
    assert!(events.iter().any(|event| event.starts_with("Forgotten")), "{events:?}");
    assert!(server.stored() == lines);
}

#[test]
fn rejected_lines_are_named_with_their_places() {
    let server = Server::start(vec![POLITE]);
    let files = Files::new();
    let paths = [files.write("one", b"1\nbad\n"), files.write("two", b"1\n2\n3\nbad")];
    let source = Source::open(&paths).unwrap();
    let summary = load(&options(&server), &source, &mut |_| {}).unwrap();
    assert_eq!((summary.lines, summary.rejected_count), (6, 2));
    let place = |at: usize| source.place(summary.rejected[at].sequence).unwrap();
    assert!(place(0).0.ends_with("one") && place(0).1 == 2);
    assert!(place(1).0.ends_with("two") && place(1).1 == 4);
    assert_eq!(summary.rejected[1].error, "not JSON");
}

#[test]
fn lines_that_are_kept_nowhere_are_counted() {
    let server = Server::start(vec![Manners { bucket: 2, ..POLITE }]);
    let lines = ["1", "dropped", "bad", "dropped", "dropped", "6"].map(str::to_owned);
    let summary = load_lines(&server, &lines).0.unwrap();
    assert_eq!((summary.lines, summary.rejected_count, summary.dropped), (6, 4, 3));
}

#[test]
fn compressed_files_and_loose_ends_are_read() {
    let server = Server::start(vec![POLITE]);
    let files = Files::new();
    let gzipped = |text: &[u8]| {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    };
    // Concatenated, as gzip's own tool reads them.
    let gz = files.write("a.gz", &[gzipped(b"a1\na"), gzipped(b"2")].concat());
    let zst = files.write("b.zst", &zstd::encode_all(&b"b1\r\nb2\n"[..], 1).unwrap());
    let plain = files.write("c", "\u{feff}c1\n\nc3".as_bytes());
    let empty = files.write("d", b"");
    let source = Source::open(&[gz, zst, plain, empty]).unwrap();
    load(&options(&server), &source, &mut |_| {}).unwrap();
    assert_eq!(server.stored(), ["a1", "a2", "b1", "b2", "c1", "", "c3"]);
}

#[test]
fn a_compressed_file_that_breaks_off_is_loaded_as_far_as_it_goes() {
    let server = Server::start(vec![POLITE]);
    let files = Files::new();
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    let lines = numbered(5_000);
    encoder.write_all(&text(&lines)).unwrap();
    let mut bytes = encoder.finish().unwrap();
    bytes.truncate(bytes.len() / 2);
    let path = files.write("half.gz", &bytes);
    let error = load(&options(&server), &Source::open(&[path]).unwrap(), &mut |_| {}).unwrap_err();
    let stored = server.stored();
    assert!(stored.len() > 1_000 && stored.len() < 5_000 && stored == lines[..stored.len()]);
    assert!(error.to_string().contains(&format!("half.gz behind line {}", stored.len())), "{error}");
}

#[test]
fn a_line_of_megabytes_arrives() {
    let server = Server::start(vec![POLITE]);
    let lines = vec!["a".to_owned(), "b".repeat(3 << 20), "c".to_owned()];
    load_lines(&server, &lines).0.unwrap();
    assert!(server.stored() == lines);
}

#[test]
fn a_stream_is_sent_as_it_comes() {
    let server = Server::start(vec![POLITE]);
    let folder = Files::new();
    let path = folder.0.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
    let seen = Arc::clone(&server.seen);
    let fifo = path.clone();
    let writer = thread::spawn(move || {
        let mut pipe = File::options().write(true).open(fifo).unwrap();
        pipe.write_all(b"first\nsec").unwrap();
        // It is the queue's before the stream goes on.
        while seen.lock().unwrap().stored.len() != 1 {
            thread::yield_now();
        }
        pipe.write_all(b"ond\n").unwrap();
    });
    load(&options(&server), &Source::open(&[path]).unwrap(), &mut |_| {}).unwrap();
    writer.join().unwrap();
    assert_eq!(server.stored(), ["first", "second"]);
}

#[test]
fn a_refusal_is_final_and_trouble_is_not() {
    let fenced = r#"{"$error": {"code": "55000", "error": "a newer epoch has begun"}}"#;
    let trouble = r#"{"$error": {"code": "57P03", "error": "the database system is starting up"}}"#;
    let refusing = |refusal| Manners { refuses: Some(refusal), ..POLITE };
    let lines = numbered(10);

    let server = Server::start(vec![refusing(trouble), POLITE]);
    load_lines(&server, &lines).0.unwrap();
    assert!(server.stored() == lines);

    let dies = Manners { dies_after: Some(1), ..POLITE };
    let server = Server::start(vec![dies, refusing(fenced), POLITE]);
    let error = load_lines(&server, &lines).0.unwrap_err().to_string();
    assert!(error.contains("a newer epoch has begun (55000)"), "{error}");

    let server = Server::start(vec![refusing("HTTP/1.1 400 Bad Request")]);
    let error = load_lines(&server, &lines).0.unwrap_err().to_string();
    assert!(error.contains("does not speak the protocol") && error.contains("400"), "{error}");
}

#[test]
fn where_nothing_listens_the_error_says_what_to_do() {
    let to = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let server = Server { to: to.to_string(), seen: Arc::default() };
    let error = load_lines(&server, &numbered(1)).0.unwrap_err().to_string();
    assert!(error.contains(&format!("queue.listen({}", to.port())), "{error}");
}

#[test]
fn a_server_that_stays_away_is_given_up() {
    let server = Server::start(vec![Manners { dies_after: Some(1), ..POLITE }]);
    let files = Files::new();
    let source = Source::open(&[files.write("lines", &text(&numbered(5)))]).unwrap();
    let options = Options { patience: Duration::from_millis(500), ..options(&server) };
    let error = load(&options, &source, &mut |_| {}).unwrap_err();
    assert!(matches!(error, Error::Refused { .. } | Error::Connection { .. }), "{error}");
}

#[test]
fn what_cannot_be_read_is_said_before_anything_is_sent() {
    let files = Files::new();
    let missing = Source::open(&[files.0.path().join("none")]).unwrap_err().to_string();
    assert!(missing.contains("none: No such file"), "{missing}");
    assert!(Source::open(&[files.0.path().to_path_buf()]).unwrap_err().to_string().contains("directory"));
}
