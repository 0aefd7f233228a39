//! `howdah stop`.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use cluster::{Cluster, Shutdown};

use crate::database;
use crate::failure::{Failure, Result};
use crate::screen::{complain, say};

/// How often the workers are looked at while they finish.
const LOOK: Duration = Duration::from_millis(20);
/// What the supervisor may take beyond the workers' own time.
const PATIENCE: Duration = Duration::from_secs(5);

/// Stops a running platform.
pub(crate) fn run(data: &Path) -> Result<()> {
    let mut cluster = Cluster::attach(data)?;
    drain(&cluster);
    cluster.stop(Shutdown::Fast)?;
    say("Howdah has stopped.");
    Ok(())
}

/// Lets running requests finish: no database is served any more, so the gateways stop accepting, and they end
/// when their last request is answered or `howdah.drain_timeout` has passed. The platform stops whatever comes
/// of it, and the next start serves again.
pub(crate) fn drain(cluster: &Cluster) {
    if let Err(error) = try_drain(cluster) {
        complain(&format!("running requests could not finish: {error}"));
    }
}

fn try_drain(cluster: &Cluster) -> Result<()> {
    let Some(name) = database::served(cluster)?.into_iter().next() else { return Ok(()) };
    let mut client = cluster.connect(&name)?;
    if !database::has_relation(&mut client, "http.workers")? {
        return Ok(());
    }
    let seconds = "select extract(epoch from current_setting('howdah.drain_timeout')::interval)::float8";
    let timeout = Duration::from_secs_f64(client.query_one(seconds, &[])?.get::<_, f64>(0).max(0.0));
    cluster.reconfigure("howdah.databases", "")?;
    let deadline = Instant::now() + timeout + PATIENCE;
    while client.query_one("select count(*) from http.workers", &[])?.get::<_, i64>(0) > 0 {
        if Instant::now() > deadline {
            return Err(Failure::Said("they are still there after howdah.drain_timeout".into()));
        }
        thread::sleep(LOOK);
    }
    Ok(())
}
