//! Where the kernel, a library or another process may refuse something and the code goes on, it says why that may be.

use std::fs;
use std::path::{Path, PathBuf};

/// Lines above one that ignores a result in which the reason stands.
const NEAR: usize = 5;

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        match path.is_dir() {
            true => sources(&path, found),
            false if path.extension().is_some_and(|extension| extension == "rs") => found.push(path),
            false => {}
        }
    }
}

#[test]
fn every_result_that_is_ignored_has_a_reason_beside_it() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut files = Vec::new();
    sources(&root.join("extension"), &mut files);
    sources(&root.join("cli/src"), &mut files);
    for entry in fs::read_dir(root.join("crates")).unwrap().map(Result::unwrap) {
        // What serves tests alone may end in any way.
        if entry.file_name() != "cluster" {
            sources(&entry.path().join("src"), &mut files);
        }
    }
    files.retain(|file| {
        !file.components().any(|part| part.as_os_str() == "models") && !file.ends_with("tests.rs")
    });
    let mut without = Vec::new();
    for file in &files {
        let text = fs::read_to_string(file).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        let lines: Vec<&str> = code.lines().collect();
        for (place, line) in lines.iter().enumerate() {
            let is_ignored = line.trim_start().starts_with("let _ =")
                || line.trim_end().ends_with(".ok();") && !line.contains("let ");
            let near = &lines[place.saturating_sub(NEAR)..place];
            if is_ignored && !near.iter().any(|line| line.trim_start().starts_with("//")) {
                without.push(format!("{}:{}: {}", file.display(), place + 1, line.trim()));
            }
        }
    }
    assert!(files.len() > 100, "the sources are elsewhere");
    assert!(without.is_empty(), "without a reason:\n{}", without.join("\n"));
}
