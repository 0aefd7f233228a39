//! Which folder goes to which database.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use cluster::Cluster;
use cluster::postgres::config::Host;
use cluster::postgres::{Client, Config, NoTls};
use folder::{Folder, Manifest};

use crate::arguments::Destination;
use crate::database;
use crate::failure::{Failure, Result};

/// What this program calls itself to the server.
const NAME: &str = "howdah deploy";
/// Where Debian's PostgreSQL has its socket.
const SOCKETS: &str = "/var/run/postgresql";

/// The folder; all that is wrong with it, if something is.
pub(crate) fn folder(options: &Destination) -> Result<Folder> {
    Folder::read(&options.app).map_err(|faults| said(&faults))
}

/// Faults of a folder, a line each.
pub(crate) fn said(faults: &[folder::Fault]) -> Failure {
    let lines: Vec<String> = faults.iter().map(ToString::to_string).collect();
    Failure::Said(lines.join("\nhowdah: "))
}

/// A database that can be connected to more than once.
pub(crate) struct Target {
    config: Config,
    /// Where it is, without a password.
    pub(crate) shown: String,
}

impl Target {
    /// The database that `--to` means: an environment of howdah.toml, or a connection string; without it the local platform.
    pub(crate) fn of(options: &Destination, manifest: &Manifest) -> Result<Target> {
        let Some(to) = &options.to else { return Self::platform(options) };
        let text = match manifest.environments.get(to) {
            Some(text) => text,
            None if to.contains("://") || to.contains('=') => to,
            None => {
                let known: Vec<&str> = manifest.environments.keys().map(String::as_str).collect();
                return Err(Failure::Said(format!(
                    "--to {to} is neither a connection string nor an environment of howdah.toml, which has {}",
                    if known.is_empty() { "none".to_owned() } else { known.join(", ") }
                )));
            }
        };
        // The error repeats the option's name at most, so no password.
        let config = Config::from_str(text)
            .map_err(|error| Failure::Said(format!("the connection string cannot be read: {error}")))?;
        Ok(Self::with_defaults(config, |name| env::var(name).ok().filter(|value| !value.is_empty())))
    }

    /// The platform that `howdah up` runs.
    fn platform(options: &Destination) -> Result<Target> {
        let cluster = Cluster::attach(&options.place.data)?;
        let name = database::served(&cluster)?.into_iter().next().unwrap_or_else(|| "postgres".to_owned());
        let config = Config::from_str(&cluster.connection_string(&name)?)?;
        Ok(Target { config, shown: format!("{} of {}", name, options.place.data.display()) })
    }

    /// What the connection string leaves open is as libpq has it: the variables PG…, then its defaults, and the password of .pgpass.
    fn with_defaults(mut config: Config, variable: impl Fn(&str) -> Option<String>) -> Target {
        if config.get_hosts().is_empty() {
            let host = variable("PGHOST").unwrap_or_else(|| SOCKETS.to_owned());
            config.host(&host);
        }
        if config.get_ports().is_empty() {
            config.port(variable("PGPORT").and_then(|port| port.parse().ok()).unwrap_or(5432));
        }
        let user = config.get_user().map(str::to_owned);
        let user = user
            .or_else(|| variable("PGUSER"))
            .or_else(|| variable("USER"))
            .unwrap_or_else(|| "postgres".into());
        config.user(&user);
        let database = config.get_dbname().map(str::to_owned);
        let database = database.or_else(|| variable("PGDATABASE")).unwrap_or_else(|| user.clone());
        config.dbname(&database);
        config.application_name(NAME);
        let host = match &config.get_hosts()[0] {
            Host::Tcp(host) => host.clone(),
            Host::Unix(path) => path.display().to_string(),
        };
        let port = config.get_ports()[0];
        if config.get_password().is_none() {
            let file = variable("PGPASSFILE").map(PathBuf::from);
            let file = file.or_else(|| variable("HOME").map(|home| Path::new(&home).join(".pgpass")));
            let of_file = || {
                let lines = fs::read_to_string(file?).ok()?;
                password(&lines, [&host, &port.to_string(), &database, &user])
            };
            if let Some(password) = variable("PGPASSWORD").or_else(of_file) {
                config.password(password);
            }
        }
        Target { config, shown: format!("{database} on {host}:{port} as {user}") }
    }

    /// A new session.
    pub(crate) fn connect(&self) -> Result<Client> {
        let refused = |error: cluster::postgres::Error| {
            Failure::Said(format!("cannot connect to {}: {}", self.shown, reason(&error)))
        };
        self.config.connect(NoTls).map_err(refused)
    }
}

/// What an error says, with its causes.
pub(crate) fn reason(error: &cluster::postgres::Error) -> String {
    match error.as_db_error() {
        Some(error) => error.message().to_owned(),
        None => {
            let mut text = error.to_string();
            let mut cause = std::error::Error::source(error);
            while let Some(inner) = cause {
                text.push_str(&format!(": {inner}"));
                cause = inner.source();
            }
            text
        }
    }
}

/// The password of the first line of .pgpass that fits host, port, database and user; `\` keeps a `:` from dividing.
fn password(lines: &str, wanted: [&str; 4]) -> Option<String> {
    let fields = |line: &str| {
        let (mut fields, mut field, mut letters) = (Vec::new(), String::new(), line.chars());
        while let Some(letter) = letters.next() {
            match letter {
                '\\' => field.extend(letters.next()),
                ':' => fields.push(std::mem::take(&mut field)),
                _ => field.push(letter),
            }
        }
        fields.push(field);
        fields
    };
    let is_host = |known: &str| known == wanted[0] || known == "localhost" && wanted[0].starts_with('/');
    lines.lines().filter(|line| !line.starts_with('#')).map(fields).find_map(|fields| {
        let [host, port, database, user, password] = fields.try_into().ok()?;
        let fits = |known: &str, wanted: &str| known == "*" || known == wanted;
        let is_it = (host == "*" || is_host(&host))
            && fits(&port, wanted[1])
            && fits(&database, wanted[2])
            && fits(&user, wanted[3]);
        is_it.then_some(password)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_open_is_as_libpq_has_it() {
        let variables =
            [("PGUSER", "ada"), ("PGDATABASE", "app"), ("PGPORT", "6000"), ("PGPASSWORD", "secret")];
        let variable = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        let target = |text: &str| Target::with_defaults(Config::from_str(text).unwrap(), variable);
        assert_eq!(target("").shown, "app on /var/run/postgresql:6000 as ada");
        let target = target("postgresql://eve@db:1/x");
        assert_eq!(target.shown, "x on db:1 as eve");
        assert_eq!(target.config.get_password(), Some(&b"secret"[..]));
    }

    #[test]
    fn a_password_is_that_of_the_first_line_that_fits() {
        let lines = "# h:1:d:u:no\nh:2:*:u:other\nh:1:d:u:a\\:b\\\\\n*:*:*:*:last\nlocalhost:*:*:u:socket\n";
        assert_eq!(password(lines, ["h", "1", "d", "u"]).as_deref(), Some("a:b\\"));
        assert_eq!(password(lines, ["x", "1", "d", "u"]).as_deref(), Some("last"));
        assert_eq!(password("localhost:*:*:u:socket", ["/run", "1", "d", "u"]).as_deref(), Some("socket"));
        assert_eq!(password("h:1", ["h", "1", "d", "u"]), None);
    }
}
