//! `howdah dev` of an application of two hundred files.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use howdah_tests::bounds::{LIVE_AFTER_SAVE, THROUGH_DEV};
use howdah_tests::client::Connection;
use howdah_tests::{command, free_port, wait_for};

/// Stopped when dropped, after a failure as well; what it has started ends with it.
struct Dev(Child);

impl Dev {
    /// For the application `shop` in a folder.
    fn start(folder: &Path, port: u16) -> Dev {
        let dev = Command::new(command())
            .args(["dev", "--app", "shop", "--quiet", "--port", &port.to_string()])
            .current_dir(folder)
            .env("XDG_DATA_HOME", folder.join("xdg"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn();
        Dev(dev.unwrap())
    }
}

impl Drop for Dev {
    fn drop(&mut self) {
        // SAFETY: a signal to a child that was not waited for.
        unsafe { libc::kill(self.0.id().cast_signed(), libc::SIGINT) };
        let _ = self.0.wait();
    }
}

fn word(word: &str) -> String {
    format!("create function word() returns text language sql immutable return '{word}';\n")
}

/// A folder that the server's user can enter, with the application `shop`.
fn shop() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let made = Command::new(command()).args(["new", "shop"]).current_dir(folder.path()).output().unwrap();
    assert!(made.status.success());
    folder
}

#[test]
fn a_save_among_two_hundred_files_is_soon_live() {
    let folder = shop();
    let write = |path: &str, text: &str| {
        let path = folder.path().join("shop").join(path);
        fs::create_dir_all(path.parent().unwrap_or(Path::new("/"))).unwrap();
        fs::write(path, text).unwrap();
    };
    for number in 0..100 {
        write(
            &format!("functions/f{number}.sql"),
            &format!(
                "create function f{number}(n int) returns text language sql stable return (select author from entry where id = n);\n"
            ),
        );
        write(
            &format!("views/v{number}.sql"),
            &format!(
                "create view v{number} as select id, f{number}(id) as f from entry;\ngrant select on v{number} to howdah_web;\n"
            ),
        );
    }
    write("functions/word.sql", &word("first"));
    write(
        "routes.sql",
        "select http.route('GET', '/entries', 'entries');\nselect http.route('GET', '/word', 'word');\n",
    );
    let port = free_port();
    let _dev = Dev::start(folder.path(), port);
    let answers = |word: &str| {
        let reply = Connection::try_open(port).and_then(|mut open| open.try_request("GET", "/word", b""));
        reply.is_some_and(|reply| reply.text() == word)
    };
    wait_for("it is live", || answers("first"));
    let mut best = Duration::MAX;
    for saved in ["second", "third", "fourth", "fifth"] {
        let begun = Instant::now();
        write("functions/word.sql", &word(saved));
        wait_for("what was saved is live", || answers(saved));
        best = best.min(begun.elapsed());
    }
    LIVE_AFTER_SAVE.check(best);
}

/// The middle one of many requests.
fn middle(port: u16) -> Duration {
    let mut open = Connection::try_open(port).unwrap();
    let mut took: Vec<Duration> = (0..500)
        .map(|_| {
            let begun = Instant::now();
            assert_eq!(open.request("GET", "/entries", &[], b"").status, 200);
            begun.elapsed()
        })
        .collect();
    took.sort();
    took[took.len() / 2]
}

#[test]
fn what_stands_in_front_of_the_platform_costs_a_request_little() {
    let folder = shop();
    let port = free_port();
    let _dev = Dev::start(folder.path(), port);
    let is_there = || {
        let reply = Connection::try_open(port).and_then(|mut open| open.try_request("GET", "/entries", b""));
        reply.is_some_and(|reply| reply.status == 200)
    };
    wait_for("it is live", is_there);
    let asked = Command::new(command())
        .args(["psql", "-X", "-A", "-t", "-c", "select port from http.listeners"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    let behind: u16 = String::from_utf8(asked.stdout).unwrap().trim().parse().unwrap();
    assert_ne!(behind, port);
    THROUGH_DEV.check_against(middle(port), middle(behind) + THROUGH_DEV.limit);
}
