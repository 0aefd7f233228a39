//! `howdah history`.

use folder::Manifest;
use serde_json::{Value, json};

use super::server::{drift, read, require_extension, state};
use super::target;
use crate::arguments::History;
use crate::connection::{Address, begin};
use crate::failure::{Failure, Result};
use crate::screen::{harmless, say};
use crate::table::Table;

/// Columns of `deploy.history()` that people see.
const COLUMNS: [&str; 7] = ["number", "kind", "deployed_at", "deployed_by", "source", "note", "files"];

/// Prints the deployments of an application, the last first, and what was changed by hand since.
pub(crate) fn run(options: &History) -> Result<()> {
    let manifest = match &options.name {
        Some(name) => Manifest::named(name),
        None => target::folder(&options.destination)?.manifest,
    };
    target::each(&options.destination, &manifest, |address| print(&manifest.name, address, options.json))
}

fn print(name: &str, address: &Address, json: bool) -> Result<()> {
    let mut client = address.connect()?;
    require_extension(&mut client, &address.shown)?;
    let mut client = begin(&mut client)?;
    if state(&mut client, name)?.is_none() {
        return Err(Failure::Said(format!("{} has no application {name}", address.shown)));
    }
    let drift = drift(&mut client, name)?;
    if json {
        let query = "select coalesce(pg_catalog.json_agg(h order by h.number desc), '[]')::text from deploy.history($1) h";
        let deployments: Value = read(client.query_one(query, &[&name])?.get(0))?;
        let all = json!({ "application": name, "deployments": deployments, "drift": drift });
        say(&format!("{all:#}"));
        return Ok(());
    }
    let columns: Vec<String> = COLUMNS.iter().map(|column| format!("h.{column}::text")).collect();
    let query = format!("select {} from deploy.history($1) h order by h.number desc", columns.join(", "));
    let rows = client.query(&query, &[&name])?;
    let rows = rows.iter().map(|row| (0..COLUMNS.len()).map(|place| row.get(place)).collect()).collect();
    let table = Table { columns: COLUMNS.map(str::to_owned).to_vec(), rows };
    say(table.render().trim_end());
    if !drift.is_empty() {
        say("\nChanged by hand since:");
        drift.iter().for_each(|one| say(&harmless(&format!("  {one}"))));
    }
    Ok(())
}
