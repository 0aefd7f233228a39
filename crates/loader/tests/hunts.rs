//! Random attacks on what a server says, and on what is said to it.
//! `make hunt` lets them run for long.

use std::time::Duration;

use hunt::bytes::{assembled, damage};
use hunt::{Hunt, Rng};
use loader::protocol::{Hello, Said};
use serde_json::Value;
use wire::reply::{self, Window};

const PIECES: [&[u8]; 30] = [
    b"{",
    b"}",
    b"{\"$ack\":12}",
    b"{\"$ack\":12,\"dropped\":3}",
    b"{\"$hello\":{\"v\":1,\"sequence\":7,\"window\":{\"lines\":5,\"bytes\":9},\"longest_line\":3}}",
    b"{\"$reject\":{\"sequence\":3,\"code\":\"22P02\",\"error\":\"bad\"}}",
    b"{\"$error\":{\"code\":\"28000\",\"error\":\"no\"}}",
    b"\"$ack\":",
    b"\"$hello\":",
    b"\"$reject\":",
    b"\"$error\":",
    b"\"$pause\":",
    b"\"dropped\":",
    b"\"sequence\":",
    b"\"window\":",
    b"\"lines\":",
    b"\"bytes\":",
    b"\"code\":",
    b"\"error\":",
    b",",
    b"0",
    b"-1",
    b"1.5",
    b"18446744073709551616",
    b"18446744073709551615",
    b"null",
    b"\"\\ud800\"",
    b"[[[[",
    b"\n",
    b"\xff",
];

#[test]
fn what_a_server_says() {
    let mut hunt = Hunt::begin("what a server of lines says", Duration::from_millis(400));
    while let Some(mut random) = hunt.next_round() {
        let mut bytes = assembled(&mut random, &PIECES, 12);
        damage(&mut random, &mut bytes, &PIECES);
        // Connections hand on text alone.
        let line = String::from_utf8_lossy(&bytes);
        assert_eq!(Said::parse(&line), read_slowly(&line), "{line}");
    }
}

/// By the paths of its members.
fn read_slowly(line: &str) -> Option<Said> {
    let said: Value = serde_json::from_str(line).ok()?;
    let keys: Vec<&String> = said.as_object()?.keys().collect();
    let has = |key: &str| keys.iter().any(|known| *known == key);
    let number = |path: &str| said.pointer(path).and_then(Value::as_u64);
    let text = |path: &str| said.pointer(path).and_then(Value::as_str).unwrap_or("").to_owned();
    if has("$ack") {
        let dropped = if has("dropped") { number("/dropped")? } else { 0 };
        Some(Said::Acknowledged { sequence: number("/$ack")?, dropped })
    } else if has("$reject") {
        let (code, error) = (text("/$reject/code"), text("/$reject/error"));
        Some(Said::Rejected(loader::Rejected { sequence: number("/$reject/sequence")?, code, error }))
    } else if has("$error") {
        Some(Said::Error { code: text("/$error/code"), error: text("/$error/error") })
    } else if has("$hello") {
        let [lines, bytes] = ["lines", "bytes"].map(|name| number(&format!("/$hello/window/{name}")));
        let window =
            loader::protocol::Window { lines: lines?.max(1), bytes: usize::try_from(bytes?.max(1)).ok()? };
        Some(Said::Hello { sequence: number("/$hello/sequence")?, window })
    } else {
        keys.iter().any(|key| key.starts_with('$')).then_some(Said::Other)
    }
}

#[test]
fn both_sides_understand_each_other() {
    let mut hunt = Hunt::begin("both sides of the acknowledged protocol", Duration::from_millis(400));
    while let Some(mut random) = hunt.next_round() {
        let sequence = number(&mut random);
        let (code, error) = (text(&mut random), text(&mut random));
        let (line, expected) = match random.u8(0..4) {
            0 => {
                let dropped = number(&mut random);
                let line = reply::acknowledgement(sequence as i64, dropped);
                (line, Said::Acknowledged { sequence, dropped })
            }
            1 => {
                let line = reply::reject(sequence as i64, &code, &error);
                (line, Said::Rejected(loader::Rejected { sequence, code, error }))
            }
            2 => (
                reply::error(&wire::Refusal { code: code.clone(), error: error.clone() }),
                Said::Error { code, error },
            ),
            _ => {
                let (lines, bytes) = (number(&mut random), number(&mut random));
                let line = reply::hello(sequence as i64, Window { lines, bytes }, 1 << 20);
                let window = loader::protocol::Window { lines: lines.max(1), bytes: bytes.max(1) as usize };
                (line, Said::Hello { sequence, window })
            }
        };
        assert!(line.ends_with('\n') && line.matches('\n').count() == 1, "{line}");
        assert_eq!(Said::parse(&line), Some(expected), "{line}");
        greet(&mut random);
    }
}

/// What the loader says first is what the server hears.
fn greet(random: &mut Rng) {
    let (queue, producer, token) = (text(random), text(random), text(random));
    let queue = random.bool().then_some(queue.as_str());
    let token = random.bool().then_some(token.as_str());
    let (epoch, window) = (random.i32(0..), number(random));
    let line = Hello { queue, producer: &producer, epoch, window, token }.line();
    let is_name = (1..=wire::hello::LONGEST_NAME).contains(&producer.len()) && !producer.contains('\0');
    match wire::Hello::parse(line.trim_end().as_bytes()) {
        Ok(heard) => {
            let expected = wire::Hello {
                v: wire::hello::VERSION,
                queue: queue.map(str::to_owned),
                producer: producer.clone(),
                epoch,
                window: Some(window),
                token: token.map(str::to_owned),
            };
            assert!(is_name, "{line}");
            assert_eq!(heard, expected, "{line}");
        }
        Err(refusal) => assert!(!is_name, "{line}: {refusal:?}"),
    }
}

/// A number that a bigint holds.
fn number(random: &mut Rng) -> u64 {
    match random.u8(0..4) {
        0 => random.u64(0..3),
        1 => i64::MAX as u64 - random.u64(0..3),
        _ => random.u64(0..i64::MAX as u64),
    }
}

fn text(random: &mut Rng) -> String {
    let length = random.usize(0..300) / random.usize(1..100);
    (0..length).map(|_| if random.bool() { random.char('\0'..='\u{7f}') } else { random.char(..) }).collect()
}
