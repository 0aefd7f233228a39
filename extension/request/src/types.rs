//! The extension's own types, by their OIDs in this database.

use std::cell::Cell;

use pgrx::pg_sys::{self, Oid};

/// OIDs and descriptors of the types of schema `http`. Looked up with the route table.
#[derive(Clone, Copy)]
pub struct Types {
    /// `http.header`
    pub header: Oid,
    /// `http.header[]`
    pub header_array: Oid,
    /// `http.request`
    pub request: Oid,
    /// `http.response`
    pub response: Oid,
    /// `http.file`
    pub file: Oid,
    /// `http.html`
    pub html: Oid,
    /// `http.secret`; none where the extension is of a version before it.
    pub secret: Oid,
    /// Descriptor of `http.header`; lives as long as the process.
    pub header_row: pg_sys::TupleDesc,
    /// Descriptor of `http.request`; lives as long as the process.
    pub request_row: pg_sys::TupleDesc,
    /// Descriptor of `http.response`; lives as long as the process.
    pub response_row: pg_sys::TupleDesc,
    /// Descriptor of `http.file`; lives as long as the process.
    pub file_row: pg_sys::TupleDesc,
}

thread_local! {
    /// Those of the last look-up: the same have descriptors already.
    static KNOWN: Cell<Option<Types>> = const { Cell::new(None) };
}

impl Types {
    /// Looks the types up in the schema whose OID is given. Raises an error if one is missing.
    ///
    /// # Safety
    /// Inside a transaction, on the main thread.
    pub unsafe fn look_up(schema: Oid) -> Self {
        // SAFETY: by contract; pgrx guards each call.
        unsafe {
            let header = named(schema, c"header");
            let request = named(schema, c"request");
            let response = named(schema, c"response");
            let file = named(schema, c"file");
            let html = named(schema, c"html");
            let secret = named(schema, c"secret");
            let all = [header, request, response, file, html, secret];
            let known = KNOWN.get().filter(|known| known.all() == all);
            if let Some(known) = known {
                return known;
            }
            let types = Types {
                header,
                header_array: pg_sys::get_array_type(header),
                request,
                response,
                file,
                html,
                secret,
                header_row: descriptor(header),
                request_row: descriptor(request),
                response_row: descriptor(response),
                file_row: descriptor(file),
            };
            KNOWN.set(Some(types));
            types
        }
    }
}

impl Types {
    fn all(&self) -> [Oid; 6] {
        [self.header, self.request, self.response, self.file, self.html, self.secret]
    }
}

/// Whether a type is `http.response`. False in a process that has looked up no types.
pub(crate) fn is_response(of_type: Oid) -> bool {
    KNOWN.get().is_some_and(|types| types.response == of_type)
}

/// Whether a type is `http.html`, whose values are those of text. False in a process that has looked up no types.
pub(crate) fn is_html(of_type: Oid) -> bool {
    KNOWN.get().is_some_and(|types| types.html == of_type)
}

unsafe fn named(schema: Oid, name: &std::ffi::CStr) -> Oid {
    // SAFETY: the caller's contract; TYPENAMENSP takes a name and a schema.
    unsafe {
        pg_sys::GetSysCacheOid(
            pg_sys::SysCacheIdentifier::TYPENAMENSP as i32,
            pg_sys::Anum_pg_type_oid as pg_sys::AttrNumber,
            pg_sys::Datum::from(name.as_ptr()),
            pg_sys::Datum::from(schema),
            pg_sys::Datum::from(0),
            pg_sys::Datum::from(0),
        )
    }
}

/// A copy of a row type's descriptor in memory that lives as long as the process. The types of an
/// extension do not change but with it, and then the process ends.
unsafe fn descriptor(row_type: Oid) -> pg_sys::TupleDesc {
    // SAFETY: the caller's contract. The copy carries the row type, so that tuples made with it are typed.
    unsafe {
        let previous = pg_sys::MemoryContextSwitchTo(pg_sys::TopMemoryContext);
        let copy = pg_sys::lookup_rowtype_tupdesc_copy(row_type, -1);
        pg_sys::MemoryContextSwitchTo(previous);
        copy
    }
}
