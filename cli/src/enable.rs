//! `howdah enable`: a server that is there already answers HTTP.
//!
//! It says all that it will do, with each restart, and asks. Settings go where `ALTER SYSTEM` puts them, so that the files of
//! whoever looks after the server stay as they are.

use std::io::{BufRead, IsTerminal, Write, stdin, stdout};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use cluster::postgres::Client;

use crate::account::Account;
use crate::arguments::Enable;
use crate::connection::Address;
use crate::database::{EXTENSION, quoted};
use crate::failure::{Failure, Result};
use crate::screen::say;

/// Processes that the supervisor, gateways and executors may need beside those of others.
const WORKERS: i32 = 32;
/// How long a server may take to restart, and the database to be served.
const PATIENCE: Duration = Duration::from_secs(120);
/// Between two looks.
const PAUSE: Duration = Duration::from_millis(200);

/// How a server was found.
struct Setup {
    version: String,
    libraries: Vec<String>,
    /// Whether the library runs in it.
    is_loaded: bool,
    workers: i32,
    databases: Vec<String>,
    has_database: bool,
    data: PathBuf,
    configuration: PathBuf,
    sessions: i64,
}

/// Sets a server up: library, database, extension, listener.
pub(crate) fn run(options: &Enable) -> Result<()> {
    let account = account()?;
    let address = Address::of(&at_home(&options.to, &account), "howdah enable")?;
    let connect = || session(&address, &account);
    let mut client = connect()?;
    let found = look(&mut client, &options.database)?;
    let steps = found.steps(options);
    say(&format!("PostgreSQL {} in {}:", found.version, found.data.display()));
    steps.iter().for_each(|step| say(&format!("  {step}")));
    if !options.yes && !confirmed()? {
        return Err(Failure::Said("nothing was changed".into()));
    }
    found.write(&mut client)?;
    if !found.is_loaded {
        drop(client);
        if options.no_restart {
            say(&format!("Restart the server ({}), and run this again.", shown(&found.restart())));
            return Ok(());
        }
        restart(&found.restart(), &account)?;
        client = wait_for(&connect)?;
    }
    serve(&mut client, &address, &account, &found, options)
}

/// As whom the server is asked: root is nobody to PostgreSQL.
fn account() -> Result<Account> {
    let is_root = nix::unistd::Uid::effective().is_root();
    Account::find(is_root.then_some("postgres"))
}

/// A session in which names are PostgreSQL's own: it is a superuser's, and others make functions in the database.
fn session(address: &Address, account: &Account) -> Result<Client> {
    let mut client = account.act(|| address.connect())??;
    client.batch_execute("set search_path = pg_catalog, pg_temp")?;
    Ok(client)
}

/// The connection, as the account's own unless it says otherwise.
fn at_home(to: &str, account: &Account) -> String {
    let names_user = conninfo::parse(to).is_ok_and(|parameters| parameters.contains_key("user"));
    if to.contains("://") || names_user || account.is_caller() {
        return to.to_owned();
    }
    format!("{to} user={} dbname=postgres", account.name)
}

fn look(client: &mut Client, database: &str) -> Result<Setup> {
    let row = client.query_one(
        "select current_setting('server_version'), \
            coalesce((select setting from pg_catalog.pg_file_settings where name = 'shared_preload_libraries' and error is null \
               order by seqno desc limit 1), current_setting('shared_preload_libraries')), \
            current_setting('shared_preload_libraries'), current_setting('max_worker_processes')::pg_catalog.int4, \
            coalesce(current_setting('howdah.databases', true), ''), \
            exists (select from pg_catalog.pg_database where datname = $1), \
            current_setting('data_directory'), current_setting('config_file'), \
            (select count(*) from pg_catalog.pg_stat_activity where backend_type = 'client backend' and pid <> pg_catalog.pg_backend_pid()), \
            (select rolsuper from pg_catalog.pg_roles where rolname = current_user), \
            exists (select from pg_catalog.pg_available_extensions where name = 'howdah'), \
            pg_catalog.pg_is_in_recovery()",
        &[&database],
    )?;
    let version: String = row.get(0);
    let major = version.split(['.', ' ', 'd', 'b', 'r']).next().unwrap_or_default().to_owned();
    let refused = |is_so: bool, why: &str| if is_so { Err(Failure::Said(why.to_owned())) } else { Ok(()) };
    refused(
        !row.get::<_, bool>(9),
        "only a superuser sets a server up; connect as one by --to 'user=postgres'",
    )?;
    refused(row.get(11), "this server is a standby: set its primary up, and write the same settings here")?;
    refused(
        !row.get::<_, bool>(10),
        &format!(
            "this server has no extension howdah: install the package postgresql-{major}-howdah, or make install"
        ),
    )?;
    let path = |at: usize| PathBuf::from(row.get::<_, String>(at));
    Ok(Setup {
        libraries: list(row.get(1)),
        is_loaded: list(row.get(2)).iter().any(|library| is_ours(library)),
        workers: row.get(3),
        databases: list(row.get(4)),
        has_database: row.get(5),
        data: path(6),
        configuration: path(7),
        sessions: row.get(8),
        version,
    })
}

/// The entries of a setting that is a list.
fn list(text: &str) -> Vec<String> {
    let entries = text.split(',').map(|entry| entry.trim().trim_matches('"').to_owned());
    entries.filter(|entry| !entry.is_empty()).collect()
}

/// Whether an entry of shared_preload_libraries is this library, by whatever path.
fn is_ours(library: &str) -> bool {
    Path::new(library).file_stem().is_some_and(|name| name == EXTENSION)
}

impl Setup {
    /// What will be done, a line each.
    fn steps(&self, options: &Enable) -> Vec<String> {
        let mut steps = Vec::new();
        if !self.libraries.iter().any(|library| is_ours(library)) {
            steps.push(format!("shared_preload_libraries = '{}'", self.with_ours().join(", ")));
        }
        if self.workers < WORKERS {
            steps.push(format!("max_worker_processes = {WORKERS}, in place of {}", self.workers));
        }
        if !self.is_loaded {
            let sessions = match self.sessions {
                0 => String::new(),
                1 => ", which ends one session".to_owned(),
                many => format!(", which ends {many} sessions"),
            };
            let by = shown(&self.restart());
            steps.push(match options.no_restart {
                true => format!("no restart: it takes effect with the next ({by})"),
                false => format!("a restart of the server{sessions}: {by}"),
            });
        }
        if !self.has_database {
            steps.push(format!("create database {}", quoted(&options.database)));
        }
        if !self.databases.contains(&options.database) {
            steps.push(format!("howdah.databases = '{}'", self.databases_with(&options.database)));
        }
        steps
            .push(format!("in {}: create extension howdah, http.listen({})", options.database, options.port));
        steps
    }

    /// The libraries with ours. Citus has to be first.
    fn with_ours(&self) -> Vec<String> {
        self.libraries.iter().cloned().chain([EXTENSION.to_owned()]).collect()
    }

    fn databases_with(&self, database: &str) -> String {
        let all: Vec<&str> = self.databases.iter().map(String::as_str).chain([database]).collect();
        all.join(", ")
    }

    /// Writes the settings that a restart needs.
    fn write(&self, client: &mut Client) -> Result<()> {
        if !self.libraries.iter().any(|library| is_ours(library)) {
            let libraries: Vec<String> = self.with_ours().iter().map(|library| literal(library)).collect();
            client.batch_execute(&format!(
                "alter system set shared_preload_libraries = {}",
                libraries.join(", ")
            ))?;
        }
        if self.workers < WORKERS {
            client.batch_execute(&format!("alter system set max_worker_processes = {WORKERS}"))?;
        }
        Ok(())
    }

    /// The command that restarts the server, as whoever looks after it would.
    fn restart(&self) -> Vec<String> {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        // Debian's clusters have their configuration in /etc/postgresql/VERSION/NAME.
        let mut folders = self.configuration.iter().skip(1).map(|part| part.to_str().unwrap_or_default());
        if let (Some("etc"), Some("postgresql"), Some(version), Some(name)) =
            (folders.next(), folders.next(), folders.next(), folders.next())
            && Path::new("/usr/bin/pg_ctlcluster").exists()
        {
            return match Path::new("/run/systemd/system").exists() {
                true => words(&["systemctl", "restart", &format!("postgresql@{version}-{name}")]),
                false => words(&["pg_ctlcluster", version, name, "restart", "-m", "fast"]),
            };
        }
        let data = self.data.display().to_string();
        words(&[
            "pg_ctl",
            "restart",
            "-D",
            &data,
            "-m",
            "fast",
            "-w",
            "-l",
            &format!("{data}/howdah-restart.log"),
        ])
    }
}

fn shown(command: &[String]) -> String {
    command.join(" ")
}

fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// Whether whoever sits there says yes.
fn confirmed() -> Result<bool> {
    if !stdin().is_terminal() {
        return Err(Failure::Said("nobody is there to ask; --yes says yes".into()));
    }
    print!("Go on? [y/N] ");
    stdout().flush().map_err(|error| error.to_string())?;
    let mut answer = String::new();
    stdin().lock().read_line(&mut answer).map_err(|error| error.to_string())?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

fn restart(command: &[String], account: &Account) -> Result<()> {
    let (program, arguments) = command.split_first().expect("a command has a program");
    let mut run = Command::new(program);
    // pg_ctl does not run as root; the others restart as root what belongs to somebody else.
    if program == "pg_ctl" && !account.is_caller() {
        run = Command::new("runuser");
        run.args(["-u", &account.name, "--", program]);
    }
    let failed = |why: String| {
        Failure::Said(format!(
            "the settings are written, and the server was not restarted: {why}\nRestart it ({}), and run this again.",
            command.join(" ")
        ))
    };
    let status = run.args(arguments).status().map_err(|error| failed(error.to_string()))?;
    if status.success() { Ok(()) } else { Err(failed(format!("{program} ended with {status}"))) }
}

/// A session, once the server takes some again.
fn wait_for(connect: &dyn Fn() -> Result<Client>) -> Result<Client> {
    let end = Instant::now() + PATIENCE;
    loop {
        match connect() {
            Ok(client) => return Ok(client),
            Err(failure) if Instant::now() > end => return Err(failure),
            Err(_) => thread::sleep(PAUSE),
        }
    }
}

/// Makes the database, its extension and a listener, and waits until it answers.
fn serve(
    client: &mut Client,
    address: &Address,
    account: &Account,
    found: &Setup,
    options: &Enable,
) -> Result<()> {
    let name = &options.database;
    if !found.has_database {
        client.batch_execute(&format!("create database {}", quoted(name)))?;
    }
    if !found.databases.contains(name) {
        let databases = literal(&found.databases_with(name));
        client.batch_execute(&format!("alter system set howdah.databases = {databases}"))?;
        client.batch_execute("select pg_catalog.pg_reload_conf()")?;
    }
    let mut served = session(&address.in_database(name), account)?;
    served.batch_execute("set client_min_messages = 'warning'; create extension if not exists howdah; alter extension howdah update")?;
    let port = i32::from(options.port);
    if served.query_opt("select from http.listener where port = $1", &[&port])?.is_none() {
        served.execute("select http.listen($1)", &[&port])?;
    }
    let end = Instant::now() + PATIENCE;
    loop {
        let row = served.query_opt(
            "select gateway is not null, error from http.listeners where port = $1 order by 1 desc",
            &[&port],
        )?;
        let (listens, error) = row.map_or((false, None), |row| (row.get(0), row.get::<_, Option<String>>(1)));
        if let Some(error) = error {
            return Err(Failure::Said(format!(
                "the database is served, and nothing listens on port {port}: {error}"
            )));
        }
        if listens {
            break;
        }
        if Instant::now() > end {
            return Err(Failure::Said(format!(
                "{name} is not served yet; the server's log, and http.databases, say why"
            )));
        }
        thread::sleep(PAUSE);
    }
    say(&format!(
        "{name} answers on http://127.0.0.1:{port}. Deploy an application: howdah deploy --app FOLDER --to 'dbname={name}'"
    ));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_libraries_is_read_with_its_quotes() {
        assert_eq!(list(r#"citus, "my library",$libdir/howdah"#), ["citus", "my library", "$libdir/howdah"]);
        assert_eq!(list(""), [""; 0]);
        assert!(is_ours("howdah") && is_ours("$libdir/howdah") && is_ours("/usr/lib/howdah.so"));
        assert!(!is_ours("howdah_pgmq"));
    }

    #[test]
    fn a_cluster_of_debian_is_restarted_by_its_name() {
        let found = |configuration: &str| Setup {
            version: "15.20".into(),
            libraries: vec!["citus".into()],
            is_loaded: false,
            workers: 8,
            databases: vec!["shop".into()],
            has_database: false,
            data: "/srv/data".into(),
            configuration: configuration.into(),
            sessions: 3,
        };
        let elsewhere = found("/srv/data/postgresql.conf");
        assert_eq!(elsewhere.restart()[..4], ["pg_ctl", "restart", "-D", "/srv/data"]);
        if Path::new("/usr/bin/pg_ctlcluster").exists() {
            let command = shown(&found("/etc/postgresql/15/main/postgresql.conf").restart());
            assert!(command.contains("15 main") || command.ends_with("postgresql@15-main"), "{command}");
        }
        assert_eq!(elsewhere.with_ours(), ["citus", "howdah"]);
        assert_eq!(elsewhere.databases_with("crm"), "shop, crm");
    }
}
