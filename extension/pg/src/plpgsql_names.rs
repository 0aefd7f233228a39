//! Names in a function in PL/pgSQL that mean a variable and a column: PostgreSQL refuses the statement, and not before it runs.
//!
//! PL/pgSQL parses a statement when it first runs it, with hooks that tell the parser its variables. Here it is parsed with hooks that do the
//! same and note what PL/pgSQL's would refuse, so all statements can be looked at, whichever run. The rules are those of `pl_comp.c`.

use std::ffi::{CStr, c_char, c_void};
use std::mem::size_of;
use std::ptr::{addr_of, null, null_mut};

use pgrx::pg_sys::PLpgSQL_datum_type::*;
use pgrx::pg_sys::PLpgSQL_nsitem_type::*;
use pgrx::pg_sys::{self, Node, NodeTag, Oid, ParseState};
use pgrx::pg_sys::{PLpgSQL_datum as Datum, PLpgSQL_expr as Expression, PLpgSQL_function as Function};
use pgrx::pg_sys::{PLpgSQL_nsitem as NamespaceItem, PLpgSQL_rec as Record, PLpgSQL_recfield as RecordField};

use crate::entry::callback;
use crate::list::{list_length, nth};

/// An expression as its hooks know it, and what they have found.
struct Looked<'f> {
    function: *const Function,
    namespace: *const NamespaceItem,
    /// Names that are ambiguous, each with its byte in the text of the expression.
    found: &'f mut Vec<(String, usize)>,
}

/// A function in PL/pgSQL, compiled as its validator does; null if PL/pgSQL does not let itself be asked. It stays with the session.
///
/// # Safety
/// Inside a transaction, of a function in PL/pgSQL; errors unwind.
pub unsafe fn compiled(function: Oid) -> *const Function {
    type Compile = unsafe extern "C-unwind" fn(pg_sys::FunctionCallInfo, bool) -> *mut Function;
    // SAFETY: by contract; PL/pgSQL's own function, of this type since version 8.
    unsafe {
        let found = pg_sys::load_external_function(
            c"$libdir/plpgsql".as_ptr(),
            c"plpgsql_compile".as_ptr(),
            false,
            null_mut(),
        );
        if found.is_null() {
            return null();
        }
        let compile = std::mem::transmute::<*mut c_void, Compile>(found);
        let mut info = pg_sys::FmgrInfo {
            fn_oid: function,
            fn_mcxt: pg_sys::CurrentMemoryContext,
            ..Default::default()
        };
        let mut call = pg_sys::FunctionCallInfoBaseData { flinfo: &raw mut info, ..Default::default() };
        let (mut trigger, mut event) = (pg_sys::TriggerData::default(), pg_sys::EventTriggerData::default());
        match pg_sys::get_func_rettype(function) {
            pg_sys::TRIGGEROID => {
                trigger.type_ = NodeTag::T_TriggerData;
                call.context = (&raw mut trigger).cast();
            }
            pg_sys::EVENT_TRIGGEROID => {
                event.type_ = NodeTag::T_EventTriggerData;
                call.context = (&raw mut event).cast();
            }
            _ => {}
        }
        let call = &raw mut call;
        pg_sys::ffi::pg_guard_ffi_boundary(|| compile(call, true))
    }
}

/// Finds the names in an expression of a compiled function that are ambiguous, each with its byte in the expression's text. None if the function says
/// which it means by `#variable_conflict`.
///
/// # Safety
/// Inside a transaction; errors unwind, where the text means nothing now: what comes before is found. Tables that it names are locked as if it ran.
pub unsafe fn find_ambiguous(
    function: *const Function,
    expression: *const Expression,
    found: &mut Vec<(String, usize)>,
) {
    // SAFETY: by contract.
    unsafe {
        if (*function).resolve_option != pg_sys::PLpgSQL_resolve_option::PLPGSQL_RESOLVE_ERROR {
            return;
        }
        let mut looked = Looked { function, namespace: (*expression).ns, found };
        let text = (*expression).query;
        let statements = pg_sys::raw_parser(text, (*expression).parseMode);
        for place in 0..list_length(statements) {
            let statement = nth(statements, place).cast();
            pg_sys::parse_analyze_withcb(statement, text, Some(set_up), (&raw mut looked).cast(), null_mut());
        }
    }
}

callback! {
    unsafe fn set_up(state: *mut ParseState, looked: *mut c_void) {
        // SAFETY: a state that the parser has just made.
        unsafe {
            (*state).p_post_columnref_hook = Some(look_at_column);
            (*state).p_paramref_hook = Some(look_at_parameter);
            (*state).p_ref_hook_state = looked;
        }
    }
}

callback! {
    /// A name, and the column that it means, null if it means none.
    unsafe fn look_at_column(state: *mut ParseState, reference: *mut pg_sys::ColumnRef, column: *mut Node) -> *mut Node {
        // SAFETY: the parser calls, with what `set_up` has set.
        unsafe {
            let looked = &mut *(*state).p_ref_hook_state.cast::<Looked<'_>>();
            let Some(variable) = looked.variable_of((*reference).fields) else { return null_mut() };
            if column.is_null() {
                return looked.value(variable, (*reference).location);
            }
            if let Some(name) = written((*reference).fields) {
                looked.found.push((name, (*reference).location.max(0) as usize));
            }
            null_mut()
        }
    }
}

callback! {
    /// An argument by its number.
    unsafe fn look_at_parameter(state: *mut ParseState, reference: *mut pg_sys::ParamRef) -> *mut Node {
        // SAFETY: the parser calls, with what `set_up` has set.
        unsafe {
            let looked = &*(*state).p_ref_hook_state.cast::<Looked<'_>>();
            let name = std::ffi::CString::new(format!("${}", (*reference).number)).unwrap_or_default();
            match looked.item(&name, None) {
                Some((item, _)) => looked.value((*item).itemno, (*reference).location),
                None => null_mut(),
            }
        }
    }
}

/// The name of a field of a reference; none of a star.
unsafe fn name<'n>(fields: *const pg_sys::List, place: usize) -> Option<&'n CStr> {
    // SAFETY: the caller's contract: names and stars.
    unsafe {
        let node = nth(fields, place).cast::<Node>();
        ((*node).type_ == NodeTag::T_String).then(|| CStr::from_ptr((*node.cast::<pg_sys::String>()).sval))
    }
}

/// A reference as people write it.
unsafe fn written(fields: *const pg_sys::List) -> Option<String> {
    // SAFETY: by contract of the caller.
    let names = (0..unsafe { list_length(fields) }).map(|place| unsafe { name(fields, place) });
    let names: Option<Vec<_>> = names.map(|name| Some(name?.to_string_lossy())).collect();
    Some(names?.join("."))
}

// SAFETY of all: a compiled function and the scope of one of its expressions, which live as long as the function.
impl Looked<'_> {
    /// The number of the variable, or of the field of a record, that a reference means; none if it means none.
    unsafe fn variable_of(&self, fields: *const pg_sys::List) -> Option<i32> {
        // SAFETY: as above.
        unsafe {
            let count = list_length(fields);
            if !(1..=3).contains(&count) {
                return None;
            }
            let first = name(fields, 0)?;
            let second = (count > 1).then(|| name(fields, 1).unwrap_or(c"*"));
            let last = name(fields, count - 1);
            let (item, used) = self.item(first, second)?;
            // A star is of the row whose names stand before it.
            let of_whole = if last.is_none() { count - 1 } else { count };
            let is_record = (*item).itemtype == PLPGSQL_NSTYPE_REC;
            if used == of_whole && (last.is_some() || is_record) {
                return Some((*item).itemno);
            }
            if is_record && used + 1 == count { self.field((*item).itemno, last?) } else { None }
        }
    }

    /// What one name or two mean, and how many of them: `plpgsql_ns_lookup`.
    unsafe fn item(&self, first: &CStr, second: Option<&CStr>) -> Option<(*const NamespaceItem, usize)> {
        // SAFETY: as above; each level ends with its label.
        unsafe {
            let named = |item: *const NamespaceItem, name: &CStr| {
                CStr::from_ptr(addr_of!((*item).name).cast::<c_char>()) == name
            };
            let mut level = self.namespace;
            while !level.is_null() {
                let mut item = level;
                while (*item).itemtype != PLPGSQL_NSTYPE_LABEL {
                    if named(item, first) && (second.is_none() || (*item).itemtype != PLPGSQL_NSTYPE_VAR) {
                        return Some((item, 1));
                    }
                    item = (*item).prev;
                }
                if let Some(second) = second.filter(|_| named(item, first)) {
                    let mut inside = level;
                    while (*inside).itemtype != PLPGSQL_NSTYPE_LABEL {
                        if named(inside, second) {
                            return Some((inside, 2));
                        }
                        inside = (*inside).prev;
                    }
                }
                level = (*item).prev;
            }
            None
        }
    }

    unsafe fn variable(&self, number: i32) -> *const Datum {
        // SAFETY: as above; the function's own number.
        unsafe { *(*self.function).datums.add(number as usize) }
    }

    /// The number of a record's field, as the compiler has noted each that is named.
    unsafe fn field(&self, record: i32, name: &CStr) -> Option<i32> {
        // SAFETY: as above.
        unsafe {
            let mut number = (*self.variable(record).cast::<Record>()).firstfield;
            while number >= 0 {
                let field = self.variable(number).cast::<RecordField>();
                if CStr::from_ptr((*field).fieldname) == name {
                    return Some(number);
                }
                number = (*field).nextfield;
            }
            None
        }
    }

    /// Something in the place of a variable's value, of its type where that is known.
    unsafe fn value(&self, number: i32, location: i32) -> *mut Node {
        // SAFETY: as above.
        unsafe {
            let of_type = self.type_of(number);
            if of_type == pg_sys::UNKNOWNOID {
                return pg_sys::makeNullConst(of_type, -1, Oid::INVALID).cast();
            }
            let parameter = pg_sys::palloc0(size_of::<pg_sys::Param>()).cast::<pg_sys::Param>();
            (*parameter).xpr.type_ = NodeTag::T_Param;
            (*parameter).paramkind = pg_sys::ParamKind::PARAM_EXTERN;
            (*parameter).paramid = number + 1;
            (*parameter).paramtype = of_type;
            (*parameter).paramtypmod = -1;
            (*parameter).paramcollid = pg_sys::get_typcollation(of_type);
            (*parameter).location = location;
            parameter.cast()
        }
    }

    /// The type of a variable; unknown of the field of a record that may have any.
    unsafe fn type_of(&self, number: i32) -> Oid {
        // SAFETY: as above; the tag tells the type.
        unsafe {
            let variable = self.variable(number);
            match (*variable).dtype {
                PLPGSQL_DTYPE_VAR | PLPGSQL_DTYPE_PROMISE => {
                    (*(*variable.cast::<pg_sys::PLpgSQL_var>()).datatype).typoid
                }
                PLPGSQL_DTYPE_REC => (*variable.cast::<Record>()).rectypeid,
                PLPGSQL_DTYPE_RECFIELD => {
                    let field = variable.cast::<RecordField>();
                    let record = self.variable((*field).recparentno).cast::<Record>();
                    let relation = pg_sys::get_typ_typrelid(pg_sys::getBaseType((*record).rectypeid));
                    if relation == Oid::INVALID {
                        return pg_sys::UNKNOWNOID;
                    }
                    let attribute = pg_sys::get_attnum(relation, (*field).fieldname);
                    if attribute > 0 { pg_sys::get_atttype(relation, attribute) } else { pg_sys::UNKNOWNOID }
                }
                _ => pg_sys::UNKNOWNOID,
            }
        }
    }
}
