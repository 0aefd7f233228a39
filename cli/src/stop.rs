//! `howdah stop`.

use std::path::Path;

use cluster::{Cluster, Shutdown};

use crate::database::{self, Kind};
use crate::failure::Result;
use crate::screen::{complain, say};

/// Stops a running platform.
pub(crate) fn run(data: &Path) -> Result<()> {
    let mut cluster = Cluster::attach(data)?;
    drain(&cluster);
    cluster.stop(Shutdown::Fast)?;
    say("Howdah has stopped.");
    Ok(())
}

/// Lets running requests finish: listeners close, and the call returns when the last request is answered or
/// `howdah.drain_timeout` has passed. The platform stops whatever comes of it.
pub(crate) fn drain(cluster: &Cluster) {
    for name in database::served(cluster).unwrap_or_default() {
        if let Err(error) = drain_database(cluster, &name) {
            complain(&format!("requests of database {name} could not finish: {error}"));
        }
    }
}

fn drain_database(cluster: &Cluster, name: &str) -> Result<()> {
    let mut client = cluster.connect(name)?;
    if database::exists(&mut client, Kind::Function, "http.drain")? {
        client.batch_execute("select http.drain()")?;
    }
    Ok(())
}
