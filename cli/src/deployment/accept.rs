//! `howdah accept`: migrations that have run and whose comments have changed since.

use cluster::postgres::Client;
use folder::{Deployed, Folder, Kind};

use super::server::{Stop, require_extension, state};
use super::target;
use crate::arguments::Destination;
use crate::connection::{Address, begin};
use crate::failure::{Failure, Result};
use crate::screen::say;

/// Accepts them in each database.
pub(crate) fn run(options: &Destination) -> Result<()> {
    let folder = target::folder(options)?;
    target::each(options, &folder.manifest, |address| accept(&folder, address))
}

fn accept(folder: &Folder, address: &Address) -> Result<()> {
    let name = &folder.manifest.name;
    let mut client = address.connect()?;
    require_extension(&mut client, &address.shown)?;
    let mut transaction = begin(&mut client)?;
    let Some(deployed) = state(&mut transaction, name)? else {
        return Err(Failure::Said(format!("{} has no application {name}", address.shown)));
    };
    let mut accepted = Vec::new();
    for (path, file) in folder.files.iter().filter(|(_, file)| file.kind == Kind::Migration) {
        if deployed.migrations.get(path).is_some_and(|digest| *digest != file.digest) {
            transaction
                .execute("select deploy.accept($1, $2, $3)", &[name, path, &file.text])
                .map_err(Stop::from)?;
            accepted.push(path);
        }
    }
    transaction.commit()?;
    match accepted.is_empty() {
        true => say(&format!("{}: no migration of {name} that has run has changed.", address.shown)),
        false => accepted.iter().for_each(|path| {
            say(&format!("{}: {path} has the statements that have run; it is accepted.", address.shown));
        }),
    }
    Ok(())
}

/// Accepts those whose comments alone have changed, and leaves the others as they are; how many. On a platform of one's own.
pub(crate) fn all_that_are_same(client: &mut Client, folder: &Folder, deployed: &Deployed) -> Result<usize> {
    let mut count = 0;
    for (path, file) in folder.files.iter().filter(|(_, file)| file.kind == Kind::Migration) {
        if deployed.migrations.get(path).is_none_or(|digest| *digest == file.digest) {
            continue;
        }
        let mut transaction = begin(client)?;
        let accept = "select deploy.accept($1, $2, $3)";
        if transaction.execute(accept, &[&folder.manifest.name, path, &file.text]).is_ok() {
            transaction.commit()?;
            count += 1;
        }
    }
    Ok(count)
}
