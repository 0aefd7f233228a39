//! The platform's database and the extension in it.

use cluster::Cluster;
use cluster::postgres::{Client, GenericClient};

use crate::application;
use crate::failure::Result;

/// The extension's name.
pub(crate) const EXTENSION: &str = "howdah";

/// A session of the superuser's in which names are PostgreSQL's own: who makes schemas must not choose what the command's operators and
/// functions mean.
pub(crate) fn connect(cluster: &Cluster, name: &str) -> Result<Client> {
    let mut client = cluster.connect(name)?;
    client.batch_execute("set search_path = pg_catalog, pg_temp")?;
    Ok(client)
}

/// Makes the database and the extension where they are missing, and brings the extension to the version of
/// its files.
pub(crate) fn prepare(cluster: &Cluster, name: &str) -> Result<()> {
    let mut client = connect(cluster, "postgres")?;
    if client.query_opt("select from pg_database where datname = $1", &[&name])?.is_none() {
        application::forget(cluster, name)?;
        client.batch_execute(&format!("create database {}", quoted(name)))?;
    }
    // What they have to say of an extension that is there already is for nobody.
    let quietly = "set log_min_messages = 'warning'";
    cluster.execute(name, &format!("{quietly}; create extension if not exists {EXTENSION}"))?;
    cluster.execute(name, &format!("{quietly}; alter extension {EXTENSION} update"))?;
    Ok(())
}

/// A database's name for `--database`, if it can stand in the setting howdah.databases.
pub(crate) fn name(text: &str) -> Result<String, String> {
    if text.is_empty() || text.contains(',') || text.trim() != text {
        return Err(
            "a database to be served has a name without commas and without blanks around it".to_owned()
        );
    }
    Ok(text.to_owned())
}

/// The databases that the platform serves, as the server's setting names them.
pub(crate) fn served(cluster: &Cluster) -> Result<Vec<String>> {
    let mut client = connect(cluster, "postgres")?;
    let row = client.query_one("select coalesce(current_setting('howdah.databases', true), '')", &[])?;
    let list: String = row.get(0);
    let names = list.split(',').map(|name| name.trim().to_owned());
    Ok(names.filter(|name| !name.is_empty()).collect())
}

/// Whether a table or view exists.
pub(crate) fn has_relation(client: &mut impl GenericClient, name: &str) -> Result<bool> {
    Ok(client.query_one("select to_regclass($1) is not null", &[&name])?.get(0))
}

/// A name as an SQL identifier.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
