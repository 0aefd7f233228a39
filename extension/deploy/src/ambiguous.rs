//! Warnings: names in functions that mean an argument and a column. In PL/pgSQL the statement fails when it runs; in SQL both are the column, and where it is
//! compared with itself somebody has meant the argument.

use folder::places_in_text::{floor, line_at, offset_of_line, place_at};
use pg::guard::{PgError, unwind};
use pg::plpgsql_names::{compiled, find_ambiguous};
use pg::plpgsql_steps::{Step, each_step};
use pg::sql_names::compared_with_themselves;
use pgrx::pg_sys::{Oid, PLpgSQL_expr as Expression};
use serde_json::{Value, json};
use session::authority::rows_as_owner;
use session::deployer::as_deployer;
use session::subtransaction::attempted;

use super::application::Deployment;

/// The functions in SQL and PL/pgSQL of an application, each with its file and that file's text; not those of pages, which the compiler of pages refuses.
const FUNCTIONS: &str = "select p.oid, p.proname::text, p.prosrc, o.path, c.content, l.lanname = 'sql', coalesce(p.proargnames, '{}')
    from pg_proc p join pg_language l on l.oid = p.prolang join pg_namespace n on n.oid = p.pronamespace
    cross join lateral pg_identify_object_as_address('pg_proc'::regclass, p.oid, 0) a
    join deploy.object o on o.application = $1 and o.type = a.type and o.names = a.object_names and o.arguments = a.object_args
    left join deploy.file f on f.application = $1 and f.number = $4 and f.path = o.path
    left join deploy.content c on c.application = $1 and c.digest = f.digest
    where n.nspname = $2 and p.proowner = $3 and l.lanname in ('sql', 'plpgsql') and o.path not like 'pages/%' order by o.path, p.oid";

struct LookedFunction {
    number: Oid,
    name: String,
    body: String,
    path: String,
    file: Option<String>,
    is_sql: bool,
    arguments: Vec<String>,
}

/// A name, with its line and its byte in the body of its function.
struct AmbiguousName {
    name: String,
    line: usize,
    at: Option<usize>,
}

/// Warnings of all functions of the application, in the order of their files.
pub(crate) fn warnings(deployment: &Deployment) -> Vec<Value> {
    let application = &deployment.application;
    let functions = rows_as_owner(
        FUNCTIONS,
        &[
            application.name.as_str().into(),
            application.schema.as_str().into(),
            application.owner.into(),
            deployment.number.into(),
        ],
        |row| {
            Some(LookedFunction {
                number: row.get(1).ok()??,
                name: row.get(2).ok()??,
                body: row.get(3).ok()??,
                path: row.get(4).ok()??,
                file: row.get(5).ok()?,
                is_sql: row.get(6).ok()??,
                arguments: row.get(7).ok()??,
            })
        },
    );
    if functions.is_empty() {
        return Vec::new();
    }
    let looked = as_deployer(application.owner, &application.schema, || {
        functions.iter().map(|function| function.find()).collect::<Vec<_>>()
    });
    let found = looked.unwrap_or_default();
    functions
        .iter()
        .zip(found)
        .flat_map(|(function, found)| found.into_iter().map(|one| function.tell(&one)))
        .collect()
}

impl LookedFunction {
    /// Names that are ambiguous, each once a statement.
    fn find(&self) -> Vec<AmbiguousName> {
        if self.is_sql {
            return self.find_in_sql();
        }
        let mut found: Vec<AmbiguousName> = Vec::new();
        // SAFETY: inside a transaction, of a function that is there.
        let function = attempted(|| unsafe { compiled(self.number) });
        let Some(function) = function.ok().filter(|function| !function.is_null()) else { return found };
        let mut expressions: Vec<(*const Expression, usize)> = Vec::new();
        let mut note = |step, line| {
            if let Step::Computes(expression) = step {
                expressions.push((expression, line));
            }
        };
        // SAFETY: the session keeps it as it is, as nothing of the deployment runs meanwhile.
        unsafe { each_step(function, &mut note) };
        expressions.dedup();
        for (expression, line) in expressions {
            let mut names = Vec::new();
            // The locks of its tables go with the subtransaction. A statement that means nothing now may be of tables that it makes.
            let _ = attempted(|| {
                // SAFETY: as above.
                unsafe { find_ambiguous(function, expression, &mut names) };
                unwind(PgError { sqlstate: *b"P0001", ..PgError::default() })
            });
            // SAFETY: a text of PL/pgSQL's.
            let query = unsafe { pg::text::string((*expression).query) };
            for (name, at) in names {
                let at = self.place(&query, at, line, &name);
                if !found.iter().any(|known| (&known.name, known.at, known.line) == (&name, at, line)) {
                    found.push(AmbiguousName { name, line, at });
                }
            }
        }
        found
    }

    /// Names of arguments that are those of columns which are compared with themselves, each once.
    fn find_in_sql(&self) -> Vec<AmbiguousName> {
        let mut compared = Vec::new();
        let _ = attempted(|| {
            // SAFETY: inside a transaction, of a function that is there.
            compared = unsafe { compared_with_themselves(self.number) };
            unwind(PgError { sqlstate: *b"P0001", ..PgError::default() })
        });
        compared.retain(|name| self.arguments.contains(name));
        compared.sort();
        compared.dedup();
        compared.into_iter().map(|name| AmbiguousName { name, line: 1, at: None }).collect()
    }

    /// The byte of the body at which a name stands in a statement that begins at a line: PL/pgSQL has cut its text out of the body.
    fn place(&self, query: &str, at: usize, line: usize, name: &str) -> Option<usize> {
        const SHOWN: usize = 40;
        let from = offset_of_line(&self.body, line);
        let rest = self.body.get(from..)?;
        let after = query.get(at..)?;
        let shown = &after[..floor(after, SHOWN)];
        let found = rest.find(shown).map(|found| from + found);
        // The query of a cursor stands where that is declared.
        let found = found.or_else(|| self.body.find(shown));
        found.or_else(|| rest.find(name).map(|found| from + found))
    }

    fn tell(&self, found: &AmbiguousName) -> Value {
        let (message, hint, (line, column)) =
            if self.is_sql { self.of_sql(&found.name) } else { self.of_plpgsql(found) };
        json!({ "path": self.path, "line": line, "column": column, "message": message, "hint": hint })
    }

    fn of_sql(&self, name: &str) -> (String, String, (usize, usize)) {
        let function = &self.name;
        let place = self.file.as_deref().map_or((1, 1), |file| {
            let from = file.find(&format!("{function}(")).unwrap_or_default();
            place_at(file, compared_at(file, from, name).unwrap_or(from))
        });
        let message = format!(
            "\"{name}\" is an argument of {function} and a column here: SQL takes it for the column, which is compared with itself"
        );
        (message, format!("The argument is {function}.{name}."), place)
    }

    fn of_plpgsql(&self, found: &AmbiguousName) -> (String, String, (usize, usize)) {
        let body = self.file.as_deref().and_then(|file| file.find(&self.body));
        let (line, column) = match (self.file.as_deref(), body, found.at) {
            (Some(file), Some(body), Some(at)) => place_at(file, body + at),
            (Some(file), Some(body), None) => (line_at(file, body) + found.line - 1, 1),
            _ => (1, 1),
        };
        let (name, function) = (&found.name, &self.name);
        // The columns of a conflict have no place for a table's name.
        let is_of_conflict = found.at.is_some_and(|at| self.body[at..].starts_with('('));
        let hint = if is_of_conflict {
            "Name the constraint: on conflict on constraint …".to_owned()
        } else {
            format!(
                "Write the table's name or alias before the column. An argument is {function}.{name}; a declared variable gets another name."
            )
        };
        let message = format!(
            "\"{name}\" is a variable of {function} and a column here: PostgreSQL refuses the statement when it runs"
        );
        (message, hint, (line, column))
    }
}

/// The byte at which a name is compared with itself in a text.
fn compared_at(text: &str, from: usize, name: &str) -> Option<usize> {
    let is_of_word = |letter: char| letter.is_alphanumeric() || "_\"$".contains(letter);
    let mut at = from;
    while let Some(found) = text[at..].find(name) {
        let begin = at + found;
        let after = text[begin + name.len()..].trim_start();
        let operand = after.trim_start_matches(['=', '<', '>', '!']);
        let is_compared = operand.len() < after.len()
            && operand
                .trim_start()
                .strip_prefix(name)
                .is_some_and(|rest| !rest.starts_with(is_of_word) && !rest.starts_with('.'));
        if is_compared && !text[..begin].ends_with(is_of_word) {
            return Some(begin);
        }
        at = begin + name.len();
    }
    None
}
