//! What SQL calls. All functions run as their caller: rights are checked against who calls, then native code reads and
//! writes the tables, which nobody else may.
//!
//! - [`definitions`]: create, drop, rights.
//! - [`typed`]: put, take, peek, read of typed rows.
//! - [`messages`]: send, read, pop and so on of messages.
//! - [`settled`]: ack, nack, and what counts and tidies.
//! - [`dead`]: dead letters.
//! - [`producers`]: producers that will not come back.
//! - [`doors`]: what the HTTP door needs beside SQL.
//! - [`listeners`]: listeners for lines.
//! - [`events`]: event triggers.

pub mod dead;
pub mod definitions;
pub mod doors;
pub mod events;
pub mod listeners;
pub mod messages;
pub mod producers;
pub mod returned;
pub mod settled;
pub mod typed;

/// Defines a function that PostgreSQL calls by its version-1 convention, for values that pgrx has no type for. The
/// body gets the call; a panic becomes PostgreSQL's error.
macro_rules! called {
    ($(#[$doc:meta])* $name:ident, $record:ident, $body:expr) => {
        $(#[$doc])*
        ///
        /// # Safety
        /// Called by PostgreSQL alone.
        #[unsafe(no_mangle)]
        #[pgrx::pg_guard]
        pub unsafe extern "C-unwind" fn $name(call: pgrx::pg_sys::FunctionCallInfo) -> pgrx::pg_sys::Datum {
            let body: fn(crate::queue::functions::Call) -> pgrx::pg_sys::Datum = $body;
            body(crate::queue::functions::Call::new(call))
        }

        /// Tells PostgreSQL which convention the function of this name follows.
        #[unsafe(no_mangle)]
        pub extern "C" fn $record() -> *const pgrx::pg_sys::Pg_finfo_record {
            static RECORD: pgrx::pg_sys::Pg_finfo_record = pgrx::pg_sys::Pg_finfo_record { api_version: 1 };
            &RECORD
        }
    };
}
pub(crate) use called;

use pgrx::pg_sys::{self, Datum, FunctionCallInfo, Oid};
use pgrx::prelude::*;

use super::refuse::refuse;

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
            None => refuse(
                PgSqlErrorCode::ERRCODE_NULL_VALUE_NOT_ALLOWED,
                &format!("argument {name} must not be null"),
            ),
        }
    }

    /// The type of an argument as the caller wrote it.
    pub fn type_of(self, place: usize) -> Oid {
        // SAFETY: the call has its function.
        unsafe { pg_sys::get_fn_expr_argtype((*self.0).flinfo, place as i32) }
    }

    /// Returns null.
    pub fn null(self) -> Datum {
        // SAFETY: the call is PostgreSQL's.
        unsafe { (*self.0).isnull = true };
        Datum::null()
    }

    /// The call as PostgreSQL has it.
    pub fn raw(self) -> FunctionCallInfo {
        self.0
    }
}
