//! The certificates that `howdah up --tls` serves with.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use cluster::Cluster;
use nix::unistd::Uid;

use crate::arguments::Up;
use crate::authority::{self, Authority, Holder};
use crate::database;
use crate::failure::{Failure, Result};
use crate::localhost::{Localhost, Server};
use crate::screen::say;

/// The setting that names certificates.
const SETTING: &str = "howdah.tls_certificates";

/// Whose certificates are served.
#[derive(Debug)]
pub(crate) enum Certificates {
    /// One for localhost, of the authority whose certificate is this file.
    Development(PathBuf),
    /// Those that the user has set.
    Own(String),
}

/// Makes the certificate for a cluster that is about to start, unless the options name others.
pub(crate) fn before_start(cluster: &mut Cluster, options: &Up) -> Result<()> {
    if options.tls && !is_set(options) {
        make(cluster)?;
        cluster.set(SETTING, Localhost::of(cluster.path()).setting());
    }
    Ok(())
}

/// Whose certificates a running cluster serves, if it is to serve any. Where none are set, it gets one for localhost.
pub(crate) fn in_force(cluster: &Cluster, options: &Up, started: bool) -> Result<Option<Certificates>> {
    if !options.tls {
        return Ok(None);
    }
    let row = database::connect(cluster, "postgres")?
        .query_one("select coalesce(current_setting($1, true), '')", &[&SETTING])?;
    let set: String = row.get(0);
    let ours = Localhost::of(cluster.path()).setting();
    // What ALTER SYSTEM has set is stronger than what the start has.
    if is_set(options) || !set.is_empty() && set != ours {
        return Ok(Some(Certificates::Own(set)));
    }
    if !started {
        make(cluster)?;
        match set.is_empty() {
            true => drop(cluster.change(SETTING, &ours)?),
            // The certificate may be a new one.
            false => cluster.execute("postgres", "select pg_reload_conf()")?,
        }
    }
    Ok(Some(Certificates::Development(authority::file()?)))
}

fn is_set(options: &Up) -> bool {
    options.private.settings.iter().any(|(name, _)| name.eq_ignore_ascii_case(SETTING))
}

fn make(cluster: &Cluster) -> Result<()> {
    let (holder, now) = (Holder::current(), now());
    let authority = Authority::prepare(&authority::folder()?, &holder, now)?;
    if let Some(why) = &authority.replaced {
        say(&format!(
            "The development authority {} is a new one, because {why}. Whoever has trusted the earlier one has to trust this one.",
            authority.file.display()
        ));
    }
    Localhost::of(cluster.path()).prepare(&authority, &holder, server(cluster)?, now)
}

/// Whom the server runs as: PostgreSQL runs as the owner of its data, and as nobody else.
fn server(cluster: &Cluster) -> Result<Server> {
    let data = cluster.data();
    let about = fs::metadata(&data)
        .map_err(|error| Failure::Said(format!("cannot look at {}: {error}", data.display())))?;
    Ok(Server { uid: about.uid(), gid: about.gid(), is_caller: about.uid() == Uid::effective().as_raw() })
}

/// The second of the UNIX clock.
pub(crate) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_secs().cast_signed()
}
