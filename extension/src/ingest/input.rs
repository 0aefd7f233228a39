//! Values by the types' own input functions, each call in a subtransaction, as version 15 knows no soft errors.

use std::ffi::CString;

use ndjson::Value;
use pgrx::pg_sys::{self, Datum, FmgrInfo, Oid};

use super::arena::Arena;
use super::blame::{Refusal, is_a_lines_fault, raise};
use super::scratch::Scratch;
use crate::pg;
use crate::subtransaction::in_subtransaction;

/// A type's input function.
pub struct Input {
    function: Box<FmgrInfo>,
    parameter: Oid,
    modifier: i32,
    /// Length as the catalog has it, and whether values are passed as they are.
    length: i16,
    by_value: bool,
    is_json: bool,
}

impl Input {
    /// The input function of a type.
    pub fn of(kind: Oid, modifier: i32) -> Input {
        // SAFETY: look-ups inside a transaction. The function's description is kept for as long as the transaction.
        unsafe {
            let (mut name, mut parameter) = (Oid::INVALID, Oid::INVALID);
            pg_sys::getTypeInputInfo(kind, &mut name, &mut parameter);
            let mut function: Box<FmgrInfo> = Box::new(std::mem::zeroed());
            pg_sys::fmgr_info_cxt(name, &mut *function, pg_sys::CurTransactionContext);
            let (mut length, mut by_value) = (0, false);
            pg_sys::get_typlenbyval(kind, &mut length, &mut by_value);
            let is_json = matches!(pg_sys::getBaseType(kind), pg_sys::JSONOID | pg_sys::JSONBOID);
            Input { function, parameter, modifier, length, by_value, is_json }
        }
    }

    /// Whether the type is one of JSON.
    pub fn is_json(&self) -> bool {
        self.is_json
    }

    /// Converts a value that is not null. What is needed meanwhile is in `scratch`. An error that is not the value's fault
    /// is raised.
    pub fn convert(
        &mut self,
        value: Value<'_>,
        arena: &mut Arena,
        scratch: &Scratch,
    ) -> Result<Datum, Refusal> {
        let converted = scratch.with(|| self.call(value));
        converted.map(|datum| self.keep(datum, arena))
    }

    fn call(&mut self, value: Value<'_>) -> Result<Datum, Refusal> {
        let text = c_string(value, self.is_json);
        let pointer = text.as_ptr().cast_mut();
        let (function, parameter, modifier) = (&raw mut *self.function, self.parameter, self.modifier);
        // SAFETY: a string that ends with NUL; nothing with a destructor lives in the closure.
        let converted =
            unsafe { in_subtransaction(|| pg::InputFunctionCall(function, pointer, parameter, modifier)) };
        match converted {
            Ok(datum) => Ok(datum),
            Err(error) if is_a_lines_fault(&error, false) => Err(error.into()),
            Err(error) => raise(error),
        }
    }

    /// A copy in the arena of what is somewhere in PostgreSQL's memory.
    fn keep(&self, datum: Datum, arena: &mut Arena) -> Datum {
        if self.by_value {
            return datum;
        }
        // SAFETY: a value of the type, which is passed by reference.
        let bytes = unsafe {
            let start: *const u8 = datum.cast_mut_ptr();
            let length = match self.length {
                -1 => pgrx::varsize_any(start.cast()),
                -2 => std::ffi::CStr::from_ptr(start.cast()).to_bytes_with_nul().len(),
                length => length as usize,
            };
            std::slice::from_raw_parts(start, length)
        };
        let copy = arena.bytes(bytes.len());
        copy.copy_from_slice(bytes);
        Datum::from(copy.as_mut_ptr())
    }
}

/// What the input function gets: what a string says, everything else as it is written. Types of JSON get strings with
/// their quotes, too.
fn c_string(value: Value<'_>, is_json: bool) -> CString {
    let bytes = match value {
        Value::Text(text) if is_json => text.quoted().as_bytes().to_vec(),
        Value::Text(text) => {
            let mut said = Vec::with_capacity(text.written().len() + 1);
            text.write(&mut said);
            said
        }
        Value::Number(written) | Value::Nested(written) => written.as_bytes().to_vec(),
        Value::Bool(value) => value.to_string().into_bytes(),
        Value::Null => b"null".to_vec(),
    };
    // There is none inside: neither as a byte nor as an escape. But a value must not end the process.
    CString::new(bytes).unwrap_or_default()
}
