//! What functions in PL/pgSQL read that no plan tells.
//!
//! Their statements start plans, which tell what they read. An expression without a table starts none: PL/pgSQL computes it from a plan that it
//! keeps. So while a request is recorded, this is PL/pgSQL's plugin, and looks through each function that ends: at the expressions that
//! were computed in this transaction, and at what PL/pgSQL has converted by itself. Who records nothing has no plugin.
//!
//! A debugger or a profiler that is the plugin stays it; then functions in PL/pgSQL are not looked into. A function that fails ends unseen: the
//! error ends the request, or is caught, which is an obstacle by itself.

use std::cell::RefCell;
use std::collections::HashSet;
use std::ffi::c_void;

use pg::entry::callback;
use pg::list::{list_length, nth};
use pg::plpgsql_steps::{Source, Step, Target, each_step};
use pg::text::string;
use pg::transaction_end::{SubtransactionEnd, at_subtransaction_end};
use pgrx::pg_sys::PLpgSQL_datum_type::*;
use pgrx::pg_sys::{self, Oid, PLpgSQL_datum as Datum, PLpgSQL_expr as Expression};

use super::read_conversions::{is_plain, obstacle_between, obstacle_between_columns, types};
use super::read_plans::look_at_expression;
use super::recording::{Obstacle, blame, is_blamed, records};
use super::{plpgsql_plugin, read_literals};

thread_local! {
    /// What was looked at since the record began.
    static SEEN: RefCell<HashSet<*const c_void>> = RefCell::default();
}

/// Begins to look, if nobody else is the plugin.
pub(super) fn begin() {
    at_subtransaction_end(part_ended);
    SEEN.with_borrow_mut(HashSet::clear);
    plpgsql_plugin::begin(function_ended);
}

/// Ends to look. Another plugin, which has come meanwhile, has heard of functions in our place.
pub(super) fn end() {
    if let Some(function) = plpgsql_plugin::end() {
        blame(Obstacle::Closed(function));
    }
}

/// What has failed may be well tomorrow, and what it had read is not known.
fn part_ended(end: SubtransactionEnd) {
    if matches!(end, SubtransactionEnd::RolledBack(_)) && records() {
        blame(Obstacle::Error);
    }
}

callback! {
    /// PL/pgSQL has run a function.
    unsafe fn function_ended(
        _: *mut pg_sys::PLpgSQL_execstate,
        function: *mut pg_sys::PLpgSQL_function,
    ) {
        if records() && !is_blamed() {
            // SAFETY: PL/pgSQL calls at the end of the function, inside a transaction.
            unsafe { each_step(function, &mut |step, _| look_at(step, &*function)) };
        }
    }
}

unsafe fn look_at(step: Step, function: &pg_sys::PLpgSQL_function) {
    // SAFETY: the caller's contract.
    unsafe {
        match step {
            Step::Unknown => blame(Obstacle::Closed(function.fn_oid)),
            Step::Computes(expression) => {
                if let Some(computed) = computed(expression)
                    && is_new(computed.cast())
                {
                    look_at_expression(computed.cast());
                    read_literals::look((*expression).query);
                    let plan = (*expression).expr_simple_plan;
                    if !plan.is_null() && list_length((*plan).stmt_list) == 1 {
                        let statement = nth((*plan).stmt_list, 0).cast::<pg_sys::PlannedStmt>();
                        read_literals::look_at_functions((*statement).invalItems);
                    }
                }
            }
            Step::Puts(source, target) => look_at_put(source, target, function),
        }
    }
}

/// Whether it was not looked at since the record began. What the transaction has computed lives until its end.
fn is_new(node: *const c_void) -> bool {
    SEEN.with_borrow_mut(|seen| seen.insert(node))
}

/// What an expression was computed from in this transaction, without a plan's start.
unsafe fn computed(expression: *const Expression) -> Option<*mut pg_sys::Expr> {
    // SAFETY: the caller's contract. What another transaction has computed may be gone.
    unsafe {
        let is_simple = !(*expression).expr_simple_expr.is_null()
            && (*expression).expr_simple_plan_lxid == pg::version::local_transaction();
        is_simple.then_some((*expression).expr_simple_expr)
    }
}

/// Types of what a source has, in their order.
enum Columns {
    One(Oid),
    Row(pg_sys::TupleDesc),
    Unknown,
}

impl Columns {
    unsafe fn at(&self, place: usize) -> Oid {
        // Texts are what is read in most ways.
        match *self {
            Columns::One(of_type) if place == 0 => of_type,
            // SAFETY: the descriptor lives longer than this.
            Columns::Row(row) => unsafe { types(row).nth(place) }.unwrap_or(pg_sys::TEXTOID),
            _ => pg_sys::TEXTOID,
        }
    }
}

/// None if nothing has come of the source yet.
unsafe fn columns(source: Source, function: &pg_sys::PLpgSQL_function) -> Option<Columns> {
    // SAFETY: the caller's contract.
    unsafe {
        match source {
            Source::Of(expression) => of_expression(expression),
            Source::Element(expression) => of_expression(expression).map(|array| match array {
                Columns::One(array) => Columns::One(pg_sys::get_element_type(pg_sys::getBaseType(array))),
                _ => Columns::Unknown,
            }),
            Source::Variable(variable) => {
                Some(type_of(variable, function).map_or(Columns::Unknown, Columns::One))
            }
            Source::Unknown => Some(Columns::Unknown),
        }
    }
}

unsafe fn of_expression(expression: *const Expression) -> Option<Columns> {
    // SAFETY: the caller's contract; plans that PL/pgSQL keeps.
    unsafe {
        if computed(expression).is_some() {
            return Some(Columns::One((*expression).expr_simple_type));
        }
        if (*expression).plan.is_null() {
            return None;
        }
        let sources = pg_sys::SPI_plan_get_plan_sources((*expression).plan);
        let last = list_length(sources).checked_sub(1)?;
        let row = (*nth(sources, last).cast::<pg_sys::CachedPlanSource>()).resultDesc;
        Some(if row.is_null() { Columns::Unknown } else { Columns::Row(row) })
    }
}

/// The type of a variable that is one value; none if it is whatever is put there.
unsafe fn type_of(variable: *const Datum, function: &pg_sys::PLpgSQL_function) -> Option<Oid> {
    // SAFETY: the caller's contract; the tag tells the type.
    unsafe {
        match (*variable).dtype {
            PLPGSQL_DTYPE_VAR | PLPGSQL_DTYPE_PROMISE => {
                Some((*(*variable.cast::<pg_sys::PLpgSQL_var>()).datatype).typoid)
            }
            PLPGSQL_DTYPE_REC => Some((*variable.cast::<pg_sys::PLpgSQL_rec>()).rectypeid)
                .filter(|of_type| *of_type != pg_sys::RECORDOID),
            PLPGSQL_DTYPE_RECFIELD => {
                let field = &*variable.cast::<pg_sys::PLpgSQL_recfield>();
                let record = *function.datums.add(field.recparentno as usize);
                let is_known = type_of(record, function).is_some() && field.finfo.ftypeid != Oid::INVALID;
                is_known.then_some(field.finfo.ftypeid)
            }
            _ => None,
        }
    }
}

unsafe fn look_at_put(source: Source, target: Target, function: &pg_sys::PLpgSQL_function) {
    // SAFETY: the caller's contract; the tag tells the type.
    unsafe {
        let Some(from) = columns(source, function) else { return };
        if matches!(source, Source::Of(expression) if is_plain_text(expression)) {
            return;
        }
        match target {
            Target::Type(to) => look_between(from.at(0), to),
            Target::Variable(variable) if (*variable).dtype == PLPGSQL_DTYPE_ROW => {
                let row = &*variable.cast::<pg_sys::PLpgSQL_row>();
                for place in 0..row.nfields as usize {
                    let field = *function.datums.add(*row.varnos.add(place) as usize);
                    match type_of(field, function) {
                        Some(to) => look_between(from.at(place), to),
                        None => blame(Obstacle::Closed(function.fn_oid)),
                    }
                }
            }
            Target::Variable(variable) => match (type_of(variable, function), &from) {
                // A record is what is put there.
                (None, _) => {}
                (Some(to), Columns::Row(row)) if pg_sys::type_is_rowtype(to) => look_between_rows(*row, to),
                (Some(to), from) => look_between(from.at(0), to),
            },
        }
    }
}

unsafe fn look_between(from: Oid, to: Oid) {
    // SAFETY: the caller's contract.
    if let Some(obstacle) = unsafe { obstacle_between(from, to) } {
        blame(obstacle);
    }
}

/// A row's columns become those of a named type, or its only one has them.
unsafe fn look_between_rows(from: pg_sys::TupleDesc, to: Oid) {
    // SAFETY: the caller's contract.
    unsafe {
        let only = types(from).next().filter(|_| types(from).nth(1).is_none());
        if let Some(row) = only.filter(|only| pg_sys::type_is_rowtype(*only)) {
            return look_between(row, to);
        }
        if let Some(obstacle) = obstacle_between_columns(from, to) {
            blame(obstacle);
        }
    }
}

/// Whether an expression is a text, written in the function, that is no word for a moment.
unsafe fn is_plain_text(expression: *const Expression) -> bool {
    // SAFETY: the caller's contract; the tag tells the type.
    unsafe {
        let Some(constant) = computed(expression).map(|computed| computed.cast::<pg_sys::Const>()) else {
            return false;
        };
        if (*constant).xpr.type_ != pg_sys::NodeTag::T_Const {
            return false;
        }
        (*constant).constisnull
            || (*constant).consttype == pg_sys::TEXTOID
                && is_plain(&string(pg_sys::text_to_cstring((*constant).constvalue.cast_mut_ptr())))
    }
}
