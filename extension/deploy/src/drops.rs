//! What a file drops besides what it makes: said, or refused.
//!
//! A file of code drops what it has made itself, and what other such files have made, which run again. Else it would take what lasts, rows
//! perhaps, each time that it runs. A migration drops what it says, and what hangs on that in its own schema.

use pg::guard::PgError;
use pgrx::pg_sys::Oid;
use session::authority::rows_as_owner;

use super::application::Application;
use super::recorder::Made;

/// Something that was dropped.
pub(crate) struct Drop {
    /// What, for people.
    pub description: String,
    /// The file of code that has made it.
    pub path: Option<String>,
    /// Its schema, if it is in one.
    schema: Option<String>,
    /// Whether the statement names it; else it hung on what is named.
    is_named: bool,
}

/// What was dropped. The rule of a view goes with it.
const DROPS: &str = "select format('%s %s', d.object_type, replace(d.object_identity, 'pg_catalog.', '')), o.path, d.schema_name, d.original
    from json_to_recordset($2::json) d (
      object_type text, object_identity text, schema_name text, original boolean, address_names text[], address_args text[])
    left join lateral (
      select o.path from deploy.object o
      where o.application = $1 and o.type = d.object_type and o.names = d.address_names and o.arguments = d.address_args
      order by o.is_stale limit 1) o on true
    where not (d.object_type = 'rule' and d.address_names[array_upper(d.address_names, 1)] = '_RETURN')";

/// The drops among what was made, but for what was made before by the same file in the same run.
pub(crate) fn of(application: &Application, made: &[Made]) -> Vec<Drop> {
    let is_own = |class: Oid, number: Oid| {
        made.iter().any(|one| matches!(one, Made::Object(made, its, _) if *made == class && *its == number))
    };
    let dropped: Vec<&str> = made
        .iter()
        .filter_map(|one| match one {
            Made::Dropped(class, number, about) if !is_own(*class, *number) => Some(about.as_str()),
            _ => None,
        })
        .collect();
    if dropped.is_empty() {
        return Vec::new();
    }
    let all = format!("[{}]", dropped.join(","));
    rows_as_owner(DROPS, &[application.name.as_str().into(), all.into()], |row| {
        Some(Drop {
            description: row.get(1).ok()??,
            path: row.get(2).ok()?,
            schema: row.get(3).ok()?,
            is_named: row.get(4).ok()??,
        })
    })
}

/// An error if a file of code drops what no such file makes.
pub(crate) fn refuse_lasting(path: &str, drops: &[Drop]) -> Result<(), PgError> {
    let Some(lasting) = drops.iter().find(|drop| drop.path.is_none()) else { return Ok(()) };
    let what = &lasting.description;
    let (message, hint) = match lasting.is_named {
        true => (
            format!("{path} drops {what}, which no file of code makes"),
            format!("Drop {what} by a migration."),
        ),
        false => (
            format!("{path} would drop {what}, which depends on what it drops"),
            format!(
                "No file of code makes {what} again: change it by a migration first, or leave CASCADE out."
            ),
        ),
    };
    Err(PgError { sqlstate: *b"55000", message, hint: Some(hint), ..PgError::default() })
}

/// An error if a migration drops by CASCADE what is in another schema.
pub(crate) fn refuse_foreign(path: &str, own: &str, drops: &[Drop]) -> Result<(), PgError> {
    let is_foreign =
        |drop: &&Drop| !drop.is_named && drop.schema.as_deref().is_some_and(|schema| schema != own);
    let Some(foreign) = drops.iter().find(is_foreign) else { return Ok(()) };
    let what = &foreign.description;
    Err(PgError {
        sqlstate: *b"55000",
        message: format!("{path} would drop {what}, which is not in schema {own}"),
        hint: Some(format!("Whoever {what} belongs to takes it off what is dropped first.")),
        ..PgError::default()
    })
}

/// Those that hung on what a migration drops, and that no file makes again, for people.
pub(crate) fn unsaid(drops: &[Drop]) -> impl Iterator<Item = String> {
    drops
        .iter()
        .filter(|drop| !drop.is_named && drop.path.is_none())
        .map(|drop| format!("drops {}", drop.description))
}
