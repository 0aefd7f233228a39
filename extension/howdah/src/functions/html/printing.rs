//! Values of any type as the text of a page.
//!
//! HTML stays as it is, and what is not HTML is told by the type that the caller's expression has: what is text there is escaped, whoever
//! has made it. Booleans are `true` and `false`; dates, times, intervals and numbers are written the same whatever a role's settings say, as
//! an `<input type="date">` reads them.

use std::ffi::{CStr, c_int, c_void};
use std::mem::MaybeUninit;

use pg::entry::Call;
use pg::refuse::refuse;
use pgrx::pg_sys::{self, Datum, FmgrInfo, Oid};
use pgrx::prelude::*;

/// Arguments of one call at most: PostgreSQL's `FUNC_MAX_ARGS`.
const MOST: usize = 100;

/// Room for the texts of a call's arguments, of which few are used.
pub(super) type Room = [MaybeUninit<PrintedValue>; MOST];

/// Room in which nothing is yet.
pub(super) const ROOM: Room = [const { MaybeUninit::uninit() }; MOST];

/// How values of a type become text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    /// HTML as it is.
    Html,
    /// Text, and types that are laid out like it.
    Text,
    /// A literal whose type nobody knows.
    Unknown,
    /// `true` and `false`.
    Boolean,
    /// By the type's output function.
    Output,
    /// By the type's output function, with settings of our own.
    Fixed,
}

/// The memory of a function that is called; behind it stands a [`Printed`] for each argument.
#[repr(C)]
struct KeptCall {
    /// The function's own; null at first.
    own: *const c_void,
    printed: [Printed; 0],
}

/// An argument of a function of any types, as it is kept with the call.
#[derive(Clone, Copy)]
struct Printed {
    how: How,
    function: *mut FmgrInfo,
}

/// The text of an argument. Its bytes live as long as the memory of the call.
#[derive(Clone, Copy)]
pub(in super::super) struct PrintedValue {
    /// UTF-8, or the server's encoding, which is the same for us.
    pub bytes: &'static [u8],
    /// Whether it is HTML already.
    pub is_html: bool,
}

impl PrintedValue {
    /// No text.
    const EMPTY: PrintedValue = PrintedValue { bytes: &[], is_html: true };
}

/// The texts of the arguments from a place on; null is none.
///
/// # Safety
/// Inside [`pg::guard::direct`]: what raises jumps, and nothing is owned.
pub(super) unsafe fn pieces(call: Call, first: usize, room: &mut Room) -> &[PrintedValue] {
    let count = call.count().saturating_sub(first).min(MOST);
    // SAFETY: by contract; as many are kept as the call has arguments.
    unsafe {
        let printed = (&raw const (*kept(call)).printed).cast::<Printed>();
        for (place, piece) in room.iter_mut().enumerate().take(count) {
            let at = first + place;
            piece.write(match call.argument(at) {
                None => PrintedValue::EMPTY,
                Some(value) => print(*printed.add(at), value),
            });
        }
        // So many are written.
        std::slice::from_raw_parts(room.as_ptr().cast(), count)
    }
}

/// The text of one argument; none for null.
///
/// # Safety
/// As of [`pieces`].
pub(in super::super) unsafe fn piece(call: Call, place: usize) -> Option<PrintedValue> {
    let value = call.argument(place)?;
    // SAFETY: by contract; as many are kept as the call has arguments.
    unsafe { Some(print(*(&raw const (*kept(call)).printed).cast::<Printed>().add(place), value)) }
}

unsafe fn print(printed: Printed, value: Datum) -> PrintedValue {
    let is_html = printed.how == How::Html;
    // SAFETY: by the contract of `pieces`; a value of the type that was looked up.
    let bytes = unsafe {
        match printed.how {
            How::Html | How::Text => contents(value),
            How::Unknown => CStr::from_ptr(value.cast_mut_ptr()).to_bytes(),
            How::Boolean if value.value() as u8 != 0 => b"true",
            How::Boolean => b"false",
            How::Output => CStr::from_ptr(pg::OutputFunctionCall(printed.function, value)).to_bytes(),
            How::Fixed => {
                fixed(|| CStr::from_ptr(pg::OutputFunctionCall(printed.function, value)).to_bytes())
            }
        }
    };
    PrintedValue { bytes, is_html }
}

unsafe fn contents(value: Datum) -> &'static [u8] {
    // SAFETY: by the contract of `pieces`: a value that is laid out as text.
    unsafe {
        let text = pg::pg_detoast_datum_packed(value.cast_mut_ptr());
        let length = pgrx::varsize_any_exhdr(text);
        std::slice::from_raw_parts(pgrx::vardata_any(text).cast(), length)
    }
}

/// Runs an output function of PostgreSQL's own with the settings of its defaults: what of them a role has set shows in no page. Such a function raises
/// nothing but a lack of memory, after which the next that sets them sets all of them.
unsafe fn fixed<T>(print: impl FnOnce() -> T) -> T {
    // SAFETY: PostgreSQL's own variables, on the main thread.
    unsafe {
        let before = (pg_sys::DateStyle, pg_sys::IntervalStyle, pg_sys::extra_float_digits);
        pg_sys::DateStyle = pg_sys::USE_ISO_DATES as c_int;
        pg_sys::IntervalStyle = pg_sys::INTSTYLE_POSTGRES as c_int;
        pg_sys::extra_float_digits = 1;
        let printed = print();
        (pg_sys::DateStyle, pg_sys::IntervalStyle, pg_sys::extra_float_digits) = before;
        printed
    }
}

/// Where the function of a call keeps something of its own, as long as its memory lives; null at first.
///
/// # Safety
/// As of [`pieces`].
pub(super) unsafe fn own(call: Call) -> *mut *const c_void {
    // SAFETY: by contract.
    unsafe { &raw mut (*kept(call)).own }
}

/// How each argument is printed: looked up by the first call, and kept with the function.
unsafe fn kept(call: Call) -> *mut KeptCall {
    // SAFETY: the call is PostgreSQL's; what is kept lives as long as the function's memory.
    unsafe {
        let function = (*call.raw()).flinfo;
        if (*function).fn_extra.is_null() {
            let count = call.count();
            let size = size_of::<KeptCall>() + size_of::<Printed>() * count;
            let kept = pg_sys::MemoryContextAllocZero((*function).fn_mcxt, size).cast::<KeptCall>();
            let printed = (&raw mut (*kept).printed).cast::<Printed>();
            let html = pg_sys::get_fn_expr_rettype(function);
            for place in 0..count {
                printed.add(place).write(looked_up(call.type_of(place), html, (*function).fn_mcxt));
            }
            (*function).fn_extra = kept.cast();
        }
        (*function).fn_extra.cast()
    }
}

unsafe fn looked_up(of_type: Oid, html: Oid, memory: pg_sys::MemoryContext) -> Printed {
    if of_type == Oid::INVALID {
        refuse(PgSqlErrorCode::ERRCODE_INDETERMINATE_DATATYPE, "the type of an argument is not known here");
    }
    let none = std::ptr::null_mut();
    if of_type == html && html != pg_sys::TEXTOID {
        return Printed { how: How::Html, function: none };
    }
    // Those that pages print most are not looked for: each page that is sent has this done for each of its values.
    let known = match of_type {
        pg_sys::INT4OID => Some(pg_sys::F_INT4OUT),
        pg_sys::INT8OID => Some(pg_sys::F_INT8OUT),
        pg_sys::NUMERICOID => Some(pg_sys::F_NUMERIC_OUT),
        pg_sys::DATEOID => Some(pg_sys::F_DATE_OUT),
        pg_sys::TIMESTAMPTZOID => Some(pg_sys::F_TIMESTAMPTZ_OUT),
        _ => None,
    };
    // SAFETY: a type of an expression, inside a transaction.
    unsafe {
        let how = match how_of(of_type) {
            How::Output if known.is_none() => how_of(pg_sys::getBaseType(of_type)),
            how => how,
        };
        if !matches!(how, How::Output | How::Fixed) {
            return Printed { how, function: none };
        }
        let (mut output, mut is_varlena) = (known.map_or(Oid::INVALID, Oid::from), false);
        if known.is_none() {
            pg_sys::getTypeOutputInfo(of_type, &mut output, &mut is_varlena);
        }
        let function = pg_sys::MemoryContextAllocZero(memory, size_of::<FmgrInfo>()).cast::<FmgrInfo>();
        pg_sys::fmgr_info_cxt(output, function, memory);
        Printed { how, function }
    }
}

/// How values of a type that is no domain become text; HTML is looked at before.
fn how_of(of_type: Oid) -> How {
    match of_type {
        pg_sys::TEXTOID | pg_sys::VARCHAROID | pg_sys::BPCHAROID | pg_sys::JSONOID => How::Text,
        pg_sys::UNKNOWNOID => How::Unknown,
        pg_sys::BOOLOID => How::Boolean,
        pg_sys::DATEOID
        | pg_sys::TIMESTAMPOID
        | pg_sys::TIMESTAMPTZOID
        | pg_sys::INTERVALOID
        | pg_sys::BYTEAOID
        | pg_sys::FLOAT4OID
        | pg_sys::FLOAT8OID => How::Fixed,
        _ => How::Output,
    }
}
