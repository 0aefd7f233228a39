//! Whether something in a folder has changed. It looks at names, times and sizes, again and again: that sees what editors rename,
//! and it works where nobody tells of changes, as in shared volumes. Links are not followed: no file of an application is behind one.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use folder::files::MODULES;

/// The least time between two looks.
const PAUSE: Duration = Duration::from_millis(50);
/// The longest: what takes long once, as the machine was busy, does not the next time.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// Looking takes no more than this part of the time, as long as the pause is not the longest.
const SHARE: u32 = 20;
/// Files that are looked at; a folder with more is none of an application.
const MOST: usize = 20_000 + files::MOST;

/// What tells one state of a file from another: inode, size, and the times of its content and of its name, in nanoseconds.
type Stamp = (u64, u64, i64, i64);

/// A folder that is looked at.
pub(crate) struct Watch {
    folder: PathBuf,
    seen: BTreeMap<PathBuf, Stamp>,
    next: Instant,
}

impl Watch {
    /// As it is now.
    pub(crate) fn begin(folder: &Path) -> Watch {
        Watch { folder: folder.to_owned(), seen: stamps(folder), next: Instant::now() + PAUSE }
    }

    /// Whether it has changed since this last said so. What is being written may change again at once: then it says so again.
    pub(crate) fn has_changed(&mut self) -> bool {
        let begun = Instant::now();
        if begun < self.next {
            return false;
        }
        let now = stamps(&self.folder);
        self.next = Instant::now() + (begun.elapsed() * SHARE).clamp(PAUSE, LONGEST_PAUSE);
        let has_changed = now != self.seen;
        self.seen = now;
        has_changed
    }
}

/// All files below a folder, but for what begins with a dot, and what a package manager has put there.
fn stamps(folder: &Path) -> BTreeMap<PathBuf, Stamp> {
    let mut stamps = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder).into_iter().flatten().filter_map(Result::ok);
        let is_left_out = |name: &OsStr| name.as_encoded_bytes().starts_with(b".") || name == MODULES;
        for entry in entries.filter(|entry| !is_left_out(&entry.file_name())) {
            let path = entry.path();
            let Ok(known) = fs::symlink_metadata(&path) else { continue };
            if stamps.len() >= MOST {
                return stamps;
            }
            if known.is_dir() {
                folders.push(path);
            } else {
                let time = |seconds: i64, nanoseconds: i64| seconds * 1_000_000_000 + nanoseconds;
                let written = time(known.mtime(), known.mtime_nsec());
                let changed = time(known.ctime(), known.ctime_nsec());
                stamps.insert(path, (known.ino(), known.size(), written, changed));
            }
        }
    }
    stamps
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    /// Looks until it has changed, for a while.
    fn changes(watch: &mut Watch) -> bool {
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(10) {
            if watch.has_changed() {
                return true;
            }
            thread::sleep(Duration::from_millis(5));
        }
        false
    }

    #[test]
    fn writing_renaming_and_removing_is_seen_and_what_begins_with_a_dot_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().join(path);
        fs::create_dir(at("functions")).unwrap();
        fs::write(at("functions/f.sql"), "one").unwrap();
        let mut watch = Watch::begin(folder.path());
        fs::write(at("functions/f.sql"), "two").unwrap();
        assert!(changes(&mut watch), "written");
        fs::write(at("functions/.f.sql.swp"), "two").unwrap();
        fs::write(at("new"), "six").unwrap();
        assert!(changes(&mut watch), "new");
        fs::rename(at("new"), at("functions/f.sql")).unwrap();
        assert!(changes(&mut watch), "renamed over");
        std::os::unix::fs::symlink(folder.path(), at("functions/all")).unwrap();
        assert!(changes(&mut watch), "a link is something, and a folder that is in itself ends");
        assert_eq!(stamps(folder.path()).len(), 2);
        fs::remove_file(at("functions/f.sql")).unwrap();
        assert!(changes(&mut watch), "removed");
        fs::write(at(".hidden"), "").unwrap();
        thread::sleep(PAUSE * 3);
        assert!(!watch.has_changed());
    }
}
