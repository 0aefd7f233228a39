//! The databases of the server, as pg_database has them.

use pg::guard::Report;
use pg::text::string;
use pgrx::pg_sys;
use session::own_transaction::transaction;

/// A row of pg_database.
#[derive(Debug)]
pub(crate) struct Row {
    /// Its name.
    pub name: String,
    /// Its oid.
    pub oid: pg_sys::Oid,
    /// Whether its encoding is UTF8.
    pub utf8: bool,
    /// Whether it lets anybody in.
    pub open: bool,
}

/// `datconnlimit` of a database whose removal has begun.
const INVALID: i32 = -2;

/// All databases; none if they cannot be read now. A lock is not waited for: whoever can log in may have others wait for the table.
pub(super) fn databases() -> Option<Vec<Row>> {
    transaction(Report::Log, || {
        // SAFETY: inside a transaction. A plain scan, as the index of a catalog cannot be relied on without a database.
        unsafe {
            let lock = pg_sys::AccessShareLock as pg_sys::LOCKMODE;
            if !pg_sys::ConditionalLockRelationOid(pg_sys::DatabaseRelationId, lock) {
                return None;
            }
            let relation = pg_sys::table_open(pg_sys::DatabaseRelationId, pg_sys::NoLock as pg_sys::LOCKMODE);
            let scan = pg_sys::table_beginscan_catalog(relation, 0, std::ptr::null_mut());
            let mut rows = Vec::new();
            loop {
                let tuple = pg_sys::heap_getnext(scan, pg_sys::ScanDirection::ForwardScanDirection);
                if tuple.is_null() {
                    break;
                }
                rows.push(row(tuple));
            }
            pg_sys::heap_endscan(scan);
            pg_sys::table_close(relation, lock);
            Some(rows)
        }
    })
    .ok()
    .flatten()
}

/// # Safety
/// `tuple` is a row of pg_database.
unsafe fn row(tuple: pg_sys::HeapTuple) -> Row {
    // SAFETY: by contract; names end with NUL.
    unsafe {
        let form = &*pg_sys::GETSTRUCT(tuple).cast::<pg_sys::FormData_pg_database>();
        Row {
            name: string(form.datname.data.as_ptr()),
            oid: form.oid,
            utf8: form.encoding == pg_sys::pg_enc::PG_UTF8 as i32,
            open: form.datallowconn && form.datconnlimit != INVALID,
        }
    }
}
