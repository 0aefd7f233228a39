//! `howdah stop` and `howdah restart`.

use std::path::Path;
use std::thread;
use std::time::Duration;

use cluster::{Cluster, Life, Shutdown};

use crate::database;
use crate::failure::Result;
use crate::listeners;
use crate::screen::{complain, say};

/// Stops a running platform.
pub(crate) fn run(data: &Path, announce: Duration) -> Result<()> {
    let mut cluster = Cluster::attach(data)?;
    drain(&cluster, announce);
    cluster.stop(Shutdown::Fast)?;
    say("Howdah has stopped.");
    Ok(())
}

/// Stops a running platform and starts it again, with the settings that it has. It serves when this returns.
pub(crate) fn restart(data: &Path, announce: Duration) -> Result<()> {
    let mut cluster = Cluster::attach(data)?;
    drain(&cluster, announce);
    cluster.stop(Shutdown::Fast)?;
    cluster.start_again(Life::Independent)?;
    listeners::await_gateways(&cluster)?;
    say(&format!("Howdah has been restarted (process {}).", cluster.pid().unwrap_or_default()));
    Ok(())
}

/// Lets running requests finish: nothing is accepted any more, and all that has been is answered, or
/// `howdah.drain_timeout` has passed. The platform stops whatever comes of it, and the next start serves again.
pub(crate) fn drain(cluster: &Cluster, announce: Duration) {
    let names = match database::served(cluster) {
        Ok(names) => names,
        Err(error) => return complain(&format!("running requests could not finish: {error}")),
    };
    // At the same time: each may take as long as its slowest request.
    thread::scope(|scope| {
        for name in &names {
            scope.spawn(move || match drain_one(cluster, name, announce) {
                Ok(0) => {}
                Ok(cut_off) => complain(&format!(
                    "{cut_off} requests to {name} have exceeded howdah.drain_timeout and were cut off"
                )),
                Err(error) => complain(&format!("running requests to {name} could not finish: {error}")),
            });
        }
    });
}

/// How many requests were cut off.
fn drain_one(cluster: &Cluster, name: &str, announce: Duration) -> Result<i64> {
    let mut client = database::connect(cluster, "postgres")?;
    if client.query_opt("select from pg_database where datname = $1", &[&name])?.is_none() {
        return Ok(0);
    }
    let mut client = database::connect(cluster, name)?;
    if client.query_one("select to_regprocedure('http.drain(interval)') is null", &[])?.get(0) {
        return Ok(0);
    }
    let seconds = announce.as_secs_f64();
    Ok(client.query_one("select http.drain(make_interval(secs => $1))", &[&seconds])?.get(0))
}
