//! What is accepted and what is not, and the same from another reader of JSON.

use super::*;

/// Members of a line as text, or the fault.
fn read(line: &str) -> Result<Vec<(String, String)>, Fault> {
    let mut found = Vec::new();
    members(line, |key, value| {
        let say = |text: Text<'_>| {
            let mut said = Vec::new();
            text.write(&mut said);
            String::from_utf8(said).unwrap()
        };
        let value = match value {
            Value::Text(text) => say(text),
            other => format!("{other:?}"),
        };
        found.push((say(key), value));
        Ok::<(), Fault>(())
    })?;
    Ok(found)
}

fn reason(line: &str) -> Reason {
    read(line).expect_err(line).reason
}

#[test]
fn members_come_in_their_order() {
    let found = read(r#" { "a" : 1 , "b":"x","c":null, "d":[1,{"e":[]},""], "a":true } "#).unwrap();
    let found: Vec<(&str, &str)> = found.iter().map(|(key, value)| (&**key, &**value)).collect();
    let nested = r#"Nested("[1,{\"e\":[]},\"\"]")"#;
    assert_eq!(
        found,
        [("a", "Number(\"1\")"), ("b", "x"), ("c", "Null"), ("d", nested), ("a", "Bool(true)")]
    );
    assert_eq!(read("{}"), Ok(vec![]));
}

#[test]
fn escapes_say_what_they_stand_for() {
    let found = read(r#"{"\u006bey": "a\"\\\/\b\f\n\r\t\u00e9\u20AC\ud83d\ude00z"}"#).unwrap();
    assert_eq!(found, [("key".to_owned(), "a\"\\/\u{8}\u{c}\n\r\té€😀z".to_owned())]);
}

#[test]
fn what_cannot_be_stored_is_refused_wherever_it_stands() {
    for value in [r#""\u0000""#, r#"[{"x": "\u0000"}]"#] {
        assert_eq!(reason(&format!(r#"{{"a": {value}}}"#)), Reason::Zero);
    }
    for value in [r"\ud800", r"\udc00", r"\ud800x", r"\ud800\n", r"\ud800\ud800", r"\ud800\u0041"] {
        assert_eq!(reason(&format!(r#"{{"a": "{value}"}}"#)), Reason::Surrogate, "{value}");
    }
    assert_eq!(reason(r#"{"\u0000": 1}"#), Reason::Zero);
}

#[test]
fn what_is_not_json_is_refused() {
    let cases = [
        ("{", Reason::Ends),
        (r#"{"a"#, Reason::Ends),
        (r#"{"a":"\u12"#, Reason::Ends),
        (r#"{"a":1,}"#, Reason::Unexpected),
        (r#"{,}"#, Reason::Unexpected),
        (r#"{"a" 1}"#, Reason::Unexpected),
        (r#"{a: 1}"#, Reason::Unexpected),
        (r#"{'a': 1}"#, Reason::Unexpected),
        (r#"{"a": nul}"#, Reason::Unexpected),
        (r#"{"a": NaN}"#, Reason::Unexpected),
        (r#"{"a": [1 2]}"#, Reason::Unexpected),
        (r#"{"a": [1}}"#, Reason::Unexpected),
        (r#"{"a": [1,]}"#, Reason::Unexpected),
        (r#"{"a": 01}"#, Reason::Number),
        (r#"{"a": 1.}"#, Reason::Number),
        (r#"{"a": -}"#, Reason::Number),
        (r#"{"a": 1e}"#, Reason::Number),
        (r#"{"a": 0x10}"#, Reason::Number),
        ("{\"a\": \"\t\"}", Reason::Control),
        (r#"{"a": "\x"}"#, Reason::Escape),
        (r#"{"a": "\u00zz"}"#, Reason::Escape),
        (r#"{} {}"#, Reason::Follows),
        (r#"[1]"#, Reason::NoObject),
        ("17", Reason::NoObject),
    ];
    for (line, expected) in cases {
        assert_eq!(reason(line), expected, "{line}");
    }
}

#[test]
fn nesting_has_an_end() {
    let nested = |depth: usize| format!(r#"{{"a": {}{}}}"#, "[".repeat(depth), "]".repeat(depth));
    assert!(read(&nested(DEPTH)).is_ok());
    assert_eq!(reason(&nested(DEPTH + 1)), Reason::Deep);
    assert_eq!(reason(&format!(r#"{{"a": {}"#, "[".repeat(1 << 20))), Reason::Deep);
    let objects = |depth: usize| format!("{}1{}", r#"{"a":"#.repeat(depth), "}".repeat(depth));
    assert!(read(&objects(DEPTH)).is_ok());
    assert_eq!(reason(&objects(DEPTH + 2)), Reason::Deep);
}

/// Whether the other reader accepts the line, as JSON that can be stored.
fn accepts(line: &str) -> bool {
    let zero = line.contains("\\u0000") || line.contains("\\U0000");
    serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(line).is_ok() && !zero
}

#[test]
fn another_reader_accepts_the_same() {
    let seeds = [
        r#"{"uuid":"a","userid":1869484002,"version":1,"timestamp_ms":"1580970914664","bip":"né \ud83d\ude00 \"x\"","user":"u"}"#,
        r#" {"a":[1,2.5e-3,{"b":[true,false,null]},"\u00e9"],"c":{}, "d" : -0.1} "#,
    ];
    let alphabet: Vec<char> = r#"{}[]":,\u019deE+-.tfn "#.chars().chain(['é', '\t']).collect();
    let mut random = fastrand::Rng::with_seed(7);
    let mut accepted = 0;
    for round in 0..40_000 {
        let mut line: Vec<char> = seeds[round % seeds.len()].chars().collect();
        for _ in 0..random.usize(0..3) {
            let at = random.usize(0..line.len());
            match random.u8(0..3) {
                0 => line[at] = *random.choice(&alphabet).unwrap(),
                1 => line.insert(at, *random.choice(&alphabet).unwrap()),
                _ => drop(line.remove(at)),
            }
        }
        let line: String = line.into_iter().collect();
        let ours = read(&line);
        accepted += usize::from(ours.is_ok());
        // serde_json refuses numbers beyond a double, which are JSON.
        let beyond = serde_json::from_str::<serde_json::Value>(&line)
            .is_err_and(|error| error.to_string().starts_with("number out of range"));
        assert!(ours.is_ok() == accepts(&line) || beyond, "{line}: {ours:?}");
    }
    assert!(accepted > 10_000);
}
