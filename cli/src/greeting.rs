//! What `howdah up` says once the platform serves.

use std::env;
use std::path::Path;

use cluster::Cluster;

use crate::application;
use crate::arguments::Up;
use crate::failure::Result;
use crate::screen::say;

/// Says where it serves, and what can be done with it.
pub(crate) fn greet(cluster: &Cluster, options: &Up, started: bool) -> Result<()> {
    say(&format!("\nHowdah serves http://127.0.0.1:{}", options.port));
    let mut suggestions = match &options.app {
        Some(folder) => application::suggestions(folder, options.port)?,
        None => Vec::new(),
    };
    if suggestions.is_empty() {
        suggestions.push(format!("curl -i localhost:{}/", options.port));
    }
    say("\nTry:");
    suggestions.iter().for_each(|line| say(&format!("    {line}")));
    say("\nOpen psql on it:");
    say(&format!("    psql \"{}\"", cluster.connection_string(&options.database)?));
    let place = place_argument(&options.place.data);
    let command = command();
    say(&format!("    {command} psql{place}\n"));
    if started && !options.detach {
        say(&format!(
            "{} Ctrl-C stops it; the data stays in {}.",
            if options.quiet {
                "Warnings and errors follow."
            } else {
                "Requests, notices and errors follow."
            },
            options.place.data.display()
        ));
    } else {
        say(&format!("{command} status{place} shows what it does, {command} stop{place} stops it."));
    }
    Ok(())
}

/// This command as it was called: it need not be on the PATH.
fn command() -> String {
    env::args().next().unwrap_or_else(|| "howdah".to_owned())
}

fn place_argument(data: &Path) -> String {
    if data == Path::new(".howdah") { String::new() } else { format!(" --data {}", data.display()) }
}
