//! Keys to columns.

use std::collections::HashMap;
use std::ffi::{CStr, CString};

use ndjson::Text;
use pg::catalog::attributes;
use pg::refuse::{refuse, refuse_with_hint};
use pgrx::PgSqlErrorCode;
use pgrx::pg_sys::{self, Oid};
use queue::shape::Shape;

use super::bucket::Keep;
use super::convert::Kind;
use super::input::Input;

/// A column that lines fill.
pub(crate) struct Column {
    /// Its name.
    pub name: CString,
    /// Its type, modifier and collation.
    pub kind_of_data: (Oid, i32, Oid),
    /// Its place among the attributes, from 0.
    pub place: usize,
    /// How values are converted where that is easy.
    pub kind: Kind,
    /// How all others are.
    pub input: Input,
}

/// The columns of a target, by key.
pub(crate) struct Columns {
    /// Attributes of the row, dropped ones too.
    pub width: usize,
    /// Whether lines must be objects: not if all that is kept is the line.
    pub need_objects: bool,
    /// The column that gets the whole line.
    pub line: Option<usize>,
    /// The column that gets the keys that have no column.
    pub rest: Option<usize>,
    /// Columns of domains that are null where a line has no key for them: none in a table, which has defaults.
    pub null_if_missing: Vec<usize>,
    columns: Vec<Column>,
    by_name: HashMap<Vec<u8>, usize>,
    /// The keys of the last line in their order, as they were written, and their columns: lines of one sender are alike.
    last: Vec<(Box<[u8]>, Option<usize>)>,
}

/// Keys of a line that are remembered.
const REMEMBERED: usize = 64;

impl Columns {
    /// The columns of a composite type.
    pub(crate) fn of_type(row_type: &Shape, keep: &Keep) -> Columns {
        let mut columns = Columns::of_table(row_type, keep);
        let domains = columns.columns.iter().enumerate().filter(|(_, column)| column.input.is_domain());
        columns.null_if_missing = domains.map(|(number, _)| number).collect();
        columns
    }

    /// A message: the line, whatever JSON it is.
    pub(crate) fn message() -> Columns {
        let column = Column {
            name: c"message".into(),
            kind_of_data: (pg_sys::JSONBOID, -1, Oid::INVALID),
            place: 0,
            kind: Kind::Other,
            input: Input::of(pg_sys::JSONBOID, -1),
        };
        Columns {
            width: 1,
            need_objects: false,
            line: Some(0),
            rest: None,
            null_if_missing: Vec::new(),
            columns: vec![column],
            by_name: HashMap::new(),
            last: Vec::new(),
        }
    }

    /// The columns of a table, but for generated ones.
    pub(crate) fn of_table(table: &Shape, keep: &Keep) -> Columns {
        // SAFETY: the shape keeps its descriptor.
        let attributes = unsafe { attributes(table.columns()) };
        let mut by_name = HashMap::new();
        let mut columns = Vec::new();
        for (place, attribute) in attributes.iter().enumerate() {
            if attribute.attisdropped || attribute.attgenerated != 0 {
                continue;
            }
            // SAFETY: a name in a catalog ends with NUL.
            let name = unsafe { CStr::from_ptr(attribute.attname.data.as_ptr()) };
            by_name.insert(name.to_bytes().to_vec(), columns.len());
            columns.push(Column {
                name: name.to_owned(),
                kind_of_data: (attribute.atttypid, attribute.atttypmod, attribute.attcollation),
                place,
                kind: Kind::of(attribute.atttypid, attribute.atttypmod),
                input: Input::of(attribute.atttypid, attribute.atttypmod),
            });
        }
        let mut kept = |name: &Option<String>| {
            let name = name.as_ref()?;
            match by_name.remove(name.as_bytes()) {
                Some(column) => Some(json(&columns, column, name)),
                None => refuse(
                    PgSqlErrorCode::ERRCODE_UNDEFINED_COLUMN,
                    &format!("there is no column \"{name}\" to keep JSON in"),
                ),
            }
        };
        let (line, rest) = (kept(&keep.line), kept(&keep.rest));
        Columns {
            width: attributes.len(),
            need_objects: true,
            line,
            rest,
            null_if_missing: Vec::new(),
            columns,
            by_name,
            last: Vec::new(),
        }
    }

    /// The column of a line's key, which is its `number`-th.
    pub(crate) fn find(&mut self, number: usize, key: Text<'_>) -> Option<usize> {
        let written = key.written().as_bytes();
        if let Some((_, column)) = self.last.get(number).filter(|(last, _)| **last == *written) {
            return *column;
        }
        let column = match key.plain() {
            Some(name) => self.by_name.get(name.as_bytes()),
            None => {
                let mut name = Vec::new();
                key.write(&mut name);
                self.by_name.get(&name)
            }
        };
        let column = column.copied();
        if number < REMEMBERED {
            self.last.truncate(number);
            if self.last.len() == number {
                self.last.push((written.into(), column));
            }
        }
        column
    }

    /// All columns.
    pub(crate) fn all(&self) -> &[Column] {
        &self.columns
    }

    /// A column that was found.
    pub(crate) fn column(&mut self, number: usize) -> &mut Column {
        &mut self.columns[number]
    }
}

/// The column; an error unless it takes JSON.
fn json(columns: &[Column], number: usize, name: &str) -> usize {
    if !columns[number].input.is_json() {
        refuse_with_hint(
            PgSqlErrorCode::ERRCODE_DATATYPE_MISMATCH,
            &format!("column \"{name}\" cannot keep JSON"),
            "Its type must be json or jsonb.",
        );
    }
    number
}
