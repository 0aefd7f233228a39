//! The paths at which files answer.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;

/// A prefix, below which the files of a folder answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// `/` or segments of plain text: `/static`.
    pub prefix: String,
    /// Whose files they are.
    pub application: String,
    /// Their folder; empty for all of the application's.
    pub folder: String,
    /// The file that a browser gets that goes to a page which is none.
    pub fallback: Option<String>,
}

/// The prefixes, the longest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mounts {
    mounts: Vec<Mount>,
}

/// The place of a path below a prefix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilePlace<'m> {
    /// The prefix.
    pub mount: &'m Mount,
    /// The name of the file that it would be, in the application's folder; with a slash at its end for a folder.
    pub name: String,
}

impl Mounts {
    /// These.
    pub fn of(mut mounts: Vec<Mount>) -> Mounts {
        mounts
            .sort_by(|one, other| (other.prefix.len(), &one.prefix).cmp(&(one.prefix.len(), &other.prefix)));
        Mounts { mounts }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.mounts.is_empty()
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Mount> {
        self.mounts.iter()
    }

    /// The place of a raw path: the longest prefix decides. None below no prefix, and of a path that no file can have: one with an encoded slash, say, which
    /// would be another path to who decodes it first.
    pub fn place(&self, raw_path: &str) -> Option<FilePlace<'_>> {
        if self.mounts.is_empty() {
            return None;
        }
        let path = decoded(raw_path)?;
        let (mount, rest) = self.mounts.iter().find_map(|mount| Some((mount, mount.rest(&path)?)))?;
        let name = match (mount.folder.as_str(), rest) {
            ("", "") => "/".to_owned(),
            ("", rest) => rest.to_owned(),
            (folder, rest) => format!("{folder}/{rest}"),
        };
        // The prefix itself is no folder's path: /static, where /static/ is.
        let is_bare = path.len() == mount.prefix.len() && mount.prefix != "/";
        let name = if is_bare { name.trim_end_matches('/').to_owned() } else { name };
        Some(FilePlace { mount, name })
    }
}

impl Mount {
    /// The name of the file that a browser gets that goes to a page which is none.
    pub fn fallback_name(&self) -> Option<String> {
        let fallback = self.fallback.as_deref()?;
        Some(if self.folder.is_empty() { fallback.to_owned() } else { format!("{}/{fallback}", self.folder) })
    }

    /// The rest of a path behind the prefix.
    fn rest<'p>(&self, path: &'p str) -> Option<&'p str> {
        if self.prefix == "/" {
            return path.strip_prefix('/');
        }
        let rest = path.strip_prefix(self.prefix.as_str())?;
        if rest.is_empty() { Some(rest) } else { rest.strip_prefix('/') }
    }
}

/// A path with its escapes read, once and by segment; none if a segment then has a slash, or is no UTF-8.
fn decoded(raw_path: &str) -> Option<Cow<'_, str>> {
    if !raw_path.contains('%') {
        return Some(Cow::Borrowed(raw_path));
    }
    let slashes = |text: &str| text.bytes().filter(|byte| *byte == b'/').count();
    let path = percent_decode_str(raw_path).decode_utf8().ok()?;
    (slashes(&path) == slashes(raw_path)).then_some(path)
}
