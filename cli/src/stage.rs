//! Which build of the extension a private server runs.

use std::env;
use std::path::{Path, PathBuf};

use cluster::Installation;

use crate::database::EXTENSION;

/// The build that is asked for, or that the environment names, or, where none is installed, the one beside this program, as `make build` leaves
/// them: `target/release/howdah`, say, and `target/pg15/stage`.
pub(crate) fn of(asked: Option<&Path>) -> Option<PathBuf> {
    asked.map(Path::to_owned).or_else(cluster::stage).or_else(beside)
}

/// Whether this machine has a server that can run the extension.
pub(crate) fn is_there() -> bool {
    let installed = || Installation::find_with(EXTENSION)?.require_extension(EXTENSION);
    of(None).is_some_and(|_| Installation::find().is_ok()) || installed().is_ok()
}

fn beside() -> Option<PathBuf> {
    let installation = Installation::find_with(EXTENSION).ok()?;
    if installation.require_extension(EXTENSION).is_ok() {
        return None;
    }
    let program = env::current_exe().ok()?;
    let stage = program.parent()?.parent()?.join(format!("pg{}", installation.major)).join("stage");
    stage.is_dir().then_some(stage)
}
