//! The listeners of a platform that `howdah up` starts.

use std::fs;
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use cluster::Cluster;
use cluster::postgres::Client;

use crate::arguments::Up;
use crate::database;
use crate::failure::{Failure, Result};
use crate::screen::complain;

/// How long the platform may take from `http.listen` to its first connection: the supervisor looks for new
/// databases every few seconds.
const LISTEN_TIMEOUT: Duration = Duration::from_secs(30);
/// How often the port is tried.
const LOOK: Duration = Duration::from_millis(100);

/// Where SQL may listen.
pub(crate) const ADDRESSES: &str = "howdah.listen_addresses";

/// A port that is listened on, and the file of the platform's folder that remembers it for the next start.
struct Listener {
    remembered: &'static str,
    tls: bool,
    /// The option that names it, and the variable of the Makefile.
    names: &'static str,
    port: u16,
    /// The one address that it is on; none for all that the server allows.
    address: Option<&'static str>,
}

/// Where a platform listens that something stands in front of.
pub(crate) const BEHIND: &str = "127.0.0.1";
const CLEAR: &str = "port";
const TLS: &str = "tls-port";

/// What the options ask for.
fn wanted(options: &Up) -> Vec<Listener> {
    let clear = Listener {
        remembered: CLEAR,
        tls: false,
        names: "--port (make run PORT=…)",
        port: options.behind.as_ref().map_or(options.private.port, |behind| behind.port),
        address: options.behind.is_some().then_some(BEHIND),
    };
    let tls = || Listener {
        remembered: TLS,
        tls: true,
        names: "--tls-port (make run TLS_PORT=…)",
        port: options.tls_port,
        address: None,
    };
    [Some(clear), options.tls.then(tls)].into_iter().flatten().collect()
}

/// An error if one port would have to speak two protocols.
pub(crate) fn require_two(options: &Up) -> Result<()> {
    if options.tls && options.tls_port == options.private.port {
        let port = options.private.port;
        return Err(Failure::Said(format!(
            "port {port} cannot be for HTTP and HTTPS; choose another with --tls-port"
        )));
    }
    Ok(())
}

/// Says early and plainly what the gateway would find out later.
pub(crate) fn require_free(options: &Up) -> Result<()> {
    wanted(options).iter().try_for_each(Listener::require_free)
}

/// Listens on the ports, and no longer on those of an earlier start.
pub(crate) fn listen(cluster: &Cluster, options: &Up) -> Result<()> {
    let wanted = wanted(options);
    let mut client = database::connect(cluster, &options.private.database)?;
    for file in [CLEAR, TLS] {
        let earlier = fs::read_to_string(cluster.path().join(file))
            .ok()
            .and_then(|text| text.trim().parse::<u16>().ok());
        // A port that now speaks another protocol is replaced below.
        if let Some(earlier) =
            earlier.filter(|earlier| wanted.iter().all(|listener| listener.port != *earlier))
        {
            client.execute("select http.unlisten($1)", &[&i32::from(earlier)])?;
        }
    }
    if let Some(behind) = &options.behind {
        allow(cluster, &mut client, &behind.addresses)?;
    }
    for listener in &wanted {
        let port = i32::from(listener.port);
        match (listener.tls, listener.address) {
            (true, _) => client.execute("select http.listen($1, tls => true)", &[&port])?,
            (false, None) => client.execute("select http.listen($1)", &[&port])?,
            (false, Some(address)) => client.execute("select http.listen($1, $2)", &[&port, &address])?,
        };
    }
    [CLEAR, TLS].into_iter().try_for_each(|file| {
        let port = wanted.iter().find(|listener| listener.remembered == file).map(|listener| listener.port);
        remember(&cluster.path().join(file), port)
    })
}

/// Lets SQL listen on these addresses from now on, unless somebody has said otherwise by ALTER SYSTEM.
fn allow(cluster: &Cluster, client: &mut Client, addresses: &str) -> Result<()> {
    let mut read = || -> Result<SystemTime> {
        Ok(client.query_one("select pg_catalog.pg_conf_load_time()", &[])?.get(0))
    };
    let before = read()?;
    cluster.change(ADDRESSES, addresses)?;
    let deadline = Instant::now() + LISTEN_TIMEOUT;
    while read()? == before {
        if Instant::now() > deadline {
            return Err(Failure::Said("the platform does not read its configuration again".into()));
        }
        thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

fn remember(file: &Path, port: Option<u16>) -> Result<()> {
    let done = match port {
        Some(port) => fs::write(file, port.to_string()),
        None => fs::remove_file(file).or_else(|error| match error.kind() {
            ErrorKind::NotFound => Ok(()),
            _ => Err(error),
        }),
    };
    done.map_err(|error| Failure::Said(format!("cannot write {}: {error}", file.display())))
}

/// Returns once the ports take connections.
pub(crate) fn await_listeners(cluster: &Cluster, options: &Up, stop: &AtomicBool) -> Result<()> {
    let deadline = Instant::now() + LISTEN_TIMEOUT;
    wanted(options).iter().try_for_each(|listener| {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, listener.port));
        while TcpStream::connect_timeout(&address, Duration::from_secs(1)).is_err() {
            if stop.load(Ordering::Relaxed) {
                return Err(Failure::Said("interrupted".into()));
            }
            if Instant::now() > deadline {
                let why = listener_error(cluster, &options.private.database).unwrap_or_default();
                return Err(Failure::Said(format!(
                    "nothing listens on port {}{why}\nThe log is {}",
                    listener.port,
                    cluster.log().display()
                )));
            }
            thread::sleep(LOOK);
        }
        Ok(())
    })
}

/// Returns once each listener of each database has a gateway, or says why not; after a while in any case, and says so.
pub(crate) fn await_gateways(cluster: &Cluster) -> Result<()> {
    let deadline = Instant::now() + LISTEN_TIMEOUT;
    for name in database::served(cluster)? {
        // One that is listed and not there is nobody's who waits.
        let Ok(mut client) = database::connect(cluster, &name) else { continue };
        if !database::has_relation(&mut client, "http.listeners")? {
            continue;
        }
        let left = "select count(*) from http.listeners where gateway is null and error is null";
        while client.query_one(left, &[])?.get::<_, i64>(0) > 0 {
            if Instant::now() > deadline {
                let why = listener_error(cluster, &name).unwrap_or_default();
                complain(&format!("{name} does not listen yet{why}"));
                break;
            }
            thread::sleep(LOOK);
        }
    }
    Ok(())
}

impl Listener {
    fn require_free(&self) -> Result<()> {
        match TcpListener::bind((Ipv4Addr::LOCALHOST, self.port)) {
            Ok(_) => Ok(()),
            Err(error) => Err(Failure::Said(refusal(self.port, self.names, &error))),
        }
    }
}

/// Why a port cannot be listened on, and by which option another is chosen.
pub(crate) fn refusal(port: u16, names: &str, error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::AddrInUse => {
            format!("port {port} is taken by another program; choose another with {names}")
        }
        ErrorKind::PermissionDenied => {
            format!("port {port} needs rights that you do not have; choose one above 1023 with {names}")
        }
        _ => format!("port {port} cannot be used: {error}"),
    }
}

/// What `http.listeners` says, as JSON: its columns are the extension's affair.
fn listener_error(cluster: &Cluster, database: &str) -> Result<String> {
    let mut client = database::connect(cluster, database)?;
    if !database::has_relation(&mut client, "http.listeners")? {
        return Ok(String::new());
    }
    let row =
        client.query_one("select coalesce(json_agg(row), '[]')::text from http.listeners as row", &[])?;
    Ok(format!("; http.listeners says: {}", row.get::<_, String>(0)))
}
