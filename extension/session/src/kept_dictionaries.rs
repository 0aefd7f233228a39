//! Dictionaries of text search that PostgreSQL keeps, and for whom.
//!
//! A dictionary is made once in a process, and so is found which configuration `default_text_search_config` names. A thesaurus names
//! another dictionary, which is looked up in the search_path of whoever comes first. So both go with the plans
//! ([`kept_plans`](super::kept_plans)). The other kinds name files alone: to read those again, for Ispell above all, takes long.

use std::ffi::c_int;

use pgrx::pg_sys::{self, Oid, TSDictionaryCacheEntry};

use super::process_tables::ProcessTable;

thread_local! {
    /// The dictionaries, of ts_cache.c.
    static TABLE: ProcessTable = const { ProcessTable::named(c"Tsearch dictionary cache") };
}

/// The catalog cache of configurations.
const TSCONFIGOID: c_int = pg_sys::SysCacheIdentifier::TSCONFIGOID as c_int;
/// What makes a dictionary a thesaurus.
const THESAURUS: Oid = Oid::from_u32(pg_sys::F_THESAURUS_LEXIZE);

/// Has them found anew, as whoever needs them next.
pub(crate) fn forget() {
    TABLE.with(|table| {
        // SAFETY: the table's entries. One that is not valid is made anew when it is asked for, and gives its memory back then. What
        // is called sets such flags, and which configuration is the default.
        unsafe {
            table.for_each(|entry: *mut TSDictionaryCacheEntry| {
                if (*entry).lexizeOid == THESAURUS {
                    (*entry).isvalid = false;
                }
            });
            pg::CallSyscacheCallbacks(TSCONFIGOID, 0);
        }
    });
}
