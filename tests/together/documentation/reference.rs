//! The lists of the reference pages, compared with what the server says.

use std::collections::BTreeSet;

use howdah_tests::Platform;

use super::markdown::Document;

/// Settings whose names match a pattern: name, unit, default and what a change needs.
pub fn compare_settings(document: &Document, title: &str, platform: &Platform, pattern: &str) {
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

/// Functions of http: each has a heading that is its declaration, or is named among those that are not for use.
pub fn compare_headings(document: &Document, platform: &Platform) {
    let headings = document.headings().into_iter().map(|heading| heading.trim_matches('`'));
    let documented = headings.filter(|heading| heading.starts_with("http.") && heading.contains('('));
    compare_functions(document, platform, "http", documented.map(str::to_owned).collect());
}

/// Functions of queue: each has a row of a table with its comment, or is named among those that are not for use.
pub fn compare_rows(document: &Document, platform: &Platform) {
    let rows = document.tables().into_iter().filter(|row| row[0].starts_with("queue."));
    let documented = rows.map(|row| format!("{} → {}\n{}", row[0], row[1], row[2]));
    compare_functions(document, platform, "queue", documented.collect());
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
pub fn compare_columns(document: &Document, platform: &Platform, schema: &str, kinds: &[&str]) {
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
pub fn compare_errors(document: &Document, platform: &Platform) {
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
