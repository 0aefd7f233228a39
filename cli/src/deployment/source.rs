//! What is deployed: a folder, or the files of an earlier deployment, which the server has kept.

use std::collections::BTreeMap;

use cluster::postgres::Transaction;
use folder::{Deployed, File, Folder, Kind, Manifest, Statics};

use super::names::unquoted;
use super::server::{Stop, state};
use crate::failure::Failure;

/// Where the files come from.
pub(crate) enum Source {
    /// A folder of this machine.
    Folder(Box<Folder>),
    /// The code of an earlier deployment.
    Earlier {
        /// The application.
        name: String,
        /// Which; none is the one before the last.
        number: Option<i32>,
        /// The deployment that it takes back, if it is to take back no other.
        over: Option<i32>,
    },
}

impl Source {
    /// The application's name.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Folder(folder) => &folder.manifest.name,
            Self::Earlier { name, .. } => name,
        }
    }

    /// The files, and which deployment they are of, if they are. Migrations are never taken back: an earlier deployment's code comes with
    /// those of the last.
    pub(crate) fn folder(&self, transaction: &mut Transaction<'_>) -> Result<(Folder, Option<String>), Stop> {
        let (name, number, over) = match self {
            Self::Folder(folder) => return Ok(((**folder).clone(), None)),
            Self::Earlier { name, number, over } => (name, *number, *over),
        };
        let failed = |text: String| Stop::Failed(Failure::Said(text));
        let Some(Deployed { number: last, schema, owner, source, .. }) = state(transaction, name)? else {
            return Err(failed(format!("there is no application {name}")));
        };
        if let Some(over) = over.filter(|over| *over != last) {
            return Err(failed(format!("{name} is at deployment {last} by now, which came after {over}")));
        }
        // After a rollback the one before is that before the one that is back.
        let back = source.and_then(|source| source.strip_prefix("deployment ")?.parse().ok());
        let number = number.unwrap_or_else(|| back.unwrap_or(last) - 1);
        if number == 0 {
            return Err(failed(format!("{name} has no deployment before this one")));
        }
        if number < 1 || number >= last {
            return Err(failed(format!(
                "{name} is at deployment {last}, and {number} is none before it; see howdah history"
            )));
        }
        let mut files = of_deployment(transaction, name, number, |kind| kind != Kind::Migration)?;
        files.extend(of_deployment(transaction, name, last, |kind| kind == Kind::Migration)?);
        let manifest =
            Manifest { schema: Some(schema), owner: Some(unquoted(&owner)), ..Manifest::named(name) };
        Ok((Folder { manifest, files, statics: Statics::default() }, Some(format!("deployment {number}"))))
    }
}

/// The files of a deployment, of some kinds.
pub(crate) fn of_deployment(
    transaction: &mut Transaction<'_>,
    name: &str,
    number: i32,
    is_wanted: impl Fn(Kind) -> bool,
) -> Result<BTreeMap<String, File>, Stop> {
    let rows =
        transaction.query("select f.path, f.content from deploy.files($1, $2) f", &[&name, &number])?;
    let mut files = BTreeMap::new();
    for row in rows {
        let (path, content): (String, Option<String>) = (row.get(0), row.get(1));
        let Some(kind) = Kind::of(&path).filter(|kind| is_wanted(*kind)) else { continue };
        let Some(content) = content else {
            return Err(Stop::Failed(Failure::Said(format!(
                "the text of {path} of deployment {number} is not there"
            ))));
        };
        files.insert(path, File::new(kind, content));
    }
    Ok(files)
}
