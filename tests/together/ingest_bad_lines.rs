//! Bad lines: they become dead letters with their error, and their neighbours are stored.

use cluster::postgres::Client;
use howdah_tests::queues::{Queues, number, sorted, take};

/// Puts lines; counts of stored and rejected.
fn put(session: &mut Client, lines: &[u8]) -> (i64, i64) {
    let row = session
        .query_one("select stored, rejected from queue.put_lines('bips', $1::bytea)", &[&lines])
        .unwrap();
    (row.get(0), row.get(1))
}

/// The dead letters that are lines: SQLSTATE, error, line.
fn letters(session: &mut Client) -> Vec<(String, String, Vec<u8>)> {
    let rows = session
        .query(
            "select sqlstate, error, line from queue.dead_letter where line is not null order by ctid",
            &[],
        )
        .unwrap();
    rows.iter().map(|row| (row.get(0), row.get(1), row.get(2))).collect()
}

/// A bad line between two good ones is the only one that is refused, with this SQLSTATE and a message that has this.
fn refused(session: &mut Client, line: &[u8], sqlstate: &str, message: &str) {
    let bytes = [b"{\"userid\": 1}\n", line, b"\n{\"userid\": 2}"].concat();
    let shown = String::from_utf8_lossy(&line[..line.len().min(80)]).into_owned();
    assert_eq!(put(session, &bytes), (2, 1), "{shown}");
    let letters = letters(session);
    let (state, error, kept) = letters.last().unwrap();
    assert_eq!(state, sqlstate, "{shown}: {error}");
    assert!(error.contains(message), "{shown}: {error}");
    assert_eq!(kept, &line[..line.len().min(8192)]);
    assert_eq!(sorted(take(session, 10)), [1, 2], "{shown}");
    session.batch_execute("truncate queue.dead_letter").unwrap();
}

#[test]
fn each_kind_of_bad_line_is_refused_alone() {
    let queues = Queues::start();
    let session = &mut queues.session();
    refused(session, b"nonsense", "22P02", "unexpected character (byte 2)");
    refused(session, b"{\"userid\": 1", "22P02", "the line ends");
    refused(session, b"{\"userid\": 1} {}", "22P02", "something follows");
    refused(session, b"[1, 2]", "22P02", "not a JSON object");
    refused(session, b"{\"userid\": \"a\"}", "22P02", "invalid input syntax for type bigint: \"a\"");
    refused(session, b"{\"userid\": 1.5}", "22P02", "invalid input syntax for type bigint: \"1.5\"");
    refused(session, b"{\"version\": 2147483648}", "22003", "out of range for type integer");
    refused(session, b"{\"userid\": 99999999999999999999}", "22003", "out of range for type bigint");
    refused(session, b"{\"uuid\": \"x\"}", "22P02", "invalid input syntax for type uuid");
    refused(session, b"{\"bip\": \"\xff\"}", "22021", "not UTF-8 (byte 10)");
    refused(session, b"{\"bip\": \"\xed\xa0\x80\"}", "22021", "not UTF-8");
    refused(session, b"{\"bip\": \"\\u0000\"}", "22P05", "\\u0000 cannot be stored");
    refused(session, b"{\"other\": \"\\u0000\"}", "22P05", "\\u0000 cannot be stored");
    refused(session, b"{\"bip\": \"\0\"}", "22P02", "control character");
    refused(session, b"\0", "22P02", "unexpected character");
    refused(session, b"{\"bip\": \"\\ud800\"}", "22P02", "half of a surrogate pair");
    refused(session, b"{\"other\": \"\\udc00\\ud800\"}", "22P02", "half of a surrogate pair");
    let deep = format!("{{\"other\": {}{}}}", "[".repeat(300), "]".repeat(300));
    refused(session, deep.as_bytes(), "54000", "nested deeper than 256 levels");
    refused(session, "{\"a\":".repeat(100_000).as_bytes(), "54000", "nested deeper than 256 levels");
    let long = format!("{{\"bip\": \"{}\"}}", "x".repeat(1 << 20));
    refused(session, long.as_bytes(), "54000", "line longer than 1048576 bytes");
}

#[test]
fn what_is_odd_but_clear_is_stored() {
    let queues = Queues::start();
    let session = &mut queues.session();
    let lines = b"\xef\xbb\xbf{\"userid\": 1}\r\n\n  \r\n\xef\xbb\xbf{\"userid\": 2}\n{\"userid\": 7, \"userid\": \"3\"}\n\
                  \t{\"userid\":4,\"bip\":\"\",\"other\":{\"userid\":9}} \n{\"user\\u0069d\":\" 5 \"}\n{}\n{\"userid\": 6}";
    assert_eq!(put(session, lines), (7, 0));
    let nulls = "select count(*) from queue.peek('bips', 10, null::t_bip) t where t is null";
    assert_eq!(number(session, nulls), 1);
    let with_text = "select count(*) from queue.peek('bips', 10, null::t_bip) where bip = '' and userid = 4";
    assert_eq!(number(session, with_text), 1);
    session.batch_execute("select queue.put_lines('bips', '{\"userid\": 0}')").unwrap();
    let rows = session
        .query("select userid from queue.take('bips', 10, null::t_bip) where userid is not null", &[])
        .unwrap();
    assert_eq!(sorted(rows.iter().map(|row| row.get(0)).collect()), [0, 1, 2, 3, 4, 5, 6]);
    assert_eq!(put(session, b""), (0, 0));
    assert_eq!(put(session, b"\n\n"), (0, 0));
}

#[test]
fn rows_that_the_queue_refuses_are_found_among_many() {
    let queues = Queues::start();
    queues.sql(
        "create domain positive as integer check (value > 0);
         create type t_wide as (id positive, label varchar(3), big numeric(4, 1)[]);
         select queue.create('wide', row_type => 't_wide')",
    );
    let mut session = queues.session();
    let lines: String = (1..=2000)
        .map(|number| match number {
            500 => "{\"id\": 0}\n".to_owned(),
            900 => "{\"id\": 1, \"label\": \"long\"}\n".to_owned(),
            901 => "{\"id\": 1, \"big\": \"{10000}\"}\n".to_owned(),
            _ => format!("{{\"id\": {number}, \"label\": \"abc \", \"big\": \"{{1.25,null}}\"}}\n"),
        })
        .collect();
    let row = session
        .query_one("select stored, rejected from queue.put_lines('wide', $1::text)", &[&lines])
        .unwrap();
    assert_eq!((row.get::<_, i64>(0), row.get::<_, i64>(1)), (1997, 3));
    let states: Vec<String> = letters(&mut session).into_iter().map(|letter| letter.0).collect();
    assert_eq!(states, ["23514", "22001", "22003"]);
    let same = "select count(*) from queue.take('wide', 3000, null::t_wide) where label = 'abc' and big = '{1.3,null}'";
    assert_eq!(number(&mut session, same), 1997);
}

/// Whatever class the error has: another value would do, and no administrator need come.
#[test]
fn whatever_the_input_of_a_value_raises_is_its_lines_fault() {
    let queues = Queues::start();
    queues.sql(
        "create function any_state(text) returns boolean language plpgsql as $$ begin
           if length($1) = 5 then raise exception 'refused' using errcode = $1; end if; return true; end $$;
         create domain checked as text check (any_state(value));
         create schema hidden; create table hidden.t ();
         create type t_odd as (id int, v tsvector, q tsquery, p jsonpath, r regclass, c checked);
         create role sender;
         select queue.create('odd', row_type => 't_odd'), queue.grant('odd', 'send', 'sender')",
    );
    let mut session = queues.session();
    session.batch_execute("set role sender").unwrap();
    let bad = [
        r#"{"v": "a:b:'"}"#,
        r#"{"q": "&&&"}"#,
        r#"{"p": "$..$"}"#,
        r#"{"r": "none.such"}"#,
        // What a name means is the value's; nobody has to give a right.
        r#"{"r": "hidden.t"}"#,
        r#"{"c": "42601"}"#,
        r#"{"c": "42501"}"#,
        r#"{"c": "XX000"}"#,
        r#"{"c": "XX001"}"#,
        r#"{"c": "0A000"}"#,
        r#"{"c": "54001"}"#,
        r#"{"c": "38000"}"#,
        r#"{"c": "U0042"}"#,
    ];
    for line in bad {
        let lines = format!("{{\"id\": 1}}\n{line}\n{{\"id\": 2, \"c\": \"fine\"}}");
        let put = "select stored, rejected from queue.put_lines('odd', $1::text)";
        let row = session.query_one(put, &[&lines]).unwrap_or_else(|error| panic!("{line}: {error:?}"));
        assert_eq!((row.get::<_, i64>(0), row.get::<_, i64>(1)), (2, 1), "{line}");
    }
    // What is the server's or another transaction's is no value's.
    for state in ["40001", "53100", "55P03", "57014", "58030"] {
        let put = format!("select queue.put_lines('odd', '{{\"c\": \"{state}\"}}')");
        let raised = howdah_tests::queues::error(&mut session, &put);
        assert!(raised.starts_with(state), "{raised}");
    }
}

/// A domain's check may lack a right: then every line would be refused.
#[test]
fn a_right_that_a_domains_check_lacks_is_no_lines_fault() {
    let queues = Queues::start();
    queues.sql(
        "create table allowed (name text);
         create function is_allowed(text) returns boolean language plpgsql as $$ begin
           return exists (select from allowed where name = $1); end $$;
         create domain checked as text check (is_allowed(value));
         create type t_odd as (c checked);
         create role sender;
         select queue.create('odd', row_type => 't_odd'), queue.grant('odd', 'send', 'sender')",
    );
    let mut session = queues.session();
    session.batch_execute("set role sender").unwrap();
    let put = r#"select queue.put_lines('odd', '{"c": "x"}')"#;
    let raised = howdah_tests::queues::error(&mut session, put);
    assert!(raised.starts_with("42501 permission denied for table allowed"), "{raised}");
    queues.sql("grant select on allowed to sender; revoke execute on function is_allowed(text) from public");
    let raised = howdah_tests::queues::error(&mut session, put);
    assert!(raised.starts_with("42501 permission denied for function is_allowed"), "{raised}");
    assert_eq!(queues.number("select count(*) from queue.dead_letter"), 0);
}

#[test]
fn of_a_key_that_comes_twice_only_the_last_value_is_asked() {
    let queues = Queues::start();
    queues.sql(
        "create type t_twice as (a int, b text, rest jsonb); select queue.create('twice', row_type => 't_twice')",
    );
    let mut session = queues.session();
    let lines = r#"{"a": "x", "a": 1, "c": 1, "c": 2}
        {"a": 99999999999, "b": "gone", "a": "y", "a": 2, "b": null}
        {"b": "kept", "a": "x", "\u0061": 3}
        {"a": 1, "a": "x"}
        {"a": "x", "b": "x"}
        {"a": "x", "a": 1"#;
    let row = session
        .query_one(
            "select stored, rejected from queue.put_lines('twice', $1::text, rest_column => 'rest')",
            &[&lines],
        )
        .unwrap();
    assert_eq!((row.get::<_, i64>(0), row.get::<_, i64>(1)), (3, 3));
    let rows = session.query("select t::text from queue.take('twice', 10, null::t_twice) t", &[]).unwrap();
    let rows: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
    assert_eq!(rows, [r#"(1,,"{""c"": 2}")"#, "(2,,{})", "(3,kept,{})"]);
}

#[test]
fn a_domain_that_refuses_null_refuses_lines_that_lack_its_key() {
    let queues = Queues::start();
    let mut session = queues.session();
    queues.sql(
        "create domain required as int not null; create domain present as text check (value is not null);
         create domain loose as int check (value > 0);
         create type t_null as (id int, a required, b present, c loose);
         select queue.create('strict', row_type => 't_null');
         create table strict (id int, a required default 7, b present, c loose);
         create table ruled (id int, a required default 7, b present, c loose);
         create rule also as on insert to ruled do also notify ruled",
    );
    let lines = r#"{"id": 1, "a": 1, "b": "x"}
        {"id": 2, "b": "x"}
        {"id": 3, "a": null, "b": "x"}
        {"id": 4, "a": 1}
        {"id": 5, "a": 1, "b": null}
        {"id": 6, "a": 1, "b": "x", "c": null}
        {"id": 7, "a": 1, "b": "x", "c": 0}
        {"id": 8, "a": null, "a": 1, "b": "x"}"#;
    for (target, ids, states) in [
        ("queue => 'strict'", "1,6,8", "23502 23502 23514 23514 23514"),
        // A table has defaults.
        ("into_table => 'strict'", "", "23502 23514 23514"),
        ("into_table => 'ruled'", "", "23502 23514 23514"),
    ] {
        let put = format!("select queue.put_lines({target}, lines => $1::text)");
        session.execute(&put, &[&lines]).unwrap();
        let refused: Vec<String> = letters(&mut session).into_iter().map(|letter| letter.0).collect();
        if !ids.is_empty() {
            let taken = "select string_agg(id::text, ',') from queue.take('strict', 10, null::t_null)";
            let row = session.query_one(taken, &[]).unwrap();
            assert_eq!(row.get::<_, String>(0), ids, "{target}");
            assert_eq!(refused.join(" "), states, "{target}");
        } else {
            for state in states.split(' ') {
                assert!(refused.iter().any(|refused| refused == state), "{target}: {refused:?}");
            }
            let table = target.split('\'').nth(1).unwrap();
            let there = format!("select count(*) from {table} where id in (3, 5, 7)");
            assert_eq!(number(&mut session, &there), 0, "{target}");
            assert_eq!(
                number(&mut session, &format!("select count(*) from {table} where a = 7 and id = 2")),
                1
            );
        }
        session.batch_execute("truncate queue.dead_letter").unwrap();
    }
}

#[test]
fn dead_letters_are_limited_and_the_rest_is_counted() {
    let queues = Queues::with(&[("howdah.queue_dead_letters", "150")]);
    let mut session = queues.session();
    assert_eq!(put(&mut session, &b"x\n".repeat(100)), (0, 100));
    assert_eq!(put(&mut session, &b"x\n".repeat(100)), (0, 100));
    assert_eq!(put(&mut session, b"{}\nx"), (1, 1));
    assert_eq!(letters(&mut session).len(), 150);
}

#[test]
fn a_line_that_was_refused_is_sent_again_when_it_can_be_stored() {
    let queues = Queues::start();
    let mut session = queues.session();
    let long = format!("x{}", " ".repeat(9000));
    let lines = format!("{{\"userid\": 1, \"version\": 5000000000}}\nnonsense\n{long}\n");
    assert_eq!(put(&mut session, lines.as_bytes()), (0, 3));
    session.batch_execute("alter type t_bip alter attribute version type bigint").unwrap();
    assert_eq!(number(&mut session, "select queue.redrive('bips')"), 1);
    assert_eq!(take(&mut session, 10), [1]);
    let left: Vec<Vec<u8>> = letters(&mut session).into_iter().map(|letter| letter.2).collect();
    assert_eq!(left, [long.as_bytes()[..8192].to_vec(), b"nonsense".to_vec()]);
}

#[test]
fn only_who_may_send_stores_and_only_who_manages_sees_letters() {
    let queues = Queues::start();
    queues.sql("create role clerk; create role reader; select queue.grant('bips', 'send', 'clerk')");
    let mut session = queues.session();
    session
        .batch_execute(
            "set role clerk; select queue.put_lines('bips', '{\"userid\": 1}
x')",
        )
        .unwrap();
    let shown =
        "select count(*) from queue.dead_letters where queue_name = 'bips' and error like 'not JSON%'";
    assert_eq!(number(&mut session, shown), 0);
    session.batch_execute("set role reader").unwrap();
    let refused =
        howdah_tests::queues::error(&mut session, "select queue.put_lines('bips', '{\"userid\": 2}')");
    assert!(refused.starts_with("42501 permission denied for queue bips"), "{refused}");
    session
        .batch_execute("reset role; select queue.grant('bips', 'manage', 'reader'); set role reader")
        .unwrap();
    assert_eq!(number(&mut session, shown), 1);
    session.batch_execute("reset role").unwrap();
    assert_eq!(take(&mut session, 10), [1]);
}

#[test]
fn messages_are_lines_of_any_json() {
    let queues = Queues::start();
    queues.sql("select queue.create('mail')");
    let mut session = queues.session();
    let lines = "{\"a\": 1, \"a\": 2}\r\n[1, \"\\u20ac\"]\n\"text\"\n17\nnull\nbad\n{\"a\": 1e400000}\n";
    let row = session
        .query_one(
            "select received, stored, rejected, sequence from queue.put_lines('mail', $1::text, producer => 'p', sequence => 1)",
            &[&lines],
        )
        .unwrap();
    let counts = [0, 1, 2, 3].map(|place| row.get::<_, i64>(place));
    assert_eq!(counts, [7, 5, 2, 7]);
    let states: Vec<String> = letters(&mut session).into_iter().map(|letter| letter.0).collect();
    assert_eq!(states, ["22P02", "22003"]);
    let rows = session.query("select message::text from queue.pop('mail', 10)", &[]).unwrap();
    let messages: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
    assert_eq!(messages, ["{\"a\": 2}", "[1, \"€\"]", "\"text\"", "17", "null"]);
}

#[test]
fn a_column_keeps_the_line_and_another_what_has_no_column() {
    let queues = Queues::start();
    queues.sql(
        "create type t_event as (id int, whole jsonb, rest json); select queue.create('events', 't_event')",
    );
    let mut session = queues.session();
    session
        .batch_execute(
            r#"select queue.put_lines('events', '{"id": 1, "a": [1, {"b": 2}], "c\u0069": "x\ny", "rest": null, "t": true}
                 {"id": 2}', line_column => 'whole', rest_column => 'rest')"#,
        )
        .unwrap();
    let rows = session
        .query("select id, whole::text, rest::text from queue.take('events', 10, null::t_event)", &[])
        .unwrap();
    let rows: Vec<(i32, String, String)> =
        rows.iter().map(|row| (row.get(0), row.get(1), row.get(2))).collect();
    let whole = r#"{"a": [1, {"b": 2}], "t": true, "ci": "x\ny", "id": 1, "rest": null}"#;
    let rest = r#"{"a":[1, {"b": 2}],"c\u0069":"x\ny","rest":null,"t":true}"#;
    assert_eq!(rows[0], (1, whole.to_owned(), rest.to_owned()));
    assert_eq!(rows[1], (2, r#"{"id": 2}"#.to_owned(), "{}".to_owned()));
    let put = |column: &str| format!("select queue.put_lines('events', '{{}}', rest_column => '{column}')");
    let refused = howdah_tests::queues::error(&mut session, &put("id"));
    assert!(refused.starts_with("42804 column \"id\" cannot keep JSON"), "{refused}");
    let refused = howdah_tests::queues::error(&mut session, &put("none"));
    assert!(refused.starts_with("42703 there is no column \"none\""), "{refused}");
}

#[test]
fn whatever_bytes_come_every_line_is_stored_or_refused() {
    let queues = Queues::start();
    let mut session = queues.session();
    let seed = br#"{"uuid": "00000000-0000-0000-0000-00000000000a", "userid": 1, "timestamp_ms": "1580970914664", "bip": "n\u00e9 \ud83d\ude00", "other": [{}]}"#;
    let mut state = 7_u64;
    let mut random = move |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let mut totals = (0, 0);
    for _ in 0..20 {
        let mut lines = Vec::new();
        for _ in 0..1000 {
            let mut line = seed.to_vec();
            for _ in 0..random(4) {
                let at = random(line.len());
                line[at] = random(256) as u8;
            }
            lines.extend_from_slice(&line);
            lines.push(b'\n');
        }
        let query = "select received, stored, rejected from queue.put_lines('bips', $1::bytea)";
        let row = session.query_one(query, &[&lines]).unwrap();
        let (received, stored, rejected): (i64, i64, i64) = (row.get(0), row.get(1), row.get(2));
        assert_eq!(received, stored + rejected);
        totals = (totals.0 + stored, totals.1 + rejected);
    }
    assert!(totals.0 > 5000 && totals.1 > 5000, "{totals:?}");
    let taken = "select count(*) from queue.take('bips', 100000, null::t_bip)";
    assert_eq!(number(&mut session, taken), totals.0);
}
