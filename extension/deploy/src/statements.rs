//! A text of SQL, cut into its statements by PostgreSQL's parser and run one after the other, each in a portal of its own as if a
//! client had sent it: errors have their place in the whole text.

use std::cell::Cell;
use std::ffi::{CStr, CString};

use folder::places_in_text::{begin_of, floor, is_not_ok, offset_of, place_at};
use pg::entry::Returned;
use pg::guard::{PgError, unwind};
use pg::list::{list_length, nth};
use pg::refuse::{refuse, refuse_with_hint};
use pg::{attribute, scratch, version};
use pgrx::pg_sys::{self, Datum, NodeTag, RawStmt};
use pgrx::prelude::*;
use serde_json::{Value, json};

use session::deferred;
use session::subtransaction::attempted;

use super::{comparisons, recorder, steps};

thread_local! {
    /// Where in the text the statement begins that runs, in bytes.
    static STATEMENT: Cell<usize> = const { Cell::new(0) };
}

/// What is done with a text.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    /// It makes things. What is there already is replaced, where PostgreSQL has a word for that.
    Replace,
    /// It makes things as it says.
    Run,
    /// Likewise; what cannot run in a transaction, and stands alone, runs as if it could.
    Migrate,
    /// Each statement must not return false.
    Test,
}

/// Runs a text.
pub(crate) fn run(text: &str, using: Use) {
    run_each(text, using, || ());
}

/// Runs a text, and `after` after each statement: its errors are the statement's.
pub(crate) fn run_each(text: &str, using: Use, after: impl Fn()) {
    let Ok(text) = CString::new(text) else {
        refuse(PgSqlErrorCode::ERRCODE_SYNTAX_ERROR, "the text has a byte 0");
    };
    STATEMENT.set(0);
    // SAFETY: inside a transaction; pgrx guards each call. What is parsed lives in a context of its own, and the text as long.
    unsafe {
        let outer = pg_sys::CurrentMemoryContext;
        let memory = scratch::new_in(outer);
        pg_sys::MemoryContextSwitchTo(memory);
        let statements = pg_sys::pg_parse_query(text.as_ptr());
        // What is made of one statement goes before the next.
        let each = scratch::new_in(memory);
        for place in 0..list_length(statements) {
            pg_sys::MemoryContextReset(each);
            pg_sys::MemoryContextSwitchTo(each);
            let statement = nth(statements, place).cast::<RawStmt>();
            let begin = begin_of(text.to_bytes(), (*statement).stmt_location);
            STATEMENT.set(begin);
            recorder::answers();
            refuse_unfit((*statement).stmt);
            if makes_own_schema((*statement).stmt) {
                continue;
            }
            if using == Use::Migrate
                && list_length(statements) == 1
                && !steps::let_run_inside((*statement).stmt)
            {
                continue;
            }
            if using == Use::Replace {
                let_replace((*statement).stmt);
            }
            run_fully(statement, &text, using, begin);
            pg_sys::CommandCounterIncrement();
            after();
            deferred::keep_up();
        }
        pg_sys::MemoryContextSwitchTo(outer);
        pg_sys::MemoryContextDelete(memory);
    }
}

/// Whether a text may leave out what is there already: it has IF NOT EXISTS, or calls something that may look.
pub(crate) fn may_leave_out(text: &str) -> bool {
    let Ok(text) = CString::new(text) else { return false };
    // SAFETY: inside a transaction, through pgrx's guard; the tag of each statement tells its type, and what is parsed has copies of the text.
    unsafe {
        let statements = steps::parse(&text);
        let is_conditional = |place| {
            let statement = (*nth(statements, place).cast::<RawStmt>()).stmt;
            match (*statement).type_ {
                NodeTag::T_DoStmt | NodeTag::T_SelectStmt | NodeTag::T_CallStmt => true,
                NodeTag::T_CreateStmt => (*statement.cast::<pg_sys::CreateStmt>()).if_not_exists,
                NodeTag::T_IndexStmt => (*statement.cast::<pg_sys::IndexStmt>()).if_not_exists,
                NodeTag::T_CreateTableAsStmt => {
                    (*statement.cast::<pg_sys::CreateTableAsStmt>()).if_not_exists
                }
                NodeTag::T_CreateSeqStmt => (*statement.cast::<pg_sys::CreateSeqStmt>()).if_not_exists,
                NodeTag::T_CreateStatsStmt => (*statement.cast::<pg_sys::CreateStatsStmt>()).if_not_exists,
                NodeTag::T_DefineStmt => (*statement.cast::<pg_sys::DefineStmt>()).if_not_exists,
                _ => false,
            }
        };
        (0..list_length(statements)).any(is_conditional)
    }
}

/// Whether two texts have the same statements, whatever their comments and blanks.
pub(crate) fn are_same(one: &str, other: &str) -> bool {
    let parse = |text: &str| {
        let text = CString::new(text).unwrap_or_default();
        // SAFETY: inside a transaction, through pgrx's guard; what is parsed has copies of the text.
        unsafe { steps::parse(&text) }
    };
    let (one, other) = (parse(one), parse(other));
    // SAFETY: two lists of the parser's statements. Where in the text something stands is not compared, but for the length of a statement.
    unsafe {
        let statement = |list, place| (*nth(list, place).cast::<RawStmt>()).stmt.cast();
        let count = list_length(one);
        count == list_length(other)
            && (0..count).all(|place| pg_sys::equal(statement(one, place), statement(other, place)))
    }
}

/// An error for what no file may do: end the transaction, become somebody else, read from the client.
unsafe fn refuse_unfit(statement: *mut pg_sys::Node) {
    let refuse = |what: &str, instead: &str| {
        refuse_with_hint(PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED, what, instead);
    };
    // SAFETY: a statement of the parser; the tag tells the type.
    unsafe {
        match (*statement).type_ {
            NodeTag::T_TransactionStmt => refuse(
                "a file cannot begin or end a transaction, or set a savepoint",
                "All files of a deployment run in one transaction. Take the statement out.",
            ),
            NodeTag::T_VariableSetStmt => {
                let name = (*statement.cast::<pg_sys::VariableSetStmt>()).name;
                let is_role =
                    !name.is_null() && [c"role", c"session_authorization"].contains(&CStr::from_ptr(name));
                if is_role {
                    refuse(
                        "a file cannot become another role",
                        "Files run as the application's owner, to whom what they make belongs. Take the statement out.",
                    );
                }
            }
            NodeTag::T_CopyStmt => {
                let copy = &*statement.cast::<pg_sys::CopyStmt>();
                if copy.filename.is_null() && !copy.is_program {
                    refuse("a file cannot copy from or to the client", "Write the rows as INSERT.");
                }
            }
            NodeTag::T_ListenStmt
            | NodeTag::T_UnlistenStmt
            | NodeTag::T_PrepareStmt
            | NodeTag::T_DeallocateStmt
            | NodeTag::T_DiscardStmt => refuse(
                "a file cannot change the session",
                "LISTEN, PREPARE, DEALLOCATE and DISCARD are of the session that deploys. Take the statement out.",
            ),
            _ => {}
        }
    }
}

/// Whether a statement makes nothing but a schema that is there and the current user's: a dump of an application begins with that.
unsafe fn makes_own_schema(statement: *mut pg_sys::Node) -> bool {
    // SAFETY: a statement of the parser; the tag tells the type. A look-up inside a transaction.
    unsafe {
        if (*statement).type_ != NodeTag::T_CreateSchemaStmt {
            return false;
        }
        let create = &*statement.cast::<pg_sys::CreateSchemaStmt>();
        if create.schemaname.is_null() || !create.authrole.is_null() || list_length(create.schemaElts) > 0 {
            return false;
        }
        let schema = pg_sys::get_namespace_oid(create.schemaname, true);
        schema != pg_sys::InvalidOid && version::owns_schema(schema, pg_sys::GetUserId())
    }
}

/// Has a statement replace what is there, as if it said OR REPLACE.
unsafe fn let_replace(statement: *mut pg_sys::Node) {
    // SAFETY: a statement of the parser; the tag tells the type.
    unsafe {
        match (*statement).type_ {
            NodeTag::T_CreateFunctionStmt => (*statement.cast::<pg_sys::CreateFunctionStmt>()).replace = true,
            NodeTag::T_ViewStmt => (*statement.cast::<pg_sys::ViewStmt>()).replace = true,
            NodeTag::T_RuleStmt => (*statement.cast::<pg_sys::RuleStmt>()).replace = true,
            NodeTag::T_CreateTrigStmt => {
                let trigger = &mut *statement.cast::<pg_sys::CreateTrigStmt>();
                trigger.replace = !trigger.isconstraint;
            }
            NodeTag::T_DefineStmt => {
                let define = &mut *statement.cast::<pg_sys::DefineStmt>();
                define.replace = define.kind == pg_sys::ObjectType::OBJECT_AGGREGATE;
            }
            _ => {}
        }
    }
}

/// Where in the text the statement begins that has run last, in bytes.
pub(crate) fn begin() -> usize {
    STATEMENT.get()
}

/// Errors without a place are told there.
pub(crate) fn set_begin(place: usize) {
    STATEMENT.set(place);
}

/// What is wrong with what a test's statement has returned.
struct Wrong {
    error: PgError,
    /// The row and the column that are not true, counted from 0.
    place: Option<(usize, usize)>,
    columns: usize,
}

/// Runs one statement. Of a test's comparison that is not true it notes the sides.
unsafe fn run_fully(statement: *mut RawStmt, text: &CStr, using: Use, begin: usize) {
    // SAFETY: a statement of the parser, inside a transaction. What is analyzed is changed by that, so there is a copy.
    unsafe {
        if using != Use::Test || !comparisons::has_some(statement) {
            run_statement(statement, text, using, begin).unwrap_or_else(|wrong| unwind(wrong.error));
            return;
        }
        let again: *mut RawStmt = pg_sys::copyObjectImpl(statement.cast()).cast();
        let place = Cell::new(None);
        let ran = attempted(|| {
            if let Err(wrong) = run_statement(statement, text, using, begin) {
                place.set(wrong.place.map(|place| (place, wrong.columns)));
                unwind(wrong.error);
            }
        });
        let Err(error) = ran else { return };
        if let Some(((row, column), columns)) = place.get() {
            // What cannot be told is not.
            let _ = attempted(|| note_sides(again, text, row, column, columns));
        }
        unwind(error)
    }
}

unsafe fn note_sides(statement: *mut RawStmt, text: &CStr, row: usize, column: usize, columns: usize) {
    // SAFETY: a statement of the parser, inside a transaction; its result has the columns that were made.
    unsafe {
        let Some(sides) = comparisons::with_sides(statement, column, columns) else { return };
        let portal = begin_portal(statement, text);
        let rows = Returned::apart((*portal).tupDesc);
        version::run_portal(portal, rows.receiver());
        let mut place = 0;
        rows.show_columns(|columns: &[Datum]| {
            place += 1;
            if place > row { sides.note(columns) } else { std::ops::ControlFlow::Continue(()) }
        });
        pg_sys::PortalDrop(portal, false);
    }
}

/// Runs one statement in a portal.
unsafe fn run_statement(statement: *mut RawStmt, text: &CStr, using: Use, begin: usize) -> Result<(), Wrong> {
    // SAFETY: a statement of the parser, inside a transaction.
    unsafe {
        let may_be_empty = is_call(statement);
        let portal = begin_portal(statement, text);
        let description = (*portal).tupDesc;
        let mut result = Ok(());
        if using == Use::Test && !description.is_null() {
            let rows = Returned::apart(description);
            version::run_portal(portal, rows.receiver());
            result = judge(rows, description, may_be_empty, statement_text(statement, text, begin));
        } else {
            version::run_portal(portal, pg_sys::CreateDestReceiver(pg_sys::CommandDest::DestNone));
        }
        pg_sys::PortalDrop(portal, false);
        result
    }
}

/// Whether a statement only calls something, which may return no row, as `todo()` of pgTAP does.
unsafe fn is_call(statement: *mut RawStmt) -> bool {
    // SAFETY: a statement of the parser; the tag tells the type.
    unsafe {
        let query = (*statement).stmt;
        (*query).type_ == NodeTag::T_SelectStmt && {
            let query = &*query.cast::<pg_sys::SelectStmt>();
            let is_alone = query.fromClause.is_null()
                && query.whereClause.is_null()
                && query.valuesLists.is_null()
                && query.havingClause.is_null()
                && query.limitCount.is_null()
                && query.op == pg_sys::SetOperation::SETOP_NONE
                && list_length(query.targetList) == 1;
            is_alone && {
                let target = nth(query.targetList, 0).cast::<pg_sys::ResTarget>();
                (*(*target).val).type_ == NodeTag::T_FuncCall
            }
        }
    }
}

/// A portal in which a statement is about to run.
unsafe fn begin_portal(statement: *mut RawStmt, text: &CStr) -> pg_sys::Portal {
    // SAFETY: a statement of the parser, inside a transaction.
    unsafe {
        let source = text.as_ptr();
        let tag = pg_sys::CreateCommandTag((*statement).stmt);
        pg_sys::PushActiveSnapshot(pg_sys::GetTransactionSnapshot());
        let none = std::ptr::null_mut();
        let queries =
            pg_sys::pg_analyze_and_rewrite_fixedparams(statement, source, std::ptr::null(), 0, none);
        let plans = pg_sys::pg_plan_queries(
            queries,
            source,
            pg_sys::CURSOR_OPT_PARALLEL_OK as i32,
            std::ptr::null_mut(),
        );
        pg_sys::PopActiveSnapshot();
        let portal = pg_sys::CreateNewPortal();
        (*portal).visible = false;
        pg_sys::PortalDefineQuery(portal, std::ptr::null(), source, tag, plans, std::ptr::null_mut());
        pg_sys::PortalStart(portal, std::ptr::null_mut(), 0, std::ptr::null_mut());
        portal
    }
}

unsafe fn statement_text(statement: *mut RawStmt, text: &CStr, begin: usize) -> String {
    let bytes = text.to_bytes();
    // SAFETY: a statement of the parser.
    let (location, length) = unsafe { ((*statement).stmt_location, (*statement).stmt_len) };
    let end = match (usize::try_from(location).unwrap_or(0), usize::try_from(length).unwrap_or(0)) {
        (_, 0) => bytes.len(),
        (location, length) => (location + length).min(bytes.len()),
    };
    String::from_utf8_lossy(bytes.get(begin..end).unwrap_or_default()).trim().to_owned()
}

/// An error if a column of truth values has a row without true, or no row, or a line of pgTAP's says that something is not so.
unsafe fn judge(
    rows: Returned,
    description: pg_sys::TupleDesc,
    may_be_empty: bool,
    statement: String,
) -> Result<(), Wrong> {
    // SAFETY: the description of the rows.
    let types: Vec<pg_sys::Oid> = unsafe {
        (0..(*description).natts as usize)
            .map(|place| pg_sys::getBaseType(attribute(description, place).atttypid))
            .collect()
    };
    let truths: Vec<usize> = (0..types.len()).filter(|place| types[*place] == pg_sys::BOOLOID).collect();
    let (mut failed, mut count, mut not_ok) = (None, 0, None);
    // SAFETY: the rows are apart; a column that is null has the value 0.
    unsafe {
        rows.show_columns(|values: &[Datum]| {
            if types == [pg_sys::TEXTOID] {
                not_ok = String::from_datum(values[0], values[0].value() == 0).filter(|line| is_not_ok(line));
            }
            failed =
                truths.iter().find(|place| values[**place].value() as u8 == 0).map(|place| (count, *place));
            count += 1;
            match failed.is_some() || not_ok.is_some() {
                true => std::ops::ControlFlow::Break(()),
                false => std::ops::ControlFlow::Continue(()),
            }
        });
    }
    let message = match not_ok {
        Some(line) => line,
        None if failed.is_some() => "this is not true".to_owned(),
        None if count == 0 && !truths.is_empty() && !may_be_empty => "this has no row".to_owned(),
        None => return Ok(()),
    };
    let answers = recorder::answers();
    let error = PgError {
        sqlstate: *b"P0004",
        message,
        detail: (!answers.is_empty()).then(|| answers.join("\n")),
        hint: Some(statement),
        ..PgError::default()
    };
    Err(Wrong { error, place: failed, columns: types.len() })
}

/// An error of a text as JSON, with its line.
pub(crate) fn describe(error: &PgError, text: &str) -> Value {
    let more = error.more.as_deref();
    let position = more.map_or(0, |more| more.position);
    let internal = more.and_then(|more| more.internal.as_ref());
    let offset = match (usize::try_from(position).ok().filter(|position| *position > 0), internal) {
        (Some(position), _) => offset_of(text, position),
        // What PostgreSQL has read out of the text stands in it as it is.
        (None, Some((position, query))) => match text[floor(text, STATEMENT.get())..].find(query.as_str()) {
            Some(found) if !query.is_empty() => {
                let begin = floor(text, STATEMENT.get()) + found;
                begin + offset_of(query, usize::try_from(*position).unwrap_or(1))
            }
            _ => STATEMENT.get(),
        },
        (None, None) => STATEMENT.get(),
    };
    let (line, column) = place_at(text, offset);
    json!({
        "sqlstate": error.sqlstate(),
        "message": error.message,
        "detail": error.detail,
        "hint": error.hint,
        "context": more.and_then(|more| more.context.as_deref()),
        "line": line,
        "column": column,
    })
}
