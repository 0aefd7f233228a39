//! PostgreSQL functions called directly, without pgrx's guard around each, and those that pgrx does not bind.
//!
//! Any of them may raise an error: call them inside [`crate::guard::attempt`], or inside a function that
//! PostgreSQL itself calls and that owns nothing with a destructor.
#![allow(missing_docs, non_snake_case)]

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

use pgrx::pg_sys::*;

unsafe extern "C-unwind" {
    // utils/elog.h
    pub fn CopyErrorData() -> *mut ErrorData;
    pub fn EmitErrorReport();
    pub fn FlushErrorState();
    pub fn FreeErrorData(error: *mut ErrorData);

    pub fn geterrcode() -> c_int;
    pub fn errstart(level: c_int, domain: *const c_char) -> bool;
    pub fn errcode(code: c_int) -> c_int;
    pub fn errmsg_internal(format: *const c_char, ...) -> c_int;
    pub fn errdetail_internal(format: *const c_char, ...) -> c_int;
    pub fn errhint(format: *const c_char, ...) -> c_int;
    pub fn errcontext_msg(format: *const c_char, ...) -> c_int;
    pub fn err_generic_string(field: c_int, text: *const c_char) -> c_int;
    pub fn errposition(position: c_int) -> c_int;
    pub fn internalerrposition(position: c_int) -> c_int;
    pub fn internalerrquery(query: *const c_char) -> c_int;
    pub fn errfinish(file: *const c_char, line: c_int, function: *const c_char);

    // access/xact.h
    pub fn StartTransactionCommand();
    pub fn CommitTransactionCommand();
    pub fn AbortOutOfAnyTransaction();
    pub fn GetCurrentTransactionNestLevel() -> c_int;
    pub fn BeginInternalSubTransaction(name: *const c_char);
    pub fn ReleaseCurrentSubTransaction();
    pub fn RollbackAndReleaseCurrentSubTransaction();
    pub fn SetCurrentStatementStartTimestamp();
    pub fn IsTransactionState() -> bool;
    pub fn GetTopTransactionIdIfAny() -> TransactionId;

    // access/xlog.h, access/xlogrecovery.h
    pub fn RecoveryInProgress() -> bool;
    pub fn GetCurrentReplayRecPtr(timeline: *mut TimeLineID) -> XLogRecPtr;
    pub fn GetXLogReplayRecPtr(timeline: *mut TimeLineID) -> XLogRecPtr;

    // utils/snapmgr.h
    pub fn GetTransactionSnapshot() -> Snapshot;
    pub fn GetActiveSnapshot() -> Snapshot;
    pub fn PushActiveSnapshot(snapshot: Snapshot);
    pub fn PopActiveSnapshot();

    // utils/hsearch.h
    pub fn hash_seq_init(scan: *mut HASH_SEQ_STATUS, table: *mut HTAB);
    pub fn hash_seq_search(scan: *mut HASH_SEQ_STATUS) -> *mut c_void;
    pub fn hash_update_hash_key(table: *mut HTAB, entry: *mut c_void, key: *const c_void) -> bool;

    // utils/relcache.h
    pub fn RelationCacheInvalidateEntry(relation: Oid);

    // utils/plancache.h
    pub fn GetCachedPlan(
        source: *mut CachedPlanSource,
        params: ParamListInfo,
        owner: ResourceOwner,
        environment: *mut QueryEnvironment,
    ) -> *mut CachedPlan;
    pub fn ReleaseCachedPlan(plan: *mut CachedPlan, owner: ResourceOwner);
    pub fn ResetPlanCache();

    // optimizer/planner.h
    pub fn standard_planner(
        query: *mut Query,
        text: *const c_char,
        options: c_int,
        params: ParamListInfo,
    ) -> *mut PlannedStmt;

    // executor/executor.h, tcop/pquery.h
    pub fn CreateQueryDesc(
        statement: *mut PlannedStmt,
        text: *const c_char,
        snapshot: Snapshot,
        crosscheck: Snapshot,
        receiver: *mut DestReceiver,
        params: ParamListInfo,
        environment: *mut QueryEnvironment,
        instrument: c_int,
    ) -> *mut QueryDesc;
    pub fn FreeQueryDesc(description: *mut QueryDesc);
    pub fn standard_ExecutorStart(description: *mut QueryDesc, flags: c_int);
    pub fn ExecutorStart(description: *mut QueryDesc, flags: c_int);
    #[cfg(not(feature = "pg18"))]
    pub fn ExecutorRun(description: *mut QueryDesc, direction: c_int, count: u64, once: bool);
    #[cfg(feature = "pg18")]
    pub fn ExecutorRun(description: *mut QueryDesc, direction: c_int, count: u64);
    pub fn ExecutorFinish(description: *mut QueryDesc);
    pub fn ExecutorEnd(description: *mut QueryDesc);
    pub fn ExecutorRewind(description: *mut QueryDesc);
    pub fn ExecReScan(node: *mut PlanState);
    pub fn bms_make_singleton(member: c_int) -> *mut Bitmapset;
    pub fn slot_getsomeattrs_int(slot: *mut TupleTableSlot, count: c_int);

    // commands/copy.h
    pub fn BeginCopyFrom(
        state: *mut ParseState,
        relation: Relation,
        condition: *mut Node,
        file: *const c_char,
        is_program: bool,
        source: copy_data_source_cb,
        columns: *mut List,
        options: *mut List,
    ) -> CopyFromState;
    pub fn CopyFrom(state: CopyFromState) -> u64;
    pub fn EndCopyFrom(state: CopyFromState);

    // executor/spi.h
    pub fn SPI_connect() -> c_int;
    pub fn SPI_register_relation(relation: EphemeralNamedRelation) -> c_int;
    pub fn SPI_execute(statement: *const c_char, read_only: bool, count: std::ffi::c_long) -> c_int;
    pub fn SPI_finish() -> c_int;

    // utils/fmgr.h, utils/json.h
    pub fn OutputFunctionCall(function: *mut FmgrInfo, value: Datum) -> *mut c_char;
    pub fn FunctionCall1Coll(function: *mut FmgrInfo, collation: Oid, argument: Datum) -> Datum;
    pub fn JsonEncodeDateTime(
        buffer: *mut c_char,
        value: Datum,
        type_oid: Oid,
        zone: *const c_int,
    ) -> *mut c_char;
    pub fn SendFunctionCall(function: *mut FmgrInfo, value: Datum) -> *mut varlena;

    // nodes/params.h
    pub fn makeParamList(count: c_int) -> ParamListInfo;

    // libpq/be-fsstubs.h
    pub fn AtEOXact_LargeObject(commit: bool);

    // executor/tstoreReceiver.h
    pub fn SetTuplestoreDestReceiverParams(
        receiver: *mut DestReceiver,
        store: *mut Tuplestorestate,
        context: MemoryContext,
        detoast: bool,
        target: TupleDesc,
        failure: *const c_char,
    );

    // catalog/pg_inherits.h
    pub fn find_all_inheritors(relation: Oid, lock: c_int, parents: *mut *mut List) -> *mut List;

    // commands/trigger.h
    pub fn AfterTriggerFireDeferred();
    pub fn AfterTriggerSetState(statement: *mut ConstraintsSetStmt);

    // miscadmin.h, utils/guc.h
    pub fn GetUserId() -> Oid;
    pub fn GetUserIdAndSecContext(user: *mut Oid, context: *mut c_int);
    pub fn SetUserIdAndSecContext(user: Oid, context: c_int);
    pub fn NewGUCNestLevel() -> c_int;
    pub fn AtEOXact_GUC(commit: bool, level: c_int);
    pub fn SetConfigOption(name: *const c_char, value: *const c_char, context: c_int, source: c_int);
    pub fn ProcessInterrupts();

    // storage/ipc.h; libpq/pqsignal.h, whose value nobody needs
    pub fn proc_exit(code: c_int) -> !;
    #[cfg_attr(feature = "pg18", link_name = "pqsignal_be")]
    pub fn pqsignal(signal: c_int, handler: pqsigfunc);

    // storage/lwlock.h, storage/bufmgr.h: what an abort gives back
    pub fn LWLockReleaseAll();
    pub fn UnlockBuffers();

    // miscadmin.h, fmgr.h: the libraries that are loaded
    pub fn EstimateLibraryStateSpace() -> usize;
    pub fn SerializeLibraryState(size: usize, names: *mut c_char);

    // What can outlive a transaction
    pub fn LockReleaseAll(method: u16, all: bool);
    pub fn DropAllPreparedStatements();
    pub fn PortalHashTableDeleteAll();
    pub fn ResetTempTableNamespace();
    pub fn Async_UnlistenAll();
    pub fn ResetSequenceCaches();
    pub fn ReplicationSlotRelease();
    #[cfg(any(feature = "pg15", feature = "pg16"))]
    fn ReplicationSlotCleanup();
    #[cfg(not(any(feature = "pg15", feature = "pg16")))]
    fn ReplicationSlotCleanup(synchronized_only: bool);
    pub fn replorigin_session_reset();
    pub fn get_backup_status() -> c_uint;
    pub fn do_pg_abort_backup(code: c_int, argument: Datum);

    // utils/palloc.h and values
    pub fn palloc(size: usize) -> *mut c_void;
    pub fn palloc0(size: usize) -> *mut c_void;
    pub fn repalloc(memory: *mut c_void, size: usize) -> *mut c_void;
    pub fn MemoryContextReset(context: MemoryContext);
    pub fn pg_detoast_datum(value: *mut varlena) -> *mut varlena;
    pub fn toast_raw_datum_size(value: Datum) -> usize;
    pub fn pg_detoast_datum_packed(value: *mut varlena) -> *mut varlena;
    pub fn makeStringInfo() -> StringInfo;
    pub fn appendBinaryStringInfo(text: StringInfo, bytes: *const c_void, length: c_int);
    pub fn textcat(call: FunctionCallInfo) -> Datum;
    pub fn string_agg_transfn(call: FunctionCallInfo) -> Datum;
    pub fn AggCheckCallContext(call: FunctionCallInfo, memory: *mut MemoryContext) -> c_int;
    pub fn cstring_to_text_with_len(text: *const c_char, length: c_int) -> *mut varlena;
    pub fn InputFunctionCall(function: *mut FmgrInfo, text: *mut c_char, ioparam: Oid, typmod: i32) -> Datum;
    pub fn heap_form_tuple(descriptor: TupleDesc, values: *mut Datum, nulls: *mut bool) -> HeapTuple;
    pub fn heap_deform_tuple(tuple: HeapTuple, descriptor: TupleDesc, values: *mut Datum, nulls: *mut bool);
    pub fn HeapTupleHeaderGetDatum(tuple: HeapTupleHeader) -> Datum;
    pub fn construct_md_array(
        elements: *mut Datum,
        nulls: *mut bool,
        dimensions: c_int,
        sizes: *mut c_int,
        lower_bounds: *mut c_int,
        element_type: Oid,
        length: c_int,
        by_value: bool,
        align: c_char,
    ) -> *mut ArrayType;
    pub fn deconstruct_array(
        array: *mut ArrayType,
        element_type: Oid,
        length: c_int,
        by_value: bool,
        align: c_char,
        elements: *mut *mut Datum,
        nulls: *mut *mut bool,
        count: *mut c_int,
    );
    pub fn DirectFunctionCall1Coll(
        function: Option<unsafe extern "C-unwind" fn(FunctionCallInfo) -> Datum>,
        collation: Oid,
        argument: Datum,
    ) -> Datum;
    pub fn JsonbToCString(
        out: *mut StringInfoData,
        container: *mut JsonbContainer,
        estimate: c_int,
    ) -> *mut c_char;
    pub fn multirange_get_range(
        range_type: *mut TypeCacheEntry,
        ranges: *const c_void,
        place: c_int,
    ) -> *mut RangeType;
    pub fn setseed(call: FunctionCallInfo) -> Datum;
    pub fn inet_in(call: FunctionCallInfo) -> Datum;
    pub fn jsonb_in(call: FunctionCallInfo) -> Datum;

    // storage/bufmgr.h, access/heapam.h, access/heaptoast.h
    pub fn ReadBufferExtended(
        relation: Relation,
        fork: ForkNumber::Type,
        block: BlockNumber,
        mode: ReadBufferMode::Type,
        strategy: BufferAccessStrategy,
    ) -> Buffer;
    pub fn LockBuffer(buffer: Buffer, mode: c_int);
    pub fn HeapTupleSatisfiesVisibility(tuple: HeapTuple, snapshot: Snapshot, buffer: Buffer) -> bool;
    pub fn toast_flatten_tuple(tuple: HeapTuple, descriptor: TupleDesc) -> HeapTuple;

    // executor/functions.h
    pub fn prepare_sql_fn_parse_info(procedure: HeapTuple, call: *mut Node, collation: Oid) -> *mut c_void;
    pub fn sql_fn_parser_setup(state: *mut ParseState, info: *mut c_void);

    // utils/inval.h, utils/activity
    pub fn AcceptInvalidationMessages();
    pub fn CallSyscacheCallbacks(cache: c_int, hash: u32);
    pub fn pgstat_report_activity(state: c_int, text: *const c_char);

    // utils/timeout.h, which pgrx does not bind
    pub fn RegisterTimeout(id: c_int, handler: Option<unsafe extern "C-unwind" fn()>) -> c_int;
    pub fn enable_timeout_after(id: c_int, milliseconds: c_int);
    pub fn disable_timeout(id: c_int, keep_indicator: bool);
    pub fn get_timeout_indicator(id: c_int, reset: bool) -> bool;

    // Signal handlers and what they call: a guard would not be safe inside a signal.
    pub fn die(signal: c_int);
    pub fn StatementCancelHandler(signal: c_int);
    pub fn SignalHandlerForCrashExit(postgres_signal_arg: c_int);
    pub fn SignalHandlerForConfigReload(signal: c_int);
    pub fn SignalHandlerForShutdownRequest(signal: c_int);
    pub static mut ShutdownRequestPending: c_int;

    // access/twophase.h
    pub static max_prepared_xacts: c_int;
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

/// `TimeoutId` of utils/timeout.h: the time limit for locks.
pub const LOCK_TIMEOUT: c_int = 2;
/// The same: the statement's time limit.
pub const STATEMENT_TIMEOUT: c_int = 3;
/// The first timeout that modules may register.
#[cfg(not(any(feature = "pg17", feature = "pg18")))]
pub const USER_TIMEOUT: c_int = 12;
/// The first timeout that modules may register.
#[cfg(any(feature = "pg17", feature = "pg18"))]
pub const USER_TIMEOUT: c_int = 13;

/// An attribute of a row's descriptor.
///
/// # Safety
/// The descriptor lives and has the attribute.
pub unsafe fn attribute<'a>(descriptor: TupleDesc, place: usize) -> &'a FormData_pg_attribute {
    // SAFETY: by contract.
    unsafe {
        #[cfg(not(feature = "pg18"))]
        return &*(*descriptor).attrs.as_ptr().add(place);
        #[cfg(feature = "pg18")]
        return &*TupleDescAttr(descriptor, place as i32);
    }
}

/// Ends here by an error if that is asked for: `CHECK_FOR_INTERRUPTS`.
///
/// # Safety
/// Inside a guard.
#[inline]
pub unsafe fn check_for_interrupts() {
    // SAFETY: by contract; PostgreSQL's own variable.
    unsafe {
        if pgrx::pg_sys::InterruptPending != 0 {
            ProcessInterrupts();
        }
    }
}

/// Drops the temporary replication slots of this process.
///
/// # Safety
/// Inside a guard, while no slot is in use.
pub unsafe fn drop_temporary_slots() {
    // SAFETY: by contract.
    unsafe {
        #[cfg(any(feature = "pg15", feature = "pg16"))]
        ReplicationSlotCleanup();
        #[cfg(not(any(feature = "pg15", feature = "pg16")))]
        ReplicationSlotCleanup(false);
    }
}

/// `setseed()` of SQL's.
///
/// # Safety
/// Inside a guard.
pub unsafe fn setseed_directly(seed: f64) {
    // SAFETY: by contract; a float8 is passed by value.
    unsafe { DirectFunctionCall1Coll(Some(setseed), Oid::INVALID, Datum::from(seed.to_bits())) };
}

/// A memory context that lives until it is deleted, for what a cached object owns.
pub fn new_memory(name: &'static CStr) -> MemoryContext {
    // SAFETY: on the main thread; PostgreSQL's own variable.
    unsafe { new_memory_in(TopMemoryContext, name) }
}

/// Memory that goes with another.
///
/// # Safety
/// On the main thread; a memory context.
pub unsafe fn new_memory_in(parent: MemoryContext, name: &'static CStr) -> MemoryContext {
    // SAFETY: by contract; PostgreSQL keeps the name's address.
    unsafe {
        AllocSetContextCreateInternal(
            parent,
            name.as_ptr(),
            ALLOCSET_SMALL_MINSIZE as usize,
            ALLOCSET_SMALL_INITSIZE as usize,
            ALLOCSET_SMALL_MAXSIZE as usize,
        )
    }
}
