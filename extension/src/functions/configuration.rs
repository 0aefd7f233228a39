//! What registering checks, and what a change of the configuration sets off.

use std::cell::Cell;
use std::io::ErrorKind;

use ::gateway::{Address, address_is_free};
use pgrx::pg_sys::{self, Oid};
use pgrx::prelude::*;
use router::Router;

use super::{roles, version_1};
use crate::gateway::listeners;
use crate::gateway::names::Names;
use crate::request::function::Function;
use crate::request::inputs::Input;
use crate::request::plan;
use crate::request::table::Listener;
use crate::request::types::Types;
use crate::settings;
use crate::shared::workers::Kind;
use crate::shared::{attached, shared, wake};

/// `http.check_role`: whom a request may run as is decided by who is connected, not by the owner of the
/// function that asks.
#[pg_extern]
fn check_role(role: Oid) {
    // SAFETY: look-ups inside a transaction.
    let allowed = unsafe {
        let user = pg_sys::GetOuterUserId();
        pg_sys::superuser_arg(user) || role == web_role() || may_become(user, role)
    };
    if !allowed {
        // SAFETY: a role that a regrole names, or its number.
        let name = unsafe { plan::string(pg_sys::GetUserNameFromId(role, true)) };
        refuse(
            PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
            &format!("requests may run as {name} only if you are a member of it"),
            &format!("grant {name} to the role that registers{WITH_SET}, or name another role"),
        );
    }
}

/// Whether a user may SET ROLE to a role. From version 16 on a membership may come without that.
unsafe fn may_become(user: Oid, role: Oid) -> bool {
    // SAFETY: a look-up inside a transaction.
    unsafe {
        #[cfg(feature = "pg15")]
        return pg_sys::is_member_of_role(user, role);
        #[cfg(not(feature = "pg15"))]
        return pg_sys::member_can_set_role(user, role);
    }
}

/// What a grant says so that its member may become the role.
const WITH_SET: &str = if cfg!(feature = "pg15") { "" } else { " with set true" };

fn web_role() -> Oid {
    // SAFETY: a look-up inside a transaction.
    unsafe { pg_sys::get_role_oid(c"howdah_web".as_ptr(), true) }
}

/// `http.check_function`
#[pg_extern]
fn check_function(function: Oid) {
    // SAFETY: inside a transaction.
    unsafe {
        let types = types();
        let function = Function::of(function, &types);
        if let Some(obstacle) = function.obstacle() {
            refuse(PgSqlErrorCode::ERRCODE_WRONG_OBJECT_TYPE, obstacle, "");
        }
        let mut bodies = 0;
        for argument in function.arguments() {
            bodies += usize::from(argument.takes_body());
            let takes_body = argument.takes_body() && bodies == 1;
            if argument.name.is_none() && !takes_body && !matches!(argument.input, Input::Request) {
                refuse(
                    PgSqlErrorCode::ERRCODE_INVALID_FUNCTION_DEFINITION,
                    "an argument of a route's function has no name",
                    "Name it: arguments are bound by name. One without a name, of type text, json, jsonb or bytea, takes the body.",
                );
            }
        }
    }
}

/// The types, looked up in a session that registers.
unsafe fn types() -> Types {
    // SAFETY: inside a transaction, in a database with the extension.
    unsafe { Types::look_up(pg_sys::get_namespace_oid(c"http".as_ptr(), false)) }
}

/// `http.check_routes`
#[pg_extern]
fn check_routes(methods: Vec<String>, patterns: Vec<String>) {
    let mut router = Router::new();
    for (method, pattern) in methods.iter().zip(&patterns) {
        if let Err(error) = router.insert(method, pattern, 0) {
            refuse(
                PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
                &format!("route {method} {pattern}: {error}"),
                "",
            );
        }
    }
}

/// `http.check_statement`
#[pg_extern]
fn check_statement(statement: &str) {
    // SAFETY: inside a transaction, with the handler's search_path in force.
    unsafe { plan::for_statement(statement, &types()).release() }
}

/// `http.check_listener`
#[pg_extern]
fn check_listener(port: i32, address: &str) {
    let listener = Listener { port: u16::try_from(port).unwrap_or_default(), address: address.to_owned() };
    let allowed = settings::list(&settings::LISTEN_ADDRESSES);
    let addresses = listeners::expand(&listener, &allowed, &mut Names::default());
    if addresses.is_empty() && !(address.is_empty() && allowed.is_empty()) {
        refuse(
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
    let name = listeners::name(address);
    let (text, port) = listeners::split(&name);
    // SAFETY: PostgreSQL's own variable.
    let database = unsafe { pg_sys::MyDatabaseId }.to_u32();
    let ports = &shared().ports;
    if let Some(other) = ports.holder(text, port, database) {
        // SAFETY: a look-up inside a transaction.
        let other = unsafe { plan::string(pg_sys::get_database_name(Oid::from(other))) };
        refuse(
            PgSqlErrorCode::ERRCODE_OBJECT_IN_USE,
            &format!("{name} is taken: the database {other} of this server listens on it"),
            "",
        );
    }
    if !ports.is_held_by_another(text, port, database, usize::MAX)
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
        refuse(PgSqlErrorCode::ERRCODE_OBJECT_IN_USE, &format!("cannot listen on {name}: {error}"), hint);
    }
}

/// A listener in a database that nothing serves would wait for ever.
fn warn_unless_served() {
    // SAFETY: a look-up inside a transaction.
    let database = unsafe { plan::string(pg_sys::get_database_name(pg_sys::MyDatabaseId)) };
    if !settings::list(&settings::DATABASES).contains(&database) {
        ereport!(
            WARNING,
            PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            format!("nothing serves the database {database}: it is not in howdah.databases"),
            format!("add it to howdah.databases and reload the configuration")
        );
    }
}

fn refuse(code: PgSqlErrorCode, message: &str, hint: &str) -> ! {
    let mut report = pgrx::pg_sys::panic::ErrorReport::new(code, message.to_owned(), "howdah");
    if !hint.is_empty() {
        report = report.set_hint(hint.to_owned());
    }
    report.report(PgLogLevel::ERROR);
    unreachable!("an ERROR report does not return")
}

/// `http.read_ports`
#[pg_extern]
#[allow(clippy::type_complexity)]
fn read_ports() -> TableIterator<
    'static,
    (
        name!(port, Option<i32>),
        name!(address, Option<String>),
        name!(gateway, Option<i32>),
        name!(error, Option<String>),
        name!(wanted_by, Vec<String>),
    ),
> {
    // SAFETY: PostgreSQL's own variable.
    let database = unsafe { pg_sys::MyDatabaseId }.to_u32();
    let rows = shared().ports.of_database(database).into_iter().map(|held| {
        let port = match held.port {
            0 => held.address.rsplit('.').next().and_then(|port| port.parse().ok()),
            port => Some(i32::from(port)),
        };
        let pid = shared().workers.get(held.gateway).map(|worker| worker.pid());
        (port, Some(held.address), pid, held.error, held.wanted_by)
    });
    TableIterator::new(rows)
}

thread_local! {
    /// Whether this transaction has changed the configuration.
    static CHANGED: Cell<bool> = const { Cell::new(false) };
    static REGISTERED: Cell<bool> = const { Cell::new(false) };
}

version_1!(
    /// `http.configuration_changed`: a statement trigger. The invalidation goes out at commit and, in the
    /// commit record, to standbys; idle gateways are woken, so that they notice at once. The table depends on the roles
    /// that it names.
    howdah_configuration_changed,
    pg_finfo_howdah_configuration_changed,
    |call: &mut pg_sys::FunctionCallInfoBaseData| {
        let trigger = call.context.cast::<pg_sys::TriggerData>();
        if trigger.is_null() {
            pg_sys::panic::ErrorReport::new(
                PgSqlErrorCode::ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED,
                "configuration_changed is a trigger",
                "howdah",
            )
            .report(PgLogLevel::ERROR);
        }
        changed((*(*trigger).tg_relation).rd_id);
        roles::depend((*trigger).tg_relation);
        call.isnull = false;
        pg_sys::Datum::null()
    }
);

/// A transaction has changed what the table says; the processes are told at its commit.
#[pg_guard]
pub unsafe extern "C-unwind" fn changed(relation: Oid) {
    // SAFETY: inside a transaction; the callback is registered once for the life of the session.
    unsafe {
        pg_sys::CacheInvalidateRelcacheByRelid(relation);
        if !REGISTERED.replace(true) {
            pg_sys::RegisterXactCallback(Some(at_transaction_end), std::ptr::null_mut());
        }
    }
    CHANGED.set(true);
}

#[pg_guard]
unsafe extern "C-unwind" fn at_transaction_end(
    event: pg_sys::XactEvent::Type,
    _argument: *mut std::ffi::c_void,
) {
    use pg_sys::XactEvent::{XACT_EVENT_ABORT, XACT_EVENT_COMMIT};
    if !matches!(event, XACT_EVENT_COMMIT | XACT_EVENT_ABORT) || !CHANGED.take() {
        return;
    }
    // SAFETY: PostgreSQL's own variable.
    let database = unsafe { pg_sys::MyDatabaseId };
    let Some(shared) = attached().filter(|_| event == XACT_EVENT_COMMIT) else { return };
    for (index, worker) in shared.workers_of(database) {
        if worker.kind() == Kind::Gateway {
            wake::wake(Kind::Gateway, index);
        }
    }
}
