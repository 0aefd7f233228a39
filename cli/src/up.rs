//! `howdah up`.

use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use std::{env, fs, io};

use cluster::{Cluster, Error, Installation, Life, Options, Shutdown};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::arguments::Up;
use crate::database::{self, EXTENSION};
use crate::failure::{Failure, Result};
use crate::log::Follower;
use crate::screen::say;
use crate::{application, settings, stop};

/// How long the platform may take from `http.listen` to its first connection: the supervisor looks for new
/// databases every few seconds.
const LISTEN_TIMEOUT: Duration = Duration::from_secs(30);
/// How often the log and the signals are looked at.
const LOOK: Duration = Duration::from_millis(100);

/// Starts the platform, or brings the one that runs up to date.
pub(crate) fn run(options: &Up) -> Result<()> {
    let stop = stop_flag()?;
    let (mut cluster, started) = start(options)?;
    // Before the greeting, which says that warnings follow.
    let follower = Follower::open(&cluster.log()).map_err(|error| unreadable(&cluster, error))?;
    let served = serve(&cluster, options, &stop);
    match served {
        Err(failure) if started => {
            // A platform that does not serve is of no use, and would hold the data folder.
            cluster.stop(Shutdown::Fast)?;
            Err(failure)
        }
        Err(failure) => Err(failure),
        Ok(()) => {
            greet(&cluster, options, started)?;
            if started && !options.detach { stay(&mut cluster, follower, &stop) } else { Ok(()) }
        }
    }
}

/// The running cluster, and whether this call has started it.
fn start(options: &Up) -> Result<(Cluster, bool)> {
    let data = &options.place.data;
    match Cluster::attach(data) {
        Err(Error::NotRunning { .. }) => {}
        Ok(cluster) => {
            say(&format!("Howdah runs here already (process {}).", cluster.pid().unwrap_or_default()));
            require_served(&cluster, &options.database)?;
            if let Some(stage) = &options.stage {
                say(&format!("--stage {} counts when it is started: howdah stop first.", stage.display()));
            }
            settings::change(&cluster, &options.settings)?;
            return Ok((cluster, false));
        }
        Err(error) => return Err(error.into()),
    }
    require_free(options.port)?;
    let mut settings = vec![
        ("howdah.databases".to_owned(), options.database.clone()),
        ("howdah.show_errors".to_owned(), "on".to_owned()),
    ];
    if !options.quiet {
        settings.push(("howdah.log_min_duration".to_owned(), "0".to_owned()));
        settings.push(("log_min_messages".to_owned(), "notice".to_owned()));
    }
    settings.extend(options.settings.iter().cloned());
    let cluster_options = Options {
        stage: stage(options),
        preload: Some(EXTENSION.to_owned()),
        settings,
        ..Options::default()
    };
    let mut cluster = Cluster::prepare(Installation::find()?, data, cluster_options)?;
    cluster.start(Life::Independent)?;
    if let Err(failure) = settings::require_in_force(&cluster, &options.settings) {
        cluster.stop(Shutdown::Fast)?;
        return Err(failure);
    }
    Ok((cluster, true))
}

/// The build to run: the one asked for, or that of the environment, which is how tests name it.
fn stage(options: &Up) -> Option<PathBuf> {
    let of_environment = || env::var_os("HOWDAH_STAGE").filter(|stage| !stage.is_empty()).map(PathBuf::from);
    options.stage.clone().or_else(of_environment)
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

/// Says early and plainly what the gateway would find out later.
fn require_free(port: u16) -> Result<()> {
    match TcpListener::bind((Ipv4Addr::LOCALHOST, port)) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == ErrorKind::AddrInUse => Err(Failure::Said(format!(
            "port {port} is taken by another program; choose another with --port (make run PORT=…)"
        ))),
        Err(error) if error.kind() == ErrorKind::PermissionDenied => Err(Failure::Said(format!(
            "port {port} needs rights that you do not have; choose one above 1023 with --port"
        ))),
        Err(error) => Err(Failure::Said(format!("port {port} cannot be used: {error}"))),
    }
}

/// Database, extension, application, listener.
fn serve(cluster: &Cluster, options: &Up, stop: &AtomicBool) -> Result<()> {
    database::prepare(cluster, &options.database)?;
    if let Some(folder) = &options.app {
        for name in application::load(cluster, &options.database, folder)? {
            say(&format!("Loaded {}.", folder.join(name).display()));
        }
    }
    listen(cluster, options)?;
    await_listener(cluster, options, stop)
}

/// Listens on the port, and no longer on that of an earlier start.
fn listen(cluster: &Cluster, options: &Up) -> Result<()> {
    let remembered = cluster.path().join("port");
    let mut client = cluster.connect(&options.database)?;
    let earlier = fs::read_to_string(&remembered).ok().and_then(|text| text.trim().parse::<u16>().ok());
    if let Some(earlier) = earlier.filter(|earlier| *earlier != options.port) {
        client.execute("select http.unlisten($1)", &[&i32::from(earlier)])?;
    }
    client.execute("select http.listen($1)", &[&i32::from(options.port)])?;
    fs::write(&remembered, options.port.to_string())
        .map_err(|error| Failure::Said(format!("cannot write {}: {error}", remembered.display())))
}

fn await_listener(cluster: &Cluster, options: &Up, stop: &AtomicBool) -> Result<()> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, options.port));
    let deadline = Instant::now() + LISTEN_TIMEOUT;
    while TcpStream::connect_timeout(&address, Duration::from_secs(1)).is_err() {
        if stop.load(Ordering::Relaxed) {
            return Err(Failure::Said("interrupted".into()));
        }
        if Instant::now() > deadline {
            let why = listener_error(cluster, &options.database).unwrap_or_default();
            return Err(Failure::Said(format!(
                "nothing listens on port {}{why}\nThe log is {}",
                options.port,
                cluster.log().display()
            )));
        }
        thread::sleep(LOOK);
    }
    Ok(())
}

/// What `http.listeners` says, as JSON: its columns are the extension's affair.
fn listener_error(cluster: &Cluster, database: &str) -> Result<String> {
    let mut client = cluster.connect(database)?;
    if !database::has_relation(&mut client, "http.listeners")? {
        return Ok(String::new());
    }
    let row =
        client.query_one("select coalesce(json_agg(row), '[]')::text from http.listeners as row", &[])?;
    Ok(format!("; http.listeners says: {}", row.get::<_, String>(0)))
}

fn greet(cluster: &Cluster, options: &Up, started: bool) -> Result<()> {
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
fn stay(cluster: &mut Cluster, mut follower: Follower, stop: &AtomicBool) -> Result<()> {
    loop {
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

fn unreadable(cluster: &Cluster, error: io::Error) -> Failure {
    Failure::Said(format!("cannot read {}: {error}", cluster.log().display()))
}
