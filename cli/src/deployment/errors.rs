//! What goes wrong with requests once a deployment is in force.

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use cluster::postgres::Client;

use super::interrupt;
use crate::connection::{Address, begin};
use crate::failure::Result;

/// How often it looks.
const LOOK: Duration = Duration::from_millis(250);

/// Requests to a route, and those of them that have failed.
type Counts = BTreeMap<String, (i64, i64)>;

/// What was seen.
pub(crate) struct Seen {
    /// How many requests there were.
    pub(crate) requests: i64,
    /// The routes of which requests have failed, each as a line.
    pub(crate) failed: Vec<String>,
}

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

    /// Looks until it has been looked for so long, enough have failed to know, or somebody interrupts it.
    pub(crate) fn within(&mut self, time: Duration) -> Result<Seen> {
        let begun = Instant::now();
        loop {
            let now = counts(&mut self.client, &self.name)?;
            let since: Vec<(&String, i64, i64)> = now
                .iter()
                .map(|(route, (requests, failed))| {
                    let before = self.before.get(route).copied().unwrap_or_default();
                    (route, requests - before.0, failed - before.1)
                })
                .collect();
            let failed = || since.iter().filter(|(_, _, failed)| *failed > 0);
            let is_clear = failed().any(|(_, requests, failed)| *failed >= 3 && failed * 10 >= *requests);
            if is_clear || begun.elapsed() >= time || interrupt::was_noticed() {
                let line = |(route, requests, failed): &(&String, i64, i64)| {
                    format!("  {route}: {failed} of {requests} requests failed")
                };
                let requests = since.iter().map(|(_, requests, _)| requests).sum();
                return Ok(Seen { requests, failed: failed().map(line).collect() });
            }
            thread::sleep(LOOK);
        }
    }
}

fn counts(client: &mut Client, name: &str) -> Result<Counts> {
    let mut transaction = begin(client)?;
    let rows = transaction
        .query("select c.route, c.requests, c.server_errors from deploy.counts($1) c", &[&name])?;
    transaction.commit()?;
    Ok(rows.iter().map(|row| (row.get(0), (row.get(1), row.get(2)))).collect())
}
