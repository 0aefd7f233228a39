//! What `http.certificates` shows: each gateway writes down what it has in force, and sessions read it.
//!
//! It lies in files beside PostgreSQL's own temporary statistics, as there may be any number of certificates, and names of any length. A file
//! is there whole or not at all, and counts as long as the process lives that has written it.

use std::fs;
use std::path::PathBuf;
use std::process;

use pg::log_line;
use serde_json::{Map, Value, json};

/// Folder of statistics that do not outlive the server, in the data directory, where every process of PostgreSQL's works
/// (`PG_STAT_TMP_DIR`). Backups leave it out.
const FOLDER: &str = "pg_stat_tmp";
/// Bytes of a file that are read at most.
const LONGEST: u64 = 64 << 20;

/// A certificate, an authority or a revocation list.
#[derive(Default)]
pub(crate) struct Row {
    /// Which of them; `setting` for one that cannot be read.
    pub kind: &'static str,
    /// Its file.
    pub file: String,
    /// The file of its key, if that is another.
    pub key_file: Option<String>,
    /// Hosts and addresses that it is for; of an authority its name.
    pub names: Vec<String>,
    /// Who has signed it.
    pub issuer: Option<String>,
    /// What kind of key it has.
    pub key: Option<String>,
    /// When it becomes valid, in seconds of the UNIX clock.
    pub not_before: Option<i64>,
    /// When it ends, in seconds of the UNIX clock.
    pub not_after: Option<i64>,
    /// Whether clients get it that ask for no name, or for another.
    pub is_default: bool,
    /// Whether connections may use it.
    pub in_force: bool,
    /// What is wrong with it, or why its file is not in force.
    pub problem: Option<String>,
}

impl Row {
    fn json(&self) -> Value {
        json!({
            "kind": self.kind, "file": self.file, "key_file": self.key_file, "names": self.names, "issuer": self.issuer,
            "key": self.key, "not_before": self.not_before, "not_after": self.not_after,
            "is_default": self.is_default, "in_force": self.in_force, "problem": self.problem,
        })
    }
}

/// What a gateway has written down.
#[derive(Default)]
pub(crate) struct Shown {
    last: Option<String>,
}

impl Shown {
    /// Writes it down, if it is not what it was.
    pub(crate) fn publish(&mut self, gateway: usize, rows: &[Row]) {
        let rows: Vec<Value> = rows.iter().map(Row::json).collect();
        let text = json!({"pid": process::id(), "rows": rows}).to_string();
        if self.last.as_ref() == Some(&text) {
            return;
        }
        // Its name ends with the number: another extension in its place would be one file for all gateways.
        let (path, new) = (path(gateway), PathBuf::from(format!("{}.new", path(gateway).display())));
        if let Err(error) = fs::write(&new, &text).and_then(|()| fs::rename(&new, &path)) {
            log_line::warning!("http.certificates cannot be kept up to date: {}: {error}", path.display());
        }
        // What cannot be written is said once.
        self.last = Some(text);
    }
}

/// The kinds and files of what a gateway has in force.
pub fn in_force(gateway: usize, pid: i32) -> Vec<(String, String)> {
    let rows =
        of_gateway(gateway, pid).into_iter().filter(|row| row.get("in_force") == Some(&Value::Bool(true)));
    let text =
        |row: &Map<String, Value>, name: &str| row.get(name).and_then(Value::as_str).map(str::to_owned);
    rows.filter_map(|row| Some((text(&row, "kind")?, text(&row, "file")?))).collect()
}

fn path(gateway: usize) -> PathBuf {
    PathBuf::from(FOLDER).join(format!("howdah_certificates.{gateway}"))
}

/// The rows that a gateway has written down; none if another process has.
pub fn of_gateway(gateway: usize, pid: i32) -> Vec<Map<String, Value>> {
    let path = path(gateway);
    let is_small = fs::metadata(&path).is_ok_and(|meta| meta.is_file() && meta.len() <= LONGEST);
    let text = is_small.then(|| fs::read(&path).ok()).flatten().unwrap_or_default();
    let read: Value = serde_json::from_slice(&text).unwrap_or_default();
    if read["pid"].as_i64() != Some(i64::from(pid)) {
        return Vec::new();
    }
    let rows = read["rows"].as_array().cloned().unwrap_or_default();
    rows.into_iter().filter_map(|row| if let Value::Object(row) = row { Some(row) } else { None }).collect()
}
