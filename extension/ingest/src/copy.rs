//! Rows into a table by COPY's own machinery: partitions, triggers, defaults, generated columns, constraints and all.

use std::cell::Cell;
use std::ffi::{c_char, c_int, c_void};
use std::ptr::null_mut;

use pg::entry::callback;
use pg::guard::PgError;
use pgrx::pg_sys;
use queue::opened::Opened;
use session::subtransaction::in_subtransaction;

use super::columns::Column;
use super::encode::Encoder;
use super::scratch::Scratch;

thread_local! {
    /// What COPY reads now: its callback gets no argument.
    static SOURCE: Cell<*mut Encoder<'static, 'static>> = const { Cell::new(null_mut()) };
}

callback! {
    /// Called by COPY for more bytes.
    unsafe fn fetch(to: *mut c_void, _least: c_int, most: c_int) -> c_int {
        // SAFETY: COPY passes room for `most` bytes, while [`copy`] has set the source.
        unsafe {
            let room = std::slice::from_raw_parts_mut(to.cast::<u8>(), most as usize);
            (*SOURCE.get()).fetch(room) as c_int
        }
    }
}

/// Writes the encoder's rows into these columns of the table, in a subtransaction. Returns how many there are now.
pub(crate) fn copy(
    table: &Opened,
    columns: &[&Column],
    encoder: &mut Encoder<'_, '_>,
) -> Result<u64, PgError> {
    let relation = **table;
    // A trigger may put lines itself: what was the source before is it again.
    let before = SOURCE.replace(std::ptr::from_mut(encoder).cast());
    // A COPY that fails leaves what it had for the end of the transaction, in which there may be thousands.
    let memory = Scratch::new();
    // SAFETY: the relation is open for longer than COPY; the closure owns nothing with a destructor.
    let result = memory.with(|| unsafe {
        let (state, names, options) = arguments(relation, columns);
        in_subtransaction(|| {
            let (condition, file) = (null_mut(), std::ptr::null());
            let copy =
                pg::BeginCopyFrom(state, relation, condition, file, false, Some(fetch), names, options);
            let count = pg::CopyFrom(copy);
            pg::EndCopyFrom(copy);
            count
        })
    });
    memory.delete();
    SOURCE.set(before);
    result
}

/// What COPY begins with, in the current memory context: a parse state that has the table, columns, options.
///
/// # Safety
/// The relation is open; the columns live for as long as the result.
unsafe fn arguments(
    relation: pg_sys::Relation,
    columns: &[&Column],
) -> (*mut pg_sys::ParseState, *mut pg_sys::List, *mut pg_sys::List) {
    // SAFETY: nodes of strings that live for as long as they do.
    unsafe {
        let state = pg_sys::make_parsestate(null_mut());
        let lock = pg_sys::RowExclusiveLock as i32;
        pg_sys::addRangeTableEntryForRelation(state, relation, lock, null_mut(), false, false);
        let string = |text: *const c_char| pg_sys::makeString(text.cast_mut());
        let names = columns
            .iter()
            .fold(null_mut(), |list, column| pg_sys::lappend(list, string(column.name.as_ptr()).cast()));
        let binary = string(c"binary".as_ptr()).cast();
        let format = pg_sys::makeDefElem(c"format".as_ptr().cast_mut(), binary, -1);
        (state, names, pg_sys::lappend(null_mut(), format.cast()))
    }
}
