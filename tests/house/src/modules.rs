//! Which file of a crate names which other, by `use` and by paths in its code; and circles of such files. A file that passes on by `pub use` what
//! another has does not name it by that: whoever takes it from there names the other.

use std::collections::{BTreeMap, BTreeSet};

use crate::sources::Source;

/// The path of a module, from the root of its crate.
type Path = Vec<String>;

/// A module that is a file.
struct Module<'a> {
    file: &'a str,
    code: &'a str,
    taken: Vec<Taken>,
}

/// What a module takes by `use`.
struct Taken {
    /// The name that it has there.
    name: String,
    /// The whole path.
    path: Path,
    /// Whether it is passed on.
    is_public: bool,
}

/// Circles of files of a crate, each in order, all sources of which are given.
pub fn circles(sources: &[&Source]) -> Vec<Vec<String>> {
    let modules: BTreeMap<Path, Module<'_>> = sources
        .iter()
        .map(|source| {
            let taken = uses(&source.code);
            (path_of(&source.path), Module { file: &source.path, code: &source.code, taken })
        })
        .collect();
    let edges: BTreeMap<&str, BTreeSet<&str>> =
        modules.iter().map(|(path, module)| (module.file, named(&modules, path, module))).collect();
    strongly_connected(&edges)
}

/// The path of the module that a file is.
fn path_of(file: &str) -> Path {
    let (_, inside) = file.split_once("/src/").unwrap_or_default();
    let mut path: Path = inside.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    if path.last().is_some_and(|last| ["mod", "lib", "main"].contains(&last.as_str())) {
        path.pop();
    }
    path
}

/// Files that a module names.
fn named<'a>(modules: &BTreeMap<Path, Module<'a>>, own: &Path, module: &Module<'a>) -> BTreeSet<&'a str> {
    let taken = module.taken.iter().filter(|taken| !taken.is_public).map(|taken| taken.path.clone());
    let paths = taken.chain(inline(modules, own, module.code));
    let files = paths.filter_map(|path| resolve(modules, own, &path, 0));
    files.filter(|file| *file != module.file).collect()
}

/// The file that a path leads to, through what modules on its way take by `use`.
fn resolve<'a>(
    modules: &BTreeMap<Path, Module<'a>>,
    own: &Path,
    path: &[String],
    depth: usize,
) -> Option<&'a str> {
    let mut at = own.clone();
    let mut rest = path;
    match path.first()?.as_str() {
        "crate" => (at, rest) = (Path::new(), &path[1..]),
        "self" => rest = &path[1..],
        "super" => {
            while rest.first().is_some_and(|first| first == "super") {
                at.pop()?;
                rest = &rest[1..];
            }
        }
        first => {
            at.push(first.to_owned());
            if !modules.contains_key(&at) {
                return None;
            }
            rest = &path[1..];
        }
    }
    while let Some(next) = rest.first() {
        at.push(next.clone());
        if !modules.contains_key(&at) {
            at.pop();
            break;
        }
        rest = &rest[1..];
    }
    let module = modules.get(&at)?;
    let item = rest.first();
    let again = module.taken.iter().find(|taken| Some(&taken.name) == item).filter(|_| depth < 8);
    again.and_then(|taken| resolve(modules, &at, &taken.path, depth + 1)).or(Some(module.file))
}

/// Paths in code that begin with `crate`, `self`, `super` or a child of the module.
fn inline(modules: &BTreeMap<Path, Module<'_>>, own: &Path, code: &str) -> Vec<Path> {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let taken = declarations(code);
    let (bytes, mut place, mut found) = (code.as_bytes(), 0, Vec::new());
    while let Some(offset) = code[place..].find("::") {
        let colons = place + offset;
        let begin = bytes[..colons].iter().rposition(|byte| !is_letter(*byte)).map_or(0, |before| before + 1);
        let mut end = colons;
        while bytes[end..].starts_with(b"::") && bytes.get(end + 2).is_some_and(|byte| is_letter(*byte)) {
            end += 2 + bytes[end + 2..].iter().take_while(|byte| is_letter(**byte)).count();
        }
        place = end.max(colons + 2);
        if taken.iter().any(|(begin, end, _)| (*begin..*end).contains(&colons)) {
            continue;
        }
        let path: Path = code[begin..end].split("::").map(str::to_owned).collect();
        let continues = begin > 0 && matches!(bytes[begin - 1], b':' | b'.');
        let is_own = ["crate", "self", "super"].contains(&path[0].as_str());
        let is_child = || {
            let child: Path = own.iter().chain([&path[0]]).cloned().collect();
            modules.contains_key(&child)
        };
        if path.len() > 1 && !continues && (is_own || is_child()) {
            found.push(path);
        }
    }
    found
}

/// What code takes by `use`.
fn uses(code: &str) -> Vec<Taken> {
    let mut found = Vec::new();
    for (place, end, is_public) in declarations(code) {
        let mut paths = Vec::new();
        tree(&code[place + USE.len()..end], &[], &mut paths);
        found.extend(paths.into_iter().map(|(name, path)| Taken { name, path, is_public }));
    }
    found
}

const USE: &str = "use ";

/// Where each `use` begins, where it ends, and whether it passes on what it takes.
fn declarations(code: &str) -> Vec<(usize, usize, bool)> {
    let declaration = |(place, _)| {
        let before = code[..place].trim_end();
        let is_public = before.ends_with("pub") || before.ends_with(')');
        let is_one = is_public || before.is_empty() || before.ends_with([';', '{', '}', ']']);
        let end = code[place..].find(';').filter(|_| is_one)?;
        Some((place, place + end, is_public))
    };
    code.match_indices(USE).filter_map(declaration).collect()
}

/// The paths of a tree as `a::{b, c::{self, d as e}}`.
fn tree(text: &str, before: &[String], found: &mut Vec<(String, Path)>) {
    let text = text.trim();
    if let Some((head, group)) = text.split_once('{') {
        let mut path = before.to_vec();
        path.extend(
            head.trim().split("::").filter(|name| !name.is_empty()).map(|name| name.trim().to_owned()),
        );
        let group = group.strip_suffix('}').unwrap_or(group);
        let (mut depth, mut begin) = (0, 0);
        for (place, letter) in group.char_indices() {
            match letter {
                '{' => depth += 1,
                '}' => depth -= 1,
                ',' if depth == 0 => {
                    tree(&group[begin..place], &path, found);
                    begin = place + 1;
                }
                _ => {}
            }
        }
        tree(&group[begin..], &path, found);
    } else if !text.is_empty() {
        let (whole, alias) =
            text.split_once(" as ").map_or((text, None), |(whole, alias)| (whole, Some(alias)));
        let mut path = before.to_vec();
        path.extend(whole.trim().split("::").map(|name| name.trim().to_owned()));
        if path.len() > 1 && path.last().is_some_and(|last| last == "self" || last == "*") {
            path.pop();
        }
        let name =
            alias.map_or_else(|| path.last().cloned().unwrap_or_default(), |alias| alias.trim().to_owned());
        found.push((name, path));
    }
}

/// Groups of files of which each leads to each other.
fn strongly_connected(edges: &BTreeMap<&str, BTreeSet<&str>>) -> Vec<Vec<String>> {
    let reached = |from: &str| {
        let (mut seen, mut next) = (BTreeSet::new(), vec![from]);
        while let Some(file) = next.pop() {
            let more = edges.get(file).into_iter().flatten().filter(|other| seen.insert(**other));
            next.extend(more.copied().collect::<Vec<_>>());
        }
        seen
    };
    let all: BTreeMap<&str, BTreeSet<&str>> = edges.keys().map(|file| (*file, reached(file))).collect();
    let mut found = BTreeSet::new();
    for (file, seen) in &all {
        let circle: Vec<String> = seen
            .iter()
            .filter(|other| all[**other].contains(file))
            .map(|other| (*other).to_owned())
            .collect();
        if !circle.is_empty() {
            found.insert(circle);
        }
    }
    found.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn circles_of(files: &[(&str, &str)]) -> Vec<Vec<String>> {
        let source = |(path, code): &(&str, &str)| Source {
            path: format!("x/src/{path}"),
            text: String::new(),
            code: (*code).to_owned(),
        };
        let sources: Vec<Source> = files.iter().map(source).collect();
        circles(&sources.iter().collect::<Vec<_>>())
    }

    #[test]
    fn circles_are_found_by_use_and_by_paths() {
        let lib = ("lib.rs", "mod a; mod b; pub use b::B;");
        assert!(circles_of(&[lib, ("a.rs", "use crate::b::B;"), ("b.rs", "")]).is_empty());
        let two = vec![vec!["x/src/a.rs".to_owned(), "x/src/b.rs".to_owned()]];
        assert_eq!(
            circles_of(&[lib, ("a.rs", "use crate::b::{B, c};"), ("b.rs", "fn f() { super::a::g() }")]),
            two
        );
        // Through what the root takes from there.
        assert_eq!(circles_of(&[lib, ("a.rs", "fn g(_: crate::B) {}"), ("b.rs", "use super::a;")]), two);
        assert!(circles_of(&[lib, ("a.rs", "use crate::c;"), ("b.rs", "use crate::a;")]).is_empty());
        // A folder and what is in it.
        let folder = [("a/mod.rs", "mod b; struct A; fn f() { b::g() }"), ("a/b.rs", "use super::A;")];
        assert_eq!(circles_of(&folder), [["x/src/a/b.rs", "x/src/a/mod.rs"]]);
        assert!(circles_of(&[("a/mod.rs", "mod b; struct A;"), ("a/b.rs", "use super::A;")]).is_empty());
    }
}
