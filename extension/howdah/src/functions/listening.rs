//! Ports: what listening on one asks first, for HTTP and for lines.

use std::io::ErrorKind;

use ::gateway::address_is_free;
use addresses::{Address, Names, expand, look_up};
use pg::entry::{Call, sql_function};
use pg::log_line;
use pg::refuse::{refuse, refuse_with_hint};
use pg::text::string;
use pgrx::pg_sys::{self, Datum, Oid};
use pgrx::prelude::*;
use session::authority::{refuse_restricted, run_as_owner, value_as_owner};
use shared::{settings, shared};
use workers::listener::ClientRule;

use super::registering::is_removed;

sql_function!(
    /// `http.listen(port, address, tls, redirect, client_certificates)`
    howdah_listen,
    |call| {
        refuse_restricted();
        let port = port(call);
        let address = call.text(1).unwrap_or_default();
        let is_taken = "select true from queue.listener l where l.port = $1";
        if value_as_owner(is_taken, &[i32::from(port).into()]) == Some(true) {
            refuse_with_hint(
                PgSqlErrorCode::ERRCODE_OBJECT_IN_USE,
                &format!("port {port} is a listener for lines"),
                "Choose another port, or queue.unlisten() it first.",
            );
        }
        let tls = call.get::<bool>(2).unwrap_or_default();
        let redirect = call.text(3);
        check_listener(port, address);
        check_tls(address, tls);
        check_redirect(redirect, tls);
        let clients = call.text(4).unwrap_or("off");
        check_clients(clients, tls);
        run_as_owner(
            "insert into http.listener as l (port, address, tls, redirect, client_certificates) values ($1, $2, $3, $4, $5)
             on conflict (port, address) do update set
               tls = excluded.tls, redirect = excluded.redirect, client_certificates = excluded.client_certificates",
            &[i32::from(port).into(), address.into(), tls.into(), redirect.into(), clients.into()],
        );
        Datum::null()
    }
);

sql_function!(
    /// `http.unlisten(port, address)`
    howdah_unlisten,
    |call| {
        refuse_restricted();
        is_removed(
            "delete from http.listener l where l.port = $1 and ($2 is null or l.address = $2) returning true",
            &[call.get::<i32>(0).into(), call.text(1).into()],
        )
    }
);

/// The first argument, which is a port.
pub(crate) fn port(call: Call) -> u16 {
    let given: Option<i32> = call.get(0);
    match given.and_then(|port| u16::try_from(port).ok()).filter(|port| *port != 0) {
        Some(port) => port,
        None => {
            let said = given.map_or("<NULL>".into(), |port| port.to_string());
            refuse(
                PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
                &format!("port {said} is not from 1 to 65535"),
            )
        }
    }
}

/// An error if the port is taken, or `howdah.listen_addresses` does not allow the address.
pub(crate) fn check_listener(port: u16, address: &str) {
    let allowed = settings::list(&settings::LISTEN_ADDRESSES);
    let (addresses, unresolved) = expand(address, port, &allowed, &mut Names::waited_for(look_up));
    for (name, reason) in unresolved.iter().filter(|_| address.is_empty()) {
        log_line::warning!("howdah.listen_addresses has {name}, but {reason}");
    }
    if addresses.is_empty() && !(address.is_empty() && allowed.is_empty()) {
        refuse_with_hint(
            PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            &format!("howdah.listen_addresses does not allow \"{address}\""),
            "It bounds what SQL may bind; a superuser changes it in the server's configuration.",
        );
    }
    addresses.iter().for_each(check_address);
    warn_unless_served();
}

/// An error if another database, or another process, has the address.
fn check_address(address: &Address) {
    let name = addresses::name(address);
    let (text, port) = addresses::split(&name);
    // SAFETY: PostgreSQL's own variable.
    let database = unsafe { pg_sys::MyDatabaseId }.to_u32();
    let ports = &shared().ports;
    if let Some(other) = ports.holder(text, port, database) {
        // SAFETY: a look-up inside a transaction.
        let other = unsafe { string(pg_sys::get_database_name(Oid::from(other))) };
        refuse(
            PgSqlErrorCode::ERRCODE_OBJECT_IN_USE,
            &format!("{name} is taken: the database {other} of this server listens on it"),
        );
    }
    if ports.others(text, port, database, usize::MAX).next().is_none()
        && let Err(error) = address_is_free(address)
    {
        let hint = match (address, error.kind()) {
            (_, ErrorKind::AddrInUse) => "Choose another port, or end the process that has it.",
            (Address::Unix(_), _) => {
                "The folder must be there, and PostgreSQL's user must be able to write there."
            }
            (Address::Tcp(_), ErrorKind::PermissionDenied) => {
                "Ports below 1024 need net.ipv4.ip_unprivileged_port_start, or a proxy in front."
            }
            (Address::Tcp(_), _) => "Choose an address of this machine.",
        };
        refuse_with_hint(
            PgSqlErrorCode::ERRCODE_OBJECT_IN_USE,
            &format!("cannot listen on {name}: {error}"),
            hint,
        );
    }
}

/// An error for a UNIX socket that is to speak TLS, and a warning as long as there is no certificate.
pub(crate) fn check_tls(address: &str, tls: bool) {
    if tls && address.starts_with('/') {
        refuse_with_hint(
            PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            &format!("{address} is for UNIX sockets, which speak clear text"),
            "Nobody listens in on them; leave tls out.",
        );
    }
    if tls && settings::list(&settings::TLS_CERTIFICATES).is_empty() {
        ereport!(
            WARNING,
            PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            "howdah.tls_certificates names no certificate, so nothing listens yet",
            "set it in the server's configuration and reload; the listener binds by itself then"
        );
    }
}

/// An error for a redirect that leads nowhere.
fn check_redirect(redirect: Option<&str>, tls: bool) {
    match redirect {
        None => {}
        Some("https") if !tls => {}
        Some("https") => refuse_with_hint(
            PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            "a listener that speaks TLS has no need to redirect to https",
            "Listen on one port with redirect => 'https', and on another with tls => true.",
        ),
        Some(other) => refuse_with_hint(
            PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            &format!("redirect \"{other}\" is not https"),
            "A function that returns http.redirect() leads elsewhere.",
        ),
    }
}

/// An error for a rule that there is not, or that a listener in clear text cannot have, and a warning as long as nobody can keep it.
fn check_clients(word: &str, tls: bool) {
    let wrong = |message: String, hint| {
        refuse_with_hint(PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE, &message, hint)
    };
    match ClientRule::of(word) {
        None => wrong(
            format!("client_certificates \"{word}\" is neither off nor ask nor require"),
            "ask takes clients without one as well.",
        ),
        Some(ClientRule::Off) => {}
        Some(_) if !tls => {
            wrong("client certificates are shown over TLS alone".into(), "Say tls => true as well.");
        }
        Some(_) if settings::list(&settings::TLS_CLIENT_AUTHORITIES).is_empty() => ereport!(
            WARNING,
            PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            "howdah.tls_client_authorities names nobody who signs clients' certificates, so nothing listens yet",
            "set it in the server's configuration and reload; the listener binds by itself then"
        ),
        Some(_) => {}
    }
}

/// A listener in a database that nothing serves would wait for ever.
fn warn_unless_served() {
    // SAFETY: a look-up inside a transaction.
    let database = unsafe { string(pg_sys::get_database_name(pg_sys::MyDatabaseId)) };
    if !settings::list(&settings::DATABASES).contains(&database) {
        ereport!(
            WARNING,
            PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            format!("nothing serves the database {database}: it is not in howdah.databases"),
            format!("add it to howdah.databases and reload the configuration")
        );
    }
}
