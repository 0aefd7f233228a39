//! What goes wrong with requests once a deployment is in force.

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use cluster::postgres::Client;

use crate::connection::Address;
use crate::failure::Result;

/// How often it looks.
const LOOK: Duration = Duration::from_millis(250);

/// Requests to a route, and those of them that have failed.
type Counts = BTreeMap<String, (i64, i64)>;

/// Counts requests to an application's routes from now on.
pub(crate) struct Errors {
    client: Client,
    name: String,
    before: Counts,
}

impl Errors {
    /// Begins to count.
    pub(crate) fn begin(address: &Address, name: &str) -> Result<Errors> {
        let mut client = address.connect()?;
        let before = counts(&mut client, name)?;
        Ok(Errors { client, name: name.to_owned(), before })
    }

    /// Looks until it has been looked for so long, or enough have failed to know: the routes of which requests have failed, each as a line.
    pub(crate) fn within(&mut self, time: Duration) -> Result<Vec<String>> {
        let begun = Instant::now();
        loop {
            let now = counts(&mut self.client, &self.name)?;
            let failed: Vec<(&String, i64, i64)> = now
                .iter()
                .map(|(route, (requests, failed))| {
                    let before = self.before.get(route).copied().unwrap_or_default();
                    (route, requests - before.0, failed - before.1)
                })
                .filter(|(_, _, failed)| *failed > 0)
                .collect();
            let is_clear =
                failed.iter().any(|(_, requests, failed)| *failed >= 3 && failed * 10 >= *requests);
            if is_clear || begun.elapsed() >= time {
                let line = |(route, requests, failed): &(&String, i64, i64)| {
                    format!("  {route}: {failed} of {requests} requests failed")
                };
                return Ok(failed.iter().map(line).collect());
            }
            thread::sleep(LOOK);
        }
    }
}

fn counts(client: &mut Client, name: &str) -> Result<Counts> {
    let rows =
        client.query("select c.route, c.requests, c.server_errors from deploy.counts($1) c", &[&name])?;
    Ok(rows.iter().map(|row| (row.get(0), (row.get(1), row.get(2)))).collect())
}
