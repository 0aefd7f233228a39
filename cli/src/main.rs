//! The `howdah` command: runs a local platform, shows what it does, stops it.
//!
//! - `arguments`: what can be said on the command line.
//! - `up`: starts the platform and stays with it; `database` makes its database and extension,
//!   `application` loads a folder of SQL files, `settings` looks whether the server has understood what it was told,
//!   `listeners` has it listen, `greeting` says where it serves, `log` shows requests, notices, warnings and errors meanwhile.
//! - `https`: what `up --tls` serves with; `authority` is the development authority, which signs the certificate of
//!   `localhost`, and `trust` the command that has a system trust it. `files` writes certificates and keys.
//! - `deployment`: `new`, `plan`, `deploy`, `rollback` and `history`: folders that are applications.
//! - `dev`: a platform that deploys an application at each save; `dev/watch` sees saves, `dev/browser` stands between browsers and the platform.
//! - `testing`: `howdah test`; `seeding`: `howdah seed`.
//! - `status`: processes, listeners, routes; `table` prints them.
//! - `stop`: lets requests finish, then ends the server, or starts it again.
//! - `stage`: which build of the extension a private server runs.
//! - `psql`: opens psql on it.
//! - `enable`: has a server that is there already answer HTTP.
//! - `manual`: pages of the manual and completions of shells, from what the command line knows.
//! - `generate`: writes records to try queues with; `load`: sends files of lines into a queue; `progress`: the bars
//!   that both show.
//! - `cert`: looks at certificates as the server does, and puts renewed ones into place; `account` has users of this system.
//! - `failure`: errors with their exit codes; `screen`: where lines are printed.

mod account;
mod application;
mod arguments;
mod authority;
mod cert;
mod connection;
mod database;
mod deployment;
mod dev;
mod enable;
mod failure;
mod files;
mod generate;
mod greeting;
mod https;
mod jobs;
mod listeners;
mod load;
mod localhost;
mod log;
mod manual;
mod progress;
mod psql;
mod screen;
mod seeding;
mod settings;
mod stage;
mod standbys;
mod status;
mod stop;
mod table;
mod testing;
mod trust;
mod up;

use std::path::Path;
use std::process::ExitCode;

use clap::Parser;
use cluster::Installation;

use crate::arguments::{Arguments, Cert, Records, Task};
use crate::deployment::run::End;
use crate::failure::Result;

fn main() -> ExitCode {
    let done = match Arguments::parse().task {
        Task::Up(options) => up::run(&options),
        Task::Dev(options) => dev::run(&options),
        Task::Test(options) => testing::run(&options),
        Task::Seed(options) => seeding::run(&options),
        Task::New(options) => deployment::new::run(&options),
        Task::Plan(options) => deployment::run::run(&options, End::Undo, &testing::before),
        Task::Deploy(options) => deployment::run::run(&options, End::Commit, &testing::before),
        Task::Rollback(options) => deployment::run::roll_back(&options),
        Task::Adopt(options) => deployment::adopt::run(&options),
        Task::Squash(options) => deployment::squash::run(&options),
        Task::Accept(destination) => deployment::accept::run(&destination),
        Task::History(options) => deployment::history::run(&options),
        Task::Jobs(options) => jobs::run(&options),
        Task::Status { destination, json } => status::run(&destination, json),
        Task::Stop { place, announcement } => stop::run(&place.found(), announcement.announce),
        Task::Restart { place, announcement } => stop::restart(&place.found(), announcement.announce),
        Task::Installation { place, stage } => installation(&place.data, &stage),
        Task::Generate { records: Records::Bips(options) } => generate::run(&options),
        Task::Cert { task: Cert::Check(options) } => cert::check::run(&options),
        Task::Cert { task: Cert::Install(options) } => cert::install::run(&options),
        Task::Load(options) => load::run(options),
        Task::Enable(options) => enable::run(&options),
        Task::Completions { shell } => manual::complete(shell),
        Task::Man { folder } => manual::write(&folder),
        Task::Psql { place, database, arguments } => {
            psql::run(&place.found(), database.as_deref(), &arguments)
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            screen::complain(&screen::harmless(&failure.to_string()));
            ExitCode::from(failure.exit_code())
        }
    }
}

fn installation(folder: &Path, stage: &Path) -> Result<()> {
    let made = cluster::private_installation(&Installation::find()?, stage, folder)?;
    screen::say(&made.pg_config.display().to_string());
    Ok(())
}
