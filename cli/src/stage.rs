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

fn beside() -> Option<PathBuf> {
    let installation = Installation::find().ok()?;
    if installation.require_extension(EXTENSION).is_ok() {
        return None;
    }
    let program = env::current_exe().ok()?;
    let stage = program.parent()?.parent()?.join(format!("pg{}", installation.major)).join("stage");
    stage.is_dir().then_some(stage)
}
