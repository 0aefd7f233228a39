//! Random attacks on what comes over a connection for lines.

/// `make hunt` lets them run for long.
mod hunts {
    use std::time::Duration;

    use hunt::Hunt;
    use hunt::bytes::{assembled, cut, damage};
    use wire::{Bucket, Cutter, Decision, Full, Hello, Opening, TooLong};

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
}
