//! Files of `static/`: what is read, what is left out, and style sheets that name others.

use std::fs;
use std::path::Path;

use files::hashed::hashed;
use folder::{Folder, Kind, statics};

fn write(folder: &Path, path: &str, text: impl AsRef<[u8]>) {
    let path = folder.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn application(manifest: &str, files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "howdah.toml", format!("name = \"shop\"\n{manifest}"));
    files.iter().for_each(|(path, text)| write(folder.path(), path, text));
    folder
}

fn names(folder: &Folder) -> Vec<&str> {
    folder.statics.index.entries.keys().map(String::as_str).collect()
}

#[test]
fn what_nobody_means_to_publish_is_left_out() {
    let files = [
        ("static/app.js", "1"),
        ("static/app.js.map", "{}"),
        ("static/.env", "secret"),
        ("static/.git/config", "x"),
        ("static/a~", "x"),
        ("static/dump.sql", "x"),
        ("static/X.TOML", "x"),
        ("static/root/.well-known/security.txt", "x"),
        ("static/.well-known/y", "x"),
        ("static/node_modules/p/x.js", "x"),
        ("node_modules/p/x.sql", "x"),
    ];
    let plain = Folder::read(application("", &files).path()).unwrap();
    assert_eq!(names(&plain), [".well-known/y", "app.js", "root/.well-known/security.txt"]);
    let maps = Folder::read(application("source_maps = true\n", &files).path()).unwrap();
    assert!(names(&maps).contains(&"app.js.map"));
    let index = &plain.files[statics::INDEX];
    assert_eq!((index.kind, index.text.lines().count()), (Kind::Static, 3));
    // Without any there is no list.
    let none = Folder::read(application("", &[("static/.keep", "")]).path()).unwrap();
    assert!(!none.files.contains_key(statics::INDEX));
}

#[test]
fn a_style_sheet_names_what_it_uses_by_what_is_in_it() {
    let folder = application(
        "",
        &[
            (
                "static/css/a.css",
                "@import \"b.css\"; a { b: url(../img/x.png?v#f) url(data:x) url(/static/img/x.png) }",
            ),
            ("static/css/b.css", "b { c: url('../img/ö p.png') }\nd { e: url(none.png) }"),
            ("static/img/x.png", "picture"),
            ("static/img/ö p.png", "other"),
        ],
    );
    let read = Folder::read(folder.path()).unwrap();
    let entries = &read.statics.index.entries;
    let name = |name: &str| hashed(name.rsplit('/').next().unwrap(), &entries[name].digest);
    let sheet = |path: &str| {
        let digest = &entries[path].digest;
        String::from_utf8(read.statics.contents[digest].read(digest).unwrap()).unwrap()
    };
    assert_eq!(
        sheet("css/a.css"),
        format!(
            "@import \"{}\"; a {{ b: url(../img/{}?v#f) url(data:x) url(/static/img/x.png) }}",
            name("css/b.css"),
            name("img/x.png")
        )
    );
    assert!(sheet("css/b.css").contains(&format!(
        "url('../img/{}')",
        name("img/ö p.png").replace(' ', "%20").replace('ö', "%C3%B6")
    )));
    let told: Vec<String> = read.statics.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(told, ["static/css/b.css:2: there is no file static/css/none.png"]);
    // Another picture makes another sheet of each that leads to it.
    write(folder.path(), "static/img/ö p.png", "third");
    let again = Folder::read(folder.path()).unwrap();
    for path in ["css/a.css", "css/b.css"] {
        assert_ne!(entries[path].digest, again.statics.index.entries[path].digest, "{path}");
    }
    assert_eq!(entries["img/x.png"].digest, again.statics.index.entries["img/x.png"].digest);
}

#[test]
fn style_sheets_that_import_each_other_or_are_no_text_stay_readable() {
    let folder = application(
        "",
        &[
            ("static/a.css", "@import 'b.css';"),
            ("static/b.css", "@import 'c.css';"),
            ("static/c.css", "@import 'a.css'; @import 'c.css';"),
        ],
    );
    write(folder.path(), "static/latin.css", b"a { content: '\xe4' url(a.css) }");
    let read = Folder::read(folder.path()).unwrap();
    assert_eq!(read.statics.index.entries.len(), 4);
    for (digest, content) in &read.statics.contents {
        assert_eq!(content.read(digest).unwrap().len() as u64, content.size);
    }
}

#[test]
fn a_file_that_changes_while_it_is_sent_is_not_sent() {
    let folder = application("", &[("static/a.txt", "one")]);
    let read = Folder::read(folder.path()).unwrap();
    let (digest, content) = read.statics.contents.iter().next().unwrap();
    write(folder.path(), "static/a.txt", "two");
    assert!(content.read(digest).unwrap_err().to_string().contains("changed"));
}

#[test]
fn names_that_browsers_read_otherwise_are_refused() {
    for name in ["a\\b.txt", "a\nb.txt", "a\u{7f}b.txt"] {
        let folder = application("", &[]);
        write(folder.path(), &format!("static/{name}"), "x");
        let faults = Folder::read(folder.path()).unwrap_err();
        assert_eq!(faults.len(), 1, "{name:?}: {faults:?}");
    }
    // Two spellings of one letter.
    let folder = application("", &[("static/\u{e4}.txt", "1"), ("static/a\u{308}.txt", "2")]);
    assert!(Folder::read(folder.path()).unwrap_err()[0].to_string().contains("two spellings"));
    let folder = application("", &[("static", "x")]);
    assert!(Folder::read(folder.path()).unwrap_err()[0].to_string().contains("where a folder is meant"));
}

#[test]
fn a_folder_has_no_more_files_than_the_most() {
    let folder = application("", &[("static/0", "")]);
    for number in 1..=files::MOST {
        fs::hard_link(folder.path().join("static/0"), folder.path().join(format!("static/{number}")))
            .unwrap_or_else(|_| {
                // A file has so many names at most.
                fs::write(folder.path().join(format!("static/{number}")), "").unwrap();
            });
    }
    let faults = Folder::read(folder.path()).unwrap_err();
    assert!(faults[0].to_string().contains("100000 is the most"), "{:?}", faults[0]);
}
