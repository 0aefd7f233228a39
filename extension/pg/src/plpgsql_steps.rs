//! What a function in PL/pgSQL computes and converts, statement by statement.
//!
//! Its structs are those of `plpgsql.h`, which PostgreSQL installs for libraries that follow PL/pgSQL. Each kind of statement says which expressions
//! are its own, and where PL/pgSQL itself puts a value into a variable: there it converts, and no expression names the conversion. (An assignment
//! names its conversion since version 14.)

use std::ffi::c_void;

use crate::list::{list_length, nth};
use pgrx::pg_sys::PLpgSQL_datum_type::*;
use pgrx::pg_sys::{self, List, Oid};
use pgrx::pg_sys::{PLpgSQL_datum as Datum, PLpgSQL_expr as Expression, PLpgSQL_function as Function};

/// Where a value comes from.
#[derive(Clone, Copy)]
pub enum Source {
    /// The result of an expression, or the columns of a query.
    Of(*const Expression),
    /// An element of the array that an expression gives.
    Element(*const Expression),
    /// A variable.
    Variable(*const Datum),
    /// It is not known before it runs.
    Unknown,
}

/// Where it goes.
#[derive(Clone, Copy)]
pub enum Target {
    /// A variable, or several.
    Variable(*const Datum),
    /// A type.
    Type(Oid),
}

/// A step of a function.
#[derive(Clone, Copy)]
pub enum Step {
    /// It computes an expression, or runs a query.
    Computes(*const Expression),
    /// It puts a value somewhere, and converts it if need be.
    Puts(Source, Target),
    /// What it does is not known.
    Unknown,
}

/// Calls a function with each step of all statements, whichever of them have run, and the line of the body at which its statement begins. Null
/// expressions are left out.
///
/// # Safety
/// A function that PL/pgSQL has compiled, and that is there meanwhile.
pub unsafe fn each_step(function: *const Function, tell: &mut dyn FnMut(Step, usize)) {
    // SAFETY: by contract.
    unsafe { Walk { function, line: 1, tell }.block((*function).action) };
}

struct Walk<'t> {
    function: *const Function,
    line: usize,
    tell: &'t mut dyn FnMut(Step, usize),
}

/// A statement as one of its kind.
macro_rules! of {
    ($statement:ident: $kind:ident) => {
        &*$statement.cast::<pg_sys::$kind>()
    };
}

// SAFETY of all: what PL/pgSQL has compiled, whose tags tell the types.
impl Walk<'_> {
    unsafe fn statements(&mut self, list: *const List) {
        // SAFETY: as above.
        unsafe { (0..list_length(list)).for_each(|place| self.statement(nth(list, place).cast_const())) };
    }

    fn computes(&mut self, expression: *const Expression) {
        if !expression.is_null() {
            (self.tell)(Step::Computes(expression), self.line);
        }
    }

    fn puts(&mut self, source: Source, target: Target) {
        (self.tell)(Step::Puts(source, target), self.line);
    }

    /// It computes an expression and makes a value of a type of it.
    fn converts(&mut self, expression: *const Expression, to: Oid) {
        if !expression.is_null() {
            self.computes(expression);
            self.puts(Source::Of(expression), Target::Type(to));
        }
    }

    fn asks(&mut self, condition: *const Expression) {
        self.converts(condition, pg_sys::BOOLOID);
    }

    unsafe fn variable(&self, number: i32) -> *const Datum {
        // SAFETY: as above; the function's own number.
        unsafe { *(*self.function).datums.add(number as usize) }
    }

    /// A list of expressions.
    unsafe fn all(&mut self, list: *const List) {
        // SAFETY: as above.
        unsafe { (0..list_length(list)).for_each(|place| self.computes(nth(list, place).cast())) };
    }

    unsafe fn block(&mut self, block: *const pg_sys::PLpgSQL_stmt_block) {
        // SAFETY: as above.
        unsafe {
            for place in 0..(*block).n_initvars as usize {
                self.initial(self.variable(*(*block).initvarnos.add(place)));
            }
            self.statements((*block).body);
            let exceptions = (*block).exceptions;
            if !exceptions.is_null() {
                let list = (*exceptions).exc_list;
                for place in 0..list_length(list) {
                    self.statements((*nth(list, place).cast::<pg_sys::PLpgSQL_exception>()).action);
                }
            }
        }
    }

    /// What a variable has at first. A domain is asked whether it takes null.
    unsafe fn initial(&mut self, variable: *const Datum) {
        // SAFETY: as above; a block begins with variables and records.
        unsafe {
            let declared = &*variable.cast::<pg_sys::PLpgSQL_variable>();
            let first = declared.default_val;
            self.line = declared.lineno.max(1) as usize;
            let source = if first.is_null() { Source::Unknown } else { Source::Of(first) };
            let is_domain = is_domain(variable);
            self.computes(first);
            if !first.is_null() || is_domain {
                self.puts(source, Target::Variable(variable));
            }
        }
    }

    /// A loop over the rows of a source.
    unsafe fn rows(&mut self, source: Source, statement: *const pg_sys::PLpgSQL_stmt_forq) {
        // SAFETY: as above; all loops over rows begin as this one does.
        unsafe {
            self.puts(source, Target::Variable((*statement).var.cast()));
            self.statements((*statement).body);
        }
    }

    /// The query of a cursor, after its arguments.
    unsafe fn cursor(&mut self, number: i32, arguments: *const Expression) -> Source {
        // SAFETY: as above; a cursor is a variable.
        unsafe {
            let cursor = &*self.variable(number).cast::<pg_sys::PLpgSQL_var>();
            if !arguments.is_null() {
                self.computes(arguments);
                let row = self.variable(cursor.cursor_explicit_argrow);
                self.puts(Source::Of(arguments), Target::Variable(row));
            }
            if cursor.cursor_explicit_expr.is_null() {
                return Source::Unknown;
            }
            self.computes(cursor.cursor_explicit_expr);
            Source::Of(cursor.cursor_explicit_expr)
        }
    }

    /// Conditions, each with statements.
    unsafe fn arms<T>(&mut self, list: *const List, arm: impl Fn(&T) -> (*mut Expression, *mut List)) {
        // SAFETY: as above.
        unsafe {
            for place in 0..list_length(list) {
                let (condition, statements) = arm(&*nth(list, place).cast::<T>());
                self.asks(condition);
                self.statements(statements);
            }
        }
    }

    unsafe fn statement(&mut self, statement: *const c_void) {
        use pg_sys::PLpgSQL_stmt_type::*;
        // SAFETY: as above.
        unsafe {
            pg_sys::check_stack_depth();
            self.line = (of!(statement: PLpgSQL_stmt)).lineno.max(1) as usize;
            match (of!(statement: PLpgSQL_stmt)).cmd_type {
                PLPGSQL_STMT_BLOCK => self.block(statement.cast()),
                PLPGSQL_STMT_IF => {
                    let chosen = of!(statement: PLpgSQL_stmt_if);
                    self.asks(chosen.cond);
                    self.statements(chosen.then_body);
                    self.arms(chosen.elsif_list, |arm: &pg_sys::PLpgSQL_if_elsif| (arm.cond, arm.stmts));
                    self.statements(chosen.else_body);
                }
                PLPGSQL_STMT_CASE => {
                    let chosen = of!(statement: PLpgSQL_stmt_case);
                    self.computes(chosen.t_expr);
                    self.arms(chosen.case_when_list, |arm: &pg_sys::PLpgSQL_case_when| (arm.expr, arm.stmts));
                    self.statements(chosen.else_stmts);
                }
                PLPGSQL_STMT_EXIT => self.asks((of!(statement: PLpgSQL_stmt_exit)).cond),
                PLPGSQL_STMT_ASSERT => {
                    let assert = of!(statement: PLpgSQL_stmt_assert);
                    self.asks(assert.cond);
                    self.computes(assert.message);
                }
                PLPGSQL_STMT_RAISE => {
                    let raise = of!(statement: PLpgSQL_stmt_raise);
                    self.all(raise.params);
                    for place in 0..list_length(raise.options) {
                        let option = nth(raise.options, place).cast::<pg_sys::PLpgSQL_raise_option>();
                        self.computes((*option).expr);
                    }
                }
                PLPGSQL_STMT_CLOSE | PLPGSQL_STMT_COMMIT | PLPGSQL_STMT_ROLLBACK => {}
                PLPGSQL_STMT_LOOP
                | PLPGSQL_STMT_WHILE
                | PLPGSQL_STMT_FORI
                | PLPGSQL_STMT_FORS
                | PLPGSQL_STMT_FORC
                | PLPGSQL_STMT_DYNFORS
                | PLPGSQL_STMT_FOREACH_A => self.repeats(statement),
                PLPGSQL_STMT_RETURN | PLPGSQL_STMT_RETURN_NEXT | PLPGSQL_STMT_RETURN_QUERY => {
                    self.returns(statement);
                }
                _ => self.runs(statement),
            }
        }
    }

    /// A loop.
    unsafe fn repeats(&mut self, statement: *const c_void) {
        use pg_sys::PLpgSQL_stmt_type::*;
        // SAFETY: as above.
        unsafe {
            match (of!(statement: PLpgSQL_stmt)).cmd_type {
                PLPGSQL_STMT_LOOP => self.statements((of!(statement: PLpgSQL_stmt_loop)).body),
                PLPGSQL_STMT_WHILE => {
                    let repeated = of!(statement: PLpgSQL_stmt_while);
                    self.asks(repeated.cond);
                    self.statements(repeated.body);
                }
                PLPGSQL_STMT_FORI => {
                    let counted = of!(statement: PLpgSQL_stmt_fori);
                    for bound in [counted.lower, counted.upper, counted.step] {
                        self.converts(bound, pg_sys::INT4OID);
                    }
                    self.statements(counted.body);
                }
                PLPGSQL_STMT_FORS => {
                    let query = (of!(statement: PLpgSQL_stmt_fors)).query;
                    self.computes(query);
                    self.rows(Source::Of(query), statement.cast());
                }
                PLPGSQL_STMT_FORC => {
                    let repeated = of!(statement: PLpgSQL_stmt_forc);
                    let source = self.cursor(repeated.curvar, repeated.argquery);
                    self.rows(source, statement.cast());
                }
                PLPGSQL_STMT_DYNFORS => {
                    let repeated = of!(statement: PLpgSQL_stmt_dynfors);
                    self.computes(repeated.query);
                    self.all(repeated.params);
                    self.rows(Source::Unknown, statement.cast());
                }
                _ => {
                    let repeated = of!(statement: PLpgSQL_stmt_foreach_a);
                    self.computes(repeated.expr);
                    let is_slice = repeated.slice > 0;
                    let source =
                        if is_slice { Source::Of(repeated.expr) } else { Source::Element(repeated.expr) };
                    self.puts(source, Target::Variable(self.variable(repeated.varno)));
                    self.statements(repeated.body);
                }
            }
        }
    }

    unsafe fn returns(&mut self, statement: *const c_void) {
        use pg_sys::PLpgSQL_stmt_type::*;
        // SAFETY: as above.
        unsafe {
            if (of!(statement: PLpgSQL_stmt)).cmd_type == PLPGSQL_STMT_RETURN_QUERY {
                // Its columns are the function's, or it fails.
                let returned = of!(statement: PLpgSQL_stmt_return_query);
                self.computes(returned.query);
                self.computes(returned.dynquery);
                return self.all(returned.params);
            }
            // Both begin as this one does.
            let returned = of!(statement: PLpgSQL_stmt_return);
            let to = Target::Type((*self.function).fn_rettype);
            if !returned.expr.is_null() {
                self.computes(returned.expr);
                self.puts(Source::Of(returned.expr), to);
            } else if returned.retvarno >= 0 {
                self.puts(Source::Variable(self.variable(returned.retvarno)), to);
            }
        }
    }

    /// A statement that assigns or runs a query.
    unsafe fn runs(&mut self, statement: *const c_void) {
        use pg_sys::PLpgSQL_stmt_type::*;
        // SAFETY: as above.
        unsafe {
            match (of!(statement: PLpgSQL_stmt)).cmd_type {
                PLPGSQL_STMT_ASSIGN => {
                    let assigned = of!(statement: PLpgSQL_stmt_assign);
                    self.computes(assigned.expr);
                    let variable = self.variable(assigned.varno);
                    // A field's conversion is named.
                    if (*variable).dtype != PLPGSQL_DTYPE_RECFIELD {
                        self.puts(Source::Of(assigned.expr), Target::Variable(variable));
                    }
                }
                PLPGSQL_STMT_PERFORM => self.computes((of!(statement: PLpgSQL_stmt_perform)).expr),
                PLPGSQL_STMT_CALL => self.computes((of!(statement: PLpgSQL_stmt_call)).expr),
                PLPGSQL_STMT_EXECSQL => {
                    let run = of!(statement: PLpgSQL_stmt_execsql);
                    self.computes(run.sqlstmt);
                    if run.into {
                        self.puts(Source::Of(run.sqlstmt), Target::Variable(run.target.cast()));
                    }
                }
                PLPGSQL_STMT_DYNEXECUTE => {
                    let run = of!(statement: PLpgSQL_stmt_dynexecute);
                    self.computes(run.query);
                    self.all(run.params);
                    if run.into {
                        self.puts(Source::Unknown, Target::Variable(run.target.cast()));
                    }
                }
                PLPGSQL_STMT_GETDIAG => {
                    let items = (of!(statement: PLpgSQL_stmt_getdiag)).diag_items;
                    for place in 0..list_length(items) {
                        let item = nth(items, place).cast::<pg_sys::PLpgSQL_diag_item>();
                        self.puts(Source::Unknown, Target::Variable(self.variable((*item).target)));
                    }
                }
                PLPGSQL_STMT_OPEN => {
                    let opened = of!(statement: PLpgSQL_stmt_open);
                    self.cursor(opened.curvar, opened.argquery);
                    self.computes(opened.query);
                    self.computes(opened.dynquery);
                    self.all(opened.params);
                }
                PLPGSQL_STMT_FETCH => {
                    let fetched = of!(statement: PLpgSQL_stmt_fetch);
                    self.converts(fetched.expr, pg_sys::INT4OID);
                    let source = self.cursor(fetched.curvar, std::ptr::null());
                    if !fetched.is_move {
                        self.puts(source, Target::Variable(fetched.target.cast()));
                    }
                }
                _ => (self.tell)(Step::Unknown, self.line),
            }
        }
    }
}

/// Whether a variable is of a domain's type.
unsafe fn is_domain(variable: *const Datum) -> bool {
    // SAFETY: a variable of a block's; the tag tells the type.
    unsafe {
        let of_type = match (*variable).dtype {
            PLPGSQL_DTYPE_VAR => (*variable.cast::<pg_sys::PLpgSQL_var>()).datatype,
            PLPGSQL_DTYPE_REC => (*variable.cast::<pg_sys::PLpgSQL_rec>()).datatype,
            _ => return false,
        };
        !of_type.is_null() && (*of_type).typtype as u8 == pg_sys::TYPTYPE_DOMAIN
    }
}
