//! What a change of the configuration sets off, and what became of it.

use std::cell::Cell;

use pg::entry::{Returned, columns, sql_function};
use pg::refuse::refuse_with_hint;
use pg::transaction_end::{TransactionEnd, at_release, at_transaction_end};
use pgrx::pg_sys::{self, Oid};
use pgrx::prelude::*;
use serde_json::Value;
use shared::workers::Kind;
use shared::{Lane, attached, shared, wake};
use workers::gateway::shown;

use super::roles;

sql_function!(
    /// `http.read_ports`
    read_ports_wrapper,
    |call| {
        // SAFETY: PostgreSQL's own variable.
        let database = unsafe { pg_sys::MyDatabaseId }.to_u32();
        let rows = shared().ports.of_database(database).into_iter().map(|held| {
            let port = match held.port {
                0 => held.address.rsplit('.').next().and_then(|port| port.parse().ok()),
                port => Some(i32::from(port)),
            };
            let pid = shared().workers.get(held.gateway).map(|worker| worker.pid());
            columns![port, held.address, pid, held.error, held.wanted_by]
        });
        Returned::all(call, rows)
    }
);

sql_function!(
    /// `http.read_certificates`
    read_certificates_wrapper,
    |call| {
        // SAFETY: PostgreSQL's own variable.
        let database = unsafe { pg_sys::MyDatabaseId };
        let gateways = shared().workers_of(database).filter(|(_, worker)| worker.kind() == Kind::Gateway);
        let rows = gateways.flat_map(|(index, worker)| {
            let pid = worker.pid();
            shown::of_gateway(index, pid).into_iter().map(move |row| {
                let text = |name: &str| row.get(name).and_then(Value::as_str).map(str::to_owned);
                let number = |name: &str| row.get(name).and_then(Value::as_i64);
                let is = |name: &str| row.get(name).and_then(Value::as_bool);
                let names = row.get("names").and_then(Value::as_array).into_iter().flatten();
                let names: Vec<String> = names.filter_map(Value::as_str).map(str::to_owned).collect();
                columns![
                    pid, text("kind"), text("file"), text("key_file"), names, text("issuer"), text("key"),
                    number("not_before"), number("not_after"), is("is_default"), is("in_force"), text("problem")
                ]
            })
        });
        Returned::all(call, rows)
    }
);

thread_local! {
    /// Whether this transaction has changed the configuration.
    static CHANGED: Cell<bool> = const { Cell::new(false) };
}

sql_function!(
    /// `http.configuration_changed`: a statement trigger. The invalidation goes out at commit and, in the
    /// commit record, to standbys; idle gateways are woken, so that they notice at once. The table depends on the roles
    /// that it names.
    howdah_configuration_changed,
    |call| {
        let Some(trigger) = call.trigger() else {
            refuse_with_hint(
                PgSqlErrorCode::ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED,
                "http.configuration_changed() is a trigger",
                "It is called when configuration changes, by nobody else.",
            );
        };
        // SAFETY: a trigger's call has its table.
        unsafe {
            changed((*(*trigger).tg_relation).rd_id);
            roles::depend((*trigger).tg_relation);
        }
        call.nothing()
    }
);

/// A transaction has changed what the table says; the processes are told at its commit.
///
/// # Safety
/// Inside a transaction.
pub(crate) unsafe fn changed(relation: Oid) {
    // SAFETY: by contract.
    unsafe { pg_sys::CacheInvalidateRelcacheByRelid(relation) };
    at_transaction_end(at_end);
    at_release(told);
    CHANGED.set(true);
}

fn at_end(end: TransactionEnd) {
    if end != TransactionEnd::Committed {
        CHANGED.set(false);
    }
}

/// Who is woken before others have been told finds nothing new.
fn told(is_commit: bool) {
    if CHANGED.take() && is_commit {
        committed();
    }
}

/// Wakes the gateways of this database, and who runs jobs: its configuration may have changed.
pub(crate) fn committed() {
    let Some(shared) = attached() else { return };
    // SAFETY: PostgreSQL's own variable.
    for (index, worker) in shared.workers_of(unsafe { pg_sys::MyDatabaseId }) {
        // Those that run jobs have to look at new queues before anything comes into them.
        if worker.kind() == Kind::Gateway || worker.lane() == Lane::Job {
            wake::wake(worker.kind(), index);
        }
    }
}
