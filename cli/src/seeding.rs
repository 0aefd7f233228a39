//! `howdah seed`: rows of files go into an application's tables, piece by piece, each file in one transaction.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufReader, Read};
use std::path::Path;

use cluster::postgres::Transaction;
use folder::records::{self, Piece, Pieces};
use folder::seeds::{self, Format, Seed};
use folder::{Manifest, own};
use indicatif::ProgressBar;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::arguments;
use crate::connection::{Address, begin};
use crate::deployment::server::{FileError, Stop, call, require_extension, state};
use crate::deployment::target::{self, said};
use crate::failure::{Failure, Result};
use crate::progress::{self, grouped};
use crate::screen::{harmless, say};

/// Bytes that are read of statements.
const MOST_STATEMENTS: u64 = 9 << 20;

/// Fills the tables of each database.
pub(crate) fn run(options: &arguments::Seed) -> Result<()> {
    let folder = target::folder(&options.destination)?;
    if let Some(environment) = &options.environment {
        let place = options.destination.app.join("seeds").join(environment);
        if !place.is_dir() {
            return Err(Failure::Said(format!(
                "--environment {environment}: there is no folder {}",
                place.display()
            )));
        }
    }
    target::each(&options.destination, &folder.manifest, |address| {
        say(&format!("{} of {}:", folder.manifest.name, address.shown));
        let app = &options.destination.app;
        match fill(address, app, &folder.manifest, options.environment.as_deref(), true)? {
            0 => Err(Failure::Said(format!("there are no seeds in {}", app.join("seeds").display()))),
            _ => Ok(()),
        }
    })
}

/// Fills the tables of an application that is deployed; how many files did.
pub(crate) fn fill(
    address: &Address,
    app: &Path,
    manifest: &Manifest,
    environment: Option<&str>,
    is_told: bool,
) -> Result<usize> {
    let seeds = seeds::find(app, environment).map_err(|faults| said(&faults))?;
    if seeds.is_empty() {
        return Ok(0);
    }
    let mut client = address.connect()?;
    require_extension(&mut client, &address.shown)?;
    for seed in &seeds {
        let mut transaction = begin(&mut client)?;
        if state(&mut transaction, &manifest.name)?.is_none_or(|deployed| deployed.number == 0) {
            let name = &manifest.name;
            return Err(Failure::Said(format!("{} has no {name}: howdah deploy brings it", address.shown)));
        }
        let bar = progress::of_files(seed.place.metadata().ok().map(|file| file.len()));
        let rows = Filling { manifest, seed, transaction: &mut transaction, bar: &bar }.run();
        bar.finish_and_clear();
        let rows = rows.map_err(Failure::from)?;
        transaction.commit()?;
        if is_told {
            let count = rows.map_or_else(|| "ran".to_owned(), |rows| format!("{} rows", grouped(rows)));
            say(&harmless(&format!("  {}  {count}", seed.path)));
        }
    }
    Ok(seeds.len())
}

/// A file on its way.
struct Filling<'a, 't> {
    manifest: &'a Manifest,
    seed: &'a Seed,
    transaction: &'a mut Transaction<'t>,
    bar: &'a ProgressBar,
}

/// What the server says of a piece.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Put {
    rows: u64,
    error: Option<FileError>,
}

/// Neighbouring lines with the same keys.
struct Alike {
    columns: Vec<String>,
    bytes: Vec<u8>,
    lines: Vec<u64>,
}

impl Filling<'_, '_> {
    /// How many rows were written; none if it is statements.
    fn run(&mut self) -> std::result::Result<Option<u64>, Stop> {
        let file = own::open(&self.seed.place).map_err(|error| self.unreadable(&error))?;
        let source = self.bar.wrap_read(BufReader::new(file));
        match self.seed.format {
            Format::Sql => self.statements(source).map(|()| None),
            Format::Csv => self.csv(source).map(Some),
            Format::Ndjson => self.lines(source).map(Some),
        }
    }

    fn unreadable(&self, error: &io::Error) -> Stop {
        Stop::Failed(Failure::Said(format!("{}: {error}", self.seed.path)))
    }

    fn statements(&mut self, source: impl Read) -> std::result::Result<(), Stop> {
        let mut text = String::new();
        // The server says that it is too long.
        source.take(MOST_STATEMENTS).read_to_string(&mut text).map_err(|error| self.unreadable(&error))?;
        let text = text.trim_start_matches('\u{feff}');
        let query = "select deploy.seed($1, $2)::text";
        let ran: Put = call(self.transaction, query, &[&self.manifest.name, &text])?;
        match ran.error {
            Some(error) => Err(Stop::Failed(Failure::Said(error.describe(&self.seed.path, text)))),
            None => Ok(()),
        }
    }

    /// The columns by which a row is known again.
    fn key(&self) -> Vec<String> {
        let said = self.manifest.seeds.get(&self.seed.table).map(String::as_str).unwrap_or_default();
        said.split(',').map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect()
    }

    fn csv(&mut self, source: impl Read) -> std::result::Result<u64, Stop> {
        let mut pieces = Pieces::of_csv(source);
        let header = pieces.header().map_err(|error| self.unreadable(&error))?;
        let Some(header) = header else {
            return Err(Stop::Failed(Failure::Said(format!(
                "{}: it is empty; its first line has the names of the columns",
                self.seed.path
            ))));
        };
        let columns = records::columns(&header);
        self.note("begin_seed", &columns, None)?;
        let mut rows = 0;
        while let Some(piece) = pieces.next_piece().map_err(|error| self.unreadable(&error))? {
            rows += self.put(&columns, "csv", &piece.bytes, |line| piece.line + line - 1)?;
            self.bar.set_message(format!("{} rows", grouped(rows)));
        }
        self.note("end_seed", &columns, None)?;
        Ok(rows)
    }

    fn lines(&mut self, source: impl Read) -> std::result::Result<u64, Stop> {
        let mut pieces = Pieces::of_lines(source);
        let (mut rows, mut known) = (0, BTreeSet::new());
        while let Some(piece) = pieces.next_piece().map_err(|error| self.unreadable(&error))? {
            for alike in self.by_keys(&piece)? {
                if known.is_empty() {
                    // The table has to be empty before the first row, if nothing says which are known.
                    self.note("begin_seed", &alike.columns, alike.lines.first().copied())?;
                }
                rows +=
                    self.put(&alike.columns, "ndjson", &alike.bytes, |line| alike.lines[line as usize - 1])?;
                known.extend(alike.columns);
                self.bar.set_message(format!("{} rows", grouped(rows)));
            }
        }
        if !known.is_empty() {
            let known: Vec<String> = known.into_iter().collect();
            self.note("end_seed", &known, None)?;
        }
        Ok(rows)
    }

    /// The lines of a piece, cut where they have other keys than the ones before: what an object lacks has its default.
    fn by_keys(&self, piece: &Piece) -> std::result::Result<Vec<Alike>, Stop> {
        let mut all: Vec<Alike> = Vec::new();
        for (line, bytes) in (piece.line..).zip(piece.bytes.split(|byte| *byte == b'\n')) {
            let bytes = match line {
                1 => bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes),
                _ => bytes,
            };
            if bytes.trim_ascii().is_empty() {
                continue;
            }
            let wrong = |why: String| {
                let path = &self.seed.path;
                Stop::Failed(Failure::Said(format!("{path}:{line}: this is no JSON object with keys{why}")))
            };
            let object: BTreeMap<String, &RawValue> =
                serde_json::from_slice(bytes).map_err(|error| wrong(format!(": {error}")))?;
            let columns: Vec<String> = object.into_keys().collect();
            if columns.is_empty() {
                return Err(wrong(String::new()));
            }
            if all.last().is_none_or(|last| last.columns != columns) {
                all.push(Alike { columns, bytes: Vec::new(), lines: Vec::new() });
            }
            if let Some(last) = all.last_mut() {
                last.bytes.extend_from_slice(bytes);
                last.bytes.push(b'\n');
                last.lines.push(line);
            }
        }
        Ok(all)
    }

    /// Calls a function that takes no rows; an error is about the file, or the line.
    fn note(&mut self, what: &str, columns: &[String], line: Option<u64>) -> std::result::Result<(), Stop> {
        let query = format!("select deploy.{what}($1, $2, $3, $4)");
        let arguments: [&(dyn cluster::postgres::types::ToSql + Sync); 4] =
            [&self.manifest.name, &self.seed.table, &columns, &self.key()];
        match self.transaction.execute(&query, &arguments) {
            Ok(_) => Ok(()),
            Err(error) => Err(self.at(line, Stop::from(error))),
        }
    }

    /// An error with the file, and the line.
    fn at(&self, line: Option<u64>, stop: Stop) -> Stop {
        let line = line.map(|line| format!(":{line}")).unwrap_or_default();
        match stop {
            Stop::Failed(failure) => {
                Stop::Failed(Failure::Said(format!("{}{line}: {failure}", self.seed.path)))
            }
            stop => stop,
        }
    }

    fn put(
        &mut self,
        columns: &[String],
        format: &str,
        bytes: &[u8],
        line: impl Fn(u64) -> u64,
    ) -> std::result::Result<u64, Stop> {
        let query = "select deploy.seed_rows($1, $2, $3, $4, $5, $6)::text";
        let put: Put = call(
            self.transaction,
            query,
            &[&self.manifest.name, &self.seed.table, &columns, &self.key(), &format, &bytes],
        )
        .map_err(|stop| self.at(Some(line(1)), stop))?;
        match put.error {
            None => Ok(put.rows),
            Some(error) => {
                let of_file = line(error.line as u64);
                let told = FileError { context: None, ..error }.describe(&self.seed.path, "");
                let rest = told.strip_prefix(self.seed.path.as_str()).unwrap_or(&told);
                Err(Stop::Failed(Failure::Said(format!("{}:{of_file}{rest}", self.seed.path))))
            }
        }
    }
}
