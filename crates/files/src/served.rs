//! The outcome of a request to a path at which there may be a file.

use crate::mount::FilePlace;
use crate::tree::{PathFound, StaticFile, Tree};

/// The methods that a file answers.
pub const ALLOW: &str = "GET, HEAD, OPTIONS";

/// The outcome of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Served<'t> {
    /// It gets a file.
    File(StaticFile<'t>),
    /// It is sent to the same path with a slash behind it: relative addresses of the page there are below that.
    Redirect,
    /// It asks which methods there are: [`ALLOW`].
    Options,
    /// A file takes none but these methods: [`ALLOW`].
    NotAllowed,
    /// The path names bytes that are not there. Nobody may keep that answer: they may be there soon.
    NoSuchBytes,
}

/// The outcome of a request; none if there is no file for it. `is_navigation` says whether a browser goes to a page by it.
pub fn served<'t>(
    method: &str,
    place: &FilePlace<'_>,
    tree: &'t Tree,
    is_navigation: impl FnOnce() -> bool,
) -> Option<Served<'t>> {
    let found = tree.find(place);
    let reads = matches!(method, "GET" | "HEAD");
    match (found, method) {
        (PathFound::Nothing, _) if reads && is_navigation() => tree.fallback(place).map(Served::File),
        (PathFound::Nothing, _) => None,
        (_, "OPTIONS") => Some(Served::Options),
        (_, _) if !reads => Some(Served::NotAllowed),
        (PathFound::File(file), _) => Some(Served::File(file)),
        (PathFound::Folder, _) => Some(Served::Redirect),
        (PathFound::NoSuchBytes, _) => Some(Served::NoSuchBytes),
    }
}

/// Whether a browser goes to a page by a request: it says so, or, if it is an old one, names HTML among what it takes. Scripts and pictures that are missing
/// are missing, and get no page.
///
/// ```
/// use files::served::is_navigation;
///
/// assert!(is_navigation(Some("navigate"), ["*/*"]));
/// assert!(!is_navigation(Some("no-cors"), ["text/html"]));
/// assert!(is_navigation(None, ["text/html,*/*;q=0.8"]) && !is_navigation(None, ["*/*"]));
/// ```
pub fn is_navigation<'v>(fetch_mode: Option<&str>, accept: impl IntoIterator<Item = &'v str>) -> bool {
    match fetch_mode {
        Some(mode) => mode == "navigate",
        None => accept.into_iter().flat_map(|value| value.split(',')).any(|range| {
            range.split(';').next().is_some_and(|name| name.trim().eq_ignore_ascii_case("text/html"))
        }),
    }
}

/// A path as an address has it: everything but letters, digits and what no address gives a meaning is escaped.
///
/// ```
/// assert_eq!(files::served::escaped("a b/ä?.css"), "a%20b/%C3%A4%3F.css");
/// ```
pub fn escaped(path: &str) -> String {
    percent_encoding::utf8_percent_encode(path, PATH).to_string()
}

const PATH: &percent_encoding::AsciiSet = &percent_encoding::NON_ALPHANUMERIC
    .remove(b'/')
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b'@')
    .remove(b',')
    .remove(b'+')
    .remove(b'!');
