//! Runs the examples of a document against a platform.

use std::fs;
use std::process::Command;

use cluster::postgres::Client;
use howdah_tests::{Platform, free_port};

use super::markdown::{Block, Document, project};

/// What the documents call the platform's address, and its port.
const ADDRESS: &str = "localhost:9000";
const PORT: &str = "9000";
/// Stands for anything in an expected answer.
const ANYTHING: char = '…';

/// Reads a document as its user would: one session of psql, and a shell beside it.
pub struct Reader<'p> {
    platform: &'p Platform,
    session: Client,
    /// Where the document was wrong: all of it is read before anything is said.
    wrong: Vec<String>,
}

impl<'p> Reader<'p> {
    /// A reader of a platform's documentation.
    pub fn new(platform: &'p Platform) -> Self {
        Reader { platform, session: platform.session(), wrong: Vec::new() }
    }

    /// Does what the document says, in its order. Returns how many blocks were run.
    pub fn run(mut self, document: &Document) -> usize {
        let blocks = document.blocks();
        let mut ran = 0;
        for block in blocks.iter().filter(|block| matches!(block.language, "sql" | "console")) {
            let place = format!("{}:{}", document.name, block.line);
            match block.language {
                "sql" => self.execute(block, &place),
                _ => self.type_in(block, &place),
            }
            ran += 1;
        }
        assert!(self.wrong.is_empty(), "{}", self.wrong.join("\n\n"));
        ran
    }

    fn execute(&mut self, block: &Block<'_>, place: &str) {
        let text = block.text.replace(PORT, &self.platform.port.to_string());
        if let Err(error) = self.session.batch_execute(&text) {
            self.wrong.push(format!("{place}: {error:?}\n{text}"));
        }
    }

    fn type_in(&mut self, block: &Block<'_>, place: &str) {
        for (command, expected) in commands(&block.text) {
            let answer = shell(self.platform, &command);
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

/// What a command writes to its standard output, on a platform that it finds where the documents have it.
pub fn shell(platform: &Platform, command: &str) -> String {
    assert!(command.contains("curl "), "only curl is run: {command}");
    let command = command.replace(ADDRESS, &format!("127.0.0.1:{}", platform.port));
    let output = Command::new("sh")
        .args(["-c", &command])
        // Settings of whoever runs the test must not change what curl does.
        .env("no_proxy", "*")
        .env("CURL_HOME", project().join("tests"))
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
pub fn applications() -> Vec<String> {
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
pub fn load(platform: &Platform, application: &str) {
    // The port for lines is not one that whoever else tests has.
    let port = format!("set bips.port = {};", free_port());
    scripts(application).iter().for_each(|script| platform.sql(&format!("{port}\n{script}")));
}

/// What an application suggests to try.
pub fn suggestions(application: &str) -> Vec<String> {
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
