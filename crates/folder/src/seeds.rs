//! Seeds: the files of `seeds/`, which fill tables, for all environments or for one.

use std::fs;
use std::path::{Path, PathBuf};

use unicode_normalization::UnicodeNormalization;

use crate::{Fault, own};

/// How a file of rows is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Statements.
    Sql,
    /// Comma-separated values, with the columns' names in the first line, as `COPY … (format csv)` reads them.
    Csv,
    /// A JSON object in each line.
    Ndjson,
}

/// The endings of seeds.
pub const ENDINGS: [(&str, Format); 3] =
    [("sql", Format::Sql), ("csv", Format::Csv), ("ndjson", Format::Ndjson)];

/// A file that fills a table, or runs statements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seed {
    /// Its path in the folder.
    pub path: String,
    /// Where it is.
    pub place: PathBuf,
    /// How it is written.
    pub format: Format,
    /// The table: its name, without the number that it may begin with, and without the ending.
    pub table: String,
}

/// The seeds of a folder for an environment, in the order of their names: those of `seeds/`, then those of `seeds/ENVIRONMENT/`. What has no
/// known ending is an error, but for README files and what begins with a dot.
pub fn find(folder: &Path, environment: Option<&str>) -> Result<Vec<Seed>, Vec<Fault>> {
    let (mut seeds, mut faults) = (Vec::new(), Vec::new());
    add(folder, "seeds", &mut seeds, &mut faults);
    if let Some(environment) = environment {
        let below = format!("seeds/{environment}");
        if !faults.iter().any(|fault| fault.path == below) {
            add(folder, &below, &mut seeds, &mut faults);
        }
    }
    if faults.is_empty() { Ok(seeds) } else { Err(faults) }
}

fn add(folder: &Path, below: &str, seeds: &mut Vec<Seed>, faults: &mut Vec<Fault>) {
    let Ok(known) = fs::symlink_metadata(folder.join(below)) else { return };
    if let Some(why) = own::refusal(known.file_type()) {
        return faults.push(Fault::of(below, why));
    }
    let Ok(entries) = fs::read_dir(folder.join(below)) else { return };
    let mut found = Vec::new();
    for entry in entries.filter_map(Result::ok) {
        let name: String = entry.file_name().to_string_lossy().nfc().collect();
        let is_left =
            name.starts_with('.') || name.ends_with('~') || name.to_uppercase().starts_with("README");
        let path = format!("{below}/{name}");
        match entry.file_type() {
            _ if is_left => continue,
            Ok(known) if known.is_dir() => continue,
            Ok(known) => {
                if let Some(why) = own::refusal(known) {
                    faults.push(Fault::of(&path, why));
                    continue;
                }
            }
            Err(error) => {
                faults.push(Fault::of(&path, format!("cannot read it: {error}")));
                continue;
            }
        }
        match of_name(&name) {
            Some((format, table)) => found.push(Seed { path, place: entry.path(), format, table: table.to_owned() }),
            None => faults.push(Fault::of(&path, "a seed is called TABLE.csv, TABLE.ndjson or NAME.sql, with a number before it if the order matters")),
        }
    }
    found.sort_by(|one, other| one.path.cmp(&other.path));
    seeds.append(&mut found);
}

/// Format and table of a file's name, such as `010-entry.csv`.
fn of_name(name: &str) -> Option<(Format, &str)> {
    let (stem, ending) = name.rsplit_once('.')?;
    let (_, format) = *ENDINGS.iter().find(|(known, _)| *known == ending)?;
    let digits = stem.bytes().take_while(u8::is_ascii_digit).count();
    let table = match stem[digits..].strip_prefix(['-', '_']) {
        Some(table) if digits > 0 => table,
        _ => stem,
    };
    (!table.is_empty()).then_some((format, table))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_format_and_table() {
        assert_eq!(of_name("entry.csv"), Some((Format::Csv, "entry")));
        assert_eq!(of_name("010-entry.ndjson"), Some((Format::Ndjson, "entry")));
        assert_eq!(of_name("2_big-table.sql"), Some((Format::Sql, "big-table")));
        assert_eq!(of_name("2024.csv"), Some((Format::Csv, "2024")));
        assert_eq!(of_name("entry.xlsx"), None);
        assert_eq!(of_name("1-.csv"), None);
    }

    #[test]
    fn those_of_the_environment_come_after_those_of_all() {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        };
        assert_eq!(find(folder.path(), None), Ok(Vec::new()));
        for path in ["seeds/2-b.csv", "seeds/1-a.sql", "seeds/test/0-c.csv", "seeds/.x", "seeds/README.md"] {
            write(path);
        }
        let paths = |environment| -> Vec<String> {
            find(folder.path(), environment).unwrap().into_iter().map(|seed| seed.path).collect()
        };
        assert_eq!(paths(None), ["seeds/1-a.sql", "seeds/2-b.csv"]);
        assert_eq!(paths(Some("test")), ["seeds/1-a.sql", "seeds/2-b.csv", "seeds/test/0-c.csv"]);
        assert_eq!(paths(Some("other")), ["seeds/1-a.sql", "seeds/2-b.csv"]);
        write("seeds/entry.xlsx");
        assert_eq!(find(folder.path(), None).unwrap_err()[0].path, "seeds/entry.xlsx");
    }
}
