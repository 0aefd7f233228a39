//! Random attacks on the reader of lines of JSON, beside serde_json, which reads them in another way.

/// `make hunt` lets them run for long.
mod hunts {
    use std::time::Duration;

    use hunt::bytes::{assembled, damage};
    use hunt::{Hunt, Rng};
    use ndjson::{Fault, Value, check, members};
    use serde_json::value::RawValue;

    const PIECES: [&[u8]; 36] = [
        b"{",
        b"}",
        b"[",
        b"]",
        b",",
        b":",
        b"\"",
        b"\\",
        b"\"a\"",
        b"\"a\":",
        b"\"b\":1",
        b"\"c\":null,",
        b"{\"d\":[",
        b"\\u00e9",
        b"\\ud83d\\ude00",
        b"\\ud83d",
        b"\\ude00",
        b"\\u0000",
        b"\\n",
        b"\\x",
        b"\\u12",
        b"true",
        b"fals",
        b"null",
        b"-",
        b"0",
        b"1.5e-3",
        b"1234567890123456789012345",
        b".",
        b"e",
        b" ",
        b"\t",
        b"\r",
        b"\x01",
        "ü€😀".as_bytes(),
        b"longer than eight bytes",
    ];

    /// An object that is right.
    fn object(random: &mut Rng, depth: u32, to: &mut String) {
        to.push('{');
        for at in 0..random.usize(..4) {
            to.push_str(if at > 0 { " , " } else { " " });
            text(random, to);
            to.push_str([":", " : "][random.usize(..2)]);
            match random.u8(..if depth == 0 { 3 } else { 4 }) {
                0 => to.push_str(["null", "true", "false", "[]", "[ 1,\"]\"]"][random.usize(..5)]),
                1 => to.push_str(&random.i64(..).to_string()),
                2 => text(random, to),
                _ => object(random, depth - 1, to),
            }
        }
        to.push('}');
    }

    fn text(random: &mut Rng, to: &mut String) {
        const PARTS: [&str; 9] = ["a", "ü", "😀", "\\n", "\\u20ac", "\\ud83d\\ude00", "\\\"", "\\\\", "\\/"];
        to.push('"');
        (0..random.usize(..12)).for_each(|_| to.push_str(PARTS[random.usize(..PARTS.len())]));
        to.push('"');
    }

    fn line(random: &mut Rng) -> String {
        let mut bytes = if random.bool() {
            let mut text = String::new();
            object(random, 3, &mut text);
            text.into_bytes()
        } else {
            assembled(random, &PIECES, 16)
        };
        damage(random, &mut bytes, &PIECES);
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Whether serde_json has the same. It keeps what it has not been asked to understand as it is written.
    fn is_same(value: Value<'_>, expected: &RawValue) -> bool {
        let written = expected.get();
        match value {
            Value::Null => written == "null",
            Value::Bool(is) => written == if is { "true" } else { "false" },
            Value::Number(number) => written == number,
            Value::Nested(nested) => written == nested,
            Value::Text(text) => {
                let mut said = Vec::new();
                text.write(&mut said);
                said == serde_json::from_str::<String>(written).unwrap().as_bytes()
            }
        }
    }

    #[test]
    fn lines_as_serde_json_reads_them() {
        let mut hunt = Hunt::begin("lines of JSON", Duration::from_millis(700));
        while let Some(mut random) = hunt.next_round() {
            let line = line(&mut random);
            // The tree decodes all strings; a number that it cannot hold is right nevertheless.
            let is_right = match serde_json::from_str::<serde_json::Value>(&line) {
                Ok(_) => true,
                Err(error) if error.to_string().contains("number out of range") => continue,
                Err(_) => false,
            };
            // PostgreSQL's text has no NUL: that escape alone is refused here and not there.
            let has_zero = line.contains("\\u0000");
            let checked = check(&line);
            assert!(checked.is_ok() == is_right || has_zero && checked.is_err(), "{line}");
            let mut pairs = Vec::new();
            let read = members::<Fault>(&line, |key, value| {
                pairs.push((key, value));
                Ok(())
            });
            let is_object = is_right && line.trim_start().starts_with('{');
            assert!(read.is_ok() == is_object || has_zero && read.is_err(), "{line}");
            if let Err(fault) = read {
                assert!(fault.at <= line.len(), "{line}");
                continue;
            }
            // Of a key that stands there twice, serde_json keeps the last.
            let expected: std::collections::HashMap<String, Box<RawValue>> =
                serde_json::from_str(&line).unwrap();
            let mut found = std::collections::HashMap::new();
            for (key, value) in pairs {
                let mut said = Vec::new();
                key.write(&mut said);
                found.insert(String::from_utf8(said).unwrap(), value);
            }
            assert_eq!(found.len(), expected.len(), "{line}");
            assert!(found.iter().all(|(key, value)| is_same(*value, &expected[key])), "{line}");
        }
    }
}
