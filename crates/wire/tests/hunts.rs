//! Random attacks on what comes over a connection for lines.

/// `make hunt` lets them run for long.
mod hunts {
    use std::time::Duration;

    use hunt::bytes::{assembled, cut, damage};
    use hunt::{Hunt, Rng};
    use serde_json::Value;
    use wire::{
        Answer, Bucket, Cutter, Decision, Destination, Durability, Failure, Full, Hello, Opening, Origin,
        Rejected, TooLong, Work, Written,
    };

    const PIECES: [&[u8]; 25] = [
        b"{\"$hello\":{\"v\":1,\"producer\":\"p\"}}\n",
        b"{\"$hello\":",
        b"{",
        b"\"$hello\"",
        b":",
        b"{\"v\":1",
        b",\"producer\":\"p\"",
        b",\"epoch\":7",
        b",\"epoch\":-1",
        b",\"epoch\":99999999999",
        b",\"token\":\"t\"",
        b",\"queue\":null",
        b"}}\n",
        b"}",
        b"\n",
        b"\r\n",
        b" ",
        b"\t",
        b"\xef\xbb\xbf",
        b"\xef",
        b"{\"a\":1}\n",
        b"GET / HTTP/1.1\r\n",
        b"\0",
        b"\xff",
        b"\\u0000",
    ];

    /// What the opening decides on, and what is left for the data.
    fn opened(pieces: &[&[u8]]) -> (Decision, Vec<u8>) {
        let mut opening = Opening::default();
        for (at, piece) in pieces.iter().enumerate() {
            let decision = opening.feed(piece);
            if decision != Decision::Undecided {
                return (decision, [opening.rest(), pieces[at + 1..].concat()].concat());
            }
        }
        (opening.end(), opening.rest())
    }

    #[test]
    fn openings() {
        let mut hunt = Hunt::begin("openings of lines", Duration::from_millis(400));
        while let Some(mut random) = hunt.next_round() {
            let mut stream = assembled(&mut random, &PIECES, 10);
            damage(&mut random, &mut stream, &PIECES);
            let whole = opened(&[&stream]);
            let pieces = cut(&mut random, &stream);
            let decided = opened(&pieces);
            assert_eq!(decided.0, whole.0, "{}", stream.escape_ascii());
            if matches!(whole.0, Decision::Plain | Decision::Acknowledged(_)) {
                assert_eq!(decided.1, whole.1, "{}", stream.escape_ascii());
            }
            if let Decision::Acknowledged(Hello { v, producer, epoch, .. }) = whole.0 {
                assert!(v == 1 && (1..=256).contains(&producer.len()) && epoch >= 0);
            }
        }
    }

    #[test]
    fn lines_in_pieces() {
        let mut hunt = Hunt::begin("lines in pieces", Duration::from_millis(400));
        let full = Full { rows: u64::MAX, bytes: usize::MAX };
        while let Some(mut random) = hunt.next_round() {
            let stream =
                assembled(&mut random, &[b"\n", b"\r\n", b"\r", b"{}", b"xxxxx", b"\0", b"\xff"], 60);
            let longest = random.usize(1..20);
            let (mut cutter, mut bucket) = (Cutter::new(longest), Bucket::default());
            for piece in cut(&mut random, &stream) {
                assert_eq!(cutter.cut(piece, &mut bucket, &full), piece.len());
                assert!(cutter.held() <= wire::cutter::BEGINNING);
            }
            cutter.end(&mut bucket);
            assert_eq!(
                bucket.into_parts(),
                all_at_once(&stream, longest),
                "{} {longest}",
                stream.escape_ascii()
            );
        }
    }

    /// The slow way. These lines are all shorter than the beginning that remains of one that is too long.
    fn all_at_once(stream: &[u8], longest: usize) -> (Vec<u8>, Vec<TooLong>) {
        let mut parts: Vec<&[u8]> = stream.split(|byte| *byte == b'\n').collect();
        parts.pop_if(|last| last.is_empty());
        let (mut lines, mut too_long) = (Vec::new(), Vec::new());
        for (number, line) in parts.into_iter().enumerate() {
            let bare = line.strip_suffix(b"\r").unwrap_or(line);
            let is_too_long = bare.len() > longest;
            if is_too_long {
                too_long.push(TooLong { line: number as u64, length: line.len() as u64 });
            }
            lines.extend_from_slice(if is_too_long { line } else { bare });
            lines.push(b'\n');
        }
        (lines, too_long)
    }

    #[test]
    fn hellos() {
        let mut hunt = Hunt::begin("hellos of lines", Duration::from_millis(400));
        while let Some(mut random) = hunt.next_round() {
            let mut line = assembled(&mut random, &PIECES, 10);
            damage(&mut random, &mut line, &PIECES);
            let Ok(hello) = Hello::parse(&line) else { continue };
            let said: Value = serde_json::from_slice(&line).expect("JSON, as it was read");
            let Some(Value::Object(said)) = said.get("$hello") else { continue };
            let text = |key: &str| said.get(key).and_then(Value::as_str).map(str::to_owned);
            let expected = Hello {
                v: said["v"].as_u64().expect("a version") as u32,
                queue: text("queue"),
                producer: text("producer").expect("a name"),
                epoch: said.get("epoch").map_or(1, |epoch| epoch.as_i64().expect("a number") as i32),
                window: said.get("window").and_then(Value::as_u64),
                token: text("token"),
            };
            assert_eq!(hello, expected, "{}", line.escape_ascii());
        }
    }

    #[test]
    fn work_and_answers() {
        let mut hunt = Hunt::begin("work and answers about lines", Duration::from_millis(400));
        while let Some(mut random) = hunt.next_round() {
            let work = work(&mut random);
            let lines: Vec<u8> =
                (0..random.usize(0..40)).map(|_| *random.choice(b"{}\n\r\0x\xff").unwrap()).collect();
            let mut bytes = [work.head(), lines.clone()].concat();
            let read = Work::parse(&bytes).expect("what was written");
            assert_eq!(read, (work, &lines[..]));
            damage(&mut random, &mut bytes, &PIECES);
            if let Ok((read, lines)) = Work::parse(&bytes) {
                let end = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len());
                assert!(serde_json::from_slice::<Value>(&bytes[..end]).is_ok(), "{}", bytes.escape_ascii());
                assert_eq!(lines, bytes.get(end + 1..).unwrap_or_default());
                assert_eq!(Work::parse(&read.head()).expect("what was written").0, read);
            }
            let answer = answer(&mut random);
            let mut bytes = answer.write();
            assert_eq!(Answer::parse(&bytes), answer);
            damage(&mut random, &mut bytes, &PIECES);
            let read = Answer::parse(&bytes);
            assert_eq!(Answer::parse(&read.write()), read);
            let is_json = serde_json::from_slice::<Value>(&bytes).is_ok();
            let is_unreadable =
                matches!(&read, Answer::Failed(failure) if failure.code == "XX000" && !failure.is_final);
            assert!(is_json || is_unreadable, "{}", bytes.escape_ascii());
        }
    }

    fn text(random: &mut Rng) -> String {
        let length = random.usize(0..40);
        (0..length)
            .map(|_| if random.bool() { random.char('\0'..='\u{7f}') } else { random.char(..) })
            .collect()
    }

    fn some<T>(random: &mut Rng, value: impl FnOnce(&mut Rng) -> T) -> Option<T> {
        if random.bool() { Some(value(random)) } else { None }
    }

    fn work(random: &mut Rng) -> Work {
        let durabilities = [Durability::Commit, Durability::RemoteApply, Durability::Memory];
        let destination = Destination {
            name: text(random),
            queue_owner: some(random, text),
            table: some(random, |random| random.u32(..)),
            role: random.u32(..),
            search_path: text(random),
            durability: durabilities[random.usize(0..3)],
            line_column: some(random, text),
            rest_column: some(random, text),
        };
        let too_long = |random: &mut Rng| TooLong { line: random.u64(..), length: random.u64(..) };
        Work {
            listener: random.u32(..),
            destination,
            longest_line: random.usize(..),
            origin: some(random, |random| Origin {
                producer: text(random),
                epoch: random.i32(..),
                first: random.i64(..),
            }),
            hello: random.bool(),
            too_long: (0..random.usize(0..3)).map(|_| too_long(random)).collect(),
            refused: some(random, rejected),
        }
    }

    fn rejected(random: &mut Rng) -> Rejected {
        Rejected { line: random.u64(..), code: text(random), error: text(random) }
    }

    fn answer(random: &mut Rng) -> Answer {
        if random.bool() {
            return Answer::Failed(Failure {
                code: text(random),
                error: text(random),
                is_final: random.bool(),
                is_harm: random.bool(),
            });
        }
        Answer::Written(Written {
            stored: random.u64(..),
            repeated: random.u64(..),
            rejected_count: random.u64(..),
            dropped: random.u64(..),
            rejected: (0..random.usize(0..3)).map(|_| rejected(random)).collect(),
            sequence: random.i64(..),
            unconfirmed: random.bool(),
        })
    }
}
