//! `howdah status`.

use cluster::Cluster;
use cluster::postgres::{GenericClient, SimpleQueryMessage};
use serde_json::{Value, json};

use crate::arguments::Destination;
use crate::connection::begin;
use crate::database;
use crate::deployment::target;
use crate::failure::{Failure, Result};
use crate::screen::{harmless, say};
use crate::table::Table;

/// A title, and the view that is shown under it. All columns are shown, so that the views alone decide what
/// there is to see.
pub(crate) type View = (&'static str, &'static str);
/// What is the same in every database.
const OF_SERVER: [View; 4] = [
    ("Databases", "http.databases"),
    ("Processes", "http.workers"),
    ("Refused by gateways", "http.refusals"),
    ("Sizes", "http.sizes"),
];
const APPLICATIONS: View = ("Applications", "deploy.applications");
const STEPS: View = ("Migrations outside of transactions that are not done", "deploy.steps");
/// Kinds of jobs.
pub(crate) const JOBS: View = ("Jobs", "job.overview");
/// What each database has of its own.
const OF_DATABASE: [View; 6] = [
    APPLICATIONS,
    STEPS,
    ("Listeners", "http.listeners"),
    ("Routes and handlers", "http.stats"),
    JOBS,
    ("Listeners of queues and tables", "queue.listeners"),
];

/// Prints what the platform does, or what is in databases elsewhere.
pub(crate) fn run(options: &Destination, json: bool) -> Result<()> {
    if !options.to.is_empty() {
        return options.to.iter().try_for_each(|to| run_elsewhere(options, to, json));
    }
    let cluster = Cluster::attach(&options.place.of_app(&options.app))?;
    let databases = database::served(&cluster)?;
    if json { print_json(&cluster, &databases) } else { print_tables(&cluster, &databases) }
}

/// Prints what is in a database; of what only its administrators may see, nothing to others.
fn run_elsewhere(options: &Destination, to: &str, json: bool) -> Result<()> {
    let address = target::address_of(options, to, "howdah status")?;
    let mut client = address.connect()?;
    // As a pooler may give each transaction to another session.
    let mut client = begin(&mut client)?;
    let query = "select pg_catalog.pg_has_role('howdah_admin', 'usage') from pg_catalog.pg_roles where rolname = 'howdah_admin'";
    let Some(row) = client.query_opt(query, &[])? else {
        return Err(Failure::Said(format!("{} has no extension howdah", address.shown)));
    };
    let views = if row.get(0) { &OF_DATABASE[..] } else { &[APPLICATIONS, STEPS, JOBS] };
    if json {
        let mut status = json!({ "database": address.shown });
        add_views(&mut client, views, &mut status)?;
        say(&format!("{status:#}"));
        return Ok(());
    }
    say(&address.shown);
    print_views(&mut client, views)
}

fn print_tables(cluster: &Cluster, databases: &[String]) -> Result<()> {
    let version: String =
        database::connect(cluster, "postgres")?.query_one("show server_version", &[])?.get(0);
    say(&format!("PostgreSQL {version}, process {}", cluster.pid().unwrap_or_default()));
    say(&format!("data folder {}", cluster.data().display()));
    say(&format!("log         {}", cluster.log().display()));
    if databases.is_empty() {
        say("\nNo database is served: the setting howdah.databases is empty.");
    }
    let mut server_is_shown = false;
    for name in databases {
        // A listed database may be missing, or have no extension yet: the others are shown all the same.
        let shown = database::connect(cluster, name).and_then(|mut client| {
            if !server_is_shown {
                print_views(&mut client, &OF_SERVER)?;
                server_is_shown = true;
            }
            say(&format!("\nDatabase {name}"));
            print_views(&mut client, &OF_DATABASE)
        });
        if let Err(failure) = shown {
            say(&format!("\nDatabase {name} cannot be looked at: {failure}"));
        }
    }
    Ok(())
}

pub(crate) fn print_views(client: &mut impl GenericClient, views: &[View]) -> Result<()> {
    for (title, view) in views {
        match rows(client, view)? {
            Some(table) if table.rows.is_empty() => say(&format!("{title}: none")),
            Some(table) => say(&harmless(&format!("{title}:\n{}", table.render().trim_end()))),
            None => {
                say(&format!("{title}: there is no view {view}; is the extension installed and up to date?"))
            }
        }
    }
    Ok(())
}

fn print_json(cluster: &Cluster, databases: &[String]) -> Result<()> {
    let mut status = json!({ "pid": cluster.pid(), "data": cluster.data(), "served": {} });
    for name in databases {
        let looked = database::connect(cluster, name).and_then(|mut client| {
            if status.get("workers").is_none() {
                add_views(&mut client, &OF_SERVER, &mut status)?;
            }
            let mut of_database = json!({});
            add_views(&mut client, &OF_DATABASE, &mut of_database)?;
            Ok(of_database)
        });
        status["served"][name] = looked.unwrap_or_else(|failure| json!({ "error": failure.to_string() }));
    }
    say(&format!("{status:#}"));
    Ok(())
}

/// Adds the rows of each view under its name: http.stats as stats, queue.listeners as queue_listeners.
pub(crate) fn add_views(client: &mut impl GenericClient, views: &[View], to: &mut Value) -> Result<()> {
    for (_, view) in views {
        to[view.trim_start_matches("http.").replace('.', "_")] = rows_as_json(client, view)?;
    }
    Ok(())
}

/// All rows of a view as texts, or `None` if there is no such view.
fn rows(client: &mut impl GenericClient, view: &str) -> Result<Option<Table>> {
    if !database::has_relation(client, view)? {
        return Ok(None);
    }
    table_of(client, &format!("select * from {view}")).map(Some)
}

/// The rows of a query as texts.
pub(crate) fn table_of(client: &mut impl GenericClient, query: &str) -> Result<Table> {
    let mut table = Table::default();
    for message in client.simple_query(query)? {
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
    Ok(table)
}

/// All rows of a view as an array of objects, or null if there is no such view.
fn rows_as_json(client: &mut impl GenericClient, view: &str) -> Result<Value> {
    if !database::has_relation(client, view)? {
        return Ok(Value::Null);
    }
    let rows =
        client.query_one(&format!("select coalesce(json_agg(row), '[]')::text from {view} as row"), &[])?;
    let text: String = rows.get(0);
    serde_json::from_str(&text)
        .map_err(|error| Failure::Said(format!("{view} gave JSON that cannot be read: {error}")))
}
