//! The sources of the project as text, for tests that hold them to rules.
//!
//! - [`sources`]: every Rust file, with its code apart from comments and literals.
//! - [`modules`]: which file of a crate names which other.
//! - [`functions`]: how long functions are.
//! - [`known`]: exceptions from the rules, a list that only shrinks.

pub mod functions;
pub mod known;
pub mod modules;
pub mod sources;

use std::path::{Path, PathBuf};

/// The folder of the project.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the project's folder")
}

/// Paths of all files below a folder whose names end so, relative to the project's folder, in order. Folders of what is built or fetched are left out.
pub fn files(folder: &str, ending: &str) -> Vec<String> {
    const SKIPPED: [&str; 4] = ["target", "node_modules", ".git", ".howdah"];
    let (root, mut found) = (root(), Vec::new());
    let mut folders = vec![root.join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if path.is_dir() && !path.is_symlink() && !SKIPPED.contains(&name.as_str()) {
                folders.push(path);
            } else if name.ends_with(ending) {
                found.push(path.strip_prefix(&root).expect("of the project").display().to_string());
            }
        }
    }
    found.sort();
    found
}
