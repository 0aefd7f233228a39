//! Listeners for lines. These functions run as their caller, who is asked for the rights; only the row is written as the
//! extension's owner.

use ingest::table;
use pg::entry::{Call, sql_function};
use pg::refuse::refuse_with_hint;
use pgrx::datum::DatumWithOid;
use pgrx::pg_sys::{self, Datum, Oid};
use pgrx::prelude::*;
use queue::definition::{self, Right};
use session::authority::{
    check_role, current_user, name_of, refuse_restricted, run_as_owner, table_name, value_as_owner, web_role,
};
use session::temporary;
use shared::settings;

use super::listening::{check_listener, check_tls, port};
use super::registering::{SearchPath, is_removed};

sql_function!(
    /// `queue.listen(port, queue, into_table, address, role, token, durability, bucket_rows, bucket_bytes,
    /// bucket_milliseconds, longest_line, line_column, rest_column, allow, search_path)`
    howdah_queue_listen,
    |call| {
        refuse_restricted();
        let port = port(call);
        let (queue, into_table): (Option<String>, Option<Oid>) = (call.get(1), call.get(2));
        if queue.is_some() == into_table.is_some() {
            refuse_with_hint(
                PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
                "name either a queue or a table",
                "select queue.listen(4000, queue => 'bips'), or select queue.listen(4000, into_table => 'public.bips').",
            );
        }
        check_networks(call);
        let bytes = bucket_bytes(call);
        refuse_port_of_http(port);
        let role = Role::of(call);
        match (&queue, into_table) {
            (Some(queue), _) => role.check_queue(queue),
            (None, Some(into_table)) => {
                temporary::refuse_if(temporary::is_temporary_relation(into_table), "a table");
                role.check_table(into_table);
            }
            (None, None) => {}
        }
        let address = call.text(3).unwrap_or_default();
        check_listener(port, address);
        check_tls(address, call.get::<bool>(15).unwrap_or_default());
        store(call, port, address, role.oid, bytes);
        Datum::null()
    }
);

/// An error if one of the networks is null, or there is no list of them.
fn check_networks(call: Call) {
    // SAFETY: an array.
    let are_all = call.argument(13).is_some_and(|networks| unsafe {
        !pg_sys::array_contains_nulls(pg_sys::pg_detoast_datum(networks.cast_mut_ptr()).cast())
    });
    if !are_all {
        refuse_with_hint(
            PgSqlErrorCode::ERRCODE_NULL_VALUE_NOT_ALLOWED,
            "allow has a null, which is no network",
            "An empty array allows all.",
        );
    }
}

/// Bytes of a bucket: with the longest line they have to fit into a quarter of the exchange's memory.
fn bucket_bytes(call: Call) -> i32 {
    const MOST: i64 = 4 << 20;
    let longest = i64::from(call.get(10).unwrap_or_else(|| settings::LONGEST_LINE.get()));
    let room = (i64::from(settings::REQUEST_MEMORY.get()) << 20) / 4;
    let bytes = call.get::<i32>(8).map_or_else(|| (room - longest).clamp(1, MOST), i64::from);
    if bytes + longest > room {
        refuse_with_hint(
            PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            &format!(
                "bucket_bytes and the longest line are {} bytes together; howdah.request_memory allows {room}",
                bytes + longest
            ),
            &format!(
                "They may have a quarter of it: set howdah.request_memory to {} MB and restart, or lower bucket_bytes or longest_line.",
                (4 * (bytes + longest) + ((1 << 20) - 1)) >> 20
            ),
        );
    }
    bytes as i32
}

fn refuse_port_of_http(port: u16) {
    let is_taken = "select true from http.listener l where l.port = $1";
    if value_as_owner(is_taken, &[i32::from(port).into()]) == Some(true) {
        refuse_with_hint(
            PgSqlErrorCode::ERRCODE_OBJECT_IN_USE,
            &format!("port {port} is a listener for HTTP"),
            "Choose another port, or http.unlisten() it first.",
        );
    }
}

/// The role that lines are written as.
struct Role {
    oid: Oid,
    /// Whether the caller has named none.
    is_default: bool,
}

impl Role {
    /// The role that is named, or the caller. What comes in by a socket is never written with the rights of a superuser or of
    /// howdah_admin unless somebody has asked for that: whoever owns the table, or a type in it, has code run with them.
    fn of(call: Call) -> Role {
        if let Some(name) = call.text(4) {
            return Role { oid: check_role(name), is_default: false };
        }
        let user = current_user();
        // SAFETY: look-ups inside a transaction; every superuser is a member.
        let is_admin = unsafe {
            let admin = pg_sys::get_role_oid(c"howdah_admin".as_ptr(), true);
            pg_sys::superuser_arg(user) || admin != Oid::INVALID && pg_sys::is_member_of_role(user, admin)
        };
        Role { oid: if is_admin { web_role() } else { user }, is_default: true }
    }

    fn name(&self) -> String {
        pgrx::spi::quote_identifier(name_of(self.oid))
    }

    /// An error if there is no such queue. Sees to it, or warns, that the role may send.
    fn check_queue(&self, name: &str) {
        let queue = definition::find(name);
        if queue.allows_role(self.oid, Right::Send) {
            return;
        }
        // Whoever may not give the right does not give it by listening.
        if self.is_default && self.oid == web_role() && queue.allows(Right::Manage) {
            let arguments = [(queue.id as i32).into(), self.oid.into(), Right::Send.word().into()];
            run_as_owner("select queue.allow($1, $2, $3)", &arguments);
            let said = format!("howdah_web may now send to queue {name}");
            report(PgLogLevel::NOTICE, said, "To write as another role, name it: role => '...'.".into());
        } else {
            let role = self.name();
            let [name_literal, role_literal] = [name, &name_of(self.oid)].map(pgrx::spi::quote_literal);
            report(
                PgLogLevel::WARNING,
                format!("{role} may not send to queue {name}: nothing will be stored"),
                format!("select queue.grant({name_literal}, 'send', {role_literal});"),
            );
        }
    }

    /// Warns if the role may not insert into the table.
    fn check_table(&self, into_table: Oid) {
        if !table::may_insert_somewhere(into_table, self.oid) {
            let (role, name) = (self.name(), table_name(into_table));
            report(
                PgLogLevel::WARNING,
                format!("{role} may not insert into {name}: nothing will be stored"),
                format!("grant insert on {name} to {role};"),
            );
        }
    }
}

fn report(level: PgLogLevel, message: String, hint: String) {
    let code = match level {
        PgLogLevel::WARNING => PgSqlErrorCode::ERRCODE_WARNING,
        _ => PgSqlErrorCode::ERRCODE_SUCCESSFUL_COMPLETION,
    };
    pgrx::pg_sys::panic::ErrorReport::new(code, message, "howdah").set_hint(hint).report(level);
}

/// The type `cidr[]`.
const NETWORKS: Oid = Oid::from_u32(pg_sys::CIDRARRAYOID.to_u32());

fn store(call: Call, port: u16, address: &str, role: Oid, bytes: i32) {
    // SAFETY: the argument is of this type.
    let networks = unsafe { DatumWithOid::new(call.argument(13), NETWORKS) };
    let queue_owner = call.text(1).map(|queue| name_of(definition::find(queue).owner));
    run_as_owner(
        "insert into queue.listener as l (
           port, address, queue, into_table, role, search_path, token, durability, bucket_rows, bucket_bytes,
           bucket_milliseconds, longest_line, line_column, rest_column, allow, queue_owner, tls)
         values ($1, $2, $3, $4, $5, $6, sha256(convert_to($7, 'UTF8')), $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)
         on conflict (port) do update set
           address = excluded.address, queue = excluded.queue, into_table = excluded.into_table, role = excluded.role,
           search_path = excluded.search_path, token = excluded.token, durability = excluded.durability,
           bucket_rows = excluded.bucket_rows, bucket_bytes = excluded.bucket_bytes,
           bucket_milliseconds = excluded.bucket_milliseconds, longest_line = excluded.longest_line,
           line_column = excluded.line_column, rest_column = excluded.rest_column, allow = excluded.allow,
           queue_owner = excluded.queue_owner, tls = excluded.tls",
        &[
            i32::from(port).into(),
            address.into(),
            call.text(1).into(),
            call.get::<Oid>(2).into(),
            role.into(),
            SearchPath::of(call, 14).text().into(),
            call.text(5).into(),
            call.text(6).into(),
            call.get::<i32>(7).into(),
            bytes.into(),
            call.get::<i32>(9).into(),
            call.get::<i32>(10).into(),
            call.text(11).into(),
            call.text(12).into(),
            networks,
            queue_owner.into(),
            call.get::<bool>(15).unwrap_or_default().into(),
        ],
    );
}

sql_function!(
    /// `queue.unlisten(port)`
    howdah_queue_unlisten,
    |call| {
        refuse_restricted();
        let port: Option<i32> = call.get(0);
        is_removed("delete from queue.listener l where l.port = $1 returning true", &[port.into()])
    }
);
