//! Seeds: rows of files, put into tables as the application's owner. PostgreSQL's COPY reads them, and each becomes an INSERT: that is what
//! triggers, rules and defaults are written for, and what can leave a row as it is that is there already.

use pg::entry::{Call, sql_function};
use pg::guard::PgError;
use pg::refuse::{refuse, refuse_with_hint};
use pgrx::pg_sys::{self, Oid};
use pgrx::prelude::*;
use serde_json::json;
use session::authority::rows_as_owner;
use session::deployer::as_deployer;

use super::application::Application;
use super::file::refuse_here;
use super::seed_rows::{self, Column, Insert};
use super::statements::{self, Use, describe};

/// Bytes of the statements of a seed at most: they are parsed as a whole.
const LONGEST: usize = 8 << 20;

/// A table of an application, and what a file has of it.
struct Target {
    application: Application,
    table: Oid,
    insert: Insert,
}

impl Target {
    /// By the first four arguments: application, table, columns, key.
    fn of(call: Call) -> Target {
        refuse_here();
        let application = Application::required(call.need_text(0, "application"));
        let name = call.need_text(1, "table_name");
        let names = texts(call, 2).unwrap_or_default();
        let key = texts(call, 3).unwrap_or_default();
        refuse_columns(&names);
        let Some((table, quoted)) = find(&application, name) else {
            refuse_with_hint(
                PgSqlErrorCode::ERRCODE_UNDEFINED_TABLE,
                &format!(
                    "there is no table {name} of {} in the schema {}",
                    application.name, application.schema
                ),
                "A file of rows is called as its table is, such as seeds/entry.csv.",
            );
        };
        let columns = columns(table, name, &names);
        if let Some(missing) = key.iter().find(|column| !names.contains(column)) {
            refuse(
                PgSqlErrorCode::ERRCODE_UNDEFINED_COLUMN,
                &format!(
                    "the file has no column {missing}, by which howdah.toml says that a row of {name} is known"
                ),
            );
        }
        Target { application, table, insert: Insert { table: quoted, columns, key } }
    }

    /// Runs `work` as the owner, which has an error or not.
    fn as_owner<T>(&self, work: impl FnOnce() -> T) -> Result<T, PgError> {
        as_deployer(self.application.owner, &self.application.schema, work)
    }
}

/// An argument that is an array of texts.
fn texts(call: Call, place: usize) -> Option<Vec<String>> {
    let texts: Vec<Option<String>> = call.get(place)?;
    let all: Option<Vec<String>> = texts.into_iter().collect();
    Some(all.unwrap_or_else(|| {
        refuse(PgSqlErrorCode::ERRCODE_NULL_VALUE_NOT_ALLOWED, "a name of a column is null")
    }))
}

/// An error unless a table can have these columns, each once.
fn refuse_columns(names: &[String]) {
    let most = pg_sys::MaxHeapAttributeNumber as usize;
    let twice = (names.len() <= most)
        .then(|| names.iter().enumerate().find(|(place, name)| names[..*place].contains(name)))
        .flatten();
    match twice {
        Some((_, name)) => {
            refuse(PgSqlErrorCode::ERRCODE_DUPLICATE_COLUMN, &format!("the column {name:?} is named twice"))
        }
        None if names.is_empty() => {
            refuse(PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE, "no column is named")
        }
        None if names.len() > most => {
            refuse(PgSqlErrorCode::ERRCODE_TOO_MANY_COLUMNS, &format!("a table has {most} columns at most"));
        }
        None => {}
    }
}

/// A table that the owner owns: its number, and its name as SQL writes it.
fn find(application: &Application, name: &str) -> Option<(Oid, String)> {
    let found = rows_as_owner(
        "select c.oid, format('%I.%I', n.nspname, c.relname) from pg_class c join pg_namespace n on n.oid = c.relnamespace
         where n.nspname = $1 and c.relname = $2 and c.relkind in ('r', 'p') and c.relowner = $3",
        &[application.schema.as_str().into(), name.into(), application.owner.into()],
        |row| Some((row.get(1).ok()??, row.get(2).ok()??)),
    );
    found.into_iter().next()
}

/// Columns by their names, all of which must be there.
fn columns(table: Oid, of: &str, names: &[String]) -> Vec<Column> {
    let known = rows_as_owner(
        "select a.attname::text, quote_ident(a.attname), a.attidentity = 'a', a.atttypid, a.atttypmod
         from pg_attribute a where a.attrelid = $1 and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''",
        &[table.into()],
        |row| {
            Some(Column {
                name: row.get(1).ok()??,
                quoted: row.get(2).ok()??,
                is_generated: row.get(3).ok()??,
                of_type: row.get(4).ok()??,
                modifier: row.get(5).ok()??,
            })
        },
    );
    let find = |name: &String| match known.iter().find(|column| column.name == *name) {
        Some(column) => column.clone(),
        None => refuse(
            PgSqlErrorCode::ERRCODE_UNDEFINED_COLUMN,
            &format!("the table {of} has no column {name:?} that rows may have"),
        ),
    };
    names.iter().map(find).collect()
}

sql_function!(
    /// `deploy.begin_seed(application, table_name, columns, key)`
    deploy_begin_seed_wrapper,
    |call| {
        let target = Target::of(call);
        target.application.lock();
        let Insert { table, key, .. } = &target.insert;
        if key.is_empty() {
            // As the application's owner: what has this name by now may be a view.
            let query = format!("select exists (select from {table})");
            let has_rows = target.as_owner(|| Spi::get_one::<bool>(&query).unwrap_or_else(|error| error!("{error}")));
            if has_rows.unwrap_or_else(|error| pg::guard::unwind(error)) == Some(true) {
                refuse_with_hint(
                    PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
                    &format!("{table} has rows already, and nothing says which of the file's are among them"),
                    "Name the columns by which a row is known in howdah.toml, such as entry = \"id\" under [seeds].",
                );
            }
        } else if !is_unique(target.table, key) {
            refuse_with_hint(
                PgSqlErrorCode::ERRCODE_INVALID_COLUMN_REFERENCE,
                &format!("{table} has no unique index on {}", key.join(", ")),
                "howdah.toml names a primary key, or the columns of a unique constraint, under [seeds].",
            );
        }
        call.null()
    }
);

fn is_unique(table: Oid, key: &[String]) -> bool {
    let found = rows_as_owner(
        "select true from pg_index i where i.indrelid = $1 and i.indisunique and i.indisvalid and i.indpred is null and i.indexprs is null
         and (select array_agg(a.attname::text order by a.attname::text) from pg_attribute a
              where a.attrelid = i.indrelid and a.attnum = any (i.indkey[0:i.indnkeyatts - 1]))
           = (select array_agg(k.name order by k.name) from unnest($2::text[]) k (name))",
        &[table.into(), key.to_vec().into()],
        |_| Some(()),
    );
    !found.is_empty()
}

sql_function!(
    /// `deploy.seed_rows(application, table_name, columns, key, format, content)`
    deploy_seed_rows_wrapper,
    |call| {
        let target = Target::of(call);
        let (format, content) = (call.need_text(4, "format"), call.need::<&[u8]>(5, "content"));
        target.application.lock();
        let is_csv = match format {
            "csv" => true,
            "ndjson" => false,
            _ => refuse(PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE, "a format is csv or ndjson"),
        };
        let ran = target.as_owner(|| match is_csv {
            true => seed_rows::of_csv(&target.insert, target.table, content),
            false => seed_rows::of_lines(&target.insert, content),
        });
        let answer = match ran {
            Ok(rows) => json!({ "rows": rows }),
            Err(error) => {
                let mut told = describe(&error, "");
                told["line"] = json!(seed_rows::line_of_last(is_csv, content));
                json!({ "error": told })
            }
        };
        call.give(answer.to_string())
    }
);

sql_function!(
    /// `deploy.end_seed(application, table_name, columns, key)`
    deploy_end_seed_wrapper,
    |call| {
        let target = Target::of(call);
        let raised = target.as_owner(|| seed_rows::raise_sequences(&target.insert));
        raised.unwrap_or_else(|error| pg::guard::unwind(error));
        call.null()
    }
);

sql_function!(
    /// `deploy.seed(application, content)`
    deploy_seed_wrapper,
    |call| {
        refuse_here();
        let application = Application::required(call.need_text(0, "application"));
        let text: &str = call.need(1, "content");
        if text.len() > LONGEST {
            refuse_with_hint(
                PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
                &format!("statements of a seed have {} MiB at most", LONGEST >> 20),
                "Rows go into a file TABLE.csv or TABLE.ndjson, which may be as large as it likes.",
            );
        }
        application.lock();
        let ran = as_deployer(application.owner, &application.schema, || statements::run(text, Use::Run));
        let answer = match ran {
            Ok(()) => json!({}),
            Err(error) => json!({ "error": describe(&error, text) }),
        };
        call.give(answer.to_string())
    }
);
