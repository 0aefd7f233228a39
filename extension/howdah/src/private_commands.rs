//! Commands that write catalogs and mean nothing to other sessions: those on temporary tables, those that give a table another file, and maintenance.

use std::ffi::CStr;

use changes::Private;
use pg::list::{list_length, nth};
use pgrx::pg_sys::{self, Node, RangeVar};

/// What a command changes for nobody else; none if others may see whatever it changes. `is_alone` says that a client has sent it outside of a
/// transaction block, so that maintenance may begin transactions of its own.
///
/// # Safety
/// `statement` is a utility statement, inside a transaction, where an error may jump: names are looked up.
pub(crate) unsafe fn kind(statement: *mut Node, is_alone: bool) -> Option<Private> {
    use pg_sys::NodeTag::*;
    // SAFETY: by contract; the tag tells the type.
    unsafe {
        let is_private = match (*statement).type_ {
            T_ClusterStmt | T_ReindexStmt | T_VacuumStmt => is_alone,
            T_TruncateStmt | T_RefreshMatViewStmt => true,
            T_CreateStmt => {
                let create = statement.cast::<pg_sys::CreateStmt>();
                is_made_temporary((*create).relation) && (*create).inhRelations.is_null()
            }
            T_CreateTableAsStmt => {
                let into = (*statement.cast::<pg_sys::CreateTableAsStmt>()).into;
                is_made_temporary((*into).rel)
            }
            T_IndexStmt => is_temporary((*statement.cast::<pg_sys::IndexStmt>()).relation),
            T_DropStmt => drops_temporary(statement.cast()),
            _ => false,
        };
        let what = match (*statement).type_ {
            T_TruncateStmt => Private::Files,
            T_ClusterStmt | T_ReindexStmt | T_VacuumStmt => Private::Maintenance,
            _ => Private::Tables,
        };
        // Who may write catalogs as if they were tables is looked at closely.
        (is_private && !pg_sys::allowSystemTableMods).then_some(what)
    }
}

/// Whether a table that is to be made is to be temporary.
unsafe fn is_made_temporary(name: *const RangeVar) -> bool {
    // SAFETY: of a statement.
    unsafe {
        let schema = (*name).schemaname;
        (*name).relpersistence as u8 == pg_sys::RELPERSISTENCE_TEMP
            || !schema.is_null() && CStr::from_ptr(schema) == c"pg_temp"
    }
}

/// Whether what has this name now is temporary.
unsafe fn is_temporary(name: *const RangeVar) -> bool {
    const MISSING_OK: u32 = pg_sys::RVROption::RVR_MISSING_OK;
    // SAFETY: the caller's contract.
    unsafe {
        if name.is_null() {
            return false;
        }
        let lock = pg_sys::NoLock as pg_sys::LOCKMODE;
        let relation = pg_sys::RangeVarGetRelidExtended(name, lock, MISSING_OK, None, std::ptr::null_mut());
        relation != pg_sys::InvalidOid
            && pg_sys::get_rel_persistence(relation) as u8 == pg_sys::RELPERSISTENCE_TEMP
    }
}

/// Whether a command drops temporary tables and what belongs to them, and nothing else.
unsafe fn drops_temporary(drop: *const pg_sys::DropStmt) -> bool {
    use pg_sys::ObjectType::{OBJECT_INDEX, OBJECT_SEQUENCE, OBJECT_TABLE};
    // SAFETY: the caller's contract; objects of these types are lists of names.
    unsafe {
        matches!((*drop).removeType, OBJECT_TABLE | OBJECT_INDEX | OBJECT_SEQUENCE)
            && (*drop).behavior == pg_sys::DropBehavior::DROP_RESTRICT
            && (0..list_length((*drop).objects)).all(|place| {
                is_temporary(pg_sys::makeRangeVarFromNameList(nth((*drop).objects, place).cast()))
            })
    }
}
