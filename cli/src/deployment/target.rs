//! Which folder goes to which databases.

use std::path::Path;

use cluster::Cluster;
use folder::{Folder, Manifest};

use crate::arguments::Destination;
use crate::connection::Address;
use crate::database;
use crate::failure::{Failure, Result};

/// What this program calls itself to the server.
const NAME: &str = "howdah deploy";

/// The folder; all that is wrong with it, if something is.
pub(crate) fn folder(options: &Destination) -> Result<Folder> {
    read(&options.app)
}

/// Likewise, of this path.
pub(crate) fn read(app: &Path) -> Result<Folder> {
    Folder::read(app).map_err(|faults| said(&faults))
}

/// Faults of a folder, a line each.
pub(crate) fn said(faults: &[folder::Fault]) -> Failure {
    let lines: Vec<String> = faults.iter().map(ToString::to_string).collect();
    Failure::Said(lines.join("\nhowdah: "))
}

/// The databases that `--to` means: environments of howdah.toml, or connection strings; without it the local platform.
pub(crate) fn addresses(options: &Destination, manifest: &Manifest) -> Result<Vec<Address>> {
    if options.to.is_empty() {
        return Ok(vec![platform(options)?]);
    }
    options.to.iter().map(|to| address(to, manifest, NAME)).collect()
}

/// Does something with each database, one after the other, until it fails.
pub(crate) fn each(
    options: &Destination,
    manifest: &Manifest,
    work: impl Fn(&Address) -> Result<()>,
) -> Result<()> {
    let all = addresses(options, manifest)?;
    let mut rest = all.iter();
    while let Some(address) = rest.next() {
        work(address).map_err(|failure| match (failure, rest.as_slice()) {
            (Failure::Said(text), left @ [_, ..]) => {
                let left: Vec<&str> = left.iter().map(|address| address.shown.as_str()).collect();
                Failure::Said(format!("{text}\nNot tried after that: {}", left.join(", ")))
            }
            (failure, _) => failure,
        })?;
    }
    Ok(())
}

/// One of them; the folder is read if it is an environment's name.
pub(crate) fn address_of(options: &Destination, to: &str, program: &str) -> Result<Address> {
    match is_connection(to) {
        true => Address::of(to, program),
        false => address(to, &folder(options)?.manifest, program),
    }
}

fn is_connection(to: &str) -> bool {
    to.contains("://") || to.contains('=')
}

fn address(to: &str, manifest: &Manifest, program: &str) -> Result<Address> {
    match manifest.environments.get(to) {
        Some(text) => Address::of(text, program),
        None if is_connection(to) => Address::of(to, program),
        None => {
            let known: Vec<&str> = manifest.environments.keys().map(String::as_str).collect();
            Err(Failure::Said(format!(
                "--to {to} is neither a connection string nor an environment of howdah.toml, which has {}",
                if known.is_empty() { "none".to_owned() } else { known.join(", ") }
            )))
        }
    }
}

/// The platform that `howdah up` runs.
fn platform(options: &Destination) -> Result<Address> {
    let data = options.place.of_app(&options.app);
    let cluster = Cluster::attach(&data)?;
    let name = database::served(&cluster)?.into_iter().next().unwrap_or_else(|| "postgres".to_owned());
    let shown = format!("{} of {}", name, data.display());
    Address::local(&cluster.connection_string(&name)?, shown, NAME)
}
