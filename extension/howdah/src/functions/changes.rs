//! What commits have changed.

use ::changes::{Thing, last_change, of_catalogs, relation};
use pg::entry::sql_function;
use pg::guard::direct;
use pg::list::oids;
use pgrx::pg_sys::{self, Oid};

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
