//! What can be said on the command line.

mod applications;
mod behind;

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::builder::FalseyValueParser;
use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;

pub(crate) use self::applications::{
    Addition, Adopt, Deploy, Destination, Dev, History, Jobs, New, Rollback, Seed, Squash, Test, Tests,
};
pub(crate) use self::behind::Behind;

/// Runs a local Howdah: a private PostgreSQL that answers HTTP.
#[derive(Debug, Parser)]
#[command(
    name = "howdah",
    version,
    after_help = "\
Exit codes: 0 done, 1 failed, 2 wrong arguments, 3 nothing runs in the data folder, 4 loaded but for rejected
lines.

PG_CONFIG names the PostgreSQL to use (default: pg_config on the PATH)."
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) task: Task,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Task {
    /// Start the platform, load an application, and stay until Ctrl-C.
    ///
    /// The first start makes the data folder; later ones find the data as it was. Where the platform runs
    /// already, its application is brought up to date.
    Up(Up),
    /// Start a platform and deploy an application at each save, until Ctrl-C.
    ///
    /// What is wrong is told with file and line, here and in the browser, and the application stays as it was. Pages load again by
    /// themselves. Nothing is run that has not changed; tests are
    /// left to howdah deploy. The platform ends with this command.
    Dev(Dev),
    /// Run the tests of an application, each in a transaction of its own, which is undone.
    ///
    /// They run on copies of the application in a server that ends with this command. A test is a file of tests/, or, where a file
    /// makes functions whose names begin with test_, each of these, after the file's statements. No test is a failure.
    Test(Test),
    /// Fill the tables of an application that is deployed with the rows of its seeds/.
    ///
    /// Files are TABLE.csv, TABLE.ndjson or NAME.sql, and run in the order of their names, each in a transaction. howdah.toml names the
    /// columns by which a row is known again: it gets the values of the file, so that seeding again doubles nothing.
    Seed(Seed),
    /// Make a folder that is an application: pages, a table, routes, tests. Or add to one.
    #[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
    New(New),
    /// Say what howdah deploy would do: everything runs, and is undone.
    Plan(Deploy),
    /// Deploy an application: all of it in one transaction, or nothing.
    ///
    /// Migrations run once, in the order of their numbers. Functions and views run when their text has changed, and what is no
    /// longer in the folder goes. Then the tests run, inside the transaction.
    Deploy(Deploy),
    /// Bring the code of an earlier deployment back: functions, views, routes.
    ///
    /// The server has kept it, so the folder is not needed. Migrations are never taken back: the tables stay as they are, and code
    /// that cannot run on them is an error. It is a deployment of its own, tested like every other.
    Rollback(Rollback),
    /// Make an application of a schema that is there already, with its rows.
    ///
    /// The migrations are noted as done if they make in an empty schema what is there; else all differences are told. What is in the
    /// schema becomes the owner's, and functions, views and routes are deployed. No row changes.
    Adopt(Adopt),
    /// Accept migrations that have run and whose comments have changed since. Their statements must be the same.
    Accept(Destination),
    /// Write one migration that makes what many have made, and remove those.
    ///
    /// It is compared with them in a server that ends with this command. Databases in which all of them have run take it as done.
    Squash(Squash),
    /// Show the deployments of an application.
    History(History),
    /// Show processes, listeners, applications and routes.
    Status {
        #[command(flatten)]
        destination: Destination,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show kinds of jobs: what waits, runs and has failed, and the last failures.
    Jobs(Jobs),
    /// Let running requests finish, then stop the platform.
    Stop {
        #[command(flatten)]
        place: Place,
        #[command(flatten)]
        announcement: Announcement,
    },
    /// Let running requests finish, then stop the platform and start it again with the same settings.
    ///
    /// No request is lost or runs twice; in between connections are refused. A platform that `howdah up` runs in the
    /// foreground goes on in the background.
    Restart {
        #[command(flatten)]
        place: Place,
        #[command(flatten)]
        announcement: Announcement,
    },
    /// Make a private copy of PostgreSQL with a build of the extension in it, and print its pg_config.
    ///
    /// For programs that start servers of their own, such as benchmarks. Nothing is installed in the system.
    Installation {
        #[command(flatten)]
        place: Place,
        /// The folder with the build.
        #[arg(long, value_name = "FOLDER")]
        stage: PathBuf,
    },
    /// Write records to try queues with.
    Generate {
        #[command(subcommand)]
        records: Records,
    },
    /// Send files of lines into a queue, each line exactly once.
    ///
    /// Every line is JSON. Files may be compressed (gzip, zstd); - is the standard input. Each line that the server
    /// has acknowledged is durable. Whatever breaks down, the same command goes on where the queue is.
    Load(Load),
    /// Certificates for howdah.tls_certificates: look at them, and put those that were renewed into place.
    Cert {
        #[command(subcommand)]
        task: Cert,
    },
    /// Have a server that is there already answer HTTP: library, database, extension, listener.
    ///
    /// It says all that it will do, what a restart ends with it, and asks. Nothing is changed before.
    Enable(Enable),
    /// Print the completions of a shell, for a file that the shell reads.
    Completions { shell: Shell },
    /// Write the pages of the manual into a folder.
    #[command(hide = true)]
    Man { folder: PathBuf },
    /// Open psql on the platform's database.
    Psql {
        #[command(flatten)]
        place: Place,
        /// The database (default: the first that is served).
        #[arg(long)]
        database: Option<String>,
        /// What to pass to psql, such as -c 'select 1'.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
}

/// How a platform says that it is about to stop.
#[derive(Args, Debug)]
pub(crate) struct Announcement {
    /// For how many seconds to go on serving while http.is_draining() is true and each response closes its connection,
    /// so that a load balancer can look for another server.
    #[arg(long, value_name = "SECONDS", default_value = "0", value_parser = seconds)]
    pub(crate) announce: Duration,
}

/// Where a platform is.
#[derive(Args, Clone, Debug)]
pub(crate) struct Place {
    /// The folder of the platform's data.
    #[arg(long, value_name = "FOLDER", default_value = ".howdah")]
    pub(crate) data: PathBuf,
}

impl Place {
    /// The folder of a platform that is there: unless another is named it may be beside `howdah.toml`, or above that, wherever the user is.
    pub(crate) fn of_app(&self, app: &Path) -> PathBuf {
        let name = Path::new(".howdah");
        if self.data != name || self.data.exists() {
            return self.data.clone();
        }
        let above = app.join("howdah.toml").exists().then(|| app.join("..").join(name));
        let others = [Some(app.join(name)), above].into_iter().flatten();
        others.into_iter().find(|other| other.exists()).unwrap_or_else(|| self.data.clone())
    }

    /// Likewise, where the user is in the application's folder, or above it.
    pub(crate) fn found(&self) -> PathBuf {
        self.of_app(Path::new("."))
    }
}

/// A platform of the user's own.
#[derive(Args, Clone, Debug)]
pub(crate) struct Private {
    #[command(flatten)]
    pub(crate) place: Place,
    /// The port for HTTP, on localhost.
    #[arg(long, default_value_t = 9000, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) port: u16,
    /// The database to serve; made if missing.
    #[arg(long, default_value = "app", value_parser = crate::database::name)]
    pub(crate) database: String,
    /// A setting of the server, such as howdah.max_body=1MB. May be repeated.
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = setting)]
    pub(crate) settings: Vec<(String, String)>,
    /// A folder with a build of the extension to run instead of the installed one.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) stage: Option<PathBuf>,
    /// Do not show requests and notices in the terminal; warnings and errors are shown.
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Up {
    #[command(flatten)]
    pub(crate) private: Private,
    /// Serve HTTPS, too.
    ///
    /// The first time this makes a development authority for the user, in $XDG_DATA_HOME/howdah or ~/.local/share/howdah,
    /// and a certificate for localhost that it signs. What is to trust it is shown how. Certificates of your own:
    /// --set howdah.tls_certificates=CERTIFICATE:KEY.
    #[arg(long)]
    pub(crate) tls: bool,
    /// The port for HTTPS, on localhost.
    #[arg(long, default_value_t = 9443, requires = "tls", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) tls_port: u16,
    /// An application: a folder with howdah.toml, which is deployed as by howdah deploy, or a folder of SQL files.
    ///
    /// SQL files are run in the order of their names, each in one transaction, when they are new or have changed:
    /// write them so that they can run again (create or replace, if not exists). Lines that begin with
    /// "-- try:" are shown. Commands of psql do not work in them.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) app: Option<PathBuf>,
    /// Run the command of [build] in howdah.toml first, as you: it makes static files.
    #[arg(long, env = "HOWDAH_BUILD", value_parser = FalseyValueParser::new())]
    pub(crate) build: bool,
    /// The application whose suggestions are shown, where it is loaded by somebody else.
    #[arg(skip)]
    pub(crate) shown: Option<PathBuf>,
    /// Return once the platform serves. `howdah stop` ends it.
    #[arg(long, short)]
    pub(crate) detach: bool,
    /// How the platform listens where something else has the port for HTTP, and stands in front of it.
    #[arg(skip)]
    pub(crate) behind: Option<Behind>,
}

impl Up {
    /// As if nothing else was said.
    pub(crate) fn of(private: Private) -> Up {
        #[derive(clap::Parser)]
        struct Alone {
            #[command(flatten)]
            up: Up,
        }
        Up { private, ..Alone::parse_from(["up"]).up }
    }
}

#[derive(Args, Debug)]
pub(crate) struct Enable {
    /// The server, by a connection string of libpq, such as port=5433. Root connects as postgres.
    #[arg(long, value_name = "CONNECTION", default_value = "", hide_default_value = true)]
    pub(crate) to: String,
    /// The database to serve; made if missing.
    #[arg(long, default_value = "app", value_parser = crate::database::name)]
    pub(crate) database: String,
    /// The port for HTTP, on localhost unless howdah.listen_addresses says otherwise.
    #[arg(long, default_value_t = 9000, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) port: u16,
    /// Write the settings, and leave the restart to you.
    #[arg(long)]
    pub(crate) no_restart: bool,
    /// Do not ask.
    #[arg(long, short)]
    pub(crate) yes: bool,
}

/// What is done with certificates.
#[derive(Debug, Subcommand)]
pub(crate) enum Cert {
    /// Say what the server finds in files and folders: names, issuer, key, end, and what clients may find wrong.
    ///
    /// The exit code is 1 if something cannot be used, or is not valid now.
    Check(Check),
    /// Copy a certificate and its key to where the server can read them, as certbot's deploy hook.
    ///
    /// What cannot be used changes nothing. The server takes both files over when it is told to, and otherwise within a
    /// minute; connections go on.
    #[command(after_help = INSTALL_EXAMPLE)]
    Install(Install),
}

const INSTALL_EXAMPLE: &str = "\
Example: certbot runs what is in this folder after each renewal, with RENEWED_LINEAGE as the certificate's folder.

    cat > /etc/letsencrypt/renewal-hooks/deploy/howdah <<'EOF'
    #!/bin/sh
    exec howdah cert install --to /etc/howdah/tls --owner postgres --reload 'user=postgres'
    EOF
    chmod +x /etc/letsencrypt/renewal-hooks/deploy/howdah

The first time: RENEWED_LINEAGE=/etc/letsencrypt/live/www.example.com /etc/letsencrypt/renewal-hooks/deploy/howdah, and then
howdah.tls_certificates = '/etc/howdah/tls/www.example.com, /etc/howdah/tls'.";

#[derive(Args, Debug)]
pub(crate) struct Check {
    /// What howdah.tls_certificates may have as an entry: a certificate and its key, a file with both, or a folder.
    #[arg(required = true, value_name = "FILE|FOLDER|CERTIFICATE:KEY")]
    pub(crate) places: Vec<String>,
    /// Who runs the server: owner and mode of keys have to be right for this user (default: you).
    ///
    /// Root reads the files with that user's rights.
    #[arg(long, value_name = "USER")]
    pub(crate) owner: Option<String>,
}

#[derive(Args, Debug)]
pub(crate) struct Install {
    /// The folder of the certificate, such as /etc/letsencrypt/live/www.example.com.
    #[arg(value_name = "FOLDER", env = "RENEWED_LINEAGE")]
    pub(crate) lineage: PathBuf,
    /// The folder for all certificates of the server. This one goes into a folder of its own name there.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) to: PathBuf,
    /// Who runs the server, and is to own the files (default: you; for root, postgres).
    #[arg(long, value_name = "USER")]
    pub(crate) owner: Option<String>,
    /// Have the server that is reached by this take them over now: a connection string of libpq, such as user=postgres.
    ///
    /// Without a host it is the socket in /var/run/postgresql, without a user the owner. Root connects as the owner.
    #[arg(long, value_name = "CONNECTION")]
    pub(crate) reload: Option<String>,
}

/// Kinds of records.
#[derive(Debug, Subcommand)]
pub(crate) enum Records {
    /// Short public messages: uuid, userid, version, timestamp_ms, bip, user.
    Bips(Bips),
}

#[derive(Args, Debug)]
pub(crate) struct Bips {
    /// How many.
    #[arg(long, value_name = "N")]
    pub(crate) records: u64,
    /// The file; compressed if its name ends with .gz or .zst; - is the standard output.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// The same seed gives the same records.
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub(crate) seed: u64,
}

#[derive(Args, Debug)]
pub(crate) struct Load {
    /// The files, in this order; - is the standard input.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Where a listener takes lines: queue.listen(4000) is localhost:4000.
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) to: String,
    /// The queue, to make sure that it is the listener's.
    #[arg(long, value_name = "NAME")]
    pub(crate) queue: Option<String>,
    /// Who sends: the queue remembers for each producer which line was the last.
    ///
    /// By default each file is one, named after its path and first line, so that the same command goes on where it
    /// ended; for the standard input it is a new one each time. A name that is given has all files as one stream.
    #[arg(long, value_name = "NAME")]
    pub(crate) producer: Option<String>,
    /// Of two loaders with the same producer the one with the higher epoch goes on, and the other is refused.
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(i32).range(1..))]
    pub(crate) epoch: i32,
    /// The listener's token, if it has one.
    #[arg(long, env = "HOWDAH_TOKEN", hide_env_values = true)]
    pub(crate) token: Option<String>,
    /// How many lines may be under way.
    #[arg(long, value_name = "LINES", default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) window: u64,
    /// How long to try to get a lost connection back.
    #[arg(long, value_name = "SECONDS", default_value_t = 120)]
    pub(crate) patience: u64,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let (number, unit) = match text.strip_suffix("ms") {
        Some(number) => (number, 0.001),
        None => (text.strip_suffix('s').unwrap_or(text), 1.0),
    };
    let seconds = number
        .parse()
        .ok()
        .map(|number: f64| number * unit)
        .filter(|seconds| (0.0..=3600.0).contains(seconds));
    seconds
        .map(Duration::from_secs_f64)
        .ok_or_else(|| "a number of seconds, at most 3600, such as 0.5, 30s or 200ms".to_owned())
}

fn setting(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("write it as NAME=VALUE")?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definitions_are_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn options_of_psql_are_passed_on() {
        let arguments = Arguments::parse_from(["howdah", "psql", "--data", "x", "-c", "select 1"]);
        let Task::Psql { place, arguments, .. } = arguments.task else { panic!("not psql") };
        assert_eq!(place.data, PathBuf::from("x"));
        assert_eq!(arguments, ["-c", "select 1"]);
    }
}
