//! `howdah history`.

use serde_json::{Value, json};

use super::server::Stop;
use super::server::{require_extension, state};
use super::target::{self, Target};
use crate::arguments::History;
use crate::failure::{Failure, Result};
use crate::screen::say;
use crate::table::Table;

/// Columns of `deploy.history()`, as texts.
const COLUMNS: [&str; 7] = ["number", "kind", "deployed_at", "deployed_by", "source", "note", "files"];

/// Prints the deployments of an application, the last first.
pub(crate) fn run(options: &History) -> Result<()> {
    let folder = target::folder(&options.destination)?;
    let target = Target::of(&options.destination, &folder.manifest)?;
    let name = &folder.manifest.name;
    let mut client = target.connect()?;
    require_extension(&mut client, &target.shown)?;
    let known = state(&mut client, name).map_err(|stop| match stop {
        Stop::Failed(failure) => failure,
        Stop::Again(why) | Stop::Busy(why) => Failure::Said(why),
    })?;
    if known.is_none() {
        return Err(Failure::Said(format!("{} has no application {name}", target.shown)));
    }
    let columns: Vec<String> = COLUMNS.iter().map(|column| format!("h.{column}::text")).collect();
    let query = format!("select {} from deploy.history($1) h order by h.number desc", columns.join(", "));
    let rows = client.query(&query, &[name])?;
    let rows: Vec<Vec<Option<String>>> =
        rows.iter().map(|row| (0..COLUMNS.len()).map(|place| row.get(place)).collect()).collect();
    if options.json {
        let all: Vec<Value> = rows
            .iter()
            .map(|row| {
                COLUMNS.iter().zip(row).map(|(column, value)| ((*column).to_owned(), json!(value))).collect()
            })
            .collect();
        say(&format!("{:#}", Value::Array(all)));
    } else {
        let table = Table { columns: COLUMNS.map(str::to_owned).to_vec(), rows };
        say(table.render().trim_end());
    }
    Ok(())
}
