//! Paths, and the files that they mean.

use std::time::Duration;

use files::{Mount, Mounts, PathFound, Tree, Version};
use hunt::Hunt;

fn tree(names: &[&str]) -> Tree {
    let mut tree = Tree::default();
    for name in names {
        tree.add((*name).to_owned(), version("4f3c9a1b2d5e", true));
    }
    tree
}

fn version(digits: &str, is_current: bool) -> Version {
    Version {
        digest: format!("{digits:0<64}"),
        size: 1,
        since: 0,
        is_current,
        is_fixed: false,
        packed: [None; 3],
    }
}

fn mount(prefix: &str, folder: &str) -> Mount {
    Mount { prefix: prefix.into(), application: "shop".into(), folder: folder.into(), fallback: None }
}

/// The name of the file that a path means; with a slash a folder's, and ! for bytes that are not there.
fn found(tree: &Tree, mounts: &Mounts, path: &str) -> Option<String> {
    match tree.find(&mounts.place(path)?) {
        PathFound::File(file) => {
            Some(if file.is_immutable { format!("{} for ever", file.name) } else { file.name })
        }
        PathFound::Folder => Some("/".into()),
        PathFound::NoSuchBytes => Some("!".into()),
        PathFound::Nothing => None,
    }
}

#[test]
fn a_path_means_the_file_of_its_name_below_the_longest_prefix() {
    let tree = tree(&[
        "app.css",
        "img/a b.png",
        "root/favicon.ico",
        "root/index.html",
        "docs/index.html",
        "docs/ä.txt",
        "LICENSE",
        "x.123456789abc.js",
    ]);
    let mounts = Mounts::of(vec![mount("/", "root"), mount("/static", ""), mount("/static/docs", "docs")]);
    for (path, name) in [
        ("/static/app.css", Some("app.css")),
        ("/static/app.4f3c9a1b2d5e.css", Some("app.css for ever")),
        ("/static/app.4f3c9a1b2d5f.css", Some("!")),
        ("/static/LICENSE.4f3c9a1b2d5e", Some("LICENSE for ever")),
        // A name of a bundler's says nothing of ours.
        ("/static/x.123456789abc.js", Some("x.123456789abc.js")),
        ("/static/no.4f3c9a1b2d5e.css", None),
        ("/static/img/a%20b.png", Some("img/a b.png")),
        ("/st%61tic/%61pp.css", Some("app.css")),
        ("/favicon.ico", Some("root/favicon.ico")),
        ("/", Some("root/index.html")),
        ("/static/docs/", Some("docs/index.html")),
        ("/static/docs", Some("/")),
        ("/static/docs/%C3%A4.txt", Some("docs/ä.txt")),
        // The same letter, written as two.
        ("/static/docs/a%CC%88.txt", None),
        ("/static", None),
        ("/static/", None),
        ("/static/APP.css", None),
        ("/static/app.css/", None),
        ("/static//app.css", None),
        ("//static/app.css", None),
        ("/static/./app.css", None),
        ("/static/img/../app.css", None),
        ("/static/img%2Fa%20b.png", None),
        ("/static/img%5Ca%20b.png", None),
        ("/static/app.css%00", None),
        ("/static/%2e%2e/app.css", None),
        ("/static/%ff", None),
        ("/static/app.css%", None),
        ("/staticapp.css", None),
        ("/other", None),
        ("*", None),
        ("", None),
    ] {
        assert_eq!(found(&tree, &mounts, path).as_deref(), name, "{path}");
    }
}

#[test]
fn bytes_that_a_name_had_answer_by_their_digest_alone() {
    let mut tree = Tree::default();
    tree.add("app.js".into(), version("aaaaaaaaaaaa", false));
    tree.add("app.js".into(), version("bbbbbbbbbbbb", true));
    tree.add("gone.js".into(), version("cccccccccccc", false));
    let mounts = Mounts::of(vec![mount("/static", "")]);
    let digest = |path: &str| match tree.find(&mounts.place(path).unwrap()) {
        PathFound::File(file) => Some(file.version.digest[..12].to_owned()),
        _ => None,
    };
    assert_eq!(digest("/static/app.js").as_deref(), Some("bbbbbbbbbbbb"));
    assert_eq!(digest("/static/app.aaaaaaaaaaaa.js").as_deref(), Some("aaaaaaaaaaaa"));
    assert_eq!(digest("/static/gone.cccccccccccc.js").as_deref(), Some("cccccccccccc"));
    assert_eq!(digest("/static/gone.js"), None);
    // A bundler's name never has other bytes.
    tree.add("main-BxK3.js".into(), Version { is_fixed: true, ..version("dddddddddddd", false) });
    let place = mounts.place("/static/main-BxK3.js").unwrap();
    assert!(matches!(tree.find(&place), PathFound::File(file) if file.is_immutable));
}

mod hunts {
    use super::*;

    /// A path of any bytes is answered by a name of the tree below the mount's folder, or by none.
    #[test]
    fn nothing_leaves_its_folder() {
        let pieces = [
            "..",
            ".",
            "/",
            "//",
            "%2e",
            "%2E%2e",
            "%2f",
            "%2F",
            "\\",
            "%5c",
            "%00",
            "%c0%af",
            "%c0%ae",
            "%e0%80%af",
            "%ef%bc%8f",
            "secret",
            "open",
            "a.txt",
            "%61.txt",
            "a%CC%88",
            "ä",
            "A.TXT",
            ";",
            "?",
            "#",
            "%",
            "%zz",
            " ",
            "static",
        ];
        let tree = tree(&["open/a.txt", "open/ä", "secret/a.txt", "a.txt"]);
        let mounts = Mounts::of(vec![mount("/static", "open")]);
        let mut hunt = Hunt::begin("paths of files", Duration::from_millis(500));
        while let Some(mut random) = hunt.next_round() {
            let tail: String = (0..random.usize(..8)).map(|_| pieces[random.usize(..pieces.len())]).collect();
            let path = format!("/static/{tail}");
            let Some(place) = mounts.place(&path) else { continue };
            let name = found(&tree, &mounts, &path);
            assert!(
                name.as_ref().is_none_or(|name| name.starts_with("open/") || name == "/"),
                "{path}: {name:?}"
            );
            // A tree of these names alone gives the same.
            let mut part = Tree::default();
            for name in Tree::names_for(&place) {
                if let Some(version) = tree.current(&name) {
                    part.add(name, version.clone());
                }
            }
            assert_eq!(found(&part, &mounts, &path), name, "{path}");
        }
    }
}
