//! `howdah status`.

use std::path::Path;

use cluster::Cluster;
use cluster::postgres::{Client, SimpleQueryMessage};
use serde_json::{Map, Value, json};

use crate::database::{self, Kind};
use crate::failure::{Failure, Result};
use crate::screen::say;
use crate::table::Table;

/// What is shown of each served database: a title and the view that it comes from. All columns are shown, so
/// that the views alone decide what there is to see.
const VIEWS: [(&str, &str); 3] =
    [("Listeners", "http.listeners"), ("Processes", "http.workers"), ("Routes", "http.stats")];

/// Prints what the platform does.
pub(crate) fn run(data: &Path, json: bool) -> Result<()> {
    let cluster = Cluster::attach(data)?;
    let databases = database::served(&cluster)?;
    if json { print_json(&cluster, &databases) } else { print_tables(&cluster, &databases) }
}

fn print_tables(cluster: &Cluster, databases: &[String]) -> Result<()> {
    let version: String = cluster.connect("postgres")?.query_one("show server_version", &[])?.get(0);
    say(&format!("PostgreSQL {version}, process {}", cluster.pid().unwrap_or_default()));
    say(&format!("data folder {}", cluster.data().display()));
    say(&format!("log         {}", cluster.log().display()));
    if databases.is_empty() {
        say("\nNo database is served: the setting howdah.databases is empty.");
    }
    for name in databases {
        say(&format!("\nDatabase {name}"));
        let mut client = cluster.connect(name)?;
        for (title, view) in VIEWS {
            match rows(&mut client, view)? {
                Some(table) if table.rows.is_empty() => say(&format!("{title}: none")),
                Some(table) => say(&format!("{title}:\n{}", table.render().trim_end())),
                None => say(&format!("{title}: this version of the extension has no view {view}")),
            }
        }
    }
    Ok(())
}

fn print_json(cluster: &Cluster, databases: &[String]) -> Result<()> {
    let mut all = Map::new();
    for name in databases {
        let mut client = cluster.connect(name)?;
        let mut views = Map::new();
        for (_, view) in VIEWS {
            let short = view.rsplit('.').next().unwrap_or(view);
            views.insert(short.to_owned(), rows_as_json(&mut client, view)?);
        }
        all.insert(name.clone(), Value::Object(views));
    }
    let status = json!({ "pid": cluster.pid(), "data": cluster.data(), "databases": all });
    say(&format!("{status:#}"));
    Ok(())
}

/// All rows of a view as texts, or `None` if there is no such view.
fn rows(client: &mut Client, view: &str) -> Result<Option<Table>> {
    if !database::exists(client, Kind::Relation, view)? {
        return Ok(None);
    }
    let mut table = Table::default();
    for message in client.simple_query(&format!("select * from {view}"))? {
        match message {
            SimpleQueryMessage::RowDescription(columns) => {
                table.columns = columns.iter().map(|column| column.name().to_owned()).collect();
            }
            SimpleQueryMessage::Row(row) => {
                table.rows.push((0..row.len()).map(|at| row.get(at).map(str::to_owned)).collect());
            }
            _ => {}
        }
    }
    Ok(Some(table))
}

/// All rows of a view as an array of objects, or null if there is no such view.
fn rows_as_json(client: &mut Client, view: &str) -> Result<Value> {
    if !database::exists(client, Kind::Relation, view)? {
        return Ok(Value::Null);
    }
    let rows =
        client.query_one(&format!("select coalesce(json_agg(row), '[]')::text from {view} as row"), &[])?;
    let text: String = rows.get(0);
    serde_json::from_str(&text)
        .map_err(|error| Failure::Said(format!("{view} gave JSON that cannot be read: {error}")))
}
