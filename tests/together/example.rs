//! The examples do what they say.

use std::path::Path;
use std::thread;
use std::time::Duration;

use bips::Bips;
use howdah_tests::application::deploy;
use howdah_tests::{Platform, free_port, wait_for};
use loader::{Options, Source};

#[test]
fn the_published_example_answers_as_published() {
    let platform = Platform::start();
    deploy(
        &platform,
        Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/users")),
        "'users', handlers => true",
    );

    let hello = platform.get("/users/johndoe");
    assert_eq!((hello.status, hello.text()), (200, "Hello, <b>John</b>!".into()));
    assert_eq!(hello.header("content-type"), Some("text/html"));

    let missing = platform.post("/test?q", "text/plain", b"");
    assert_eq!(missing.status, 404);
    assert_eq!(missing.json(), serde_json::json!({"method": "POST", "path": "/test", "query_string": "q"}));

    let card = platform.get("/users/maryjane/card");
    assert_eq!((card.status, card.text()), (200, "<b>Mary &lt;Jane&gt;</b>".into()));
    assert_eq!(card.header("content-type"), Some("text/html; charset=utf-8"));
}

const QUEUE: &str = include_str!("../../examples/bips/1-queue.sql");
const CONSUMERS: &str = include_str!("../../examples/bips/2-consumers.sql");
const RECORDS: usize = 20_000;

#[test]
fn two_consumers_drain_a_queue_while_it_is_loaded() {
    let platform = Platform::start();
    let port = free_port();
    let on_free_port = format!("set bips.port = {port}; {QUEUE}");
    // Twice: an application's files are run again when they have changed.
    for _ in 0..2 {
        platform.sql(&on_free_port);
        platform.sql(CONSUMERS);
    }
    wait_for("the port is bound", || platform.count("queue.listeners where bound is not null") > 0);
    let consume = |name: &str| {
        let mut session = platform.session();
        let statement = format!("call bips.consume('{name}', '5 seconds')");
        move || session.batch_execute(&statement).expect("a consumer that ends")
    };
    let consumers = [thread::spawn(consume("one")), thread::spawn(consume("two"))];
    load_records(port);
    for consumer in consumers {
        consumer.join().expect("a consumer");
    }
    assert_eq!(platform.value("select sum(records) from bips.rates()"), Some(RECORDS.to_string()));
    assert_eq!(platform.value("select queue_length from queue.metrics('bips')").as_deref(), Some("0"));
    let links = platform.value("select sum(links) > 100 from bips.rates()");
    assert_eq!(links.as_deref(), Some("t"));
}

fn load_records(port: u16) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("bips.ndjson");
    std::fs::write(&file, records()).expect("a file");
    let options = Options {
        to: format!("localhost:{port}"),
        queue: Some("bips".into()),
        producer: "example".into(),
        former_producers: Vec::new(),
        epoch: 1,
        token: None,
        window: 100_000,
        patience: Duration::from_secs(30),
    };
    let source = Source::open(&[file]).expect("a source");
    let summary = loader::load(&options, &source, &mut |_| {}).expect("all is loaded");
    assert_eq!((summary.lines, summary.rejected_count), (RECORDS as u64, 0), "{:?}", summary.rejected);
}

fn records() -> Vec<u8> {
    let mut lines = Vec::new();
    let mut bips = Bips::new(1);
    (0..RECORDS).for_each(|_| bips.append(&mut lines));
    lines
}
