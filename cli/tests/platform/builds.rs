//! Files that a command of howdah.toml makes: where the user says so alone.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use super::dev::Dev;
use super::{Platform, answer, interrupt, printed};

const BUILD: &str = "
[build]
folder = \"web\"
command = \"mkdir -p ../static && cp main.txt ../static/built.txt && echo $((40 + 2)) files\"
watch = \"while sleep 0.05; do cmp -s main.txt ../static/built.txt || cp main.txt ../static/built.txt; done\"
";

/// A platform whose folder has an application with files to be built.
fn platform() -> Platform {
    let platform = Platform::new();
    platform.ok(&["new", "notes"]);
    let notes = platform.folder.path().join("notes");
    fs::create_dir(notes.join("web")).unwrap();
    fs::write(notes.join("web/main.txt"), "one").unwrap();
    let manifest = fs::read_to_string(notes.join("howdah.toml")).unwrap();
    fs::write(notes.join("howdah.toml"), manifest + BUILD).unwrap();
    platform
}

#[test]
fn files_are_built_where_the_user_says_so() {
    let platform = platform();
    let notes = platform.folder.path().join("notes");
    let built = notes.join("static/built.txt");
    let said =
        printed(&platform.run(&["up", "--app", "notes", "--detach", "--port", &platform.port.to_string()]));
    assert!(
        said.contains("howdah.toml makes files by a command, which --build runs: mkdir -p ../static"),
        "{said}"
    );
    assert!(!built.exists());
    let page = || answer(platform.ask("/static/built.txt"));
    assert!(page().starts_with("HTTP/1.1 404"));
    for command in ["plan", "test", "deploy"] {
        let said = printed(&platform.run(&[command, "--app", "notes"]));
        assert!(said.contains("--build runs") && !said.contains("42 files") && !built.exists(), "{said}");
    }
    let plan = platform.run(&["plan", "--app", "notes", "--build", "--json"]);
    assert!(printed(&plan).contains("42 files"));
    let _: serde_json::Value = serde_json::from_slice(&plan.stdout).expect("JSON and nothing else");
    assert!(built.exists() && page().starts_with("HTTP/1.1 404"));
    let deployed = printed(&platform.run(&["deploy", "--app", "notes", "--build"]));
    assert!(deployed.matches("42 files").count() == 1, "{deployed}");
    assert!(page().ends_with("one"));
    // One that fails leaves what is deployed.
    let manifest = fs::read_to_string(notes.join("howdah.toml")).unwrap();
    fs::write(notes.join("howdah.toml"), manifest.replace("echo $((40 + 2)) files", "exit 7")).unwrap();
    fs::write(notes.join("web/main.txt"), "two").unwrap();
    let failed = platform.run(&["deploy", "--app", "notes", "--build"]);
    let said = printed(&failed);
    assert_eq!(failed.status.code(), Some(1), "{said}");
    assert!(said.contains("has failed (exit status: 7)") && said.contains("Without --build"), "{said}");
    assert!(page().ends_with("one"));
    for folder in ["..", "/tmp", "web/../.."] {
        let outside = manifest.replace("folder = \"web\"", &format!("folder = {folder:?}"));
        fs::write(notes.join("howdah.toml"), outside).unwrap();
        let said = printed(&platform.run(&["deploy", "--app", "notes", "--build"]));
        assert!(said.contains("it is a folder in that of the application"), "{said}");
    }
}

#[test]
fn howdah_dev_has_files_built_at_each_save_and_ends_what_does_it() {
    let mut dev = Dev::start_on(platform(), "notes", &["--build"]);
    assert!(dev.page("/static/built.txt").ends_with("one"));
    for word in ["two", "three"] {
        dev.save("web/main.txt", word);
        let begun = Instant::now();
        while !dev.page("/static/built.txt").ends_with(word) {
            assert!(begun.elapsed() < Duration::from_secs(60), "{}", dev.page("/static/built.txt"));
            thread::sleep(Duration::from_millis(20));
        }
    }
    interrupt(&dev.child);
    assert!(dev.child.wait().unwrap().success());
    ends_touching(&dev.platform.folder.path().join("notes/static/built.txt"));
    let mut dev = Dev::start_on(dev.platform, "notes", &["--build"]);
    dev.child.kill().unwrap();
    dev.child.wait().unwrap();
    ends_touching(&dev.platform.folder.path().join("notes/static/built.txt"));
}

#[test]
fn a_build_ends_with_who_has_begun_it_and_a_variable_asks_for_it() {
    let platform = platform();
    let notes = platform.folder.path().join("notes");
    platform.ok(&["up", "--detach", "--port", &platform.port.to_string()]);
    for (value, builds) in [("1", true), ("true", true), ("0", false), ("false", false), ("", false)] {
        let output =
            platform.command(&["plan", "--app", "notes"]).env("HOWDAH_BUILD", value).output().unwrap();
        let said = printed(&output);
        assert!(output.status.success(), "{value}: {said}");
        assert_eq!(said.contains("42 files"), builds, "{value}: {said}");
        let up = platform.command(&["up", "--detach"]).env("HOWDAH_BUILD", value).output().unwrap();
        assert!(up.status.success(), "{value}: {}", printed(&up));
    }
    let manifest = fs::read_to_string(notes.join("howdah.toml")).unwrap();
    let slow = "touch begun; while sleep 0.05; do touch ../static/built.txt; done";
    let at = manifest.find("command = ").unwrap();
    let end = at + manifest[at..].find('\n').unwrap();
    fs::write(
        notes.join("howdah.toml"),
        format!("{}command = {slow:?}{}", &manifest[..at], &manifest[end..]),
    )
    .unwrap();
    for command in ["deploy", "test", "plan"] {
        let begun = notes.join("web/begun");
        let mut child = platform.command(&[command, "--app", "notes", "--build"]).spawn().unwrap();
        let since = Instant::now();
        while !begun.exists() {
            assert!(since.elapsed() < Duration::from_secs(60));
            thread::sleep(Duration::from_millis(10));
        }
        interrupt(&child);
        assert!(!child.wait().unwrap().success());
        ends_touching(&notes.join("static/built.txt"));
        fs::remove_file(begun).unwrap();
    }
}

/// Waits until nobody makes a file any more.
fn ends_touching(built: &std::path::Path) {
    let since = Instant::now();
    loop {
        // It may be gone already.
        let _ = fs::remove_file(built);
        thread::sleep(Duration::from_millis(300));
        if !built.exists() {
            return;
        }
        assert!(since.elapsed() < Duration::from_secs(60), "it is built still");
    }
}
