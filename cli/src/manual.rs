//! Pages of the manual and completions of shells, from what the command line knows.

use std::io::stdout;
use std::path::Path;

use clap::CommandFactory;
use clap_complete::Shell;

use crate::arguments::Arguments;
use crate::failure::Result;

/// Prints what a shell reads to complete words.
pub(crate) fn complete(shell: Shell) -> Result<()> {
    clap_complete::generate(shell, &mut Arguments::command(), "howdah", &mut stdout());
    Ok(())
}

/// Writes `howdah.1` and a page for each command.
pub(crate) fn write(folder: &Path) -> Result<()> {
    let unwritten = |error| format!("cannot write to {}: {error}", folder.display());
    std::fs::create_dir_all(folder).map_err(unwritten)?;
    clap_mangen::generate_to(Arguments::command().disable_help_subcommand(true), folder)
        .map_err(unwritten)?;
    Ok(())
}
