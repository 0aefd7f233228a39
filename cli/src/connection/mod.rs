//! A database that is reached as libpq would reach it: by a connection string, the variables PG…, service files and .pgpass, and by TLS
//! as `sslmode` says ([`tls`]).

mod tls;

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use cluster::postgres::config::Host;
use cluster::postgres::{CancelToken, Client, Config, Transaction};
use conninfo::{Parameters, VARIABLES};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::failure::{Failure, Result};

/// Where Debian's PostgreSQL has its socket.
const SOCKETS: &str = "/var/run/postgresql";
/// How long a host may take to answer; libpq waits for ever.
const PATIENCE: Duration = Duration::from_secs(10);
/// What is read here, and not left to the client library.
const OURS: [&str; 11] = [
    "service",
    "passfile",
    "sslmode",
    "sslrootcert",
    "sslcert",
    "sslkey",
    "sslcompression",
    "sslsni",
    "gssencmode",
    "krbsrvname",
    "gsslib",
];

/// A database that can be connected to more than once.
pub(crate) struct Address {
    config: Config,
    tls: MakeRustlsConnect,
    /// Where it is, without a password.
    pub(crate) shown: String,
}

/// What an address is made of: a string, and what it leaves open.
struct Source<'a> {
    variable: &'a dyn Fn(&str) -> Option<String>,
    read: &'a dyn Fn(&Path) -> Option<String>,
}

impl Address {
    /// What a connection string means here; `program` is what this program calls itself to the server.
    pub(crate) fn of(text: &str, program: &str) -> Result<Address> {
        let variable = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
        let read = |path: &Path| fs::read_to_string(path).ok();
        Self::with(text, program, &Source { variable: &variable, read: &read })
    }

    /// A database of the platform on this machine.
    pub(crate) fn local(text: &str, shown: String, program: &str) -> Result<Address> {
        let mut address = Self::with(text, program, &Source { variable: &|_| None, read: &|_| None })?;
        address.shown = shown;
        Ok(address)
    }

    fn with(text: &str, program: &str, source: &Source<'_>) -> Result<Address> {
        let parameters = source.parameters(text)?;
        let (ours, theirs): (Parameters, Parameters) =
            parameters.into_iter().partition(|(name, _)| OURS.contains(&name.as_str()));
        let mut config = Config::from_str(&written(&theirs)).map_err(|error| unreadable(reason(&error)))?;
        config.application_name(program);
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(PATIENCE);
        }
        let host = match &config.get_hosts()[0] {
            Host::Tcp(host) => host.clone(),
            Host::Unix(path) => path.display().to_string(),
        };
        let port = config.get_ports().first().copied().unwrap_or(5432);
        let name = |name: Option<&str>| name.unwrap_or_default().to_owned();
        let (user, database) = (name(config.get_user()), name(config.get_dbname()));
        if config.get_password().is_none() {
            let file = ours.get("passfile").map(PathBuf::from).or_else(|| source.home(".pgpass"));
            let lines = file.and_then(|file| (source.read)(&file)).unwrap_or_default();
            if let Some(password) = conninfo::password(&lines, [&host, &port.to_string(), &database, &user]) {
                config.password(password);
            }
        }
        let is_over_network = config.get_hosts().iter().any(|host| matches!(host, Host::Tcp(_)));
        let (mode, tls) = tls::of(&ours, is_over_network, |name| source.home(name))?;
        config.ssl_mode(mode);
        let (tls, shown) = (MakeRustlsConnect::new(tls), format!("{database} on {host}:{port} as {user}"));
        Ok(Address { config, tls, shown })
    }

    /// Another database of the same server.
    pub(crate) fn in_database(&self, name: &str) -> Address {
        let mut config = self.config.clone();
        config.dbname(name);
        Address { config, tls: self.tls.clone(), shown: format!("{name}, beside {}", self.shown) }
    }

    /// A new session.
    pub(crate) fn connect(&self) -> Result<Client> {
        let refused = |error: cluster::postgres::Error| {
            Failure::Said(format!("cannot connect to {}: {}", self.shown, reason(&error)))
        };
        self.config.connect(self.tls.clone()).map_err(refused)
    }

    /// A new session of another role, whose rights the user has, with these settings from its start: nothing of it is a command that a pooler
    /// might give to another session. An error if something in between has dropped that.
    pub(crate) fn connect_as(&self, role: &str, settings: &BTreeMap<String, String>) -> Result<Client> {
        let escaped = |value: &str| value.replace('\\', "\\\\").replace(' ', "\\ ");
        let noticed = NOTICED.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let of_role: Vec<(String, String)> =
            [("role".to_owned(), role.to_owned())].into_iter().chain(noticed).collect();
        let options: Vec<String> = of_role
            .iter()
            .map(|(name, value)| (name, value))
            .chain(settings)
            .map(|(name, value)| format!("-c {name}={}", escaped(value)))
            .collect();
        let mut config = self.config.clone();
        config.options(&options.join(" "));
        let refused = |why: String| {
            Failure::Said(format!(
                "what runs outside of a transaction needs a session of its own at {}, and no pooler between: {why}",
                self.shown
            ))
        };
        let mut client = config.connect(self.tls.clone()).map_err(|error| refused(reason(&error)))?;
        let row = client.query_one(
            "select current_user::pg_catalog.text, pg_catalog.current_setting('search_path')",
            &[],
        );
        let (user, path): (String, String) = match row {
            Ok(row) => (row.get(0), row.get(1)),
            Err(error) => return Err(refused(reason(&error))),
        };
        if user != role || settings.get("search_path").is_some_and(|wanted| *wanted != path) {
            return Err(refused(format!("the session is {user}'s, with the search_path {path}")));
        }
        // What runs there of the role's must not become the user.
        client.batch_execute("select deploy.keep_role()")?;
        if client.batch_execute("reset role").is_ok() {
            return Err(refused("the session does not keep its role".into()));
        }
        Ok(client)
    }

    /// Makes further sessions, also in another thread.
    pub(crate) fn connector(&self) -> impl Fn() -> Option<Client> + Send + 'static {
        let (config, tls) = (self.config.clone(), self.tls.clone());
        move || config.connect(tls.clone()).ok()
    }

    /// How to cancel what a session does.
    pub(crate) fn canceller(&self, token: CancelToken) -> impl Fn() + Send + 'static {
        let tls = self.tls.clone();
        // Whoever cancels looks whether it has helped.
        move || drop(token.cancel_query(tls.clone()))
    }
}

impl Source<'_> {
    /// The string's parameters, with what it leaves open: of its service, of the variables, and as libpq has it.
    fn parameters(&self, text: &str) -> Result<Parameters> {
        let mut parameters = conninfo::parse(text).map_err(unreadable)?;
        let variable = |name: &str| {
            let known = VARIABLES.iter().find(|(known, _)| *known == name);
            known.and_then(|(_, variable)| (self.variable)(variable))
        };
        if let Some(name) = parameters.get("service").cloned().or_else(|| variable("service")) {
            for (key, value) in self.service(&name)? {
                parameters.entry(key).or_insert(value);
            }
        }
        for (name, _) in VARIABLES {
            if let (false, Some(value)) = (parameters.contains_key(*name), variable(name)) {
                parameters.insert((*name).to_owned(), value);
            }
        }
        if !parameters.contains_key("hostaddr") {
            parameters.entry("host".to_owned()).or_insert_with(|| SOCKETS.to_owned());
        }
        let user = parameters.entry("user".to_owned());
        let user =
            user.or_insert_with(|| (self.variable)("USER").unwrap_or_else(|| "postgres".into())).clone();
        parameters.entry("dbname".to_owned()).or_insert(user);
        Ok(parameters)
    }

    /// A service of the user's file, or of the system's.
    fn service(&self, name: &str) -> Result<Parameters> {
        let of_user =
            (self.variable)("PGSERVICEFILE").map(PathBuf::from).or_else(|| self.home(".pg_service.conf"));
        let folder = (self.variable)("PGSYSCONFDIR").unwrap_or_else(|| "/etc/postgresql-common".into());
        let of_system = Path::new(&folder).join("pg_service.conf");
        let files = of_user.into_iter().chain([of_system]);
        let found =
            files.filter_map(|file| (self.read)(&file)).find_map(|text| conninfo::service(&text, name));
        found.ok_or_else(|| Failure::Said(format!("there is no service {name} in the service files")))
    }

    fn home(&self, name: &str) -> Option<PathBuf> {
        (self.variable)("HOME").map(|home| Path::new(&home).join(name))
    }
}

/// Settings by which a server notices within half a minute that its client has gone, however that went: what a session holds, others wait for.
pub(crate) const NOTICED: &[(&str, &str)] = &[
    ("client_connection_check_interval", "1000"),
    ("tcp_keepalives_idle", "10"),
    ("tcp_keepalives_interval", "5"),
    ("tcp_keepalives_count", "3"),
    ("tcp_user_timeout", "25000"),
];

/// The statements that make settings, for the transaction (`local`) or the session.
pub(crate) fn settings_for(settings: &[(&str, &str)], scope: &str) -> String {
    settings.iter().map(|(name, value)| format!("set {scope} {name} = {value};")).collect()
}

/// Begins a transaction in which names are PostgreSQL's own: who makes schemas must not choose what the command's operators and functions
/// mean. For the transaction alone, as a pooler gives the session to others.
pub(crate) fn begin(client: &mut Client) -> std::result::Result<Transaction<'_>, cluster::postgres::Error> {
    let mut transaction = client.transaction()?;
    transaction.batch_execute("set local search_path = pg_catalog, pg_temp")?;
    Ok(transaction)
}

/// Parameters as a connection string.
fn written(parameters: &Parameters) -> String {
    let quoted = |value: &str| value.replace('\\', "\\\\").replace('\'', "\\'");
    let pair = |(name, value): (&String, &String)| format!("{name}='{}' ", quoted(value));
    parameters.iter().map(pair).collect()
}

/// An error of reading: it repeats the name of a parameter at most, so no password.
fn unreadable(error: impl std::fmt::Display) -> Failure {
    Failure::Said(format!("the connection string cannot be read: {error}"))
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

#[cfg(test)]
mod tests {
    use cluster::postgres::config::SslMode;

    use super::*;

    fn address(text: &str) -> Address {
        let variables = [
            ("PGUSER", "ada"),
            ("PGDATABASE", "app"),
            ("PGPORT", "6000"),
            ("HOME", "/home"),
            ("PGSSLMODE", "require"),
        ];
        let variable = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        let read = |path: &Path| match path.to_str()? {
            "/home/.pgpass" => Some("db:*:*:*:secret\n".to_owned()),
            "/home/.pg_service.conf" => Some("[live]\nhost=db\nuser=live\nsslmode=disable\n".to_owned()),
            _ => None,
        };
        Address::with(text, "test", &Source { variable: &variable, read: &read }).unwrap()
    }

    #[test]
    fn what_is_left_open_is_as_libpq_has_it() {
        assert_eq!(address("").shown, "app on /var/run/postgresql:6000 as ada");
        let of_string = address("postgresql://eve@db:1/x");
        assert_eq!(of_string.shown, "x on db:1 as eve");
        assert_eq!(of_string.config.get_password(), Some(&b"secret"[..]));
        assert_eq!(of_string.config.get_ssl_mode(), SslMode::Require);
        let of_service = address("service=live user=eve");
        assert_eq!(of_service.shown, "app on db:6000 as eve");
        assert_eq!(of_service.config.get_ssl_mode(), SslMode::Disable);
        assert_eq!(address("password='it\\'s \\\\' host=a").config.get_password(), Some(&b"it's \\"[..]));
    }

    #[test]
    fn what_cannot_be_is_told_without_the_password() {
        for (text, told) in [
            ("service=none", "there is no service none"),
            ("host=h password=secret nothing=1", "unknown option `nothing`"),
            ("host=h sslmode=maybe", "sslmode maybe is none of"),
            ("host=h sslmode=verify-full sslrootcert=/none", "/none"),
        ] {
            let source = Source { variable: &|_| None, read: &|_| None };
            let error = Address::with(text, "test", &source).err().expect(text).to_string();
            assert!(error.contains(told) && !error.contains("secret"), "{text}: {error}");
        }
    }
}
