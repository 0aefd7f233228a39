//! The rows of a piece of a file, one INSERT each. As the application's owner, inside its settings.

use std::cell::Cell;
use std::ffi::{CString, c_int, c_void};

use pg::entry::callback;
use pg::guard::PgError;
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
    /// Its number in the table, from 1.
    pub number: i32,
    /// Its type.
    pub of_type: Oid,
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
    /// The line that was read last, from 1; 0 if COPY counts.
    static LINE: Cell<usize> = const { Cell::new(0) };
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
    LINE.set(0);
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
            let width = (*(*relation).rd_att).natts as usize;
            let copy = begin_copy(relation, insert);
            let mut context = pg_sys::ErrorContextCallback {
                previous: pg_sys::error_context_stack,
                callback: Some(pg::CopyFromErrorCallback),
                arg: copy.cast(),
            };
            pg_sys::error_context_stack = &raw mut context;
            let (mut all, mut nulls) = (vec![Datum::null(); width], vec![false; width]);
            let (row, mut written) = (Scratch::here(), 0);
            while row.run(|| {
                let has_row =
                    pg_sys::NextCopyFrom(copy, std::ptr::null_mut(), all.as_mut_ptr(), nulls.as_mut_ptr());
                if has_row {
                    let of = |column: &Column| {
                        (all[column.number as usize - 1], nulls[column.number as usize - 1])
                    };
                    let (mut values, marks): (Vec<Datum>, Vec<u8>) = insert
                        .columns
                        .iter()
                        .map(|column| {
                            let (value, is_null) = of(column);
                            (value, if is_null { b'n' } else { b' ' })
                        })
                        .unzip();
                    written += plan.run(&mut values, &marks);
                }
                has_row
            }) {}
            pg_sys::error_context_stack = context.previous;
            pg_sys::EndCopyFrom(copy);
            pg_sys::table_close(relation, pg_sys::NoLock as pg_sys::LOCKMODE);
            written
        }
    })
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
            LINE.set(place + 1);
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

/// The line of a piece that an error is about, from 1.
pub(crate) fn line_of(error: &PgError) -> usize {
    let context = error.more.as_deref().and_then(|more| more.context.as_deref()).unwrap_or_default();
    let of_copy = context.lines().rev().find_map(|frame| {
        let (_, rest) = frame.strip_prefix("COPY ")?.split_once(", line ")?;
        rest.split(|letter: char| !letter.is_ascii_digit()).next()?.parse().ok()
    });
    of_copy.unwrap_or(LINE.get().max(1))
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
            "select pg_catalog.setval('{}', m.most) from (select max({quoted}) as most from {}) m, {sequence} s
             where m.most > s.last_value or m.most = s.last_value and not s.is_called",
            sequence.replace('\'', "''"),
            insert.table
        );
        Spi::run(&raise).unwrap_or_else(|error| error!("{error}"));
    }
}
