//! `howdah up`.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;
use std::{fs, io};

use cluster::{Cluster, Error, Life, Options, Shutdown};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::arguments::Up;
use crate::connection::Address;
use crate::database::{self, EXTENSION};
use crate::deployment::build;
use crate::failure::{Failure, Result};
use crate::https::{self, Certificates};
use crate::log::Follower;
use crate::screen::say;
use crate::{application, deployment, greeting, listeners, settings, stage, standbys, stop};

/// A file of the data folder that is there while its platform is one of howdah dev, or since that was.
const OF_DEV: &str = "dev";
/// How often the log and the signals are looked at.
const LOOK: Duration = Duration::from_millis(50);

/// What is done beside a platform while it runs in the foreground, again and again.
pub(crate) type Beside<'a> = &'a mut dyn FnMut(&Cluster) -> Result<Box<dyn FnMut()>>;

/// Starts the platform, or brings the one that runs up to date.
pub(crate) fn run(options: &Up) -> Result<()> {
    run_beside(options, None)
}

/// Likewise; with something beside it, which begins when the platform serves, it ends with this process, and must not run already.
pub(crate) fn run_beside(options: &Up, beside: Option<Beside<'_>>) -> Result<()> {
    listeners::require_two(options)?;
    if let Some(app) = &options.app {
        build::run(app, options.build)?;
    }
    let stop = stop_flag()?;
    let life = if beside.is_some() { Life::WithParent } else { Life::Independent };
    let (mut cluster, started) = start(options, life)?;
    if beside.is_some() && !started {
        return Err(stop_it_first());
    }
    // Before the greeting, which says that warnings follow.
    let follower = Follower::open(&cluster.log()).map_err(|error| unreadable(&cluster, error))?;
    let connection = cluster.connection_string("postgres")?;
    match standbys::explained(&connection, || serve(&cluster, options, started, &stop)) {
        Err(failure) if started => {
            // A platform that does not serve is of no use, and would hold the data folder.
            cluster.stop(Shutdown::Fast)?;
            Err(failure)
        }
        Err(failure) => Err(failure),
        Ok(certificates) => {
            greeting::greet(&cluster, options, certificates.as_ref(), started)?;
            if !started || options.detach {
                return Ok(());
            }
            let look = match beside {
                Some(begin) => begin(&cluster)?,
                None => Box::new(|| ()) as Box<dyn FnMut()>,
            };
            stay(&mut cluster, follower, &stop, look)
        }
    }
}

/// An error if a platform runs in the folder.
pub(crate) fn require_none(data: &Path) -> Result<()> {
    let Ok(cluster) = Cluster::attach(data) else { return Ok(()) };
    say(&format!("Howdah runs here already (process {}).", cluster.pid().unwrap_or_default()));
    Err(stop_it_first())
}

fn stop_it_first() -> Failure {
    Failure::Said("stop it first (howdah stop), or use another --data folder".into())
}

/// The running cluster, and whether this call has started it.
fn start(options: &Up, life: Life) -> Result<(Cluster, bool)> {
    let data = &options.private.place.data;
    match Cluster::attach(data) {
        Err(Error::NotRunning { .. }) => {}
        Ok(cluster) => {
            say(&format!("Howdah runs here already (process {}).", cluster.pid().unwrap_or_default()));
            if cluster.path().join(OF_DEV).exists() && life == Life::Independent {
                return Err(Failure::Said(
                    "howdah dev has started it, and it ends with that: end it, or use another --data folder"
                        .into(),
                ));
            }
            require_served(&cluster, &options.private.database)?;
            if let Some(stage) = &options.private.stage {
                say(&format!("--stage {} counts when it is started: howdah stop first.", stage.display()));
            }
            settings::change(&cluster, &options.private.settings)?;
            return Ok((cluster, false));
        }
        Err(error) => return Err(error.into()),
    }
    listeners::require_free(options)?;
    let mut settings = vec![
        ("howdah.databases".to_owned(), options.private.database.clone()),
        ("howdah.show_errors".to_owned(), "on".to_owned()),
    ];
    if !options.private.quiet {
        settings.push(("howdah.log_min_duration".to_owned(), "0".to_owned()));
        settings.push(("log_min_messages".to_owned(), "notice".to_owned()));
    }
    settings.extend(options.private.settings.iter().cloned());
    let cluster_options = Options {
        stage: stage::of(options.private.stage.as_deref()),
        preload: Some(EXTENSION.to_owned()),
        settings,
        ..Options::default()
    };
    let installation = cluster_options.installation(data)?;
    let mut cluster = Cluster::prepare(installation, data, cluster_options)?;
    https::before_start(&mut cluster, options)?;
    let mark = cluster.path().join(OF_DEV);
    let marked = if life == Life::WithParent { fs::write(&mark, "") } else { remove(&mark) };
    marked.map_err(|error| Failure::Said(format!("cannot mark {}: {error}", mark.display())))?;
    cluster.start(life)?;
    if let Err(failure) = settings::require_in_force(&cluster, &options.private.settings) {
        cluster.stop(Shutdown::Fast)?;
        return Err(failure);
    }
    Ok((cluster, true))
}

fn require_served(cluster: &Cluster, name: &str) -> Result<()> {
    let served = database::served(cluster)?;
    if served.iter().any(|other| other == name) {
        return Ok(());
    }
    Err(Failure::Said(format!(
        "It serves {}, not {name}. Stop it first (howdah stop), or use another --data folder.",
        if served.is_empty() { "no database".to_owned() } else { served.join(", ") }
    )))
}

/// Database, extension, application, certificates, listeners.
fn serve(cluster: &Cluster, options: &Up, started: bool, stop: &AtomicBool) -> Result<Option<Certificates>> {
    database::prepare(cluster, &options.private.database)?;
    if let Some(folder) = options.app.as_deref().filter(|folder| application::is_deployed(folder)) {
        let shown = format!("{} of {}", options.private.database, options.private.place.data.display());
        let address =
            Address::local(&cluster.connection_string(&options.private.database)?, shown, "howdah up")?;
        deployment::run::run_here(folder, &address)?;
    } else if let Some(folder) = &options.app {
        for name in application::load(cluster, &options.private.database, folder)? {
            say(&format!("Loaded {}.", folder.join(name).display()));
        }
    }
    let certificates = https::in_force(cluster, options, started)?;
    listeners::listen(cluster, options)?;
    listeners::await_listeners(cluster, options, stop)?;
    Ok(certificates)
}

/// A flag that Ctrl-C sets, and the end of the terminal.
fn stop_flag() -> Result<Arc<AtomicBool>> {
    let flag = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&flag))
            .map_err(|error| Failure::Said(format!("cannot wait for signals: {error}")))?;
    }
    Ok(flag)
}

/// Shows the log's warnings until the platform is to stop or has ended by itself.
fn stay(
    cluster: &mut Cluster,
    mut follower: Follower,
    stop: &AtomicBool,
    mut look: Box<dyn FnMut()>,
) -> Result<()> {
    loop {
        look();
        for line in follower.lines().map_err(|error| unreadable(cluster, error))? {
            say(&line);
        }
        if let Some(status) = cluster.ended() {
            return if status.success() {
                say("Howdah was stopped.");
                Ok(())
            } else {
                Err(Failure::Said(format!(
                    "PostgreSQL has ended ({status}); the log is {}",
                    cluster.log().display()
                )))
            };
        }
        if stop.load(Ordering::Relaxed) {
            say("\nStopping: running requests may finish.");
            stop::drain(cluster, Duration::ZERO);
            cluster.stop(Shutdown::Fast)?;
            say("Howdah has stopped.");
            return Ok(());
        }
        thread::sleep(LOOK);
    }
}

fn remove(file: &Path) -> io::Result<()> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn unreadable(cluster: &Cluster, error: io::Error) -> Failure {
    Failure::Said(format!("cannot read {}: {error}", cluster.log().display()))
}
