//! Checks of domains, as PostgreSQL 15 and 18 write them, and the rules that come of them.

use fields::checks::{Check, read};
use fields::{Rules, elements};

fn min(value: &str) -> Check {
    Check::Min { value: value.into(), is_exclusive: false }
}

fn max(value: &str) -> Check {
    Check::Max { value: value.into(), is_exclusive: false }
}

#[test]
fn checks_are_read_as_far_as_a_browser_can_make_them() {
    let above = |value: &str| Check::Min { value: value.into(), is_exclusive: true };
    for (text, expected) in [
        ("(VALUE >= 1)", vec![min("1")]),
        ("((VALUE >= 1) AND (VALUE <= 10))", vec![min("1"), max("10")]),
        ("((VALUE >= (- 5)) AND (VALUE <= '-1'::integer))", vec![min("-5"), max("-1")]),
        (
            "(((VALUE > 0) AND (VALUE < 10)) AND (VALUE <> 5))",
            vec![above("0"), Check::Max { value: "10".into(), is_exclusive: true }],
        ),
        ("(VALUE > (0)::numeric)", vec![above("0")]),
        ("(VALUE >= (0.5)::double precision)", vec![min("0.5")]),
        ("(VALUE >= '2020-01-01'::date)", vec![min("2020-01-01")]),
        ("(VALUE >= '2020-01-01 00:00:00'::timestamp without time zone)", vec![min("2020-01-01 00:00:00")]),
        ("(length(VALUE) <= 20)", vec![Check::MaxLength(20)]),
        (
            "((char_length((VALUE)::text) >= 2) AND (length((VALUE)::text) < 20))",
            vec![Check::MinLength(2), Check::MaxLength(19)],
        ),
        ("((VALUE)::text ~ '^[a-z]+$'::text)", vec![Check::Matches("^[a-z]+$".into())]),
        ("(VALUE ~ '^it''s$'::text)", vec![Check::Matches("^it's$".into())]),
        (
            "(VALUE = ANY (ARRAY['red'::text, 'it''s'::text, 'a,b'::text]))",
            vec![Check::OneOf(vec!["red".into(), "it's".into(), "a,b".into()])],
        ),
        (
            "((VALUE)::text = ANY ((ARRAY['a'::character varying, 'b'::character varying])::text[]))",
            vec![Check::OneOf(vec!["a".into(), "b".into()])],
        ),
        ("(VALUE = ANY (ARRAY[1, 2]))", vec![Check::OneOf(vec!["1".into(), "2".into()])]),
        // Whether a field has to be filled in is told by its default.
        ("(VALUE <> ''::text)", vec![]),
        // A browser would ask for more than the server, or for something else.
        ("((VALUE >= 1) OR (VALUE IS NULL))", vec![]),
        ("((VALUE IS NULL) OR (length(VALUE) <= 3))", vec![]),
        ("(NOT (VALUE >= 1))", vec![]),
        ("(VALUE >= CURRENT_DATE)", vec![]),
        ("((VALUE + 1) >= 1)", vec![]),
        ("(1 <= VALUE)", vec![]),
        ("(VALUE ~* '^a$'::text)", vec![]),
        ("(VALUE !~ 'x'::text)", vec![]),
        ("(length(btrim(VALUE)) <= 3)", vec![]),
        ("(VALUE <> ALL (ARRAY['a'::text]))", vec![]),
        ("(VALUE = ANY (ARRAY[f(1)]))", vec![]),
        ("is_seen(VALUE)", vec![]),
        ("(VALUE >= '1'::int OR x", vec![]),
        ("", vec![]),
        ("'", vec![]),
        (")))", vec![]),
    ] {
        assert_eq!(read(text), expected, "{text}");
    }
}

#[test]
fn no_text_makes_reading_fail() {
    let mut random = fastrand::Rng::with_seed(57);
    let words = [
        "VALUE", "(", ")", "AND", "OR", "NOT", ">=", "<", "::", "text", "'a'", "1", "-", "ANY", "ARRAY", "[",
        "]", ",", "length", "'", "~", "ü", "\"",
    ];
    for _ in 0..20_000 {
        let text: Vec<&str> = (0..random.usize(..12)).map(|_| words[random.usize(..words.len())]).collect();
        read(&text.join(if random.bool() { " " } else { "" }));
    }
}

#[test]
fn a_pattern_means_the_same_in_a_browser_or_there_is_none() {
    for (pattern, same) in [
        ("^[a-z]+$", true),
        ("^[A-Z]{2}[0-9]{3,5}$", true),
        ("^(a|b)c?$", true),
        (r"^\d{4}-\d{2}$", true),
        ("^[^@ ]+@[^@ ]+$", true),
        (r"^\+?[0-9 ]+$", true),
        // Part of a text, other classes, other languages.
        ("[a-z]+", false),
        ("^a|b$", false),
        (r"^\w+$", false),
        ("^[[:alpha:]]+$", false),
        ("^(?i)a$", false),
        ("^[ä-ü]+$", false),
        ("^a+?$", false),
        ("^[a&&b]$", false),
        ("^[a-]$", false),
        ("^(a$", false),
        ("^a)$", false),
        (r"^a\$", false),
        ("^a{,3}$", false),
        ("^[a$", false),
    ] {
        let mut rules = Rules::default();
        rules.add(Check::Matches(pattern.into()), false);
        let inner = pattern.trim_start_matches('^').trim_end_matches('$');
        assert_eq!(rules.pattern.as_deref(), same.then_some(inner), "{pattern}");
    }
}

#[test]
fn a_bound_that_is_no_value_has_a_neighbour_among_whole_numbers() {
    let rules = |check: &str, is_whole: bool| {
        let mut rules = Rules::default();
        read(check).into_iter().for_each(|check| rules.add(check, is_whole));
        (rules.min, rules.max)
    };
    assert_eq!(rules("((VALUE > 0) AND (VALUE < 10))", true), (Some("1".into()), Some("9".into())));
    assert_eq!(rules("((VALUE > 0) AND (VALUE < 10))", false), (None, None));
    assert_eq!(rules("(VALUE > '9223372036854775807'::bigint)", true), (None, None));
}

#[test]
fn the_elements_of_an_array_are_found() {
    for (text, expected) in [
        ("{}", vec![]),
        ("", vec![]),
        ("{a,b}", vec!["a", "b"]),
        ("{a,NULL,\"NULL\",\"\"}", vec!["a", "NULL", ""]),
        (r#"{"a,b","c\"d","e\\f"}"#, vec!["a,b", "c\"d", "e\\f"]),
        ("plain", vec!["plain"]),
    ] {
        assert_eq!(elements::of(text), expected, "{text}");
    }
}
