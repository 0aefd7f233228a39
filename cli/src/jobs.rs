//! `howdah jobs`.

use cluster::Cluster;
use cluster::postgres::GenericClient;
use serde_json::{Value, json};

use crate::arguments::Jobs;
use crate::connection::begin;
use crate::database;
use crate::deployment::target;
use crate::failure::{Failure, Result};
use crate::screen::{harmless, say};
use crate::status::{JOBS, print_views, table_of};

/// A title, the name in JSON, and the columns, rows and order of what is shown under it.
type Part = (&'static str, &'static str, &'static str);

/// What runs, and what has gone wrong lately.
const PARTS: [Part; 3] = [
    (
        "Running",
        "running",
        "select id, kind, attempt, clock_timestamp() - began_at as since, pid, progress, remark from job.running order by began_at",
    ),
    (
        "Failed attempts, the latest first",
        "failures",
        "select job, kind, attempt, ended_at, sqlstate, left(message, 200) as message from job.failures order by ended_at desc",
    ),
    (
        "Dead jobs, the latest first",
        "dead",
        "select id, kind, attempts, died_at, reason, sqlstate, left(message, 200) as message from job.dead_jobs order by died_at desc",
    ),
];

/// Schedules, and what is due next.
const OF_SCHEDULES: [Part; 2] = [
    (
        "Schedules",
        "schedules",
        "select schedule, kind, coalesce(cron, 'every ' || every) as due, time_zone, next_at, last_at, last_state, skipped, missed_for_good as missed,
           coalesce('stopped: ' || stopped, 'paused since ' || date_trunc('seconds', paused_at)) as remark
         from job.schedules order by next_at, schedule",
    ),
    ("Due next", "upcoming", "select due_at, schedule, kind, local_time, time_zone from job.upcoming({last})"),
];

/// Prints the kinds of jobs of the databases that are served, or of databases elsewhere, what runs, and what has gone wrong lately.
pub(crate) fn run(options: &Jobs) -> Result<()> {
    let destination = &options.destination;
    if destination.to.is_empty() {
        let cluster = Cluster::attach(&destination.place.of_app(&destination.app))?;
        for name in database::served(&cluster)? {
            show(&mut database::connect(&cluster, &name)?, &format!("Database {name}"), options)?;
        }
        return Ok(());
    }
    for to in &destination.to {
        let address = target::address_of(destination, to, "howdah jobs")?;
        let mut client = address.connect()?;
        // As a pooler may give each transaction to another session.
        show(&mut begin(&mut client)?, &address.shown, options)?;
    }
    Ok(())
}

fn show(client: &mut impl GenericClient, shown: &str, options: &Jobs) -> Result<()> {
    if !database::has_relation(client, JOBS.1)? {
        return Err(Failure::Said(format!(
            "{shown} has no jobs: is the extension installed and up to date?"
        )));
    }
    if options.json {
        let kinds = ("", "kinds", "select * from job.kinds order by kind");
        let of_jobs: Vec<Part> = std::iter::once(kinds).chain(PARTS).collect();
        let parts: &[Part] = if options.schedules { &OF_SCHEDULES } else { &of_jobs };
        return show_json(client, shown, parts, options.last);
    }
    say(shown);
    let parts: &[Part] = if options.schedules {
        &OF_SCHEDULES
    } else {
        print_views(client, &[JOBS])?;
        &PARTS
    };
    for (title, _, query) in parts {
        let table = table_of(client, &limited(query, options.last))?;
        let is_empty = table.rows.is_empty();
        say(&if is_empty {
            format!("{title}: none")
        } else {
            harmless(&format!("{title}:\n{}", table.render().trim_end()))
        });
    }
    Ok(())
}

/// A query for so many rows.
fn limited(query: &str, last: u32) -> String {
    match query.contains("{last}") {
        true => query.replace("{last}", &last.to_string()),
        false => format!("{query} limit {last}"),
    }
}

fn show_json(client: &mut impl GenericClient, shown: &str, parts: &[Part], last: u32) -> Result<()> {
    let mut all = json!({ "database": shown });
    for (_, name, query) in parts {
        let query =
            format!("select coalesce(json_agg(row), '[]')::text from ({}) as row", limited(query, last));
        let text: String = client.query_one(&query, &[])?.get(0);
        all[*name] = serde_json::from_str::<Value>(&text)
            .map_err(|error| Failure::Said(format!("job.{name} gave JSON that cannot be read: {error}")))?;
    }
    say(&format!("{all:#}"));
    Ok(())
}
