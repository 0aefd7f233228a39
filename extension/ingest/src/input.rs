//! Values by the types' own input functions, each call in a subtransaction, as version 15 knows no soft errors.

use std::ffi::{CString, c_char};
use std::ptr::null_mut;

use ndjson::Value;
use pg::guard::PgError;
use pgrx::pg_sys::{self, Datum, FmgrInfo, Oid};
use problem::Meaning;
use session::subtransaction::in_subtransaction;

use super::arena::Arena;
use super::blame::{Refusal, lacks_a_right, raise};
use super::scratch::Scratch;

/// A type's input function.
pub struct Input {
    function: Box<FmgrInfo>,
    parameter: Oid,
    modifier: i32,
    /// Length as the catalog has it, and whether values are passed as they are.
    length: i16,
    by_value: bool,
    is_json: bool,
    /// The type that a domain is of, and its modifier.
    base: Option<(Oid, i32)>,
    /// Once it has been asked, why a domain does not take null, if it does not.
    null: Option<Option<Refusal>>,
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
            let mut base_modifier = modifier;
            let base = pg_sys::getBaseTypeAndTypmod(kind, &mut base_modifier);
            let is_json = matches!(base, pg_sys::JSONOID | pg_sys::JSONBOID);
            let base = (base != kind).then_some((base, base_modifier));
            Input { function, parameter, modifier, length, by_value, is_json, base, null: None }
        }
    }

    /// Whether the type is one of JSON.
    pub(crate) fn is_json(&self) -> bool {
        self.is_json
    }

    /// Converts a value that is not null. What is needed meanwhile is in `scratch`. An error that is not the value's fault
    /// is raised.
    pub(crate) fn convert(
        &mut self,
        value: Value<'_>,
        arena: &mut Arena,
        scratch: &Scratch,
    ) -> Result<Datum, Refusal> {
        match scratch.with(|| self.call(value)) {
            Ok(datum) => Ok(self.keep(datum, arena)),
            Err(error) if self.is_the_values_fault(&error, value, scratch) => Err(error.into()),
            Err(error) => raise(error),
        }
    }

    /// Whether the type is a domain.
    pub(crate) fn is_domain(&self) -> bool {
        self.base.is_some()
    }

    /// Whether null is a value of the type: a domain may refuse it, which is asked once for a bucket.
    pub(crate) fn take_null(&mut self, scratch: &Scratch) -> Result<(), Refusal> {
        if self.base.is_none() {
            return Ok(());
        }
        if self.null.is_none() {
            self.null = match scratch.with(|| self.call_with(null_mut())) {
                Ok(_) => Some(None),
                Err(error) if Meaning::of(&error.sqlstate).is_servers() || lacks_a_right(&error) => {
                    raise(error)
                }
                Err(error) => Some(Some(error.into())),
            };
        }
        match &self.null {
            Some(Some(refusal)) => Err(refusal.clone()),
            _ => Ok(()),
        }
    }

    fn call(&mut self, value: Value<'_>) -> Result<Datum, PgError> {
        let text = c_string(value, self.is_json);
        self.call_with(text.as_ptr().cast_mut())
    }

    /// Calls the function with a string, or for null.
    fn call_with(&mut self, pointer: *mut c_char) -> Result<Datum, PgError> {
        let (function, parameter, modifier) = (&raw mut *self.function, self.parameter, self.modifier);
        // SAFETY: a string that ends with NUL, or none; nothing with a destructor lives in the closure.
        unsafe { in_subtransaction(|| pg::InputFunctionCall(function, pointer, parameter, modifier)) }
    }

    /// Whatever an input function raises is, whichever its class: no other line need wait for it. But a domain's check may
    /// lack a right, and would refuse every value.
    fn is_the_values_fault(&self, error: &PgError, value: Value<'_>, scratch: &Scratch) -> bool {
        if Meaning::of(&error.sqlstate).is_servers() {
            return false;
        }
        let lacking = self.base.filter(|_| lacks_a_right(error));
        lacking.is_none_or(|(kind, modifier)| scratch.with(|| Input::of(kind, modifier).call(value)).is_err())
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
