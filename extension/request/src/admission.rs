//! Whose code may run in a gateway.
//!
//! A gateway that ends drops everybody, and code in C that looks for no interrupts can be ended in no other way. So what runs
//! there is PostgreSQL's own code and ours, SQL, PL/pgSQL, and the extensions that `howdah.inline_extensions` names. What a
//! PL/pgSQL function or a view will call is not known before it runs. So nothing is searched beforehand: each way to code asks
//! here while a request is planned or runs in a gateway, before it is gone.
//!
//! | way | asked by |
//! | --- | --- |
//! | a function, operator or aggregate of an expression | `object_access_hook`, before its library is loaded |
//! | any other function: of a type, an index, a sort order, an access method, a foreign server | `needs_fmgr_hook` |
//! | the same, if it is SECURITY DEFINER or has settings | `fmgr_hook` |
//! | a node of a plan that an extension brings | `planner_hook` |
//! | a call that costs the product of two lengths | `planner_hook` |
//! | a block of PL/pgSQL that catches errors, and so a cancel | the start of a subtransaction |
//!
//! Who is refused gets an error that sends the request to an executor, and its route stays there until its function changes.
//! Nothing can catch it: a catch needs a subtransaction.

use std::cell::{Cell, RefCell};
use std::ffi::{c_char, c_int, c_void};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use pg::catalog::{SQL_LANGUAGE, is_users};
use pg::entry::callback;
use pg::guard::{PgError, raise};
use pg::list::{list_length, nth};
use pg::text::string;
use pgrx::pg_sys::{self, Datum, Oid};
use session::{compiled, invalidations, subtransaction};
use shared::settings;

use super::effects::formats_freely;
use super::product_calls::{ProductCall, is_suspect, product_call};
use super::standing;

thread_local! {
    /// Whether something is planned or runs for a request in this gateway.
    static ACTIVE: Cell<bool> = const { Cell::new(false) };
    /// Whether what is planned next is the request's own statement, whose arguments are what the request has brought.
    static IS_OWN: Cell<bool> = const { Cell::new(false) };
    /// Whether something was refused since [`take_refusal`].
    static REFUSED: Cell<bool> = const { Cell::new(false) };
    /// Names of the extensions that may run here, ours among them.
    static EXTENSIONS: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
    /// The hooks that were there before.
    static PREVIOUS: Cell<Hooks> = const { Cell::new(Hooks::NONE) };
}

#[derive(Clone, Copy)]
struct Hooks {
    access: pg_sys::object_access_hook_type,
    needs: pg_sys::needs_fmgr_hook_type,
    call: pg_sys::fmgr_hook_type,
    planner: pg_sys::planner_hook_type,
}

impl Hooks {
    const NONE: Hooks = Hooks { access: None, needs: None, call: None, planner: None };
}

/// Functions that have been admitted, with the epoch of the catalogs in which they were: a look-up costs more than a request.
static ADMITTED: [AtomicU64; 256] = [const { AtomicU64::new(0) }; 256];

/// PostgreSQL's own functions that may compute for long whatever the length of their arguments, and look for no interrupts:
/// repeat, lpad, rpad, array_fill; polygon of a circle; of numeric power, sqrt, exp, ln and log; normalize; xpath, xmlexists,
/// xpath_exists. Of format see [`formats_freely`].
const LONG: [u32; 24] = [
    873, 874, 879, 880, 1193, 1286, 1475, 1622, 1730, 1731, 1732, 1733, 1734, 1735, 1736, 1737, 1738, 1739,
    2169, 2614, 2931, 3049, 4350, 4351,
];

/// Asks from now on. Called once in each gateway.
pub fn watch() {
    let mut extensions = settings::list(&settings::INLINE_EXTENSIONS);
    extensions.push("howdah".into());
    EXTENSIONS.set(extensions);
    // SAFETY: on the main thread; hooks are plain variables, and the callback lives as long as the process.
    unsafe {
        PREVIOUS.set(Hooks {
            access: pg_sys::object_access_hook,
            needs: pg_sys::needs_fmgr_hook,
            call: pg_sys::fmgr_hook,
            planner: pg_sys::planner_hook,
        });
        pg_sys::object_access_hook = Some(accessed);
        pg_sys::needs_fmgr_hook = Some(needed);
        pg_sys::fmgr_hook = Some(called);
        pg_sys::planner_hook = Some(planned);
        pg_sys::RegisterSubXactCallback(Some(subtransaction), std::ptr::null_mut());
    }
}

/// Whether somebody else has a hook into calls of functions.
pub(crate) fn others_watch_calls() -> bool {
    // SAFETY: plain variables of PostgreSQL's.
    let (access, needs) = unsafe { (pg_sys::object_access_hook, pg_sys::needs_fmgr_hook) };
    let previous = PREVIOUS.get();
    let others_access = {
        let mut hook = access;
        loop {
            if let Some(next) = compiled::after_ours(hook) {
                hook = next;
            } else if hook.is_some_and(|hook| hook as usize == accessed as *const () as usize) {
                hook = previous.access;
            } else {
                break hook.is_some();
            }
        }
    };
    let others_calls = match needs.map(|hook| hook as usize) {
        Some(hook) if hook == needed as *const () as usize => previous.needs.is_some(),
        other => other.is_some(),
    };
    others_access || others_calls
}

/// Runs a piece of work for a request in this gateway. The work catches its errors.
pub fn asked_for<T>(work: impl FnOnce() -> T) -> T {
    ACTIVE.set(true);
    let result = work();
    ACTIVE.set(false);
    result
}

/// Whether something was refused since this was asked last.
pub fn take_refusal() -> bool {
    REFUSED.take()
}

/// Says that the request's own statement is planned next, and that it has been.
pub(crate) fn plans_own(does: bool) {
    IS_OWN.set(does);
}

/// Refuses to plan what has turned out to be unfit for a gateway already.
pub(crate) fn refuse_unfit(unfit: u64, fingerprint: u64) {
    if ACTIVE.get() && unfit == fingerprint {
        refuse("the route does not run in a gateway until its function changes".into());
    }
}

/// Raises the error that sends the request to an executor.
fn refuse(message: String) -> ! {
    REFUSED.set(true);
    let hint = Some("An executor runs it, now and until its function changes.".into());
    raise(PgError { sqlstate: *b"25006", message, hint, ..PgError::default() })
}

callback! {
    unsafe fn accessed(
        access: pg_sys::ObjectAccessType::Type,
        class: Oid,
        object: Oid,
        part: c_int,
        argument: *mut c_void,
    ) {
        // SAFETY: PostgreSQL calls the hook inside a transaction.
        unsafe {
            if access == pg_sys::ObjectAccessType::OAT_FUNCTION_EXECUTE {
                require(object);
            }
            if let Some(next) = PREVIOUS.get().access {
                next(access, class, object, part, argument);
            }
        }
    }
}

callback! {
    unsafe fn needed(function: Oid) -> bool {
        // SAFETY: as above.
        unsafe {
            require(function);
            PREVIOUS.get().needs.is_some_and(|next| next(function))
        }
    }
}

callback! {
    unsafe fn called(
        event: pg_sys::FmgrHookEventType::Type,
        function: *mut pg_sys::FmgrInfo,
        argument: *mut Datum,
    ) {
        // SAFETY: as above; the function has been looked up.
        unsafe {
            if event == pg_sys::FmgrHookEventType::FHET_START {
                require((*function).fn_oid);
            }
            if let Some(next) = PREVIOUS.get().call {
                next(event, function, argument);
            }
        }
    }
}

callback! {
    unsafe fn planned(
        query: *mut pg_sys::Query,
        text: *const c_char,
        options: c_int,
        parameters: pg_sys::ParamListInfo,
    ) -> *mut pg_sys::PlannedStmt {
        // SAFETY: PostgreSQL calls the hook with a whole query.
        unsafe {
            let is_own = IS_OWN.take();
            let may_multiply = ACTIVE.get() && is_suspect(query);
            if ACTIVE.get() && formats_freely(query.cast()) {
                refuse_format();
            }
            // Before it is planned: planning computes what it can.
            if may_multiply {
                refuse_products(query.cast(), is_own);
            }
            let statement = match PREVIOUS.get().planner {
                Some(next) => next(query, text, options, parameters),
                None => pg::standard_planner(query, text, options, parameters),
            };
            // With the bodies of functions that have taken the place of their calls.
            if may_multiply {
                refuse_products(statement.cast(), is_own);
            }
            if ACTIVE.get() {
                let subplans = (*statement).subplans;
                refuse_nodes((*statement).planTree);
                (0..list_length(subplans)).for_each(|place| refuse_nodes(nth(subplans, place).cast()));
                // An abort waits for the other processes, whatever they run.
                if (*statement).parallelModeNeeded {
                    refuse("a plan for several processes does not run in a gateway".into());
                }
                if (*statement).jitFlags != 0 {
                    refuse("a plan that is to be compiled does not run in a gateway".into());
                }
            }
            statement
        }
    }
}

/// An error if a plan has a node that an extension brings, as it may reach another server, or calls `format` with any width. A
/// function that has been replaced by its body is found here alone.
unsafe fn refuse_nodes(plan: *const pg_sys::Plan) {
    use pg_sys::NodeTag::*;
    // SAFETY: a plan, or null; the tag tells the type.
    unsafe {
        if plan.is_null() {
            return;
        }
        let of_list = |list| {
            (0..list_length(list)).for_each(|place| refuse_nodes(nth(list, place).cast::<pg_sys::Plan>()))
        };
        match (*plan).type_ {
            T_CustomScan | T_ForeignScan => {
                refuse("a plan with a node that an extension has made does not run in a gateway".into())
            }
            T_Append => of_list((*plan.cast::<pg_sys::Append>()).appendplans),
            T_MergeAppend => of_list((*plan.cast::<pg_sys::MergeAppend>()).mergeplans),
            T_SubqueryScan => refuse_nodes((*plan.cast::<pg_sys::SubqueryScan>()).subplan),
            _ => {}
        }
        if formats_freely((*plan).targetlist.cast()) || formats_freely((*plan).qual.cast()) {
            refuse_format();
        }
        refuse_nodes((*plan).lefttree);
        refuse_nodes((*plan).righttree);
    }
}

/// An error if a query or plan calls a function that may cost the product of two lengths, and looks for no interrupts.
unsafe fn refuse_products(tree: *const c_void, is_own: bool) {
    // SAFETY: by the caller; a look-up inside a transaction.
    unsafe {
        match product_call(tree, is_own) {
            ProductCall::None => {}
            ProductCall::Of(function) => {
                let name = name_of(function);
                refuse(format!(
                    "the function {name} of two values that may be long does not run in a gateway"
                ))
            }
            ProductCall::Unknown => refuse("a query of so many parts does not run in a gateway".into()),
        }
    }
}

fn refuse_format() -> ! {
    refuse("the function format does not run in a gateway unless its text is known, and has no width that is not".into())
}

callback! {
    /// A function of PL/pgSQL that catches errors would catch the cancel, and go on.
    unsafe fn subtransaction(
        event: pg_sys::SubXactEvent::Type,
        _: pg_sys::SubTransactionId,
        _: pg_sys::SubTransactionId,
        _: *mut c_void,
    ) {
        if event == pg_sys::SubXactEvent::SUBXACT_EVENT_START_SUB && !subtransaction::take_own() && ACTIVE.get() {
            // From 17 on PostgreSQL ends the process for an error that is raised here, as it leaves the subtransaction
            // halfway. Whoever catches this one leaves all transactions.
            // SAFETY: PostgreSQL's own variable; a gateway has it off.
            unsafe { pg_sys::ExitOnAnyError = false };
            refuse("a block that catches errors does not run in a gateway".into());
        }
    }
}

/// An error if a function must not run here.
unsafe fn require(function: Oid) {
    if !ACTIVE.get() {
        return;
    }
    if !is_users(function) {
        if LONG.binary_search(&function.to_u32()).is_ok() {
            // SAFETY: a look-up inside a transaction.
            let name = unsafe { name_of(function) };
            refuse(format!("the function {name}, which may compute for long, does not run in a gateway"));
        }
        return;
    }
    let key = invalidations::epoch() << 32 | u64::from(function.to_u32());
    let known = &ADMITTED[function.to_u32() as usize % ADMITTED.len()];
    if known.load(Relaxed) != key {
        // SAFETY: look-ups inside a transaction.
        unsafe { admit(function) };
        known.store(key, Relaxed);
    }
}

/// Looks a function up. An error if it must not run here.
unsafe fn admit(function: Oid) {
    /// pg_language, which pgrx does not name.
    const LANGUAGES: u32 = 2612;
    const INTERNAL: u32 = 12;
    const C: u32 = 13;
    // SAFETY: look-ups inside a transaction; nothing is owned when one raises.
    unsafe {
        let tuple = pg_sys::SearchSysCache1(standing::PROCOID, Datum::from(function));
        if tuple.is_null() {
            return;
        }
        let row = pg_sys::GETSTRUCT(tuple).cast::<pg_sys::FormData_pg_proc>();
        let (language, result) = ((*row).prolang, (*row).prorettype);
        pg_sys::ReleaseSysCache(tuple);
        if result == pg_sys::FDW_HANDLEROID {
            refuse("what a foreign server has does not run in a gateway".into());
        }
        let extension = match language.to_u32() {
            INTERNAL | SQL_LANGUAGE => return,
            C => pg_sys::getExtensionOfObject(pg_sys::ProcedureRelationId, function),
            _ => {
                let name = pg_sys::get_language_name(language, true);
                if !name.is_null() && std::ffi::CStr::from_ptr(name) == c"plpgsql" {
                    return;
                }
                pg_sys::getExtensionOfObject(Oid::from(LANGUAGES), language)
            }
        };
        let name = match extension {
            Oid::INVALID => std::ptr::null_mut(),
            extension => pg_sys::get_extension_name(extension),
        };
        if !is_named(name) {
            let function = name_of(function);
            let owner =
                if name.is_null() { "no extension".into() } else { format!("extension {}", string(name)) };
            refuse(format!("the function {function} of {owner} does not run in a gateway"));
        }
    }
}

/// Whether a setting names an extension. Null is none.
unsafe fn is_named(extension: *const c_char) -> bool {
    // SAFETY: null, or a name.
    let name = unsafe { string(extension) };
    !name.is_empty() && EXTENSIONS.with_borrow(|extensions| extensions.contains(&name))
}

unsafe fn name_of(function: Oid) -> String {
    // SAFETY: a look-up inside a transaction; null if it has gone.
    unsafe { string(pg_sys::get_func_name(function)) }
}
