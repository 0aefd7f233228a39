//! The addresses of static files, as pages and functions name them: with the digest, so that clients keep them for ever.
//!
//! An address depends on its name and on what is deployed alone. So it is looked up once, and anew when the configuration has changed; and an answer that
//! is kept has read the table that says when files become others.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use files::hashed::hashed;
use pg::refuse::refuse_with_hint;
use pgrx::pg_sys::{self, Oid};
use pgrx::prelude::*;
use pgrx::spi::{self, Spi};
use session::authority::{as_owner, current_user, name_of};
use session::invalidations;

use super::{current, recording};

/// Addresses, by whose files they are, and their names.
type KnownAddresses = HashMap<(Oid, String), String>;

thread_local! {
    /// The addresses that were looked up under the configuration of the number.
    static KNOWN: RefCell<(u64, KnownAddresses)> = RefCell::default();
    /// The table that says how often files have become others.
    static TREES: Cell<Oid> = const { Cell::new(Oid::INVALID) };
}

/// The address of a file of the application whose function answers the request, or of the current user's; an error if it has none of this name.
pub fn address(name: &str) -> String {
    invalidations::watch();
    // SAFETY: used within this call.
    let owner = unsafe { current::get() }
        .map(|seen| Oid::from(seen.key.owner))
        .filter(|owner| *owner != Oid::INVALID);
    let owner = owner.unwrap_or_else(current_user);
    if recording::records() {
        recording::note(trees());
    }
    let configuration = invalidations::configuration();
    let key = (owner, name.to_owned());
    let known = KNOWN.with_borrow_mut(|(number, known)| {
        if *number != configuration {
            (*number, *known) = (configuration, HashMap::new());
        }
        known.get(&key).cloned()
    });
    if let Some(known) = known {
        return known;
    }
    let Some(found) = look_up(owner, name) else {
        refuse_with_hint(
            PgSqlErrorCode::ERRCODE_UNDEFINED_FILE,
            &format!("there is no file static/{name} of an application of {}", name_of(owner)),
            "http.asset() is given the path of a file in static/ of the application's folder.",
        );
    };
    KNOWN.with_borrow_mut(|(_, known)| known.insert(key, found.clone()));
    found
}

/// The place where the files of an owner answer whose folder is nearest, and what the name has there.
const ADDRESS: &str = "select p.prefix, p.folder, f.digest
    from deploy.application a
    join http.file_prefix p on p.owner = pg_get_userbyid(a.owner)
    join http.static_file f on f.application = a.name and f.until is null
    where a.owner = $1::oid and f.name = $2 and (p.folder = '' or starts_with(f.name, p.folder || '/'))
    order by length(p.folder) desc, p.prefix limit 1";

fn look_up(owner: Oid, name: &str) -> Option<String> {
    let read = || {
        Spi::connect(|client| {
            let mut rows = client.select(ADDRESS, Some(1), &[owner.into(), name.into()])?;
            let Some(row) = rows.next() else { return Ok(None) };
            let text = |place| Ok::<_, spi::Error>(row.get::<String>(place)?.unwrap_or_default());
            Ok::<_, spi::Error>(Some((text(1)?, text(2)?, text(3)?)))
        })
    };
    // The snapshot of the statement may be older than the news of the configuration that have been accepted since: its address would be kept as if it were new.
    // SAFETY: inside a transaction, in no parallel plan; after an error the transaction's end takes the snapshot back.
    unsafe { pg_sys::PushActiveSnapshot(pg_sys::GetLatestSnapshot()) };
    let found = as_owner(read).unwrap_or_else(|error| pgrx::error!("the files cannot be read: {error}"));
    // SAFETY: it is the one from above.
    unsafe { pg_sys::PopActiveSnapshot() };
    found.map(|(prefix, folder, digest)| {
        let rest = name.strip_prefix(&folder).unwrap_or(name).trim_start_matches('/');
        format!("{}/{}", prefix.trim_end_matches('/'), files::served::escaped(&hashed(rest, &digest)))
    })
}

fn trees() -> Oid {
    if TREES.get() == Oid::INVALID {
        // SAFETY: look-ups inside a transaction; the schema and the table are the extension's.
        TREES.set(unsafe {
            let schema = pg_sys::get_namespace_oid(c"http".as_ptr(), false);
            pg_sys::get_relname_relid(c"static_tree".as_ptr(), schema)
        });
    }
    TREES.get()
}
