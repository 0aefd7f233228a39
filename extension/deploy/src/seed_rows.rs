//! The rows of a piece of a file, one INSERT each. As the application's owner, inside its settings.

use std::cell::Cell;
use std::ffi::{CString, c_char, c_int, c_void};

use pg::entry::callback;
use pg::refuse::refuse;
use pg::scratch::Scratch;
use pgrx::pg_sys::{self, Datum, Oid};
use pgrx::prelude::*;

/// A column of a table.
#[derive(Clone)]
pub(crate) struct Column {
    /// Its name.
    pub name: String,
    /// Its name as SQL writes it.
    pub quoted: String,
    /// Whether its values are PostgreSQL's to choose, once a row is there.
    pub is_generated: bool,
    /// Its type.
    pub of_type: Oid,
    /// What the type is limited to.
    pub modifier: i32,
}

/// Where rows go.
pub(crate) struct Insert {
    /// The table, as SQL writes it.
    pub table: String,
    /// The columns that rows have.
    pub columns: Vec<Column>,
    /// Those by which a row is known again; none if each is new.
    pub key: Vec<String>,
}

thread_local! {
    /// What COPY reads: bytes that are left.
    static SOURCE: Cell<(*const u8, usize)> = const { Cell::new((std::ptr::null(), 0)) };
    /// The row that was read last, from 1.
    static ROW: Cell<usize> = const { Cell::new(0) };
}

impl Insert {
    fn names(&self) -> String {
        let names: Vec<&str> = self.columns.iter().map(|column| column.quoted.as_str()).collect();
        names.join(", ")
    }

    /// What becomes of a row that is known: it gets the file's values, unless it has them.
    fn conflict(&self) -> String {
        if self.key.is_empty() {
            return String::new();
        }
        let (key, others): (Vec<&Column>, Vec<&Column>) =
            self.columns.iter().partition(|column| self.key.contains(&column.name));
        let others: Vec<&Column> = others.into_iter().filter(|column| !column.is_generated).collect();
        let list = |columns: &[&Column], shape: &dyn Fn(&str) -> String| {
            let all: Vec<String> = columns.iter().map(|column| shape(&column.quoted)).collect();
            all.join(", ")
        };
        let target = list(&key, &str::to_owned);
        if others.is_empty() {
            return format!(" on conflict ({target}) do nothing");
        }
        format!(
            " on conflict ({target}) do update set {} where row({}) is distinct from row({})",
            list(&others, &|name| format!("{name} = excluded.{name}")),
            list(&others, &|name| format!("old.{name}")),
            list(&others, &|name| format!("excluded.{name}"))
        )
    }
}

/// A statement that runs again and again.
struct Plan(pg_sys::SPIPlanPtr);

impl Plan {
    /// Inside of SPI.
    fn of(statement: &str, types: &mut [Oid]) -> Plan {
        let statement = CString::new(statement).unwrap_or_default();
        // SAFETY: SPI is connected.
        let plan =
            unsafe { pg_sys::SPI_prepare(statement.as_ptr(), types.len() as c_int, types.as_mut_ptr()) };
        if plan.is_null() {
            refuse(PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED, "rows cannot be put into this table");
        }
        Plan(plan)
    }

    /// Runs it with these values; how many rows it has written.
    fn run(&self, values: &mut [Datum], nulls: &[u8]) -> u64 {
        // SAFETY: SPI is connected; the values are of the types that it was made for.
        unsafe {
            let ran = pg_sys::SPI_execute_plan(self.0, values.as_mut_ptr(), nulls.as_ptr().cast(), false, 0);
            if ran < 0 {
                refuse(PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED, "rows cannot be put into this table");
            }
            pg_sys::SPI_processed
        }
    }
}

/// Whole rows of comma-separated values; how many were written.
pub(crate) fn of_csv(insert: &Insert, table: Oid, content: &[u8]) -> u64 {
    refuse_end_mark(content);
    ROW.set(0);
    SOURCE.set((content.as_ptr(), content.len()));
    let places: Vec<String> = (1..=insert.columns.len()).map(|place| format!("${place}")).collect();
    let statement = format!(
        "insert into {} as old ({}) overriding system value values ({}){}",
        insert.table,
        insert.names(),
        places.join(", "),
        insert.conflict()
    );
    let mut types: Vec<Oid> = insert.columns.iter().map(|column| column.of_type).collect();
    Spi::connect_mut(|_| {
        let plan = Plan::of(&statement, &mut types);
        // SAFETY: inside a transaction; the table is closed when the copy has ended, or by the subtransaction's end.
        unsafe {
            let relation = pg_sys::table_open(table, pg_sys::RowExclusiveLock as pg_sys::LOCKMODE);
            let copy = begin_copy(relation, insert);
            let inputs: Vec<Input> = insert.columns.iter().map(|column| Input::of(column)).collect();
            let (row, mut written) = (Scratch::here(), 0);
            while row.run(|| match next_row(copy) {
                None => false,
                Some(fields) => {
                    refuse_width(insert, fields.len());
                    let (mut values, marks): (Vec<Datum>, Vec<u8>) =
                        inputs.iter().zip(fields).map(|(input, field)| input.value(*field)).unzip();
                    written += plan.run(&mut values, &marks);
                    true
                }
            }) {}
            pg_sys::EndCopyFrom(copy);
            pg_sys::table_close(relation, pg_sys::NoLock as pg_sys::LOCKMODE);
            written
        }
    })
}

/// An error for a line that ends a COPY: what follows would be left out.
fn refuse_end_mark(content: &[u8]) {
    let is_mark = |line: &[u8]| line.strip_suffix(b"\r").unwrap_or(line) == b"\\.";
    let (mut row, mut is_quoted) = (1, false);
    for line in content.split(|byte| *byte == b'\n') {
        if !is_mark(line) {
            is_quoted ^= line.iter().filter(|byte| **byte == b'"').count() % 2 == 1;
            row += usize::from(!is_quoted);
            continue;
        }
        ROW.set(row);
        refuse(
            PgSqlErrorCode::ERRCODE_BAD_COPY_FILE_FORMAT,
            "a line of \\. alone ends a COPY; write it in quotes, with something beside it",
        );
    }
}

/// The next row of a COPY, as texts; null is none.
unsafe fn next_row<'c>(copy: pg_sys::CopyFromState) -> Option<&'c [*mut c_char]> {
    let (mut fields, mut count) = (std::ptr::null_mut(), 0);
    ROW.set(ROW.get() + 1);
    // SAFETY: a COPY of texts; what it gives lasts until the next row.
    unsafe {
        let has_row = pg_sys::NextCopyFromRawFields(copy, &raw mut fields, &raw mut count);
        has_row.then(|| std::slice::from_raw_parts(fields.cast_const(), usize::try_from(count).unwrap_or(0)))
    }
}

/// An error unless a row has as many values as the first line has names.
fn refuse_width(insert: &Insert, count: usize) {
    let refuse = |message: &str| refuse(PgSqlErrorCode::ERRCODE_BAD_COPY_FILE_FORMAT, message);
    match insert.columns.get(count) {
        Some(missing) => refuse(&format!("missing data for column \"{}\"", missing.name)),
        None if count > insert.columns.len() => refuse("extra data after last expected column"),
        None => {}
    }
}

/// How texts become values of a column.
struct Input {
    function: pg_sys::FmgrInfo,
    parameter: Oid,
    modifier: i32,
}

impl Input {
    unsafe fn of(column: &Column) -> Input {
        let mut input = Input {
            function: pg_sys::FmgrInfo::default(),
            parameter: Oid::INVALID,
            modifier: column.modifier,
        };
        // SAFETY: inside a transaction; what it looks up is kept in the current memory context.
        unsafe {
            let mut number = Oid::INVALID;
            pg_sys::getTypeInputInfo(column.of_type, &raw mut number, &raw mut input.parameter);
            pg_sys::fmgr_info(number, &raw mut input.function);
        }
        input
    }

    /// A value, and how SPI is told whether it is null.
    fn value(&self, text: *mut c_char) -> (Datum, u8) {
        let function = std::ptr::from_ref(&self.function).cast_mut();
        // SAFETY: a text of COPY's, or none; a domain judges null, too.
        let value = unsafe { pg_sys::InputFunctionCall(function, text, self.parameter, self.modifier) };
        (value, if text.is_null() { b'n' } else { b' ' })
    }
}

/// A COPY that reads what [`SOURCE`] has, into these columns.
unsafe fn begin_copy(relation: pg_sys::Relation, insert: &Insert) -> pg_sys::CopyFromState {
    // SAFETY: inside a transaction; nodes in the current memory context.
    unsafe {
        let text = |text: &str| pg_sys::makeString(pg::text::c_string(text)).cast();
        let option = |name: &str, value: &str| {
            pg_sys::makeDefElem(pg::text::c_string(name), text(value), -1).cast::<c_void>()
        };
        let mut options = std::ptr::null_mut();
        for (name, value) in [("format", "csv"), ("encoding", "UTF8")] {
            options = pg_sys::lappend(options, option(name, value));
        }
        let mut names = std::ptr::null_mut();
        for column in &insert.columns {
            names = pg_sys::lappend(names, text(&column.name).cast());
        }
        let none = std::ptr::null_mut();
        let state = pg_sys::make_parsestate(none);
        let mode = pg_sys::RowExclusiveLock as c_int;
        pg_sys::addRangeTableEntryForRelation(state, relation, mode, std::ptr::null_mut(), false, false);
        pg_sys::BeginCopyFrom(
            state,
            relation,
            std::ptr::null_mut(),
            std::ptr::null(),
            false,
            Some(read_source),
            names,
            options,
        )
    }
}

callback! {
    /// Gives COPY the next bytes.
    unsafe fn read_source(into: *mut c_void, _least: c_int, most: c_int) -> c_int {
        let (from, left) = SOURCE.get();
        let count = left.min(usize::try_from(most).unwrap_or(0));
        // SAFETY: the source lives while it is copied; PostgreSQL has room for `most` bytes.
        unsafe {
            std::ptr::copy_nonoverlapping(from, into.cast::<u8>(), count);
            SOURCE.set((from.add(count), left - count));
        }
        count as c_int
    }
}

/// Lines that are JSON objects; how many rows were written.
pub(crate) fn of_lines(insert: &Insert, content: &[u8]) -> u64 {
    let names = insert.names();
    let values: Vec<String> = insert.columns.iter().map(|column| format!("r.{}", column.quoted)).collect();
    let statement = format!(
        "insert into {table} as old ({names}) overriding system value
         select {} from pg_catalog.jsonb_populate_record(null::{table}, $1::pg_catalog.jsonb) r{}",
        values.join(", "),
        insert.conflict(),
        table = insert.table
    );
    Spi::connect_mut(|_| {
        let plan = Plan::of(&statement, &mut [pg_sys::TEXTOID]);
        let (row, mut written) = (Scratch::here(), 0);
        for (place, line) in content.split(|byte| *byte == b'\n').enumerate() {
            ROW.set(place + 1);
            if line.trim_ascii().is_empty() {
                continue;
            }
            written += row.run(|| {
                // SAFETY: inside a transaction; an error of the encoding is raised.
                let line = unsafe {
                    let text = CString::new(line).unwrap_or_default();
                    let length = text.as_bytes().len() as c_int;
                    let utf8 = pg_sys::pg_enc::PG_UTF8 as c_int;
                    pg_sys::cstring_to_text(pg_sys::pg_any_to_server(text.as_ptr(), length, utf8))
                };
                plan.run(&mut [Datum::from(line)], b" ")
            });
        }
        written
    })
}

/// The line of a piece in which the row begins that was read last, from 1.
pub(crate) fn line_of_last(is_csv: bool, content: &[u8]) -> usize {
    let (mut row, mut line, mut is_quoted) = (1, 1, false);
    for byte in content {
        if row >= ROW.get() {
            break;
        }
        match byte {
            b'"' if is_csv => is_quoted = !is_quoted,
            b'\n' => {
                line += 1;
                row += usize::from(!is_quoted);
            }
            _ => {}
        }
    }
    line
}

/// Sequences of the table's columns go on after the largest value that was put in.
pub(crate) fn raise_sequences(insert: &Insert) {
    for Column { name, quoted, of_type, .. } in &insert.columns {
        if ![pg_sys::INT2OID, pg_sys::INT4OID, pg_sys::INT8OID].contains(of_type) {
            continue;
        }
        let sequence = Spi::get_one_with_args::<String>(
            "select pg_catalog.pg_get_serial_sequence($1, $2)",
            &[insert.table.as_str().into(), name.as_str().into()],
        );
        let Some(sequence) = sequence.unwrap_or_else(|error| error!("{error}")) else { continue };
        let raise = format!(
            "select pg_catalog.setval('{}', m.most) from (select max({quoted}) as most from {}) m cross join {sequence} s
             join pg_catalog.pg_sequence q on q.seqrelid = '{sequence}'::pg_catalog.regclass
             where q.seqincrement > 0 and m.most between q.seqmin and q.seqmax
               and (m.most > s.last_value or m.most = s.last_value and not s.is_called)",
            sequence.replace('\'', "''"),
            insert.table
        );
        Spi::run(&raise).unwrap_or_else(|error| error!("{error}"));
    }
}
