//! The lists of the reference pages, compared with what the server says.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use howdah_tests::Platform;

use super::markdown::{Document, project};

/// What stands in place of a test where there is none.
const NO_TEST: &str = "—";

/// Settings whose names match a pattern: name, unit, default and what a change needs.
pub(super) fn compare_settings(document: &Document, title: &str, platform: &Platform, pattern: &str) {
    let rows = platform
        .session()
        .query(
            "select name, coalesce(unit, ''), boot_val, context from pg_settings where name ~ $1",
            &[&pattern],
        )
        .expect("the settings");
    let actual: BTreeSet<[String; 4]> = rows
        .iter()
        .map(|row| {
            let context: String = row.get(3);
            let change = if context == "postmaster" { "restart" } else { "reload" };
            [row.get(0), row.get(1), row.get::<_, Option<String>>(2).unwrap_or_default(), change.to_owned()]
        })
        .collect();
    let documented = document.table(title).into_iter().map(|row| {
        let unit = if matches!(&*row[1], "ms" | "MB" | "B") { row[1].clone() } else { String::new() };
        [row[0].clone(), unit, in_unit(&row[2], &row[1]), row[3].clone()]
    });
    assert_same(&actual, &documented.collect());
}

/// A value as PostgreSQL shows it, in the unit that pg_settings has.
fn in_unit(value: &str, unit: &str) -> String {
    let factors: &[(&str, u64)] = match unit {
        "ms" => &[("min", 60_000), ("ms", 1), ("s", 1000)],
        "B" => &[("kB", 1 << 10), ("MB", 1 << 20), ("B", 1)],
        "MB" => &[("MB", 1)],
        _ => &[],
    };
    let scaled = factors.iter().find_map(|(suffix, factor)| {
        let number: u64 = value.strip_suffix(suffix)?.parse().ok()?;
        Some((number * factor).to_string())
    });
    scaled.unwrap_or_else(|| if value == "empty" { String::new() } else { value.to_owned() })
}

/// Limits: each setting of a bound is followed by its default, and each test is there.
pub(super) fn compare_limits(document: &Document, platform: &Platform) {
    let actual = defaults(platform, r"^howdah\.");
    let mut wrong = Vec::new();
    for [what, bound, _, tests] in limits(document) {
        for (name, value) in settings_in(&bound) {
            let is_so = actual.get(&name).is_some_and(|[unit, default]| in_unit(&value, unit) == *default);
            if !is_so {
                wrong.push(format!("{what}: the default of {name} is not {value:?}"));
            }
        }
        for test in tests.split(", ").filter(|test| *test != NO_TEST && !is_there(test)) {
            wrong.push(format!("{what}: there is no test {test}"));
        }
    }
    assert!(wrong.is_empty(), "{}: {wrong:#?}", document.name);
}

/// Settings whose names match a pattern: each is in the bound of a limit.
pub(super) fn compare_settings_of_limits(document: &Document, platform: &Platform, pattern: &str) {
    let bounds = limits(document);
    let named = bounds.iter().flat_map(|[_, bound, _, _]| settings_in(bound)).map(|(name, _)| name);
    let named: BTreeSet<String> = named.collect();
    let actual: BTreeSet<String> = defaults(platform, pattern).into_keys().collect();
    assert!(actual.len() > 30, "the pattern finds {actual:?}");
    let missing: Vec<_> = actual.difference(&named).collect();
    assert!(missing.is_empty(), "not in the bound of a limit: {missing:#?}");
}

/// Units and defaults of the settings whose names match a pattern.
fn defaults(platform: &Platform, pattern: &str) -> BTreeMap<String, [String; 2]> {
    let rows = platform
        .session()
        .query(
            "select name, coalesce(unit, ''), coalesce(boot_val, '') from pg_settings where name ~ $1",
            &[&pattern],
        )
        .expect("the settings");
    rows.iter().map(|row| (row.get(0), [row.get(1), row.get(2)])).collect()
}

/// The limits of a document: what, its bound, what comes beyond it, and the tests that reach it.
fn limits(document: &Document) -> Vec<[String; 4]> {
    let rows = document.tables().into_iter();
    let rows: Vec<[String; 4]> = rows.map(|row| row.try_into().expect("four cells")).collect();
    assert!(rows.len() > 60, "the tables have lost their rows");
    rows
}

/// The settings that a bound names, each with the value that stands behind it in parentheses; empty if there is none.
fn settings_in(bound: &str) -> Vec<(String, String)> {
    let named = bound.split("howdah.").skip(1).map(|text| {
        let end = text.find(|c: char| c != '_' && !c.is_ascii_lowercase()).unwrap_or(text.len());
        let (name, rest) = text.split_at(end);
        let value = rest.strip_prefix(" (").and_then(|rest| rest.split_once(')'));
        (format!("howdah.{name}"), value.map_or("", |(value, _)| value).to_owned())
    });
    named.collect()
}

/// Whether a test is there: `together::file::test` is below tests/, `gateway file::test` in a crate, `cli file::test` in the command.
fn is_there(test: &str) -> bool {
    let parts: Vec<&str> = test.split([':', ' ']).filter(|part| !part.is_empty()).collect();
    let [group, file, name] = parts[..] else { return false };
    let folder = match group {
        "together" | "alone" => "tests",
        "cli" => "",
        _ => "crates",
    };
    let files = files_named(&project().join(folder).join(group), &format!("{file}.rs"));
    let declaration = format!("fn {name}(");
    files.iter().any(|path| fs::read_to_string(path).is_ok_and(|text| text.contains(&declaration)))
}

/// The files of a name in a folder and in those below it.
fn files_named(folder: &Path, name: &str) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut found = Vec::new();
    for path in entries.map(|entry| entry.expect("an entry").path()) {
        if path.is_dir() {
            found.extend(files_named(&path, name));
        } else if path.ends_with(name) {
            found.push(path);
        }
    }
    found
}

/// Functions of http: each has a heading that is its declaration, or is named among those that are not for use.
pub(super) fn compare_headings(document: &Document, platform: &Platform) {
    let headings = document.headings().into_iter().map(|heading| heading.trim_matches('`'));
    let documented = headings.filter(|heading| heading.starts_with("http.") && heading.contains('('));
    compare_functions(document, platform, "http", documented.map(str::to_owned).collect());
}

/// Functions of a schema: each has a row of a table with its comment, or is named among those that are not for use.
pub(super) fn compare_rows(document: &Document, platform: &Platform, schema: &str) {
    let is_declaration = |row: &Vec<String>| row[0].starts_with(&format!("{schema}.")) && row.len() == 3;
    let rows = document.tables().into_iter().filter(is_declaration);
    let documented = rows.map(|row| format!("{} → {}\n{}", row[0], row[1], row[2]));
    compare_functions(document, platform, schema, documented.collect());
}

/// Compares what is documented, each a declaration and, in lines of their own, what else is said of it: the comment.
fn compare_functions(document: &Document, platform: &Platform, schema: &str, documented: BTreeSet<String>) {
    let comments = documented.iter().any(|function| function.contains('\n'));
    let rows = platform
        .session()
        .query(
            "select proname::text, pg_get_function_arguments(oid), pg_get_function_result(oid),
                    obj_description(oid, 'pg_proc')
               from pg_proc where pronamespace = $1::text::regnamespace",
            &[&schema],
        )
        .expect("the functions");
    let own = document.section("Functions that are not for use").join(" ");
    let is_own = |name: &str| own.contains(&format!("`{schema}.{name}`"));
    let actual: BTreeSet<String> = rows
        .iter()
        .filter(|row| !is_own(row.get(0)))
        .map(|row| {
            let (name, arguments, result): (String, String, String) = (row.get(0), row.get(1), row.get(2));
            let comment = if comments { format!("\n{}", row.get::<_, String>(3)) } else { String::new() };
            format!("{schema}.{name}({}) → {result}{comment}", short_defaults(&arguments))
        })
        .collect();
    assert_same(&actual, &documented);
    let known: BTreeSet<String> =
        rows.iter().map(|row| format!("{schema}.{}", row.get::<_, String>(0))).collect();
    for name in own.split('`').filter(|word| word.starts_with(schema)) {
        assert!(known.contains(name), "there is no function {name}");
    }
}

/// `a text DEFAULT NULL::text` as `a text = null`.
fn short_defaults(arguments: &str) -> String {
    let short = |argument: &str| match argument.split_once(" DEFAULT ") {
        Some((name, value)) => {
            let value = value.split("::").next().unwrap_or(value);
            format!("{name} = {}", if value == "NULL" { "null" } else { value })
        }
        None => argument.to_owned(),
    };
    arguments.split(", ").map(short).collect::<Vec<_>>().join(", ")
}

/// Views, and with `'c'` types: each has a section with a table of its columns.
pub(super) fn compare_columns(document: &Document, platform: &Platform, schema: &str, kinds: &[&str]) {
    let rows = platform
        .session()
        .query(
            "select relname || '.' || attname from pg_class join pg_attribute on attrelid = pg_class.oid
              where relnamespace = $1::text::regnamespace and relkind::text = any ($2) and attnum > 0",
            &[&schema, &kinds],
        )
        .expect("the views");
    let actual: BTreeSet<String> = rows.iter().map(|row| row.get(0)).collect();
    let views: BTreeSet<&str> = actual.iter().filter_map(|column| column.split('.').next()).collect();
    let documented = views.iter().flat_map(|view| {
        let columns = document.table(&format!("`{schema}.{view}`"));
        columns.into_iter().map(move |row| format!("{view}.{}", row[0]))
    });
    assert_same(&actual, &documented.collect());
}

/// Errors: each SQLSTATE of the table is raised in a request, and answered with the documented status.
pub(super) fn compare_errors(document: &Document, platform: &Platform) {
    platform.sql(
        "create function fail(code text) returns text language plpgsql as
           $$ begin raise exception 'as asked' using errcode = code; end $$;
         select http.route('*', '/fail/{code}', 'fail(text)')",
    );
    let rows = document.table("From SQLSTATE to status");
    assert!(rows.len() > 10, "the table has lost its rows");
    for row in rows {
        // A class stands for all of its errors, and the last row for all that are not named.
        let code = match &*row[0] {
            "any other" => "XX000".to_owned(),
            code => code.replace("xxx", "000"),
        };
        let method = if row[1].contains("GET") { "GET" } else { "POST" };
        let mut connection = platform.connect();
        let reply = connection.request(method, &format!("/fail/{code}"), &[], b"");
        assert_eq!(reply.status.to_string(), row[2], "{code}: {}", reply.text());
    }
}

fn assert_same<T: Ord + std::fmt::Debug>(actual: &BTreeSet<T>, documented: &BTreeSet<T>) {
    let missing: Vec<_> = actual.difference(documented).collect();
    let wrong: Vec<_> = documented.difference(actual).collect();
    assert!(
        missing.is_empty() && wrong.is_empty(),
        "not documented: {missing:#?}\ndocumented, but not so: {wrong:#?}"
    );
}

#[test]
fn a_setting_is_read_with_its_value_and_a_test_is_found_where_it_says() {
    let bound = "half of howdah.max_requests (1024), howdah.max_body (8MB) or howdah.spin";
    let expected = [("howdah.max_requests", "1024"), ("howdah.max_body", "8MB"), ("howdah.spin", "")];
    assert_eq!(settings_in(bound), expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    assert!(is_there("together::refusals::what_the_event_loop_refuses_is_shown"));
    assert!(is_there("gateway floods::pings_do_not_starve_others"));
    assert!(!is_there("gateway refusals::pings_do_not_starve_others"));
    assert!(!is_there("alone::refusals::what_the_event_loop_refuses_is_shown"));
}
