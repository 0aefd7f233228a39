//! `howdah history`.

use serde_json::{Value, json};

use super::server::Stop;
use super::server::{require_extension, state};
use super::target;
use crate::arguments::History;
use crate::connection::Address;
use crate::failure::{Failure, Result};
use crate::screen::say;
use crate::table::Table;

/// Columns of `deploy.history()`, as texts.
const COLUMNS: [&str; 7] = ["number", "kind", "deployed_at", "deployed_by", "source", "note", "files"];

/// Prints the deployments of an application, the last first.
pub(crate) fn run(options: &History) -> Result<()> {
    let folder = target::folder(&options.destination)?;
    let manifest = &folder.manifest;
    target::each(&options.destination, manifest, |address| print(&manifest.name, address, options.json))
}

fn print(name: &str, address: &Address, json: bool) -> Result<()> {
    let mut client = address.connect()?;
    require_extension(&mut client, &address.shown)?;
    let known = state(&mut client, name).map_err(|stop| match stop {
        Stop::Failed(failure) => failure,
        Stop::Again(why) | Stop::Busy(why) => Failure::Said(why),
    })?;
    if known.is_none() {
        return Err(Failure::Said(format!("{} has no application {name}", address.shown)));
    }
    let columns: Vec<String> = COLUMNS.iter().map(|column| format!("h.{column}::text")).collect();
    let query = format!("select {} from deploy.history($1) h order by h.number desc", columns.join(", "));
    let rows = client.query(&query, &[&name])?;
    let rows: Vec<Vec<Option<String>>> =
        rows.iter().map(|row| (0..COLUMNS.len()).map(|place| row.get(place)).collect()).collect();
    let drift = client.query("select d.path, d.object, d.change from deploy.drift($1) d", &[&name])?;
    let drift: Vec<[String; 3]> = drift.iter().map(|row| [row.get(0), row.get(1), row.get(2)]).collect();
    if json {
        let object = |row: &Vec<Option<String>>| -> Value {
            COLUMNS.iter().zip(row).map(|(column, value)| ((*column).to_owned(), json!(value))).collect()
        };
        let changed = |[path, object, change]: &[String; 3]| json!({ "path": path, "object": object, "change": change });
        let all = json!({
            "application": name,
            "deployments": rows.iter().map(object).collect::<Vec<_>>(),
            "drift": drift.iter().map(changed).collect::<Vec<_>>(),
        });
        say(&format!("{all:#}"));
        return Ok(());
    }
    let table = Table { columns: COLUMNS.map(str::to_owned).to_vec(), rows };
    say(table.render().trim_end());
    if !drift.is_empty() {
        say("\nChanged by hand since:");
        drift.iter().for_each(|[path, object, change]| say(&format!("  {object} ({path}) {change}")));
    }
    Ok(())
}
