//! The table, from outside: what docs/errors.md promises, and what retries and blame rest on.

use problem::Meaning;

fn of(code: &str) -> Meaning {
    Meaning::of(code.as_bytes().try_into().expect("five letters"))
}

/// Of these codes exactly those have a property.
#[track_caller]
fn exactly(property: fn(Meaning) -> bool, yes: &[&str], no: &[&str]) {
    for code in yes {
        assert!(property(of(code)), "{code}");
    }
    for code in no {
        assert!(!property(of(code)), "{code}");
    }
}

#[test]
fn statuses_are_those_of_the_documentation() {
    for (code, status) in [
        ("02000", 404),
        ("22P02", 400),
        ("22003", 400),
        ("23502", 400),
        ("23514", 400),
        ("P0001", 400),
        ("23505", 409),
        ("23503", 409),
        ("23P01", 409),
        ("42501", 403),
        ("57014", 504),
        ("40001", 503),
        ("40P01", 503),
        ("55P03", 503),
        ("53100", 503),
        ("53200", 503),
        ("53300", 503),
    ] {
        assert_eq!(of(code).status(false), status, "{code}");
    }
}

#[test]
fn what_nobody_has_thought_of_is_the_servers_error() {
    for code in
        ["42P01", "XX000", "XX001", "38000", "ABCDE", "0B000", "23000", "P0004", "57P01", "\0\0\0\0\0"]
    {
        assert_eq!(of(code).status(false), 500, "{code}");
        assert!(!of(code).tells(), "{code}");
    }
}

#[test]
fn a_handler_chooses_a_status() {
    for (code, status) in [("PT200", 200), ("PT404", 404), ("PT418", 418), ("PT599", 599)] {
        assert_eq!((of(code).status(false), of(code).tells()), (status, true), "{code}");
    }
}

#[test]
fn a_status_that_no_answer_has_cannot_be_chosen() {
    for code in ["PT199", "PT600", "PT000", "PT999", "PTabc", "PT+99", "PT-01", "PT 40", "PT40 ", "pt404"] {
        assert_eq!((of(code).status(false), of(code).tells()), (500, false), "{code}");
    }
}

#[test]
fn bytes_that_are_no_text_mean_nothing() {
    let meaning = Meaning::of(&[0xff; 5]);
    assert_eq!((meaning.status(false), meaning.tells(), meaning.may_pass()), (500, false, false));
    assert_eq!(Meaning::of(b"PT\xff\xff\xff").status(false), 500);
}

#[test]
fn a_write_where_none_may_is_answered_503_on_a_standby_alone() {
    assert_eq!(of("25006").status(false), 500);
    assert_eq!(of("25006").status(true), 503);
    for code in ["25001", "42501", "23505", "XX000"] {
        assert_eq!(of(code).status(true), of(code).status(false), "{code}");
    }
}

#[test]
fn messages_that_may_quote_what_a_handler_has_read_are_not_told() {
    exactly(
        Meaning::tells,
        &["02000", "23502", "23514", "23505", "23503", "23P01", "P0001", "PT409"],
        &["22P02", "42501", "57014", "40001", "53200", "XX000", "25006", "23001"],
    );
}

#[test]
fn clients_are_blamed_for_what_is_answered_below_500() {
    exactly(
        Meaning::is_clients_fault,
        &["22P02", "23505", "42501", "P0001", "02000", "PT404", "25006"],
        &["57014", "40001", "53200", "XX000", "42P01", "PT503"],
    );
}

#[test]
fn a_text_is_blamed_for_its_value_its_names_its_syntax_and_its_depth() {
    exactly(
        Meaning::is_texts_fault,
        &["22P02", "22003", "23514", "23502", "42601", "42704", "42883", "54001", "54000", "0A000"],
        &["42501", "23505", "57014", "40001", "XX000", "53200", "P0001"],
    );
}

#[test]
fn a_row_is_blamed_for_what_another_row_would_not_cause() {
    exactly(
        Meaning::is_rows_fault,
        &["21000", "22003", "23505", "23503", "23001", "44000", "P0001", "P0002", "54000"],
        &["42501", "42P01", "54001", "40001", "53100", "57014", "XX000", "25006", "PT400"],
    );
}

#[test]
fn the_server_is_blamed_for_connections_transactions_means_and_state() {
    exactly(
        Meaning::is_servers,
        &["08006", "25006", "25P02", "40001", "53100", "55P03", "55000", "57014", "57P01", "58030"],
        &["22003", "23505", "42501", "42P01", "XX000", "0A000", "P0001", "28000"],
    );
}

#[test]
fn another_try_may_help_where_others_were_in_the_way() {
    exactly(
        Meaning::may_pass,
        &["40001", "40P01", "40003", "53200", "57014", "57P01", "58030", "55P03"],
        &["55000", "55006", "25006", "08006", "22003", "42501", "XX000"],
    );
}

#[test]
fn a_statement_is_not_broken_because_of_circumstances() {
    exactly(
        Meaning::is_of_circumstances,
        &["40001", "53200", "55P03", "55006", "57014", "58P01"],
        &["42P01", "42601", "25006", "08006", "XX000", "22P02"],
    );
}

#[test]
fn a_plan_that_was_kept_is_blamed_for_what_catalogs_say() {
    exactly(
        Meaning::is_of_catalogs,
        &["42P01", "42703", "42883", "0A000", "XX000"],
        &["42501", "0B000", "XX001", "22P02"],
    );
}

#[test]
fn an_executor_tries_what_a_gateway_could_not() {
    exactly(
        Meaning::may_differ_in_an_executor,
        &["57014", "25006", "55P03", "40001", "40P01", "42501", "42P01", "0A000", "XX000"],
        &["57P01", "25001", "55000", "40002", "22P02", "23505", "P0001", "53200"],
    );
}

#[test]
fn a_producer_does_not_wait_for_what_lasts() {
    exactly(
        Meaning::lasts,
        &["42P01", "42501", "42703", "28000", "28P01", "0A000", "0A001", "55000"],
        &["55P03", "40001", "53200", "57014", "XX000", "22P02"],
    );
}

#[test]
fn a_cancel_is_a_cancel_alone() {
    exactly(Meaning::is_cancel, &["57014"], &["57000", "57P01", "57P03"]);
}

#[test]
fn no_code_is_read_by_the_beginning_of_another() {
    // 55P03 is a lock; 55P02 is not.
    assert_eq!((of("55P03").status(false), of("55P02").status(false)), (503, 500));
    assert_eq!((of("02000").status(false), of("02001").status(false)), (404, 500));
    assert_eq!((of("P0001").status(false), of("P0002").status(false)), (400, 500));
}
