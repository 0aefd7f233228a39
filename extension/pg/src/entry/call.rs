//! The call of a function of SQL's.

use std::ffi::CStr;

use pgrx::pg_sys::{self, Datum, FunctionCallInfo, Oid};
use pgrx::prelude::*;

use crate::refuse::refuse;

/// Most bytes of a text that names or configures something: what is made of it may take some times as many, of memory for
/// which no error can be raised.
const LONGEST_TEXT: usize = 1 << 20;

/// A call of one of our functions.
#[derive(Clone, Copy)]
pub struct Call(FunctionCallInfo);

impl Call {
    /// A call that PostgreSQL makes.
    pub fn new(call: FunctionCallInfo) -> Call {
        Call(call)
    }

    /// An argument; none if it is null.
    pub fn argument(self, place: usize) -> Option<Datum> {
        // SAFETY: PostgreSQL passes as many arguments as the function has.
        let argument = unsafe { &*(*self.0).args.as_ptr().add(place) };
        (!argument.isnull).then_some(argument.value)
    }

    /// An argument of a type that pgrx knows; none if it is null.
    pub fn get<T: FromDatum>(self, place: usize) -> Option<T> {
        // SAFETY: the function's declaration has this type at this place.
        self.argument(place).and_then(|datum| unsafe { T::from_datum(datum, false) })
    }

    /// An argument that must not be null.
    pub fn need<T: FromDatum>(self, place: usize, name: &str) -> T {
        match self.get(place) {
            Some(value) => value,
            None => refuse_null(name),
        }
    }

    /// A text that names or configures something; none if it is null. It is not copied, and not long.
    pub fn text<'a>(self, place: usize) -> Option<&'a str> {
        let text: &str = self.get(place)?;
        if text.len() > LONGEST_TEXT {
            let length = text.len();
            refuse(
                PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
                &format!("argument {} has {length} bytes; it may have {LONGEST_TEXT}", place + 1),
            );
        }
        Some(text)
    }

    /// Such a text, which must not be null.
    pub fn need_text<'a>(self, place: usize, name: &str) -> &'a str {
        match self.text(place) {
            Some(text) => text,
            None => refuse_null(name),
        }
    }

    /// The type of an argument as the caller wrote it.
    pub fn type_of(self, place: usize) -> Oid {
        // SAFETY: the call has its function.
        unsafe { pg_sys::get_fn_expr_argtype((*self.0).flinfo, place as i32) }
    }

    /// Returns a value of a type that pgrx knows; none is null.
    pub fn give(self, value: impl IntoDatum) -> Datum {
        match value.into_datum() {
            Some(datum) => datum,
            None => self.null(),
        }
    }

    /// The trigger that the call is; none if it is something else.
    pub fn trigger(self) -> Option<*mut pg_sys::TriggerData> {
        // SAFETY: the call is PostgreSQL's; its context, if it has one, is a node.
        unsafe {
            let context = (*self.0).context;
            let is_trigger = !context.is_null() && (*context).type_ == pg_sys::NodeTag::T_TriggerData;
            is_trigger.then(|| context.cast())
        }
    }

    /// The event of an event trigger; an error if somebody calls its function by hand, which PostgreSQL allows.
    pub fn need_event(&self) -> &CStr {
        // SAFETY: as above; the name of the event lives as long as the call, and ends with NUL.
        unsafe {
            let context = (*self.0).context;
            if !context.is_null() && (*context).type_ == pg_sys::NodeTag::T_EventTriggerData {
                return CStr::from_ptr((*context.cast::<pg_sys::EventTriggerData>()).event);
            }
        }
        refuse(
            PgSqlErrorCode::ERRCODE_E_R_I_E_EVENT_TRIGGER_PROTOCOL_VIOLATED,
            "the function is called by an event trigger, and by nobody else",
        )
    }

    /// How many arguments it has.
    pub fn count(self) -> usize {
        // SAFETY: the call is PostgreSQL's.
        unsafe { (*self.0).nargs as usize }
    }

    /// Returns null.
    pub fn null(self) -> Datum {
        // SAFETY: the call is PostgreSQL's.
        unsafe { (*self.0).isnull = true };
        Datum::null()
    }

    /// Returns what a function that returns `void`, and a statement's trigger, return.
    pub fn nothing(self) -> Datum {
        Datum::null()
    }

    /// The call as PostgreSQL has it.
    pub fn raw(self) -> FunctionCallInfo {
        self.0
    }
}

fn refuse_null(name: &str) -> ! {
    refuse(PgSqlErrorCode::ERRCODE_NULL_VALUE_NOT_ALLOWED, &format!("argument {name} must not be null"))
}
