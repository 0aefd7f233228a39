//! Whether the server has understood the settings that `howdah up --set` names.

use cluster::postgres::Client;
use cluster::{Cluster, Error};

use crate::database;
use crate::failure::{Failure, Result};
use crate::screen::say;

/// An error, which says why, if the server that has just started does not have these settings in force.
pub(crate) fn require_in_force(cluster: &Cluster, settings: &[(String, String)]) -> Result<()> {
    let mut client = database::connect(cluster, "postgres")?;
    for (name, value) in settings {
        require_known(&mut client, name)?;
        let defaulted = "select from pg_settings where lower(name) = lower($1) and source = 'default'";
        if client.query_opt(defaulted, &[&name])?.is_some() {
            return Err(refused(name, value, ""));
        }
    }
    Ok(())
}

/// Changes settings of a server that runs, and says what has become of each.
pub(crate) fn change(cluster: &Cluster, settings: &[(String, String)]) -> Result<()> {
    let mut client = database::connect(cluster, "postgres")?;
    for (name, value) in settings {
        require_known(&mut client, name)?;
        match cluster.change(name, value) {
            Ok(true) => say(&format!("{name} is {value} now, until the platform is stopped.")),
            Ok(false) => say(&format!("{name} will be {value} after howdah restart.")),
            Err(Error::BadValue { why, .. }) => return Err(refused(name, value, &why)),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

fn require_known(client: &mut Client, name: &str) -> Result<()> {
    if client.query_one("select current_setting($1, true) is not null", &[&name])?.get(0) {
        return Ok(());
    }
    let known = client.query("select name from pg_settings", &[])?;
    let distance = |known: &String| strsim::damerau_levenshtein(&known.to_lowercase(), &name.to_lowercase());
    let nearest = known.iter().map(|row| row.get::<_, String>(0)).min_by_key(distance);
    let near = nearest.filter(|known| distance(known) <= 1 + name.len() / 4);
    let meant = near.map_or_else(String::new, |near| format!("; is {near} meant?"));
    Err(Failure::Said(format!("there is no setting {name}{meant}")))
}

fn refused(name: &str, value: &str, why: &str) -> Failure {
    let why = if why.is_empty() { String::new() } else { format!(": {why}") };
    Failure::Said(format!(
        "{name} cannot be {value:?}{why}; docs/settings.md and pg_settings have what it may be"
    ))
}
