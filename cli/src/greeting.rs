//! What `howdah up` says once the platform serves.

use std::env;
use std::path::Path;

use cluster::Cluster;

use crate::arguments::Up;
use crate::failure::Result;
use crate::https::Certificates;
use crate::screen::say;
use crate::{application, trust};

/// Says where it serves, and what can be done with it.
pub(crate) fn greet(
    cluster: &Cluster,
    options: &Up,
    certificates: Option<&Certificates>,
    started: bool,
) -> Result<()> {
    let secure = format!("https://localhost:{}", options.tls_port);
    let and = if options.tls { format!(" and {secure}") } else { String::new() };
    say(&format!("\nHowdah serves http://127.0.0.1:{}{and}", options.private.port));
    let mut suggestions = match options.app.as_ref().or(options.shown.as_ref()) {
        Some(folder) => application::suggestions(folder, options.private.port)?,
        None => Vec::new(),
    };
    if suggestions.is_empty() {
        suggestions.push(format!("curl -i localhost:{}/", options.private.port));
    }
    if let Some(Certificates::Development(authority)) = certificates {
        suggestions.extend(over_tls(&suggestions, options, authority));
    }
    say("\nTry:");
    suggestions.iter().for_each(|line| say(&format!("    {line}")));
    match certificates {
        Some(Certificates::Development(authority)) => say_how_to_trust(&secure, authority),
        Some(Certificates::Own(set)) => {
            say(&format!("\nIts certificates are those of howdah.tls_certificates: {set}"))
        }
        None => {}
    }
    say("\nOpen psql on it:");
    say(&format!("    psql \"{}\"", cluster.connection_string(&options.private.database)?));
    let place = place_argument(&options.private.place.data);
    let command = command();
    say(&format!("    {command} psql{place}\n"));
    if started && !options.detach {
        say(&format!(
            "{} Ctrl-C stops it; the data stays in {}.",
            if options.private.quiet {
                "Warnings and errors follow."
            } else {
                "Requests, notices and errors follow."
            },
            options.private.place.data.display()
        ));
    } else {
        say(&format!("{command} status{place} shows what it does, {command} stop{place} stops it."));
    }
    Ok(())
}

/// The first suggestion for curl, by HTTPS.
fn over_tls(suggestions: &[String], options: &Up, authority: &Path) -> Option<String> {
    let (clear, secure) =
        (format!("localhost:{}", options.private.port), format!("localhost:{}", options.tls_port));
    let asked = suggestions
        .iter()
        .filter_map(|line| line.strip_prefix("curl "))
        .find(|line| line.contains(&clear))?;
    let asked =
        asked.replace(&format!("http://{clear}"), &clear).replace(&clear, &format!("https://{secure}"));
    Some(format!("curl --cacert {} {asked}", trust::quoted(authority)))
}

fn say_how_to_trust(secure: &str, authority: &Path) {
    match trust::command(authority) {
        Some(command) => {
            say(&format!("\nHave this system trust {secure} (for others see docs/https.md):"));
            say(&format!("    {command}"));
        }
        None => say(&format!(
            "\ndocs/https.md says how systems and browsers come to trust {}.",
            authority.display()
        )),
    }
}

/// This command as it was called: it need not be on the PATH.
fn command() -> String {
    env::args().next().unwrap_or_else(|| "howdah".to_owned())
}

fn place_argument(data: &Path) -> String {
    if data == Path::new(".howdah") { String::new() } else { format!(" --data {}", data.display()) }
}
