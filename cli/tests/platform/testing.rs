//! `howdah test`, as whoever writes an application uses it.

use std::fs;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use super::{interrupt, printed};

/// A folder with the application `notes`, which `howdah new` has made, and one for what is temporary.
struct Notes {
    folder: tempfile::TempDir,
    temporary: tempfile::TempDir,
}

impl Notes {
    fn new() -> Notes {
        let notes = Notes { folder: tempfile::tempdir().unwrap(), temporary: tempfile::tempdir().unwrap() };
        let output = Command::new(env!("CARGO_BIN_EXE_howdah"))
            .args(["new", "notes"])
            .current_dir(notes.folder.path())
            .output();
        assert!(output.unwrap().status.success());
        // The account of the server passes through.
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o711);
        fs::set_permissions(notes.temporary.path(), mode).unwrap();
        notes
    }

    fn write(&self, path: &str, text: &str) {
        fs::write(self.folder.path().join("notes").join(path), text).unwrap();
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_howdah"));
        command.args(["test", "--app", "notes"]).args(arguments).current_dir(self.folder.path());
        command.env("TMPDIR", self.temporary.path());
        command
    }

    /// Runs the tests; nothing is left of what is temporary.
    fn run(&self, arguments: &[&str]) -> Output {
        let output = self.command(arguments).output().unwrap();
        self.left_nothing();
        output
    }

    fn passes(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(output.status.success(), "{}", printed(&output));
        printed(&output)
    }

    fn fails(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert_eq!(output.status.code(), Some(1), "{}", printed(&output));
        printed(&output)
    }

    fn left_nothing(&self) {
        let left: Vec<_> = fs::read_dir(self.temporary.path()).unwrap().collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

#[test]
fn tests_run_on_copies_and_say_what_differs_in_lines_tap_and_junit() {
    let notes = Notes::new();
    let told = notes.passes(&["--coverage"]);
    assert!(told.contains("ok      tests/pages.sql") && told.contains("1 passed"), "{told}");
    assert!(told.contains("Tests have asked 2 of 3 routes"), "{told}");
    notes.write(
        "tests/count.sql",
        "insert into entry (author, message) values ('Ada', 'One');\nselect count(*) = 2 from entry;\n",
    );
    notes.write(
        "tests/parts.sql",
        "create function test_one() returns boolean language sql return (
  select status = 200 from http.call('GET', '/entries', array[http.header('accept', 'text/html')]));
create function test_two() returns boolean language plpgsql as $$
begin
  return 1 / 0 = 1;
end $$;\n",
    );
    notes.write("routes.sql", "select http.route('GET', '/entries', 'entries');\nselect http.route('POST', '/entries', 'add_entry'), http.form('POST', '/entries', '/entries');\nselect http.route('GET', '/again', 'entries');\nselect http.page('GET', '/entries', 'entries');\n");
    let told = notes.fails(&["--coverage", "--junit", "junit.xml"]);
    assert!(
        told.contains("tests/count.sql:2: this is not true\n")
            && told.contains(">    2 | select count(*) = 2 from entry;\n  got:    1\n  wanted: 2\n"),
        "{told}"
    );
    assert!(told.contains("tests/parts.sql:5: division by zero"), "{told}");
    assert!(told.contains("asked 3 of 4") && told.contains("no test asks GET /again"), "{told}");
    assert!(!told.contains("page GET /entries"), "{told}");
    assert!(told.contains("2 failed, 2 passed"), "{told}");
    let junit = fs::read_to_string(notes.folder.path().join("junit.xml")).unwrap();
    assert!(
        junit.contains("tests=\"4\" failures=\"2\"") && junit.contains("name=\"tests/parts.sql test_one\""),
        "{junit}"
    );
    let tap = notes.fails(&["--tap", "--jobs", "1", "parts"]);
    assert!(
        tap.starts_with(
            "TAP version 13\nok 1 - tests/parts.sql test_one\nnot ok 2 - tests/parts.sql test_two\n  ---\n"
        ) && tap.contains("\n1..2\n"),
        "{tap}"
    );
    assert!(notes.passes(&["test_one"]).contains("1 passed"));
    // As in a clone that nobody has installed: with the build that is beside the command.
    let output = notes.command(&["test_one"]).env_remove("HOWDAH_STAGE").output().unwrap();
    assert!(output.status.success(), "{}", printed(&output));
}

#[test]
fn what_is_wrong_before_a_test_runs_is_told_and_no_test_is_a_failure() {
    let notes = Notes::new();
    assert!(notes.fails(&["nothing"]).contains("no test was found whose name has nothing"));
    fs::rename(notes.folder.path().join("notes/tests/pages.sql"), notes.folder.path().join("pages")).unwrap();
    assert!(notes.fails(&[]).contains("no test was found: notes/tests has no .sql file"));
    fs::rename(notes.folder.path().join("pages"), notes.folder.path().join("notes/tests/pages.sql")).unwrap();
    // As two branches make them.
    notes.write("migrations/002-stars.sql", "alter table entry add column stars int;\n");
    notes.write("migrations/002-likes.sql", "alter table entry add column likes int;\n");
    let told = notes.fails(&[]);
    assert!(
        told.contains("migrations/002-stars.sql: migrations/002-likes.sql has the number 2, too"),
        "{told}"
    );
    fs::remove_file(notes.folder.path().join("notes/migrations/002-likes.sql")).unwrap();
    notes.write(
        "functions/wrong.sql",
        "create function wrong() returns int language sql\nreturn nothing();\n",
    );
    let told = notes.fails(&[]);
    assert!(told.contains("functions/wrong.sql:2: function nothing() does not exist"), "{told}");
}

#[test]
fn what_an_administrator_makes_elsewhere_is_made_on_the_copies() {
    let notes = Notes::new();
    notes.write("howdah.toml", "name = \"notes\"\nextensions = [\"hstore\"]\nroles = [\"notes_web\"]\n");
    notes.write(
        "migrations/002-role.sql",
        "grant select, insert on entry to notes_web;\ngrant usage on schema notes to notes_web;\n",
    );
    notes.write("routes.sql", "select http.route('GET', '/entries', 'entries', role => 'notes_web');\nselect http.route('POST', '/entries', 'add_entry', role => 'notes_web'), http.form('POST', '/entries', '/entries');\n");
    notes.write(
        "tests/role.sql",
        "select status = 200 from http.call('GET', '/entries');\nselect hstore('a', 'b') is not null;\nselect extnamespace = 'public'::regnamespace from pg_extension where extname = 'hstore';\n",
    );
    notes.passes(&[]);
    // The word of a folder gives nobody the rights of a role that is there.
    notes.write(
        "howdah.toml",
        "name = \"notes\"\nextensions = [\"hstore\"]\nroles = [\"notes_web\", \"postgres\"]\n",
    );
    let told = notes.fails(&[]);
    assert!(told.contains("roles are missing") && told.contains("grant postgres to notes_owner"), "{told}");
    notes.write("howdah.toml", "name = \"notes\"\nextensions = [\"nothing\"]\n");
    assert!(notes.fails(&[]).contains("create extension nothing; -- this server does not have its files"));
}

#[test]
fn two_runs_see_nothing_of_each_other_and_one_that_never_ends_is_ended() {
    let notes = Notes::new();
    notes.write("tests/alone.sql", "insert into entry (author, message) values ('Ada', 'One');\nselect count(*) = 1 from entry;\nselect pg_sleep(0.5);\nselect count(*) = 1 from entry;\n");
    let start = || notes.command(&[]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let runs = [start(), start()];
    for run in runs {
        let output = run.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", printed(&output));
    }
    notes.left_nothing();
    notes.write("tests/alone.sql", "select true;\nselect pg_sleep(1000);\n");
    let told = notes.fails(&["--timeout", "0.5"]);
    assert!(told.contains("tests/alone.sql: canceling statement due to statement timeout"), "{told}");
    let run = start();
    // Until the test runs, or soon.
    std::thread::sleep(Duration::from_secs(3));
    interrupt(&run);
    let begun = Instant::now();
    let output = run.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", printed(&output));
    assert!(printed(&output).contains("interrupted"), "{}", printed(&output));
    assert!(begun.elapsed() < Duration::from_secs(60));
    notes.left_nothing();
}
