//! Processes of a data folder, as `/proc` shows them.

use std::fs;
use std::path::Path;

/// A process of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// Its number.
    pub pid: u32,
    /// Its title, such as `postgres: checkpointer`.
    pub title: String,
}

/// The processes whose working folder is the data folder: the postmaster and all that it has started. Those
/// of other users are seen only by root.
pub fn of_data_folder(data: &Path) -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|pid| works_in(*pid, data))
        .map(|pid| Process { pid, title: title(pid) })
        .collect()
}

/// Whether a process works in a folder. A zombie works nowhere.
pub(crate) fn works_in(pid: u32, folder: &Path) -> bool {
    fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd == folder)
}

fn title(pid: u32) -> String {
    let raw = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&raw).replace('\0', " ").trim().to_owned()
}

/// What `postmaster.pid` says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PidFile {
    pub(crate) pid: u32,
    /// Whether the server takes connections.
    pub(crate) ready: bool,
}

impl PidFile {
    pub(crate) fn read(data: &Path) -> Option<Self> {
        let text = fs::read_to_string(data.join("postmaster.pid")).ok()?;
        let mut lines = text.lines();
        // In single-user mode the number is negative: no server.
        let pid = lines.next()?.trim().parse().ok()?;
        let status = lines.nth(6).unwrap_or_default().trim();
        Some(Self { pid, ready: status == "ready" || status == "standby" })
    }
}
