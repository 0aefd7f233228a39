//! Runs the examples of a document against a platform.

use std::fs;
use std::path::Path;
use std::process::Command;

use cluster::postgres::Client;
use howdah_tests::platform::DATABASE;
use howdah_tests::{Platform, free_port, wait_for};
use tempfile::TempDir;

use super::markdown::{Block, Document, project};

/// What the documents call the platform's address.
const ADDRESS: &str = "localhost:9000";
/// The ports of the documents: of the platform, and for lines.
const PORTS: [&str; 3] = ["9000", "4000", "4001"];
/// Stands for anything in an expected answer.
const ANYTHING: char = '…';

/// Reads a document as its user would: one session of psql, and a shell beside it.
pub(super) struct Reader<'p> {
    platform: &'p Platform,
    session: Client,
    /// Where the shell is.
    folder: TempDir,
    /// What the documents call a port, and what is one here.
    ports: [(&'static str, String); 3],
    /// The database, as a connection string.
    to: String,
    /// Where the document was wrong: all of it is read before anything is said.
    wrong: Vec<String>,
}

impl<'p> Reader<'p> {
    /// A reader of a platform's documentation.
    pub(super) fn new(platform: &'p Platform) -> Self {
        let here = [platform.port, free_port(), free_port()];
        let ports = std::array::from_fn(|at| (PORTS[at], here[at].to_string()));
        let folder = tempfile::tempdir().expect("a folder");
        // Where howdah deploy goes, as if the reader had started this platform.
        let to = platform.cluster.connection_string(DATABASE).expect("a running server");
        Reader { platform, session: platform.session(), folder, ports, to, wrong: Vec::new() }
    }

    /// Does what a document says, in its order. Returns how many blocks were run.
    pub(super) fn run(&mut self, document: &Document) -> usize {
        let blocks = document.blocks();
        let mut ran = 0;
        for block in &blocks {
            let place = format!("{}:{}", document.name, block.line);
            match (block.language, block.language.split_once(' ')) {
                ("sql", _) => self.execute(block, &place),
                ("console", _) => self.type_in(block, &place),
                (_, Some((_, path))) => self.save(block, path),
                _ => continue,
            }
            ran += 1;
        }
        ran
    }

    /// Says where the documents were wrong.
    pub(super) fn finish(self) {
        assert!(self.wrong.is_empty(), "{}", self.wrong.join("\n\n"));
    }

    fn execute(&mut self, block: &Block<'_>, place: &str) {
        let text = self.at_home(&block.text);
        if let Err(error) = self.session.batch_execute(&text) {
            self.wrong.push(format!("{place}: {error:?}\n{text}"));
        }
        let open = "(select from queue.listener where port not in (select port from queue.listeners where bound is not null)) l";
        wait_for("what listens is bound", || self.platform.count(open) == 0);
    }

    /// Saves a block whose fence names a file, as its reader would.
    fn save(&self, block: &Block<'_>, path: &str) {
        let file = self.folder.path().join(path);
        fs::create_dir_all(file.parent().expect("its folder")).expect("a folder");
        fs::write(&file, &block.text).expect("a file");
    }

    /// A text with the ports that there are here.
    fn at_home(&self, text: &str) -> String {
        self.ports.iter().fold(text.to_owned(), |text, (from, to)| replace_number(&text, from, to))
    }

    fn type_in(&mut self, block: &Block<'_>, place: &str) {
        for (command, expected) in commands(&block.text) {
            let command = command.replace(ADDRESS, &format!("127.0.0.1:{}", self.platform.port));
            let command = format!("export HOWDAH_TO=\"{}\"; {}", self.to, self.at_home(&command));
            let answer = shell(self.folder.path(), &command);
            if !is_like(answer.trim_end(), expected.trim_end()) {
                self.wrong.push(format!(
                    "{place}: {command}\nThe document says:\n{expected}\nThe answer is:\n{answer}"
                ));
            }
        }
    }
}

/// The commands of a console block, each with the lines that follow it. A backslash continues a command.
fn commands(text: &str) -> Vec<(String, String)> {
    let mut commands: Vec<(String, String)> = Vec::new();
    let mut continues = false;
    for line in text.lines() {
        if let Some(command) = line.strip_prefix("$ ") {
            commands.push((command.to_owned(), String::new()));
        } else if let Some((command, expected)) = commands.last_mut() {
            let target = if continues { command } else { expected };
            target.push('\n');
            target.push_str(line);
        }
        continues = line.ends_with('\\') && (continues || line.starts_with("$ "));
    }
    commands.into_iter().map(|(command, expected)| (command, expected.trim_start().to_owned())).collect()
}

/// A text in which one number stands for another.
fn replace_number(text: &str, from: &str, to: &str) -> String {
    let mut parts = text.split(from);
    let mut replaced = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let is_part = replaced.ends_with(|c: char| c.is_ascii_digit())
            || part.starts_with(|c: char| c.is_ascii_digit());
        replaced.push_str(if is_part { from } else { to });
        replaced.push_str(part);
    }
    replaced
}

/// What a command writes to its standard output, in a folder.
pub(super) fn shell(folder: &Path, command: &str) -> String {
    let is_known = ["curl ", "nc ", "howdah ", "printf ", "rm ", "mkdir "]
        .iter()
        .any(|program| command.contains(program));
    assert!(is_known, "this is not run: {command}");
    let programs = howdah_tests::command();
    let programs = programs.parent().expect("its folder").display();
    let output = Command::new("sh")
        .args(["-c", command])
        .current_dir(folder)
        .env("PATH", format!("{programs}:{}", std::env::var("PATH").unwrap_or_default()))
        // Settings of whoever runs the test must not change what curl does.
        .env("no_proxy", "*")
        .env("CURL_HOME", project().join("tests"))
        // A machine that runs many tests at once may keep others waiting for longer.
        .env("HOWDAH_LOCKS", "60")
        .output()
        .unwrap_or_else(|error| panic!("{command}: {error}"));
    assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).replace('\r', "")
}

/// Whether a text is as expected, [`ANYTHING`] excepted.
fn is_like(text: &str, expected: &str) -> bool {
    let mut parts = expected.split(ANYTHING);
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// The example applications, by the names of their folders.
pub(super) fn applications() -> Vec<String> {
    let folders = fs::read_dir(project().join("examples")).expect("the examples");
    let folders = folders.map(|folder| folder.expect("a folder")).filter(|folder| folder.path().is_dir());
    folders.map(|folder| folder.file_name().to_string_lossy().into_owned()).collect()
}

fn scripts(application: &str) -> Vec<String> {
    let folder = project().join("examples").join(application);
    let files = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<_> = files.map(|file| file.expect("a file").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "sql"));
    paths.sort();
    paths.iter().map(|path| fs::read_to_string(path).expect("a script")).collect()
}

/// Loads an application as `howdah up --app` does.
pub(super) fn load(platform: &Platform, application: &str) {
    let folder = project().join("examples").join(application);
    if folder.join("howdah.toml").exists() {
        return howdah_tests::application::deploy(
            platform,
            &folder,
            &format!("'{application}', handlers => true"),
        );
    }
    // The port for lines is not one that whoever else tests has.
    let port = format!("set bips.port = {};", free_port());
    scripts(application).iter().for_each(|script| platform.sql(&format!("{port}\n{script}")));
}

/// What an application suggests to try.
pub(super) fn suggestions(application: &str) -> Vec<String> {
    let lines = |script: &String| {
        let found = script.lines().filter_map(|line| line.trim().strip_prefix("-- try:"));
        found.map(|line| line.trim().to_owned()).collect::<Vec<_>>()
    };
    scripts(application).iter().flat_map(lines).collect()
}

#[test]
fn an_answer_is_compared_to_the_letter_but_for_what_varies() {
    assert!(is_like("a b c", "a b c"));
    assert!(is_like("a b c", "a … c"));
    assert!(is_like("a b c", "…"));
    assert!(!is_like("a b c", "a b"));
    assert!(!is_like("a b c", "a … d"));
    assert!(!is_like("a b", "a b b…"));
}

#[test]
fn a_backslash_continues_a_command() {
    let read = commands("$ curl a \\\n  -d b\nanswer\n\nmore\n$ curl c\n");
    let expected = [("curl a \\\n  -d b", "answer\n\nmore"), ("curl c", "")];
    assert_eq!(read, expected.map(|(command, answer)| (command.to_owned(), answer.to_owned())));
}

#[test]
fn a_number_within_another_stays() {
    assert_eq!(replace_number("4000 14000 40001 (4000)", "4000", "7"), "7 14000 40001 (7)");
}
