//! The listener of a platform that `howdah up` starts.

use std::fs;
use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use cluster::Cluster;

use crate::arguments::Up;
use crate::database;
use crate::failure::{Failure, Result};

/// How long the platform may take from `http.listen` to its first connection: the supervisor looks for new
/// databases every few seconds.
const LISTEN_TIMEOUT: Duration = Duration::from_secs(30);
/// How often the port is tried.
const LOOK: Duration = Duration::from_millis(100);

/// Says early and plainly what the gateway would find out later.
pub(crate) fn require_free(port: u16) -> Result<()> {
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

/// Listens on the port, and no longer on that of an earlier start.
pub(crate) fn listen(cluster: &Cluster, options: &Up) -> Result<()> {
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

/// Returns once the port takes connections.
pub(crate) fn await_listener(cluster: &Cluster, options: &Up, stop: &AtomicBool) -> Result<()> {
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
