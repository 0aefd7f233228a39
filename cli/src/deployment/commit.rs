//! The commit of git that a folder is of. The folder may be anybody's, and git runs what a repository's configuration says: so it is asked
//! for no more than names, and for nothing that such a configuration can have it run.

use std::path::Path;
use std::process::{Command, Stdio};

/// The commit, and whether the folder has changes beside it.
pub(crate) fn of(folder: &Path) -> Option<String> {
    let commit = git(folder, &["rev-parse", "--verify", "HEAD"]).filter(|commit| is_commit(commit))?;
    // Filters of the repository would run.
    if git(folder, &["config", "--get-regexp", "^filter\\."]).is_some_and(|filters| !filters.is_empty()) {
        return Some(commit);
    }
    let status = ["status", "--porcelain", "--ignore-submodules=all", "--", "."];
    let is_clean = git(folder, &status)?.is_empty();
    Some(if is_clean { commit } else { commit + " and changes" })
}

/// Whether git has all of these files of a folder as they are. Not where it cannot be asked.
pub(crate) fn has_all<'a>(folder: &Path, paths: impl Iterator<Item = &'a String>) -> bool {
    let paths: Vec<&str> = paths.map(String::as_str).collect();
    // Filters of the repository would run.
    let has_filters =
        git(folder, &["config", "--get-regexp", "^filter\\."]).is_some_and(|filters| !filters.is_empty());
    let ask = |task: &[&str]| git(folder, &[task, &["--"], &paths].concat());
    !has_filters
        && ask(&["ls-files", "--error-unmatch"]).is_some()
        && ask(&["status", "--porcelain", "--ignore-submodules=all"])
            .is_some_and(|changes| changes.is_empty())
}

/// Whether a folder is of a commit that came after this one, such as one that takes it back.
pub(crate) fn is_later(folder: &Path, commit: &str) -> bool {
    let commit = commit.split(' ').next().unwrap_or_default();
    let head = git(folder, &["rev-parse", "--verify", "HEAD"]);
    is_commit(commit)
        && head.is_some_and(|head| head != commit)
        && git(folder, &["merge-base", "--is-ancestor", commit, "HEAD"]).is_some()
}

/// Whether git has this commit, and the folder's does not come after it: somebody has deployed what this folder lacks. Not where git has a
/// part of the history alone.
pub(crate) fn is_beside(folder: &Path, commit: &str) -> bool {
    let commit = commit.split(' ').next().unwrap_or_default();
    let succeeds = |task: &[&str]| git(folder, task).is_some();
    is_commit(commit)
        && succeeds(&["cat-file", "-e", &format!("{commit}^{{commit}}")])
        && git(folder, &["rev-parse", "--is-shallow-repository"]).as_deref() == Some("false")
        && succeeds(&["rev-parse", "--verify", "HEAD"])
        && !succeeds(&["merge-base", "--is-ancestor", commit, "HEAD"])
}

/// Whether a text is the name of a commit, and no option.
fn is_commit(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// What git answers; none if it fails.
fn git(folder: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new("git")
        // A repository whose files lie in the folder itself came with it.
        .args(["-c", "safe.bareRepository=explicit", "-c", "core.fsmonitor=false"])
        .args(["-c", "core.hooksPath=/dev/null", "-c", "core.untrackedCache=false"])
        .arg("-C")
        .arg(folder)
        .args(arguments)
        // What is missing is not fetched: how, the configuration says.
        .env("GIT_ALLOW_PROTOCOL", "none")
        .env("GIT_NO_LAZY_FETCH", "1")
        .env("GIT_OPTIONAL_LOCKS", "0")
        .stdin(Stdio::null())
        .output()
        .ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
