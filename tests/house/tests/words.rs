//! What texts say: tables of others in SQL, files that documents name, and how comments begin.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use house::{known, sources};

/// Schemas whose tables a crate does not name.
const FOREIGN: [(&str, &[&str]); 1] = [("extension/deploy/", &["http.", "job.", "queue."])];
/// What writes to a table, in SQL.
const WRITES: [&str; 4] = ["insert into ", "delete from ", "update ", "truncate "];
const SCHEMAS: [&str; 4] = ["http.", "job.", "queue.", "deploy."];
/// Comments that begin so, and do not ask.
const CLAUSES: [&str; 4] = ["What", "Who", "Whoever", "Whatever"];

/// Whether a name follows that is a table's: a function's has arguments.
fn is_table(rest: &str) -> bool {
    let end = rest.find(|letter: char| !letter.is_ascii_lowercase() && letter != '_').unwrap_or(rest.len());
    end > 0 && !rest[end..].starts_with('(')
}

#[test]
fn sql_of_a_crate_names_its_own_schemas() {
    let mut found: BTreeMap<String, usize> = BTreeMap::new();
    for source in sources::all().iter().filter(|source| source.is_product()) {
        let count = |words: &[&str], schemas: &[&str]| {
            let lines = source.text.lines().filter(|line| !line.trim_start().starts_with("//"));
            let places = |line: &str| {
                schemas
                    .iter()
                    .flat_map(|schema| {
                        line.match_indices(schema).filter(|(place, _)| {
                            let (before, rest) = (&line[..*place], &line[place + schema.len()..]);
                            let is_word = before.ends_with(|letter: char| {
                                letter.is_alphanumeric() || "._\"/`".contains(letter)
                            });
                            !is_word
                                && is_table(rest)
                                && (words.is_empty() || words.iter().any(|word| before.ends_with(word)))
                        })
                    })
                    .count()
            };
            lines.map(places).sum::<usize>()
        };
        let foreign = FOREIGN.iter().filter(|(folder, _)| source.path.starts_with(folder));
        let names = foreign.map(|(_, schemas)| count(&[], schemas)).sum::<usize>();
        let writes = if source.path.starts_with("cli/") { count(&WRITES, &SCHEMAS) } else { 0 };
        if names + writes > 0 {
            found.insert(source.path.clone(), names + writes);
        }
    }
    known::compare("tables of others in SQL", &found, &known::read().foreign_tables);
}

#[test]
fn documents_name_files_that_exist() {
    // Documents leave `src` out.
    let all: Vec<String> =
        house::files("", "").into_iter().flat_map(|file| [file.replace("/src/", "/"), file]).collect();
    let documents = house::files("", ".md");
    assert!(documents.len() > 30, "{documents:?}");
    let mut missing = Vec::new();
    for document in documents {
        let text = std::fs::read_to_string(house::root().join(&document)).expect("a document");
        let folder = Path::new(&document).parent().expect("a folder");
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let path = link.split(['#', ' ']).next().unwrap_or_default();
            if !path.is_empty() && !path.contains(':') && !house::root().join(folder).join(path).exists() {
                missing.push(format!("{document}: {link}"));
            }
        }
        for quoted in text.split('`').skip(1).step_by(2) {
            let is_path = quoted.ends_with(".rs")
                && quoted.chars().all(|letter| letter.is_alphanumeric() || "_-./".contains(letter));
            let is_there = || {
                let name = quoted.trim_start_matches("../");
                all.iter().any(|file| file == name || file.ends_with(&format!("/{name}")))
            };
            if is_path && !is_there() {
                missing.push(format!("{document}: {quoted}"));
            }
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn subjects_are_nouns() {
    let mut found = 0;
    for source in sources::all() {
        let mut lines = source.text.lines().map(str::trim_start).peekable();
        let mut is_inside = false;
        while let Some(line) = lines.next() {
            let comment =
                line.strip_prefix("//").map(|rest| rest.trim_start_matches(['/', '!']).trim_start());
            let begins = !is_inside;
            is_inside = comment.is_some_and(|comment| !comment.is_empty());
            let Some(comment) = comment.filter(|_| begins) else { continue };
            let first = comment.split(|letter: char| !letter.is_alphabetic()).next().unwrap_or_default();
            let rest = lines.peek().copied().filter(|next| next.starts_with("//")).unwrap_or_default();
            let sentence = format!("{comment} {rest}");
            let end = sentence.split_inclusive(['.', '?', ':']).next().unwrap_or_default();
            found += usize::from(CLAUSES.contains(&first) && !end.ends_with('?'));
        }
    }
    let known = known::read().clauses_as_subjects;
    assert!(
        found <= known,
        "{found} comments begin with {CLAUSES:?}, and {known} may: begin with who does it, a noun"
    );
    assert!(
        found + 20 > known,
        "{found} comments begin with {CLAUSES:?}: write {found} into tests/house/known.toml"
    );
}

#[test]
fn the_version_stands_the_same_everywhere() {
    let read = |path: &str| fs::read_to_string(house::root().join(path)).unwrap();
    let version = env!("CARGO_PKG_VERSION");
    assert!(read("extension/howdah.control").contains(&format!("default_version = '{version}'")));
    assert!(read("README.md").contains(&format!("Its version is {version},")));
    assert!(read("SECURITY.md").contains(&format!("Howdah is at version {version}:")));
    assert!(
        read("CHANGELOG.md").lines().any(|line| line.starts_with(&format!("## {version}"))),
        "CHANGELOG.md lacks {version}"
    );
    assert!(read("docs/client.md").contains(&format!("<version>{version}</version>")));
    let clients = house::files("client", "pom.xml");
    assert!(clients.len() > 5, "{clients:?}");
    for client in clients {
        assert!(
            read(&client).contains(&format!("<version>{version}</version>")),
            "{client} has another version"
        );
    }
    let kept = house::files("tests/upgrades", ".sql");
    for release in kept.iter().filter_map(|path| path.strip_prefix("tests/upgrades/howdah--")) {
        let release = release.strip_suffix(".sql").unwrap();
        assert_ne!(release, version, "what is kept has another version than what is built");
        let dump = format!("tests/upgrades/dump-{release}.sql");
        assert!(kept.contains(&dump), "{dump} is missing");
    }
}

/// Files that put hooks and callbacks there, each once in a process because of where it is called: as the library is loaded, or as a worker begins.
const ONCE_BY_PLACE: [&str; 5] = [
    "extension/shared/src/lib.rs",
    "extension/howdah/src/utility.rs",
    "extension/session/src/log_rate.rs",
    "extension/request/src/admission.rs",
    "extension/session/src/watch.rs",
];

/// A hook that is put there a second time becomes its own next, and never ends.
#[test]
fn hooks_are_put_there_once() {
    let puts = |line: &str| {
        line.contains("_hook = Some(") && line.contains("pg_sys::")
            || line.contains("Register") && line.contains("Callback(Some(")
    };
    let again: Vec<String> = sources::all()
        .iter()
        .filter(|source| source.is_product() && source.path.starts_with("extension/"))
        .filter(|source| !ONCE_BY_PLACE.contains(&source.path.as_str()))
        .filter(|source| source.text.lines().any(puts) && !source.text.contains(".replace(true)"))
        .map(|source| source.path.clone())
        .collect();
    assert!(again.is_empty(), "they may put a hook there a second time: {again:?}");
}
