//! What commits have changed.

use ::changes::{Moment, Thing, last_change, of_catalogs, relation};
use message::{Request, Response};
use pg::entry::{Returned, columns, sql_function};
use pg::guard::direct;
use pg::list::oids;
use pg::text::string;
use pgrx::pg_sys::{self, Datum, Oid};
use request::reads::Named;
use request::types::Types;
use session::authority::refuse_restricted;

use super::calling::{bad, message, refuse_in_request};

sql_function!(
    /// `http.last_change(relation)`
    howdah_last_change,
    |call| {
        let things: Vec<Thing> = match call.get::<Oid>(0) {
            None => of_catalogs().into(),
            // SAFETY: inside a transaction; without locks, as nothing is read. What is no relation has no children.
            Some(whole) => unsafe {
                let lock = pg_sys::NoLock as pg_sys::LOCKMODE;
                let family = direct(|| pg::find_all_inheritors(whole, lock, std::ptr::null_mut()));
                oids(family).map(relation).collect()
            },
        };
        // SAFETY: inside a function that PostgreSQL has called.
        let moment = unsafe { last_change(things) };
        call.give(moment.number().cast_signed())
    }
);

sql_function!(
    /// `http.explain(method, target, headers)`
    howdah_explain,
    |call| {
        refuse_restricted();
        refuse_in_request();
        // SAFETY: inside a transaction, in a database with the extension.
        let types = unsafe { Types::look_up(pg_sys::get_namespace_oid(c"http".as_ptr(), false)) };
        let message = message(call, &types, false);
        let request = Request::parse(&message).unwrap_or_else(|error| bad(&error.to_string()));
        if !matches!(request.method(), "GET" | "HEAD") {
            bad("only what reads can be explained: GET and HEAD");
        }
        // SAFETY: in a session, inside the transaction of the call, whose snapshot is active.
        let (answer, read) = unsafe { request::call::explain(&request) };
        let endpoint = request::call::take_endpoint();
        let mut rows = vec![line("route", endpoint, None)];
        match read {
            Some(Named { relations, inputs, obstacle }) => {
                rows.extend(inputs.iter().map(|input| line("request", Some(input.text()), None)));
                for table in relations {
                    // SAFETY: as above.
                    let (name, moment) = unsafe { (name_of(table), last_change([relation(table)])) };
                    rows.push(line("table", Some(name), Some(moment)));
                }
                // SAFETY: as above.
                let (moment, obstacle) =
                    unsafe { (last_change(of_catalogs()), obstacle.map(|obstacle| obstacle.text())) };
                rows.push(line("catalogs", None, Some(moment)));
                rows.extend(obstacle.map(|obstacle| line("not remembered", Some(obstacle), None)));
            }
            None => {
                let status = Response::parse(&answer).map_or(500, |response| response.status());
                rows.push(line("not remembered", Some(format!("it was answered with {status}")), None));
            }
        }
        Returned::all(call, rows)
    }
);

fn line(what: &str, name: Option<String>, last_change: Option<Moment>) -> [Option<Datum>; 3] {
    columns![what, name, last_change.map(|moment| moment.number().cast_signed())]
}

/// A table's name with its schema, as SQL has it.
unsafe fn name_of(table: Oid) -> String {
    // SAFETY: look-ups inside a transaction; what is gone has no name.
    unsafe {
        let schema = pg_sys::get_namespace_name(pg_sys::get_rel_namespace(table));
        string(pg_sys::quote_qualified_identifier(schema, pg_sys::get_rel_name(table)))
    }
}
