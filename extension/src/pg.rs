//! PostgreSQL functions called directly, without pgrx's guard around each, and those that pgrx does not bind.
//!
//! Any of them may raise an error: call them inside [`crate::guard::attempt`], or inside a function that
//! PostgreSQL itself calls and that owns nothing with a destructor.
#![allow(missing_docs, non_snake_case)]

use std::ffi::{c_char, c_int};

use pgrx::pg_sys::*;

unsafe extern "C-unwind" {
    // utils/elog.h
    pub fn CopyErrorData() -> *mut ErrorData;
    pub fn EmitErrorReport();
    pub fn FlushErrorState();
    pub fn FreeErrorData(error: *mut ErrorData);

    // utils/timeout.h, which pgrx does not bind
    pub fn RegisterTimeout(id: c_int, handler: Option<unsafe extern "C" fn()>) -> c_int;
    pub fn enable_timeout_after(id: c_int, milliseconds: c_int);
    pub fn disable_timeout(id: c_int, keep_indicator: bool);
    pub fn get_timeout_indicator(id: c_int, reset: bool) -> bool;

    // Signal handlers and what they call: a guard would not be safe inside a signal.
    pub fn die(signal: c_int);
    pub fn StatementCancelHandler(signal: c_int);
    pub fn SignalHandlerForConfigReload(signal: c_int);
    pub fn procsignal_sigusr1_handler(signal: c_int);
    pub fn SetLatch(latch: *mut Latch);

    // tcop/utility.h
    pub fn standard_ProcessUtility(
        statement: *mut PlannedStmt,
        query: *const c_char,
        read_only: bool,
        context: ProcessUtilityContext::Type,
        parameters: ParamListInfo,
        environment: *mut QueryEnvironment,
        receiver: *mut DestReceiver,
        completion: *mut QueryCompletion,
    );
}
