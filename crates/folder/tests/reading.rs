use std::fs;
use std::path::Path;

use folder::{Folder, Kind, Manifest, example};

fn write(folder: &Path, path: &str, text: &str) {
    let path = folder.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn shop(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "howdah.toml", "name = \"shop\"\n");
    files.iter().for_each(|(path, text)| write(folder.path(), path, text));
    folder
}

#[test]
fn files_have_their_kind_by_their_place() {
    let folder = shop(&[
        ("migrations/001-a.sql", "select 1;"),
        ("functions/deep/er/f.sql", "select 2;"),
        ("views/v.sql", "select 3;"),
        ("routes.sql", "select 4;"),
        ("tests/t.sql", "select 5;"),
        ("README.md", "\\x"),
        ("static/a.sql", "not ours"),
        (".git/x.sql", "not ours"),
        ("functions/.f.sql.swp", "not ours"),
        ("functions/f.sql~", "not ours"),
    ]);
    let read = Folder::read(folder.path()).unwrap();
    let kinds: Vec<_> = read.files.iter().map(|(path, file)| (path.as_str(), file.kind)).collect();
    assert_eq!(
        kinds,
        [
            ("functions/deep/er/f.sql", Kind::Code),
            ("migrations/001-a.sql", Kind::Migration),
            ("routes.sql", Kind::Routes),
            ("tests/t.sql", Kind::Test),
            ("views/v.sql", Kind::Code),
        ]
    );
    assert_eq!((read.manifest.schema(), read.manifest.owner().as_str()), ("shop", "shop_owner"));
}

#[test]
fn names_are_the_same_in_both_spellings_of_unicode() {
    let (composed, decomposed) =
        (shop(&[("views/caf\u{e9}.sql", "")]), shop(&[("views/cafe\u{301}.sql", "")]));
    assert_eq!(Folder::read(composed.path()), Folder::read(decomposed.path()));
}

#[test]
fn all_that_is_wrong_is_told_at_once() {
    let folder =
        shop(&[("views/a.sql", "\\i x"), ("views/b.sql", "a\0"), ("function/f.sql", ""), ("schema.sql", "")]);
    let faults = Folder::read(folder.path()).unwrap_err();
    let mut told: Vec<String> = faults.iter().map(ToString::to_string).collect();
    told.sort();
    assert_eq!(told.len(), 4, "{told:?}");
    assert!(told[0].starts_with("function/f.sql: this is in none of"), "{told:?}");
    assert!(told[2].starts_with("views/a.sql:1: \\i"), "{told:?}");
    let none = Folder::read(Path::new("/nowhere/at/all")).unwrap_err();
    assert!(none[0].to_string().contains("howdah new NAME"), "{none:?}");
}

#[test]
fn a_manifest_says_where_it_is_wrong() {
    let read = Manifest::parse(
        "name = \"a-b_9\"\nschema = \"s\"\nowner = \"o\"\nextensions = [\"pgcrypto\"]\n[environments]\nlive = \"host=x\"\n",
    )
    .unwrap();
    assert_eq!(
        (read.schema(), read.owner().as_str(), read.environments["live"].as_str()),
        ("s", "o", "host=x")
    );
    for (text, line) in [
        ("name = shop\n", Some(1)),
        ("name = \"shop\"\n\nshema = \"x\"\n", Some(3)),
        ("schema = \"x\"\n", Some(1)),
        ("name = \"Shop\"\n", None),
        ("name = \"\"\n", None),
    ] {
        assert_eq!(Manifest::parse(text).unwrap_err().line, line, "{text}");
    }
}

#[test]
fn what_howdah_new_makes_is_an_application() {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in example::files("guestbook") {
        assert!(!text.contains("{name}"), "{path}");
        write(folder.path(), &path, &text);
    }
    let read = Folder::read(folder.path()).unwrap();
    assert_eq!((read.manifest.name.as_str(), read.files.len()), ("guestbook", 9));
}

#[test]
fn the_guestbook_among_the_examples_is_what_howdah_new_makes_and_a_migration_and_a_test_more() {
    let guestbook = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/guestbook"));
    let made = example::files("guestbook");
    for (path, text) in &made {
        let there = fs::read_to_string(guestbook.join(path)).unwrap_or_default();
        assert_eq!(there, *text, "examples/guestbook/{path}: howdah new guestbook makes another");
    }
    let read = Folder::read(guestbook).unwrap();
    let more: Vec<&str> = read
        .files
        .keys()
        .map(String::as_str)
        .filter(|path| made.iter().all(|(known, _)| known != path) && *path != folder::statics::INDEX)
        .collect();
    assert_eq!(read.statics.index.entries.len(), 1);
    assert_eq!(more, ["migrations/002-short-messages.sql", "tests/short_messages.sql"]);
}
