//! Lines of JSON into queues of typed rows.

use howdah_tests::queues::{Queues, error, number, sorted, take};

#[test]
fn lines_become_rows() {
    let queues = Queues::start();
    let mut session = queues.session();
    let lines = r#"{"uuid": "00000000-0000-0000-0000-00000000000a", "userid": 1, "version": 2, "timestamp_ms": "1580970914664", "bip": "né \u20ac \ud83d\ude00", "user": null}
        {"userid": "2", "unknown": [1, {"a": "b"}], "bip": "two"}"#;
    let row = session
        .query_one(
            "select received, stored, repeated, rejected, sequence from queue.put_lines('bips', $1::text)",
            &[&lines],
        )
        .unwrap();
    let counts: Vec<Option<i64>> = (0..5).map(|place| row.get(place)).collect();
    assert_eq!(counts, [Some(2), Some(2), Some(0), Some(0), None]);
    let rows = session.query("select t::text from queue.take('bips', 10, null::t_bip) t", &[]).unwrap();
    let rows: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
    assert_eq!(
        rows,
        ["(00000000-0000-0000-0000-00000000000a,1,2,1580970914664,\"né € 😀\",)", "(,2,,,two,)"]
    );
}

#[test]
fn a_producers_lines_go_in_once() {
    let queues = Queues::start();
    let mut session = queues.session();
    let mut put = |lines: &str, epoch: i32, first: i64| -> [i64; 3] {
        let row = session
            .query_one(
                "select stored, repeated, sequence from queue.put_lines('bips', $1::text, 'p', $2, $3)",
                &[&lines, &epoch, &first],
            )
            .unwrap();
        [0, 1, 2].map(|place| row.get(place))
    };
    let line = |number: i64| format!("{{\"userid\": {number}}}\n");
    let lines = |from: i64, to: i64| (from..=to).map(line).collect::<String>();
    assert_eq!(put(&lines(1, 3), 1, 1), [3, 0, 3]);
    assert_eq!(put(&lines(1, 3), 1, 1), [0, 3, 3]);
    assert_eq!(put(&lines(2, 5), 1, 2), [2, 2, 5]);
    // Empty and bad lines have numbers too, and are not sent twice either.
    assert_eq!(put("\n\nnonsense\n", 1, 6), [0, 0, 8]);
    assert_eq!(put(&format!("\n\nnonsense\n{}", line(9)), 2, 6), [1, 1, 9]);
    let refused = error(&mut queues.session(), "select queue.put_lines('bips', '{}', 'p', 1, 10)");
    assert!(refused.starts_with("55000 producer p has begun epoch 2"), "{refused}");
    let refused = error(&mut queues.session(), "select queue.put_lines('bips', '{}', 'p', 2, 11)");
    assert!(refused.contains("go on at line 10"), "{refused}");
    let mut session = queues.session();
    assert_eq!(sorted(take(&mut session, 100)), [1, 2, 3, 4, 5, 9]);
    assert_eq!(number(&mut session, "select queue_length from queue.metrics('bips')"), 0);
}
