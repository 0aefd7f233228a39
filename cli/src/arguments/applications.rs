//! What can be said to the commands of applications.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::builder::FalseyValueParser;
use clap::{Args, Parser, Subcommand, ValueEnum};

use super::{Place, Private, seconds, setting};

/// The options of a command as if nothing was said.
fn unsaid<T: Args>() -> T {
    #[derive(Parser)]
    struct Alone<T: Args> {
        #[command(flatten)]
        options: T,
    }
    Alone::parse_from(["howdah"]).options
}

#[derive(Args, Debug)]
pub(crate) struct New {
    #[command(subcommand)]
    pub(crate) addition: Option<Addition>,
    /// The folder to make; its name is the application's.
    #[arg(value_name = "FOLDER", required = true)]
    pub(crate) folder: Option<PathBuf>,
    /// Another name for the application.
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
}

/// What is added to an application.
#[derive(Debug, Subcommand)]
pub(crate) enum Addition {
    /// Add a migration, with the number after the last.
    Migration {
        /// What it is for, such as add-stars.
        #[arg(value_name = "NAME")]
        name: String,
        /// The folder of the application.
        #[arg(long, value_name = "FOLDER", default_value = ".")]
        app: PathBuf,
    },
    /// Add a page of HTML, its route, a test.
    Page {
        /// Its path, without the slash.
        #[arg(value_name = "NAME")]
        name: String,
        /// With a form, and the function that takes it.
        #[arg(long)]
        form: bool,
        /// The folder of the application.
        #[arg(long, value_name = "FOLDER", default_value = ".")]
        app: PathBuf,
    },
}

/// Which application, and where.
#[derive(Args, Clone, Debug)]
pub(crate) struct Destination {
    /// The folder of the application.
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    pub(crate) app: PathBuf,
    /// The database: a connection string, or an environment of howdah.toml (default: the platform in --data). May be repeated.
    ///
    /// It is read as libpq reads it, with PGHOST, PGPORT and the like, service files, .pgpass, and sslmode up to verify-full.
    /// Several databases are deployed one after the other, until one fails.
    #[arg(long, value_name = "CONNECTION|ENVIRONMENT", env = "HOWDAH_TO", hide_env_values = true)]
    pub(crate) to: Vec<String>,
    #[command(flatten)]
    pub(crate) place: Place,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct Jobs {
    #[command(flatten)]
    pub(crate) destination: Destination,
    /// Show schedules, and what is due next, instead.
    #[arg(long)]
    pub(crate) schedules: bool,
    /// How many of what runs, has failed and is dead, or is due next.
    #[arg(long, value_name = "COUNT", default_value_t = 20)]
    pub(crate) last: u32,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Where tests run when something is deployed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Tests {
    /// Before anything is locked, as howdah test runs them; those in tests/live/ in the transaction instead.
    Before,
    /// All in the transaction, on the rows that the database has, while others wait for what is locked.
    Inside,
    /// Nowhere.
    None,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct Deploy {
    #[command(flatten)]
    pub(crate) destination: Destination,
    /// What the deployment is for, for howdah history.
    #[arg(long, short, value_name = "TEXT")]
    pub(crate) message: Option<String>,
    /// Deploy the folder although it is an earlier deployment again.
    #[arg(long)]
    pub(crate) back: bool,
    /// Run the files again of which something was changed by hand, too.
    #[arg(long)]
    pub(crate) repair: bool,
    /// Run the command of [build] in howdah.toml first, as you: it makes static files.
    #[arg(long, env = "HOWDAH_BUILD", value_parser = FalseyValueParser::new())]
    pub(crate) build: bool,
    /// Where tests run (default: before; of a rollback or an adoption inside).
    #[arg(long, value_name = "WHERE", env = "HOWDAH_TESTS")]
    pub(crate) tests: Option<Tests>,
    /// Whether nobody wants to know what was changed by hand: to ask takes a quarter of a deployment.
    #[arg(skip)]
    pub(crate) passes_over_drift: bool,
    /// Whether static files are sent as they are alone, without the time that it takes to pack them.
    #[arg(skip)]
    pub(crate) leaves_files_plain: bool,
    /// Whether what howdah.toml asks an administrator for is given: on a platform of the user's own alone.
    #[arg(skip)]
    pub(crate) as_administrator: bool,
    /// How many seconds a statement waits for a lock. Then all is undone, and tried again.
    #[arg(long, value_name = "SECONDS", default_value = "2", value_parser = seconds)]
    pub(crate) lock_timeout: Duration,
    /// How many seconds others may wait for what it has locked. Then all is undone, and tried again.
    #[arg(long, value_name = "SECONDS", default_value = "0.5", value_parser = seconds, env = "HOWDAH_LOCKS")]
    pub(crate) locks: Duration,
    /// How often it is tried.
    #[arg(long, value_name = "TIMES", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) tries: u32,
    /// For how many seconds to look, after the commit, whether requests fail.
    #[arg(long, value_name = "SECONDS", default_value = "0", value_parser = seconds)]
    pub(crate) watch: Duration,
    /// Bring the code of the deployment before back if requests fail meanwhile.
    #[arg(long, requires = "watch")]
    pub(crate) undo_on_errors: bool,
    /// How many seconds to wait while somebody else deploys.
    #[arg(long, value_name = "SECONDS", default_value = "600", value_parser = seconds)]
    pub(crate) wait: Duration,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

impl Deploy {
    /// As if nothing but the folder was said.
    pub(crate) fn of(folder: &Path) -> Deploy {
        let mut deploy: Deploy = unsaid();
        deploy.destination.app = folder.to_owned();
        deploy
    }
}

#[derive(Args, Debug)]
pub(crate) struct Rollback {
    /// The number of the deployment (default: the one before the last).
    #[arg(value_name = "NUMBER")]
    pub(crate) number: Option<i32>,
    /// The application's name (default: that of howdah.toml in --app).
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Say what it would do: everything runs, and is undone.
    #[arg(long)]
    pub(crate) plan: bool,
    /// Run no tests: those of an earlier deployment may expect rows that have changed since.
    #[arg(long, conflicts_with = "tests")]
    pub(crate) no_tests: bool,
    #[command(flatten)]
    pub(crate) deploy: Deploy,
}

#[derive(Args, Debug)]
pub(crate) struct Adopt {
    /// Say what it would do: everything runs, and is undone.
    #[arg(long)]
    pub(crate) plan: bool,
    #[command(flatten)]
    pub(crate) deploy: Deploy,
}

#[derive(Args, Debug)]
pub(crate) struct History {
    /// The application's name (default: that of howdah.toml in --app).
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    #[command(flatten)]
    pub(crate) destination: Destination,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Dev {
    /// The folder of the application.
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    pub(crate) app: PathBuf,
    /// Run the command of [build] in howdah.toml first, as you: it makes static files.
    #[arg(long, env = "HOWDAH_BUILD", value_parser = FalseyValueParser::new())]
    pub(crate) build: bool,
    #[command(flatten)]
    pub(crate) platform: Private,
}

#[derive(Args, Debug)]
pub(crate) struct Squash {
    /// The last of them, by its number (default: all).
    #[arg(long, value_name = "NUMBER")]
    pub(crate) through: Option<u64>,
    /// Remove them although git does not have them as they are.
    #[arg(long)]
    pub(crate) uncommitted: bool,
    /// What it is called, after the number of the last.
    #[arg(long, value_name = "NAME", default_value = "squashed")]
    pub(crate) name: String,
    /// The folder of the application.
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    pub(crate) app: PathBuf,
    /// A folder with a build of the extension to run instead of the installed one.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) stage: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct Seed {
    /// Fill with the files of seeds/NAME/, too; howdah dev does with those of development, howdah test with those of test.
    #[arg(long, value_name = "NAME")]
    pub(crate) environment: Option<String>,
    #[command(flatten)]
    pub(crate) destination: Destination,
}

#[derive(Args, Debug)]
pub(crate) struct Test {
    /// Run only tests whose names have one of these in them: names are paths, such as tests/pages.sql, and paths with functions.
    #[arg(value_name = "PART")]
    pub(crate) only: Vec<String>,
    /// The folder of the application.
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    pub(crate) app: PathBuf,
    /// Run the command of [build] in howdah.toml first, as you: it makes static files.
    #[arg(long, env = "HOWDAH_BUILD", value_parser = FalseyValueParser::new())]
    pub(crate) build: bool,
    /// How many run at once (default: as many as there are processors).
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..=64))]
    jobs: Option<u16>,
    /// How many seconds a test may take.
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = seconds)]
    pub(crate) timeout: Duration,
    /// Print the Test Anything Protocol.
    #[arg(long)]
    pub(crate) tap: bool,
    /// Write a file of JUnit's XML, too.
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    /// Say which routes no test has asked.
    #[arg(long)]
    pub(crate) coverage: bool,
    /// A setting of the server, such as work_mem=64MB. May be repeated.
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = setting)]
    pub(crate) settings: Vec<(String, String)>,
    /// A folder with a build of the extension to run instead of the installed one.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) stage: Option<PathBuf>,
}

impl Test {
    /// As if nothing but the folder was said.
    pub(crate) fn of(folder: &Path) -> Test {
        let mut test: Test = unsaid();
        test.app = folder.to_owned();
        test
    }

    /// How many run at once.
    pub(crate) fn jobs(&self) -> usize {
        let processors = || std::thread::available_parallelism().map_or(1, usize::from);
        self.jobs.map_or_else(processors, usize::from).min(64)
    }
}
