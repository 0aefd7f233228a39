//! The parts of a Markdown document that are checked: fenced blocks, headings, tables, links.

use std::fs;
use std::path::{Path, PathBuf};

/// A document of the project.
pub(crate) struct Document {
    /// Its path from the project's folder.
    pub name: String,
    text: String,
}

/// A fenced block.
pub(crate) struct Block<'d> {
    /// The word behind the fence: `sql`, `console`.
    pub language: &'d str,
    /// The lines between the fences.
    pub text: String,
    /// The line of its first line, from 1.
    pub line: usize,
}

/// The folder of the project.
pub(crate) fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

impl Document {
    /// Reads a document.
    pub(crate) fn read(name: &str) -> Document {
        let text = fs::read_to_string(project().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        Document { name: name.to_owned(), text }
    }

    /// Reads several documents as one.
    pub(crate) fn read_together(names: &[&str]) -> Document {
        let texts: Vec<String> = names.iter().map(|name| Document::read(name).text).collect();
        Document { name: names.join(" and "), text: texts.join("\n") }
    }

    /// The fenced blocks in their order.
    pub(crate) fn blocks(&self) -> Vec<Block<'_>> {
        let mut blocks: Vec<Block<'_>> = Vec::new();
        let mut inside = false;
        for (at, line) in self.text.lines().enumerate() {
            if let Some(language) = line.strip_prefix("```") {
                inside = !inside;
                if inside {
                    blocks.push(Block { language, text: String::new(), line: at + 2 });
                }
            } else if let Some(block) = blocks.last_mut().filter(|_| inside) {
                block.text.push_str(line);
                block.text.push('\n');
            }
        }
        assert!(!inside, "{}: the last fence is not closed", self.name);
        blocks
    }

    /// The lines outside of fenced blocks.
    fn prose(&self) -> impl Iterator<Item = &str> {
        let mut inside = false;
        self.text.lines().filter(move |line| {
            let fence = line.starts_with("```");
            inside ^= fence;
            !inside && !fence
        })
    }

    /// How many words it has, examples included.
    pub(crate) fn words(&self) -> usize {
        self.text.split_whitespace().count()
    }

    /// Whether an example stands in its first lines: a fenced block, or indented lines.
    pub(crate) fn shows_something_within(&self, lines: usize) -> bool {
        self.text.lines().take(lines).any(|line| line.starts_with("```") || line.starts_with("    "))
    }

    /// The titles of all headings, without their marks.
    pub(crate) fn headings(&self) -> Vec<&str> {
        self.prose()
            .filter(|line| line.starts_with('#'))
            .map(|line| line.trim_start_matches('#').trim())
            .collect()
    }

    /// The lines between the heading with this title and the next of any level.
    pub(crate) fn section(&self, title: &str) -> Vec<&str> {
        let is_it = |line: &&str| line.starts_with('#') && line.trim_start_matches('#').trim() == title;
        let mut lines = self.prose().skip_while(|line| !is_it(line));
        assert!(lines.next().is_some(), "{} has no heading {title}", self.name);
        lines.take_while(|line| !line.starts_with('#')).collect()
    }

    /// The rows of the tables in a section, without their heads: the cells as written, without backquotes.
    pub(crate) fn table(&self, title: &str) -> Vec<Vec<String>> {
        rows(self.section(title))
    }

    /// The rows of all tables.
    pub(crate) fn tables(&self) -> Vec<Vec<String>> {
        rows(self.prose().collect())
    }

    /// The targets of links that do not leave the project.
    pub(crate) fn links(&self) -> Vec<String> {
        let targets = self.prose().flat_map(|line| line.split("](").skip(1));
        let targets = targets.filter_map(|rest| rest.split_once(')')).map(|(target, _)| target.to_owned());
        targets.filter(|target| !target.contains("://")).collect()
    }

    /// Whether the link's file is there, and the heading in it.
    pub(crate) fn leads_somewhere(&self, target: &str) -> bool {
        let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
        let folder = Path::new(&self.name).parent().unwrap_or(Path::new(""));
        let path = if file.is_empty() { PathBuf::from(&self.name) } else { folder.join(file) };
        if anchor.is_empty() {
            return project().join(path).exists();
        }
        let other = Document::read(&path.to_string_lossy());
        other.headings().into_iter().any(|heading| anchor_of(heading) == anchor)
    }
}

/// The rows of tables, without their heads.
fn rows(lines: Vec<&str>) -> Vec<Vec<String>> {
    let rows = lines.into_iter().filter(|line| line.starts_with('|'));
    let cells = |row: &str| {
        let row = row.trim_matches('|').replace("\\|", "\u{1}");
        row.split('|').map(|cell| cell.trim().replace('`', "").replace('\u{1}', "|")).collect::<Vec<_>>()
    };
    let rows: Vec<Vec<String>> = rows.map(cells).collect();
    let is_rule = |row: &Vec<String>| row.iter().all(|cell| cell.starts_with("--"));
    // The row above a rule is a table's head.
    let heads: Vec<usize> = (0..rows.len()).filter(|&at| is_rule(&rows[at])).collect();
    let body = |at: &usize| !heads.contains(at) && !heads.contains(&(at + 1));
    (0..rows.len()).filter(body).map(|at| rows[at].clone()).collect()
}

/// The anchor that a heading gets on GitHub and its like.
fn anchor_of(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() }).collect()
}
