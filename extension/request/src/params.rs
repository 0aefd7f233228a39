//! Values of PostgreSQL made from a request, in the current memory context.
//!
//! Every function here calls PostgreSQL directly: inside [`pg::guard::attempt`] alone.

use std::ffi::{c_char, c_int};

use form::File;
use message::{Request, Response};
use pg::entry::callback;
use pg::text::c_string;
use pgrx::pg_sys::{self, Datum};

use super::relation::{REQUEST_COLUMNS, request_types};
use super::types::Types;

/// A text.
///
/// # Safety
/// Inside a guard.
pub unsafe fn text(text: &str) -> Datum {
    // SAFETY: pointer and length are those of the text.
    unsafe { Datum::from(pg::cstring_to_text_with_len(text.as_ptr().cast::<c_char>(), text.len() as c_int)) }
}

/// A bytea: laid out like a text.
///
/// # Safety
/// Inside a guard.
pub unsafe fn bytes(bytes: &[u8]) -> Datum {
    // SAFETY: pointer and length are those of the bytes.
    unsafe {
        Datum::from(pg::cstring_to_text_with_len(bytes.as_ptr().cast::<c_char>(), bytes.len() as c_int))
    }
}

/// A text of pieces that have so many bytes in all.
///
/// # Safety
/// Inside a guard; the pieces have that many bytes.
pub unsafe fn text_of_pieces<'a>(length: usize, pieces: impl Iterator<Item = &'a str>) -> Datum {
    // SAFETY: room for the head and, by contract, for the pieces.
    unsafe {
        let size = pg_sys::VARHDRSZ + length;
        let text = pg::palloc(size).cast::<u8>();
        pgrx::set_varsize_4b(text.cast(), size as i32);
        let mut place = text.add(pg_sys::VARHDRSZ);
        for piece in pieces {
            std::ptr::copy_nonoverlapping(piece.as_ptr(), place, piece.len());
            place = place.add(piece.len());
        }
        Datum::from(text)
    }
}

/// Raises the error of a value that cannot be what the parameter is.
///
/// # Safety
/// Inside a guard.
pub(crate) unsafe fn raise_bad_text() -> ! {
    pgrx::ereport!(
        pgrx::PgLogLevel::ERROR,
        pgrx::PgSqlErrorCode::ERRCODE_INVALID_TEXT_REPRESENTATION,
        "the value is not of the parameter's kind"
    );
    unreachable!("an ERROR report does not return")
}

/// The parameters of a handler's statement: computed when the plan asks for them, which few do for all.
///
/// # Safety
/// Inside a guard. `request` and `types` outlive the list's use.
pub(crate) unsafe fn of_request(source: *mut RequestSource) -> pg_sys::ParamListInfo {
    // SAFETY: by contract.
    unsafe {
        (*source).memory = pg_sys::CurrentMemoryContext;
        let list = pg::makeParamList(0);
        (*list).numParams = REQUEST_COLUMNS.len() as c_int;
        (*list).paramFetch = Some(fetch);
        (*list).paramFetchArg = source.cast();
        list
    }
}

/// Where [`of_request`]'s parameters come from, and those computed already.
pub(crate) struct RequestSource {
    request: *const Request<'static>,
    types: *const Types,
    values: [Option<(Datum, bool)>; REQUEST_COLUMNS.len()],
    /// Where they lie: a plan asks in memory that it resets after each row.
    memory: pg_sys::MemoryContext,
}

impl RequestSource {
    /// A source for one request.
    pub(crate) fn new(request: &Request<'_>, types: &Types) -> Self {
        RequestSource {
            request: std::ptr::from_ref(request).cast(),
            types,
            values: [None; REQUEST_COLUMNS.len()],
            memory: std::ptr::null_mut(),
        }
    }
}

callback! {
    unsafe fn fetch(
        list: pg_sys::ParamListInfo,
        number: c_int,
        _speculative: bool,
        work: *mut pg_sys::ParamExternData,
    ) -> *mut pg_sys::ParamExternData {
        // SAFETY: PostgreSQL calls this with the list that `of_request` made, while its request is alive, and a
        // number within numParams.
        unsafe {
            let source = &mut *(*list).paramFetchArg.cast::<RequestSource>();
            let place = number as usize - 1;
            let (value, null) = match source.values[place] {
                Some(known) => known,
                None => {
                    let previous = pg_sys::CurrentMemoryContext;
                    pg_sys::CurrentMemoryContext = source.memory;
                    let computed = column(&*source.request, &*source.types, place);
                    pg_sys::CurrentMemoryContext = previous;
                    source.values[place] = Some(computed);
                    computed
                }
            };
            (*work).value = value;
            (*work).isnull = null;
            (*work).pflags = pg_sys::PARAM_FLAG_CONST as u16;
            (*work).ptype = request_types(&*source.types)[place];
            work
        }
    }
}

/// A column of `request`, by its place in [`REQUEST_COLUMNS`], and whether it is null.
unsafe fn column(request: &Request<'_>, types: &Types, place: usize) -> (Datum, bool) {
    const NULL: (Datum, bool) = (Datum::null(), true);
    // SAFETY: inside a guard by contract.
    unsafe {
        match place {
            0 => (text(request.id()), false),
            1 => (text(request.method()), false),
            2 => (text(request.path()), false),
            3 => (text(request.query_string()), false),
            4 => (headers(request, types), false),
            5 => (bytes(request.body()), false),
            6 => remote(request).map_or(NULL, |address| (address, false)),
            7 => (parameters(), false),
            8 => (text(super::current::scheme(request).as_str()), false),
            _ if request.client().is_empty() => NULL,
            _ => (jsonb(c_string(request.client())), false),
        }
    }
}

unsafe fn remote(request: &Request<'_>) -> Option<Datum> {
    let address = super::current::client(request)?;
    let mut buffer = [0u8; 64];
    let mut rest = &mut buffer[..];
    std::io::Write::write_fmt(&mut rest, format_args!("{address}\0")).ok()?;
    // SAFETY: inside a guard; the buffer ends with NUL.
    unsafe {
        Some(pg::DirectFunctionCall1Coll(
            Some(pg::inet_in),
            pg_sys::Oid::INVALID,
            Datum::from(buffer.as_mut_ptr()),
        ))
    }
}

/// The path's parameters as jsonb.
unsafe fn parameters() -> Datum {
    // SAFETY: inside a guard; the text is valid JSON.
    unsafe { jsonb(super::current::path_parameters()) }
}

/// # Safety
/// Inside a guard; the text is valid JSON.
unsafe fn jsonb(text: *mut c_char) -> Datum {
    // SAFETY: by contract.
    unsafe { pg::DirectFunctionCall1Coll(Some(pg::jsonb_in), pg_sys::Oid::INVALID, Datum::from(text)) }
}

unsafe fn headers(request: &Request<'_>, types: &Types) -> Datum {
    // SAFETY: inside a guard; the array has as many places as there are headers.
    unsafe {
        let count = request.headers().count();
        let rows = pg::palloc(count.max(1) * size_of::<Datum>()).cast::<Datum>();
        for (place, (name, value)) in request.headers().enumerate() {
            *rows.add(place) = row(types.header_row, &mut [text(name), text(value)], &mut [false, false]);
        }
        array_of_rows(rows, count, types.header)
    }
}

/// An array of rows of one type.
///
/// # Safety
/// Inside a guard; `rows` has `count` places.
pub(crate) unsafe fn array_of_rows(rows: *mut Datum, count: usize, row_type: pg_sys::Oid) -> Datum {
    // SAFETY: rows are of variable length and aligned to eight bytes.
    unsafe {
        let (mut size, mut lower) = (count as c_int, 1);
        let dimensions = c_int::from(count > 0);
        Datum::from(pg::construct_md_array(
            rows,
            std::ptr::null_mut(),
            dimensions,
            &mut size,
            &mut lower,
            row_type,
            -1,
            false,
            b'd' as c_char,
        ))
    }
}

/// `http.request` as a row.
///
/// # Safety
/// Inside a guard.
pub unsafe fn request_row(request: &Request<'_>, types: &Types) -> Datum {
    // SAFETY: the descriptor has the columns of REQUEST_COLUMNS.
    unsafe {
        let mut values = [Datum::null(); REQUEST_COLUMNS.len()];
        let mut nulls = [false; REQUEST_COLUMNS.len()];
        for place in 0..REQUEST_COLUMNS.len() {
            (values[place], nulls[place]) = column(request, types, place);
        }
        row(types.request_row, &mut values, &mut nulls)
    }
}

/// `http.file` as a row: name, content type, body.
///
/// # Safety
/// Inside a guard.
pub unsafe fn file_row(file: &File<'_>, types: &Types) -> Datum {
    // SAFETY: the descriptor has these three columns.
    unsafe {
        let mut values = [text(&file.name), text(file.content_type), bytes(file.bytes)];
        row(types.file_row, &mut values, &mut [false; 3])
    }
}

/// `http.response` as a row: status, content type, the other headers, body.
///
/// # Safety
/// Inside a guard.
pub unsafe fn response_row(response: &Response<'_>, types: &Types) -> Datum {
    // SAFETY: the descriptors have these columns. Nothing is owned while PostgreSQL is called.
    unsafe {
        let is_type = |name: &[u8]| name == b"content-type";
        let (mut content_type, mut count) = (None, 0);
        let headers = pg::palloc(size_of::<Datum>() * response.headers().count().max(1)).cast::<Datum>();
        for (name, value) in response.headers() {
            if is_type(name) {
                content_type = Some(latin(value));
                continue;
            }
            *headers.add(count) =
                row(types.header_row, &mut [latin(name), latin(value)], &mut [false, false]);
            count += 1;
        }
        let headers = array_of_rows(headers, count, types.header);
        let mut values = [
            Datum::from(i32::from(response.status())),
            content_type.unwrap_or(Datum::null()),
            headers,
            bytes(response.body()),
        ];
        row(types.response_row, &mut values, &mut [false, content_type.is_none(), false, false])
    }
}

/// A header's name or value as text: as Latin-1, if it is not UTF-8.
unsafe fn latin(value: &[u8]) -> Datum {
    // SAFETY: the caller's contract.
    unsafe {
        match std::str::from_utf8(value) {
            Ok(value) => text(value),
            Err(_) => {
                let length = value.iter().map(|&byte| char::from(byte).len_utf8()).sum();
                let mut letters = [[0u8; 2]; 256];
                for (byte, letter) in letters.iter_mut().enumerate() {
                    char::from(byte as u8).encode_utf8(letter);
                }
                let piece = |byte: &u8| {
                    let letter = &letters[usize::from(*byte)];
                    std::str::from_utf8_unchecked(&letter[..char::from(*byte).len_utf8()])
                };
                text_of_pieces(length, value.iter().map(piece))
            }
        }
    }
}

/// A row.
///
/// # Safety
/// Inside a guard; the descriptor has as many columns as there are values.
pub unsafe fn row(descriptor: pg_sys::TupleDesc, values: &mut [Datum], nulls: &mut [bool]) -> Datum {
    // SAFETY: by contract.
    unsafe {
        let tuple = pg::heap_form_tuple(descriptor, values.as_mut_ptr(), nulls.as_mut_ptr());
        pg::HeapTupleHeaderGetDatum((*tuple).t_data)
    }
}
