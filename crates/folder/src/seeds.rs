//! Seeds: the files of `seeds/`, which fill tables, for all environments or for one.

use std::fs;
use std::path::{Path, PathBuf};

use unicode_normalization::UnicodeNormalization;

use crate::Fault;

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
        add(folder, &format!("seeds/{environment}"), &mut seeds, &mut faults);
    }
    if faults.is_empty() { Ok(seeds) } else { Err(faults) }
}

fn add(folder: &Path, below: &str, seeds: &mut Vec<Seed>, faults: &mut Vec<Fault>) {
    let Ok(entries) = fs::read_dir(folder.join(below)) else { return };
    let mut found = Vec::new();
    for entry in entries.filter_map(Result::ok) {
        let name: String = entry.file_name().to_string_lossy().nfc().collect();
        let is_left =
            name.starts_with('.') || name.ends_with('~') || name.to_uppercase().starts_with("README");
        if is_left || entry.path().is_dir() {
            continue;
        }
        let path = format!("{below}/{name}");
        if !is_of(folder, &entry.path()) {
            faults.push(Fault::of(
                &path,
                "it is no file of this folder: a link to elsewhere, or a device, is no seed",
            ));
            continue;
        }
        match of_name(&name) {
            Some((format, table)) => found.push(Seed { path, place: entry.path(), format, table: table.to_owned() }),
            None => faults.push(Fault::of(&path, "a seed is called TABLE.csv, TABLE.ndjson or NAME.sql, with a number before it if the order matters")),
        }
    }
    found.sort_by(|one, other| one.path.cmp(&other.path));
    seeds.append(&mut found);
}

/// Whether something is a file that is in the folder itself: a folder may be anybody's, and a link may lead to what is not theirs.
fn is_of(folder: &Path, place: &Path) -> bool {
    let real = fs::canonicalize(place).and_then(|place| Ok(place.starts_with(fs::canonicalize(folder)?)));
    real.unwrap_or(false) && fs::metadata(place).is_ok_and(|known| known.is_file())
}

/// Format and table of a file's name, such as `010-entry.csv`.
fn of_name(name: &str) -> Option<(Format, &str)> {
    let (stem, ending) = name.rsplit_once('.')?;
    let format = match ending {
        "sql" => Format::Sql,
        "csv" => Format::Csv,
        "ndjson" => Format::Ndjson,
        _ => return None,
    };
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
        std::os::unix::fs::symlink("/dev/zero", folder.path().join("seeds/zero.sql")).unwrap();
        assert!(find(folder.path(), None).unwrap_err()[0].message.contains("no file of this folder"));
        fs::remove_file(folder.path().join("seeds/zero.sql")).unwrap();
        write("seeds/entry.xlsx");
        assert_eq!(find(folder.path(), None).unwrap_err()[0].path, "seeds/entry.xlsx");
    }
}
