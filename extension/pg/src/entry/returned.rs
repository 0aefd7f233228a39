//! Sets of rows that a function returns.

use std::ops::ControlFlow;

use pgrx::pg_sys::{self, Datum, HeapTuple, HeapTupleData, TupleDesc, Tuplestorestate};
use pgrx::prelude::*;

use super::Call;
use crate::refuse::refuse;

/// The rows of a call that returns a set.
pub struct Returned {
    store: *mut Tuplestorestate,
    descriptor: TupleDesc,
}

impl Returned {
    /// Rows of this description.
    ///
    /// # Safety
    /// The description is of rows of the function's result.
    pub unsafe fn rows(call: Call, descriptor: TupleDesc) -> Returned {
        // SAFETY: PostgreSQL calls a function that returns a set with a place for the set.
        unsafe {
            let result = (*call.raw()).resultinfo.cast::<pg_sys::ReturnSetInfo>();
            let allowed = !result.is_null()
                && (*result).allowedModes as u32 & pg_sys::SetFunctionReturnMode::SFRM_Materialize != 0;
            if !allowed {
                refuse(
                    PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
                    "rows of a queue can be returned only where a set can: call the function in FROM",
                );
            }
            let context = (*(*result).econtext).ecxt_per_query_memory;
            let before = pg_sys::MemoryContextSwitchTo(context);
            let descriptor = pg_sys::CreateTupleDescCopy(descriptor);
            let random =
                (*result).allowedModes as u32 & pg_sys::SetFunctionReturnMode::SFRM_Materialize_Random;
            let store = pg_sys::tuplestore_begin_heap(random != 0, false, pg_sys::work_mem);
            (*result).returnMode = pg_sys::SetFunctionReturnMode::SFRM_Materialize;
            (*result).setResult = store;
            (*result).setDesc = descriptor;
            pg_sys::MemoryContextSwitchTo(before);
            (*call.raw()).isnull = true;
            Returned { store, descriptor }
        }
    }

    /// Whether the statement that has made the call expects rows of this description.
    ///
    /// # Safety
    /// The description lives.
    pub unsafe fn are_expected(call: Call, descriptor: TupleDesc) -> bool {
        // SAFETY: by contract; PostgreSQL's description lives as long as the call.
        unsafe {
            let result = (*call.raw()).resultinfo.cast::<pg_sys::ReturnSetInfo>();
            if result.is_null() || (*result).expectedDesc.is_null() {
                return true;
            }
            let expected = (*result).expectedDesc;
            let type_of = |descriptor, place| crate::attribute(descriptor, place).atttypid;
            let is_alike = |place| type_of(expected, place) == type_of(descriptor, place);
            (*expected).natts == (*descriptor).natts && (0..(*descriptor).natts as usize).all(is_alike)
        }
    }

    /// Rows as the function is declared to return them.
    pub fn declared(call: Call) -> Returned {
        let mut descriptor: TupleDesc = std::ptr::null_mut();
        // SAFETY: the call is PostgreSQL's.
        unsafe {
            let class = pg_sys::get_call_result_type(call.raw(), std::ptr::null_mut(), &raw mut descriptor);
            if class != pg_sys::TypeFuncClass::TYPEFUNC_COMPOSITE {
                refuse(
                    PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
                    "rows of a queue can be returned only where their columns are known",
                );
            }
            Returned::rows(call, descriptor)
        }
    }

    /// Rows of one bigint.
    pub fn numbers(call: Call) -> Returned {
        // SAFETY: a description in the current memory context, which is copied.
        unsafe {
            let descriptor = pg_sys::CreateTemplateTupleDesc(1);
            pg_sys::TupleDescInitEntry(descriptor, 1, c"msg_id".as_ptr(), pg_sys::INT8OID, -1, 0);
            Returned::rows(call, descriptor)
        }
    }

    /// Rows that nobody else sees, of this description, which lives as long as they. They go with the subtransaction.
    pub fn apart(descriptor: TupleDesc) -> Returned {
        // SAFETY: inside a transaction.
        let store = unsafe { pg_sys::tuplestore_begin_heap(false, false, pg_sys::work_mem) };
        Returned { store, descriptor }
    }

    /// What takes rows from PostgreSQL's executor and adds them.
    pub fn receiver(&self) -> *mut pg_sys::DestReceiver {
        // SAFETY: inside a transaction; the rows are kept in the context that is current.
        unsafe {
            let receiver = pg_sys::CreateDestReceiver(pg_sys::CommandDest::DestTuplestore);
            let context = pg_sys::CurrentMemoryContext;
            let none = std::ptr::null_mut();
            crate::SetTuplestoreDestReceiverParams(
                receiver,
                self.store,
                context,
                false,
                none,
                std::ptr::null(),
            );
            receiver
        }
    }

    /// Shows the rows one by one, by their columns and whole, until it is enough, and frees all.
    ///
    /// # Safety
    /// They are [`apart`](Returned::apart).
    pub unsafe fn show(self, mut row: impl FnMut(&[Datum], Datum) -> ControlFlow<()>) {
        // SAFETY: by contract.
        unsafe { self.show_slots(|columns, slot| row(columns, pg_sys::ExecFetchSlotHeapTupleDatum(slot))) }
    }

    /// Likewise, by their columns alone: nothing is kept of a row.
    ///
    /// # Safety
    /// They are [`apart`](Returned::apart).
    pub unsafe fn show_columns(self, mut row: impl FnMut(&[Datum]) -> ControlFlow<()>) {
        // SAFETY: by contract.
        unsafe { self.show_slots(|columns, _| row(columns)) }
    }

    unsafe fn show_slots(
        self,
        mut row: impl FnMut(&[Datum], *mut pg_sys::TupleTableSlot) -> ControlFlow<()>,
    ) {
        // SAFETY: by contract. What a slot has is there until it gets the next row.
        unsafe {
            let slot = pg_sys::MakeSingleTupleTableSlot(self.descriptor, &pg_sys::TTSOpsMinimalTuple);
            while pg_sys::tuplestore_gettupleslot(self.store, true, false, slot) {
                let width = (*self.descriptor).natts;
                pg_sys::slot_getsomeattrs_int(slot, width);
                let columns = std::slice::from_raw_parts((*slot).tts_values, width as usize);
                if row(columns, slot).is_break() {
                    break;
                }
            }
            pg_sys::ExecDropSingleTupleTableSlot(slot);
            pg_sys::tuplestore_end(self.store);
        }
    }

    /// Adds a row.
    ///
    /// # Safety
    /// The row is of the description.
    pub unsafe fn add(&self, row: &HeapTupleData) {
        // SAFETY: by contract; the row is copied.
        unsafe { pg_sys::tuplestore_puttuple(self.store, std::ptr::from_ref(row).cast_mut() as HeapTuple) };
    }

    /// Adds a row of these values.
    ///
    /// # Safety
    /// The values are of the description's columns.
    pub unsafe fn add_values(&self, values: &mut [Option<Datum>]) {
        let mut data: Vec<Datum> = values.iter().map(|value| value.unwrap_or(Datum::null())).collect();
        let mut nulls: Vec<bool> = values.iter().map(Option::is_none).collect();
        // SAFETY: by contract; the values are copied.
        unsafe {
            pg_sys::tuplestore_putvalues(self.store, self.descriptor, data.as_mut_ptr(), nulls.as_mut_ptr());
        }
    }

    /// Returns all of these rows, whose columns are those of the function's declaration.
    pub fn all<const COLUMNS: usize>(
        call: Call,
        rows: impl IntoIterator<Item = [Option<Datum>; COLUMNS]>,
    ) -> Datum {
        let returned = Returned::declared(call);
        for mut row in rows {
            // SAFETY: the declaration has these columns.
            unsafe { returned.add_values(&mut row) };
        }
        returned.done()
    }

    /// What the function returns besides: nothing.
    pub fn done(self) -> Datum {
        Datum::null()
    }
}

/// A row for [`Returned::all`], of values that pgrx has a type for.
#[macro_export]
macro_rules! columns {
    ($($value:expr),* $(,)?) => {
        [$(pgrx::IntoDatum::into_datum($value)),*]
    };
}
pub use columns;
