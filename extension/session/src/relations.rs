//! The relations of which PostgreSQL keeps something in this process.

use pgrx::pg_sys::{Oid, Relation};

use super::process_tables::{ProcessTable, unknown_layout};

/// An entry of the table, of relcache.c.
#[repr(C)]
struct Entry {
    oid: Oid,
    relation: Relation,
}

thread_local! {
    static TABLE: ProcessTable = const { ProcessTable::named(c"Relcache by OID") };
}

/// Calls `visit` with each relation. It raises nothing, and removes at most the one that it has got.
pub fn for_each(mut visit: impl FnMut(Relation)) {
    TABLE.with(|table| {
        // SAFETY: the table's entries; each says whose it is, or is laid out otherwise.
        unsafe {
            table.for_each(|entry: *mut Entry| {
                let Entry { oid, relation } = *entry;
                if (*relation).rd_id != oid {
                    unknown_layout("tables");
                }
                visit(relation);
            });
        }
    });
}
