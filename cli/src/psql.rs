//! `howdah psql`.

use std::env;
use std::io::ErrorKind;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use cluster::Cluster;

use crate::database;
use crate::failure::{Failure, Result};
use crate::screen::say;

/// Variables that would lead psql elsewhere.
const ELSEWHERE: [&str; 4] = ["PGHOSTADDR", "PGSERVICE", "PGSERVICEFILE", "PGPASSWORD"];

/// Becomes psql on the platform. Without psql the connection string is printed.
pub(crate) fn run(data: &Path, database: Option<&str>, arguments: &[String]) -> Result<()> {
    let cluster = Cluster::attach(data)?;
    let name = match database {
        Some(name) => name.to_owned(),
        None => database::served(&cluster)?.into_iter().next().unwrap_or_else(|| "postgres".to_owned()),
    };
    let connection = cluster.connection_string(&name)?;
    // The installation's own psql fits the server; a private server has a link to it.
    let beside = cluster.installation().program("psql");
    let program = if beside.exists() { beside } else { "psql".into() };
    let mut command = Command::new(program);
    ELSEWHERE.iter().filter(|name| env::var_os(name).is_some()).for_each(|name| {
        command.env_remove(name);
    });
    // In the environment, so that options of psql change what they name and nothing else: -d another database, -U another
    // user, on the same socket.
    command.envs(cluster.environment(&name)?);
    let error = command.args(arguments).exec();
    if error.kind() == ErrorKind::NotFound {
        say(&connection);
        return Err(Failure::Said(
            "psql is not installed; above is the connection string for other programs".into(),
        ));
    }
    Err(Failure::Said(format!("psql cannot be run: {error}")))
}
