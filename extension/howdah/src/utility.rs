//! The hook on utility commands.
//!
//! PostgreSQL does not end background workers for a command that needs a database empty: it waits five
//! seconds and fails. So the workers of that database are withdrawn before the command and return when its
//! transaction has ended, however it ended: with the session at the latest.

use std::cell::Cell;
use std::ffi::{CStr, c_char};
use std::time::Duration;

use pg::entry::{callback, unfailing_callback};
use pg::refuse::refuse_with_hint;
use pg::transaction_end::{TransactionEnd, at_transaction_end};
use pg::version;
use pgrx::pg_sys;
use pgrx::prelude::*;
use queue::wake;
use session::{authority, deferred, deploying, invalidations};
use shared::{Shared, attached, now_us};

use crate::functions::configuration;
use crate::private_commands;
use crate::status;

/// How long a command waits for the workers to leave. Then it runs, and fails as PostgreSQL has it.
const PATIENCE: Duration = Duration::from_secs(10);
/// Time between two looks.
const LOOK_MS: i64 = 10;

static mut PREVIOUS: pg_sys::ProcessUtility_hook_type = None;

thread_local! {
    /// Whether this session's command may make or rename a database.
    static CHANGES: Cell<bool> = const { Cell::new(false) };
    /// Whether this session has registered its callbacks.
    static REGISTERED: Cell<bool> = const { Cell::new(false) };
}

/// Installs the hook. Called once, in the postmaster, while the library is loaded.
pub(crate) fn install() {
    // SAFETY: the postmaster has one thread, and hooks are set while libraries are loaded.
    unsafe {
        PREVIOUS = pg_sys::ProcessUtility_hook;
        pg_sys::ProcessUtility_hook = Some(process_utility);
    }
}

callback! {
    /// Without a guard of pgrx, which would strip errors of their position and of the names in them: an error
    /// jumps over this frame, which owns nothing.
    unsafe fn process_utility(
        statement: *mut pg_sys::PlannedStmt,
        query: *const c_char,
        read_only: bool,
        context: pg_sys::ProcessUtilityContext::Type,
        parameters: pg_sys::ParamListInfo,
        environment: *mut pg_sys::QueryEnvironment,
        receiver: *mut pg_sys::DestReceiver,
        completion: *mut pg_sys::QueryCompletion,
    ) {
        // SAFETY: PostgreSQL calls the hook with a whole statement, and the arguments are passed on as they came.
        unsafe {
            if context == pg_sys::ProcessUtilityContext::PROCESS_UTILITY_TOPLEVEL {
                before((*statement).utilityStmt);
            }
            use pg_sys::NodeTag::{T_AlterDatabaseSetStmt, T_AlterRoleSetStmt};
            if matches!((*(*statement).utilityStmt).type_, T_AlterDatabaseSetStmt | T_AlterRoleSetStmt) {
                refuse_own_settings((*statement).utilityStmt);
                note_settings();
            }
            if (*(*statement).utilityStmt).type_ == pg_sys::NodeTag::T_ConstraintsSetStmt {
                authority::refuse_set_constraints();
            }
            deploying::refuse_command((*(*statement).utilityStmt).type_);
            deploying::refuse_other_role((*statement).utilityStmt);
            deploying::refuse_operator((*statement).utilityStmt);
            let updates = updates_extension((*statement).utilityStmt);
            let ends_prepared = ends_prepared((*statement).utilityStmt);
            let next = PREVIOUS.unwrap_or(pg::standard_ProcessUtility);
            let run = || next(statement, query, read_only, context, parameters, environment, receiver, completion);
            if context == pg_sys::ProcessUtilityContext::PROCESS_UTILITY_SUBCOMMAND {
                // A part of the command around it.
                run();
            } else {
                let is_alone = context == pg_sys::ProcessUtilityContext::PROCESS_UTILITY_TOPLEVEL
                    && !pg_sys::IsTransactionBlock();
                ::changes::while_running(private_commands::kind((*statement).utilityStmt, is_alone), run);
            }
            if updates {
                note_update();
            }
            if (*(*statement).utilityStmt).type_ == pg_sys::NodeTag::T_ConstraintsSetStmt {
                deferred::note((*statement).utilityStmt.cast());
            }
            if ends_prepared {
                prepared_ended();
            }
        }
    }
}

/// An error if howdah_web changes what is stored for itself, as a role may: requests of all applications run as that.
///
/// # Safety
/// `statement` is a utility statement, inside a transaction.
unsafe fn refuse_own_settings(statement: *mut pg_sys::Node) {
    // SAFETY: by contract; the tag tells the type.
    unsafe {
        if (*statement).type_ != pg_sys::NodeTag::T_AlterRoleSetStmt {
            return;
        }
        let role = (*statement.cast::<pg_sys::AlterRoleSetStmt>()).role;
        let web = authority::web_role();
        if !role.is_null() && authority::current_user() == web && pg_sys::get_rolespec_oid(role, true) == web
        {
            refuse_with_hint(
                PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
                "howdah_web cannot change its own settings",
                "Requests of everybody run as howdah_web. A superuser changes its settings.",
            );
        }
    }
}

/// # Safety
/// `statement` is a utility statement.
unsafe fn ends_prepared(statement: *mut pg_sys::Node) -> bool {
    use pg_sys::TransactionStmtKind::{TRANS_STMT_COMMIT_PREPARED, TRANS_STMT_ROLLBACK_PREPARED};
    // SAFETY: by contract; the tag tells the type.
    unsafe {
        (*statement).type_ == pg_sys::NodeTag::T_TransactionStmt
            && matches!(
                (*statement.cast::<pg_sys::TransactionStmt>()).kind,
                TRANS_STMT_COMMIT_PREPARED | TRANS_STMT_ROLLBACK_PREPARED
            )
    }
}

/// What is done before a command of the top level.
///
/// # Safety
/// `statement` is a utility statement, inside a transaction.
unsafe fn before(statement: *mut pg_sys::Node) {
    // SAFETY: by contract.
    let Some(need) = (unsafe { Need::of(statement) }) else { return };
    register();
    CHANGES.set(true);
    // PostgreSQL refuses all but a change of name there: what is served shall not suffer from a command that cannot run.
    // SAFETY: PostgreSQL's own variables. Behind another statement of a pipeline it is refused as well.
    let is_in_block = unsafe {
        pg_sys::IsTransactionBlock() || pg_sys::MyXactFlags & pg_sys::XACT_FLAGS_PIPELINING as i32 != 0
    };
    if !need.may_be_in_block && is_in_block {
        return;
    }
    if let Some(shared) = attached()
        && shared.database_of(need.database).is_some()
        && need.is_permitted()
    {
        withdraw(shared, need.database);
    }
}

/// A database that a command needs empty.
struct Need {
    database: pg_sys::Oid,
    /// Whether it is only copied, which the database itself may allow to everybody who may create databases.
    copied: bool,
    /// Whether the command may run in a transaction block.
    may_be_in_block: bool,
}

impl Need {
    /// # Safety
    /// `statement` is a utility statement, inside a transaction.
    unsafe fn of(statement: *mut pg_sys::Node) -> Option<Need> {
        // SAFETY: by contract; the tag tells the type.
        unsafe {
            let (name, copied) = match (*statement).type_ {
                pg_sys::NodeTag::T_DropdbStmt => ((*statement.cast::<pg_sys::DropdbStmt>()).dbname, false),
                pg_sys::NodeTag::T_RenameStmt => {
                    let rename = &*statement.cast::<pg_sys::RenameStmt>();
                    let database = rename.renameType == pg_sys::ObjectType::OBJECT_DATABASE;
                    (if database { rename.subname } else { return None }, false)
                }
                pg_sys::NodeTag::T_AlterDatabaseStmt => {
                    let alter = &*statement.cast::<pg_sys::AlterDatabaseStmt>();
                    option(alter.options, c"tablespace")?;
                    (alter.dbname, false)
                }
                pg_sys::NodeTag::T_CreatedbStmt => {
                    let create = &*statement.cast::<pg_sys::CreatedbStmt>();
                    let template = option(create.options, c"template");
                    (template.unwrap_or(c"template1".as_ptr().cast_mut()), true)
                }
                _ => return None,
            };
            let may_be_in_block = (*statement).type_ == pg_sys::NodeTag::T_RenameStmt;
            let database = pg_sys::get_database_oid(name, true);
            (database != pg_sys::InvalidOid).then_some(Need { database, copied, may_be_in_block })
        }
    }

    /// Whether the user may run the command at all: nobody else shall interrupt what is served. The command itself checks the
    /// rest.
    fn is_permitted(&self) -> bool {
        // SAFETY: look-ups inside a transaction.
        unsafe {
            let user = pg_sys::GetUserId();
            let owner = version::owns_database(self.database, user);
            if self.copied {
                pg_sys::superuser() || (may_create_databases(user) && (owner || is_template(self.database)))
            } else {
                owner && self.database != pg_sys::MyDatabaseId
            }
        }
    }
}

/// The text of an option; none if it is not given, or is DEFAULT.
///
/// # Safety
/// `options` is a list of DefElem.
unsafe fn option(options: *mut pg_sys::List, name: &CStr) -> Option<*mut c_char> {
    // SAFETY: by contract; the list has as many cells as its length says.
    unsafe {
        let count = if options.is_null() { 0 } else { (*options).length };
        (0..count)
            .map(|cell| (*(*options).elements.add(cell as usize)).ptr_value.cast::<pg_sys::DefElem>())
            .find(|option| CStr::from_ptr((**option).defname) == name)
            .filter(|option| !(**option).arg.is_null())
            .map(|option| pg_sys::defGetString(option))
    }
}

unsafe fn may_create_databases(user: pg_sys::Oid) -> bool {
    // SAFETY: a look-up inside a transaction; the tuple is of pg_authid.
    unsafe {
        let cache = pg_sys::SysCacheIdentifier::AUTHOID as i32;
        let tuple = pg_sys::SearchSysCache1(cache, pg_sys::Datum::from(user));
        if tuple.is_null() {
            return false;
        }
        let may = (*pg_sys::GETSTRUCT(tuple).cast::<pg_sys::FormData_pg_authid>()).rolcreatedb;
        pg_sys::ReleaseSysCache(tuple);
        may
    }
}

unsafe fn is_template(database: pg_sys::Oid) -> bool {
    // SAFETY: a look-up inside a transaction; the tuple is of pg_database.
    unsafe {
        let cache = pg_sys::SysCacheIdentifier::DATABASEOID as i32;
        let tuple = pg_sys::SearchSysCache1(cache, pg_sys::Datum::from(database));
        if tuple.is_null() {
            return false;
        }
        let template = (*pg_sys::GETSTRUCT(tuple).cast::<pg_sys::FormData_pg_database>()).datistemplate;
        pg_sys::ReleaseSysCache(tuple);
        template
    }
}

/// The workers read the settings of roles again once this transaction has committed.
unsafe fn note_settings() {
    // SAFETY: inside the transaction of the command.
    unsafe { invalidations::announce_settings() };
}

/// Whether a statement brings the extension to another version.
///
/// # Safety
/// `statement` is a utility statement.
unsafe fn updates_extension(statement: *mut pg_sys::Node) -> bool {
    // SAFETY: by contract; the tag tells the type.
    unsafe {
        (*statement).type_ == pg_sys::NodeTag::T_AlterExtensionStmt
            && CStr::from_ptr((*statement.cast::<pg_sys::AlterExtensionStmt>()).extname) == c"howdah"
    }
}

/// At commit the workers read the configuration again and see the new version, and the supervisor looks
/// whether it can be served now. PostgreSQL itself tells nobody: it keeps no cache of extensions.
unsafe fn note_update() {
    if attached().is_none() {
        return;
    }
    // SAFETY: look-ups inside a transaction.
    unsafe {
        let schema = pg_sys::get_namespace_oid(c"http".as_ptr(), true);
        let routes = pg_sys::get_relname_relid(c"route".as_ptr(), schema);
        if routes != pg_sys::InvalidOid {
            configuration::changed(routes);
        }
    }
    status::announce();
}

fn register() {
    at_transaction_end(at_end);
    if !REGISTERED.get() {
        // SAFETY: a callback for the life of this session, registered once.
        unsafe {
            pg_sys::before_shmem_exit(Some(at_exit), pg_sys::Datum::from(0));
        }
        REGISTERED.set(true);
    }
}

/// Keeps the workers away from a database until this transaction ends, and waits until they are gone.
fn withdraw(shared: &'static Shared, database: pg_sys::Oid) {
    let until = now_us() + PATIENCE.as_micros() as u64;
    // SAFETY: PostgreSQL's own variable.
    let pid = unsafe { pg_sys::MyProcPid };
    while !shared.header.withdrawals.withdraw(database.to_u32(), pid) && now_us() < until {
        rest();
    }
    shared.nudge_supervisor();
    while shared.workers_of(database).next().is_some() && now_us() < until {
        rest();
    }
}

/// Lets a moment pass, or raises the cancel that has come. For sessions.
pub(crate) fn rest() {
    use pg_sys::{WL_EXIT_ON_PM_DEATH, WL_LATCH_SET, WL_TIMEOUT};
    // SAFETY: main thread of a session.
    unsafe {
        let events = (WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH) as i32;
        pg_sys::WaitLatch(pg_sys::MyLatch, events, LOOK_MS, pg_sys::PG_WAIT_EXTENSION);
        pg_sys::ResetLatch(pg_sys::MyLatch);
    }
    pgrx::check_for_interrupts!();
}

/// Lets the workers return.
fn give_back(shared: &Shared) {
    // SAFETY: PostgreSQL's own variable.
    if shared.header.withdrawals.give_back(unsafe { pg_sys::MyProcPid }) {
        shared.nudge_supervisor();
    }
}

/// Also called when the session ends inside its transaction. What is prepared keeps PostgreSQL's lock on the
/// database, on which workers that return wait until it ends: as they do after a restart.
fn at_end(end: TransactionEnd) {
    let Some(shared) = attached() else { return };
    give_back(shared);
    if CHANGES.take() && end == TransactionEnd::Committed {
        shared.announce_change();
    }
}

unfailing_callback! {
    /// Should the end of the session not end its transaction.
    unsafe fn at_exit(_code: std::ffi::c_int, _argument: pg_sys::Datum) {
        if let Some(shared) = attached() {
            give_back(shared);
        }
    }
}

/// A prepared transaction has ended, which another session may have begun: nobody knows what it has done.
fn prepared_ended() {
    let Some(shared) = attached() else { return };
    wake::prepared_ended();
    configuration::committed();
    shared.announce_change();
}
