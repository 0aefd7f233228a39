//! Nothing that PostgreSQL calls lets a panic or a half-ended transaction out.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use cluster::postgres::error::SqlState;
use howdah_tests::Platform;
use howdah_tests::platform::wait_for;

/// The folder of the extension.
fn extension() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../extension")
}

/// Files of a folder, and of those in it, whose names end so.
fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    let (folders, here): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
    let wanted = here.into_iter().filter(|file| file.extension().is_some_and(|known| known == ending));
    wanted.chain(folders.iter().flat_map(|folder| files(folder, ending))).collect()
}

/// The sources of all its crates.
fn sources() -> Vec<PathBuf> {
    files(&extension(), "rs")
}

/// Names of what the built library exports.
fn exported() -> BTreeSet<String> {
    let stage = std::env::var("HOWDAH_STAGE").expect("HOWDAH_STAGE, as the Makefile sets it");
    let output = Command::new("nm")
        .args(["-D", "--defined-only", "--format=posix"])
        .arg(Path::new(&stage).join("howdah.so"))
        .output()
        .expect("nm");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("names");
    text.lines().filter_map(|line| line.split(' ').next()).map(str::to_owned).collect()
}

#[test]
fn every_function_that_the_library_exports_is_made_by_a_form_that_guards() {
    let symbols = exported();
    let functions = symbols.iter().filter(|name| {
        !name.starts_with("guarded_") && !name.starts_with("pg_finfo_") && *name != "Pg_magic_func"
    });
    let unguarded: Vec<_> = functions.filter(|name| !symbols.contains(&format!("guarded_{name}"))).collect();
    assert!(unguarded.is_empty(), "made by no form of entry.rs: {unguarded:?}");
    assert!(symbols.contains("guarded__PG_init"));
}

#[test]
fn every_function_of_c_that_the_sql_names_is_made_by_a_form_that_guards() {
    let symbols = exported();
    let mut named = 0;
    for file in files(&extension().join("sql"), "sql") {
        let text = std::fs::read_to_string(&file).expect("SQL");
        for rest in text.split("'MODULE_PATHNAME'").skip(1) {
            let name = rest.split('\'').nth(1).expect("a name of C's");
            assert!(symbols.contains(&format!("guarded_{name}")), "{}: {name}", file.display());
            named += 1;
        }
    }
    assert!(named > 50, "{named}");
}

#[test]
fn no_source_defines_a_function_of_c_but_by_a_form_that_guards() {
    for file in sources() {
        if file.ends_with("pg/src/entry.rs") || file.ends_with("pg/src/entry/copied_error.rs") {
            continue;
        }
        let text = std::fs::read_to_string(&file).expect("a source");
        for (number, line) in text.lines().enumerate() {
            let place = format!("{}:{}: {line}", file.display(), number + 1);
            for word in [
                "pg_extern",
                "pg_trigger]",
                "pg_trigger(",
                "pg_guard]",
                "pg_guard(",
                "no_mangle",
                "export_name",
            ] {
                assert!(!line.contains(word), "{place}");
            }
            let Some((_, rest)) = line.split_once("extern \"C") else { continue };
            let rest = rest.split_once('"').map_or("", |(_, rest)| rest.trim_start());
            // The type of a function, and a block of functions of PostgreSQL's.
            assert!(rest.starts_with("fn(") || rest == "{", "{place}");
        }
    }
}

#[test]
fn no_source_writes_to_the_log_but_by_the_macros_that_hold_interrupts_off() {
    for file in sources() {
        if file.ends_with("pg/src/log_line.rs") {
            continue;
        }
        let text = std::fs::read_to_string(&file).expect("a source");
        for (number, line) in text.lines().enumerate() {
            let place = format!("{}:{}: {line}", file.display(), number + 1);
            let words =
                ["log", "warning", "notice", "info", "debug1", "debug2", "debug3", "debug4", "debug5"];
            for word in words {
                let call = format!("{word}!(");
                let mut calls = line.match_indices(&call).map(|(at, _)| &line[..at]);
                let is_ours = |before: &str| {
                    before.ends_with("log_line::")
                        || before.ends_with(|c: char| c.is_alphanumeric() || c == '_')
                };
                assert!(calls.all(is_ours), "{place}");
            }
        }
    }
}

#[test]
fn a_cancel_while_a_value_is_unpacked_is_an_error() {
    let platform = Platform::start();
    let began = platform.began();
    let mut session = platform.session();
    session
        .batch_execute(
            "create temp table huge (name text);
             alter table huge alter name set storage external;
             insert into huge select repeat('x', 192 << 20) from generate_series(1, 2);",
        )
        .expect("huge values");
    for statement in [
        "select count((http.form_file(name)).name) from huge",
        "select count(http.form_value(name)) from huge",
        "select count(http.header_value(name)) from huge",
        "select count(http.escape(name)) from huge",
        "select count(http.cookie_text(name, name)) from huge",
        "select count(queue.send(name, '{}')) from huge",
    ] {
        session.batch_execute("set statement_timeout = '4ms'").expect("a time limit");
        let error = session.batch_execute(statement).expect_err(statement);
        assert!(error.code().is_some(), "{statement}: the session has gone: {error}");
        session.batch_execute("set statement_timeout = 0").expect("no time limit");
    }
    assert_eq!(platform.began(), began, "the server has restarted");
}

#[test]
fn a_trigger_that_is_called_as_a_function_is_an_error() {
    let platform = Platform::start();
    let mut session = platform.session();
    let functions = session
        .query(
            "select p.oid::regprocedure::text from pg_proc p, pg_namespace n where n.oid = pronamespace
             and nspname in ('http', 'queue') and prorettype in ('trigger'::regtype, 'event_trigger'::regtype)",
            &[],
        )
        .expect("the triggers");
    assert!(!functions.is_empty());
    for function in functions.iter().map(|row| row.get::<_, String>(0)) {
        let error = session.batch_execute(&format!("select {function}")).expect_err(&function);
        assert!(error.code().is_some(), "{function}: the session has gone: {error}");
    }
}

#[test]
fn an_error_of_a_users_function_passes_through_ours_as_it_was_raised() {
    let platform = Platform::start();
    let mut session = platform.session();
    session
        .batch_execute(
            "create function picky(text) returns bool language plpgsql immutable as $$
             begin
               raise exception 'as picky as can be' using errcode = 'HX123', detail = 'a detail', hint = 'a hint',
                 constraint = 'a constraint', table = 'a table', schema = 'a schema', column = 'a column',
                 datatype = 'a type';
             end $$;
             create domain checked as text check (picky(value))",
        )
        .expect("a domain");
    let error =
        session.batch_execute("select http.handle($$select '{x}'::checked[]$$)").expect_err("an error");
    let error = error.as_db_error().expect("an error of the server's");
    assert_eq!(error.code(), &SqlState::from_code("HX123"), "{error:?}");
    assert_eq!(error.message(), "as picky as can be");
    assert_eq!((error.detail(), error.hint()), (Some("a detail"), Some("a hint")));
    assert_eq!((error.schema(), error.table()), (Some("a schema"), Some("a table")));
    assert_eq!((error.column(), error.datatype()), (Some("a column"), Some("a type")));
    assert_eq!(error.constraint(), Some("a constraint"));
    assert!(error.where_().is_some_and(|context| context.contains("picky")), "{error:?}");
}

/// A handler that catches whatever a broken form raises, and one that tells which process answers.
const FORMS: &str = "
    create function avatar() returns text language plpgsql stable as $$
    begin
      begin
        begin
          return (http.form_file('avatar')).name;
        exception when unique_violation then return 'no';
        end;
      exception when others then return 'caught ' || sqlstate;
      end;
      return 'nothing';
    end $$;
    create function pid() returns int language sql stable return pg_backend_pid();
    select http.route('GET', '/avatar', 'avatar'), http.route('POST', '/avatar', 'avatar'),
      http.route('GET', '/pid', 'pid')";

const MULTIPART: (&str, &str) = ("Content-Type", "multipart/form-data; boundary=b");

#[test]
fn a_handler_catches_what_a_broken_form_raises_in_an_executor_and_inline() {
    for inline in ["off", "on", "transaction"] {
        let platform = Platform::with(&[("howdah.inline", inline), ("howdah.inline_threshold", "100000")]);
        platform.sql(FORMS);
        let fine = b"--b\r\nContent-Disposition: form-data; name=\"avatar\"; filename=\"me.png\"\r\n\r\nx\r\n--b--\r\n";
        let mut connection = platform.connect();
        let kind = if inline == "off" { "executor" } else { "gateway" };
        wait_for("requests run where they shall", || {
            let avatar = connection.request("GET", "/avatar", &[MULTIPART], fine);
            assert_eq!(avatar.text(), "me.png");
            let pid = connection.request("GET", "/pid", &[], b"").text().parse().expect("a process");
            platform.workers(kind).contains(&pid)
        });
        let pids = platform.pids();
        for round in 0..50 {
            let body = [b"--b\r\nContent-Disposition: form-data; name".as_slice(), &[round; 40]].concat();
            for method in ["GET", "POST"] {
                let reply = connection.request(method, "/avatar", &[MULTIPART], &body);
                assert_eq!((reply.status, reply.text()), (200, "caught 22P02".into()), "inline {inline}");
            }
            assert_eq!(connection.request("GET", "/pid", &[], b"").status, 200);
        }
        assert!(platform.still_run(&pids), "inline {inline}: {}", platform.log());
        let log = platform.log();
        assert!(!log.contains("has left"), "{log}");
    }
}
