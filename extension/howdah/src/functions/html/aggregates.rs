//! Aggregates of pages: the parts of all rows, and the part of one.

use std::ffi::c_int;

use pg::entry::{Call, sql_function};
use pg::guard::direct;
use pg::refuse::{refuse, refuse_with_hint};
use pgrx::pg_sys::{self, Datum, MemoryContext, StringInfo};
use pgrx::prelude::*;

sql_function!(
    /// `http.html_agg_put(state, part)`: adds a part to what `http.html_agg(part)` makes; null is none.
    howdah_html_agg_put,
    |call| {
        let memory = memory_of(call);
        let state = call.argument(0).map(|state| state.cast_mut_ptr());
        match call.argument(1) {
            // SAFETY: inside an aggregate; nothing is owned.
            Some(part) => unsafe { put(memory, state, part) },
            None => call.argument(0).unwrap_or_else(|| call.null()),
        }
    }
);

/// Appends to the text of the state, which is made with its first part.
unsafe fn put(memory: MemoryContext, state: Option<StringInfo>, part: Datum) -> Datum {
    // SAFETY: by contract; the part is laid out as text, and the state is of this function.
    unsafe {
        let part = pg::pg_detoast_datum_packed(part.cast_mut_ptr());
        let state = state.unwrap_or_else(|| {
            let before = pg_sys::MemoryContextSwitchTo(memory);
            let state = pg::makeStringInfo();
            pg_sys::MemoryContextSwitchTo(before);
            state
        });
        let length = pgrx::varsize_any_exhdr(part) as c_int;
        pg::appendBinaryStringInfo(state, pgrx::vardata_any(part).cast(), length);
        Datum::from(state)
    }
}

sql_function!(
    /// `http.html_agg_end(state)`: the parts; null if there was none. Also behind PostgreSQL's own `string_agg_transfn`, whose first delimiter is
    /// left out.
    howdah_html_agg_end,
    |call| {
        memory_of(call);
        match call.argument(0).map(|state| state.cast_mut_ptr::<pg_sys::StringInfoData>()) {
            // SAFETY: the state is of one of the two, with its cursor behind what is left out; nothing is owned.
            Some(state) => unsafe {
                let skipped = (*state).cursor;
                let begin = (*state).data.add(skipped as usize);
                Datum::from(pg::cstring_to_text_with_len(begin, (*state).len - skipped))
            },
            None => call.null(),
        }
    }
);

sql_function!(
    /// `http.html_agg_add(state, part, delimiter)`: PostgreSQL's own. A function of language internal would be looked for among three thousand
    /// each time that a plan begins.
    howdah_html_agg_add,
    // SAFETY: the arguments are those of the function; nothing is owned.
    |call| unsafe { pg::string_agg_transfn(call.raw()) }
);

sql_function!(
    /// `http.html_concat(one, other)`: PostgreSQL's own, likewise.
    howdah_html_concat,
    // SAFETY: as above.
    |call| unsafe { pg::textcat(call.raw()) }
);

/// The state: the value of the only row.
#[repr(C)]
struct Only {
    value: *mut pg_sys::varlena,
}

sql_function!(
    /// `http.single_put(state, part, place)`: takes the only row; an error if there is another.
    howdah_single_put,
    |call| {
        let memory = memory_of(call);
        if call.argument(0).is_some() {
            let place: &str = call.get(2).unwrap_or("a page");
            refuse_with_hint(
                PgSqlErrorCode::ERRCODE_CARDINALITY_VIOLATION,
                &format!("{place}: the query of a with has more than one row"),
                "Add a condition, or limit 1; or write for, which takes all rows.",
            );
        }
        // SAFETY: inside an aggregate; nothing is owned.
        unsafe {
            direct(|| {
                let only = pg_sys::MemoryContextAllocZero(memory, size_of::<Only>()).cast::<Only>();
                if let Some(part) = call.argument(1) {
                    let part = pg::pg_detoast_datum_packed(part.cast_mut_ptr());
                    let size = pgrx::varsize_any(part);
                    let copy = pg_sys::MemoryContextAlloc(memory, size);
                    std::ptr::copy_nonoverlapping(part.cast::<u8>(), copy.cast(), size);
                    (*only).value = copy.cast();
                }
                Datum::from(only)
            })
        }
    }
);

sql_function!(
    /// `http.single_end(state)`: null if there was no row.
    howdah_single_end,
    |call| {
        memory_of(call);
        // SAFETY: the state is of `howdah_single_put`.
        let value = call.argument(0).map(|state| unsafe { (*state.cast_mut_ptr::<Only>()).value });
        match value.filter(|value| !value.is_null()) {
            Some(value) => Datum::from(value),
            None => call.null(),
        }
    }
);

/// The memory of an aggregate's states; an error if the function was called otherwise.
fn memory_of(call: Call) -> MemoryContext {
    let mut memory = std::ptr::null_mut();
    // SAFETY: the call is PostgreSQL's.
    if unsafe { pg::AggCheckCallContext(call.raw(), &mut memory) } == 0 {
        refuse(PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED, "this function is called by aggregates alone");
    }
    memory
}
