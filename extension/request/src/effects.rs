//! What a statement does besides returning rows.

use std::ffi::c_void;

use pg::catalog::is_users;
use pg::entry::callback;
use pg::list::{list_length, nth};
use pg::version;
use pgrx::pg_sys::{self, Datum, Oid};

use super::node_walk::{query_of, walk};
use super::volatile::may_do_more;

/// What a query does, as far as the analyzer's tree tells.
#[derive(Clone, Copy)]
pub(crate) struct Effects {
    /// Nothing is written or locked, and nothing volatile is called but what does nothing besides ([`super::volatile`]).
    pub reads_only: bool,
    /// It inserts, updates, deletes or merges, itself or in a WITH clause.
    pub writes: bool,
    /// It, or a query inside it, has FOR UPDATE or its kin.
    pub locks: bool,
    /// It reads only and calls functions of PostgreSQL's own and ours alone: inside a transaction that only reads it leaves neither
    /// cursors nor advisory locks nor prepared statements nor large objects behind. A user's function that is declared stable may lie.
    pub leaves_nothing: bool,
}

impl Effects {
    /// Looks through a query.
    ///
    /// # Safety
    /// Inside a guard and a transaction; a query of the analyzer, after the rewriter.
    pub(crate) unsafe fn of(query: *mut pg_sys::Query) -> Self {
        // SAFETY: by contract.
        unsafe {
            let writes = (*query).commandType != pg_sys::CmdType::CMD_SELECT || (*query).hasModifyingCTE;
            let locks = locks_rows(query.cast(), std::ptr::null_mut());
            let reads_only = !writes && !locks && !may_do_more(query);
            let leaves_nothing = reads_only && !calls_users_code(query.cast(), std::ptr::null_mut());
            Effects { reads_only, writes, locks, leaves_nothing }
        }
    }
}

callback! {
    /// Whether a query, or one inside it, has FOR UPDATE or its kin. A walker of PostgreSQL's.
    unsafe fn locks_rows(node: *mut pg_sys::Node, context: *mut c_void) -> bool {
        // SAFETY: nodes of the analyzer.
        unsafe {
            let Some(query) = query_of(node) else { return walk(node, locks_rows, context) };
            !(*query).rowMarks.is_null() || walk(node, locks_rows, context)
        }
    }
}

/// Whether a type may bring a user's functions with it, which json_agg() and sorting call: casts, comparisons.
///
/// # Safety
/// Inside a guard and a transaction.
pub(crate) unsafe fn may_call_users_code(of_type: Oid) -> bool {
    // SAFETY: by contract.
    unsafe {
        let element = pg_sys::get_element_type(of_type);
        let of_type = if element == Oid::INVALID { of_type } else { element };
        is_users(of_type) && (!is_ours(pg_sys::TypeRelationId, of_type) || has_casts(of_type))
    }
}

/// Whether the extension has brought an object of a catalog.
///
/// # Safety
/// Inside a guard and a transaction.
pub(super) unsafe fn is_ours(catalog: Oid, object: Oid) -> bool {
    // SAFETY: look-ups inside a transaction.
    unsafe {
        let extension = pg_sys::getExtensionOfObject(catalog, object);
        extension != Oid::INVALID && extension == pg_sys::get_extension_oid(c"howdah".as_ptr(), true)
    }
}

/// Whether somebody has made a cast from a type that calls a function, as we have from none of ours.
unsafe fn has_casts(of_type: Oid) -> bool {
    const CASTS: i32 = pg_sys::SysCacheIdentifier::CASTSOURCETARGET as i32;
    /// The place of `castmethod` in pg_cast, which pgrx does not name, and what it says where nothing is called.
    const METHOD: i16 = 6;
    const BINARY: u8 = b'b';
    // SAFETY: a look-up inside a transaction.
    unsafe {
        let list = pg_sys::SearchSysCacheList(CASTS, 1, of_type.into(), Datum::from(0), Datum::from(0));
        let members = (*list).members.as_slice((*list).n_members as usize);
        let calls = members.iter().any(|member| {
            let mut is_null = false;
            let tuple = &raw mut (**member).tuple;
            pg_sys::SysCacheGetAttr(CASTS, tuple, METHOD, &raw mut is_null).value() as u8 != BINARY
        });
        pg_sys::ReleaseCatCacheList(list);
        calls
    }
}

/// Whether a node makes rows, of JSON or XML, say, with a column whose type is a user's, wanted or not.
unsafe fn has_columns_of_users_type(node: *mut pg_sys::Node) -> bool {
    use pg_sys::NodeTag::{T_RangeTblFunction, T_TableFunc};
    // SAFETY: a node of the analyzer; the tag tells the type. The lists are of numbers.
    unsafe {
        let types = match (*node).type_ {
            T_RangeTblFunction => (*node.cast::<pg_sys::RangeTblFunction>()).funccoltypes,
            T_TableFunc => (*node.cast::<pg_sys::TableFunc>()).coltypes,
            _ => return false,
        };
        (0..list_length(types)).any(|place| may_call_users_code((*(*types).elements.add(place)).oid_value))
    }
}

callback! {
    /// Whether a query, or one inside it, calls a function that neither PostgreSQL nor the extension has brought, or has a
    /// value of such a type. A walker of PostgreSQL's.
    unsafe fn calls_users_code(node: *mut pg_sys::Node, context: *mut c_void) -> bool {
        // SAFETY: nodes of the analyzer.
        unsafe {
            if node.is_null() {
                return false;
            }
            if is_of_users_type(node) || has_columns_of_users_type(node) || pg_sys::check_functions_in_node(node, Some(is_users_function), context) {
                return true;
            }
            walk(node, calls_users_code, context)
        }
    }
}

/// Whether a node makes a value, of whatever it names or is given, and the value's type is a user's.
unsafe fn is_of_users_type(node: *mut pg_sys::Node) -> bool {
    use pg_sys::NodeTag::*;
    // SAFETY: a node of the analyzer; these are expressions.
    unsafe {
        // Not every node is an expression; exprType() raises an error for the others.
        let is_value = matches!(
            (*node).type_,
            T_Var
                | T_Const
                | T_Param
                | T_RowExpr
                | T_ArrayExpr
                | T_FieldSelect
                | T_SubscriptingRef
                | T_CaseExpr
                | T_CoalesceExpr
                | T_MinMaxExpr
                | T_RelabelType
                | T_CoerceViaIO
                | T_CoerceToDomain
                | T_ArrayCoerceExpr
                | T_ConvertRowtypeExpr
                | T_FuncExpr
                | T_OpExpr
                | T_Aggref
                | T_WindowFunc
        );
        let is_value = is_value || version::is_json_expression((*node).type_);
        is_value && may_call_users_code(pg_sys::exprType(node))
    }
}

/// PostgreSQL's own functions that run whatever is behind a name or a number that they are given, a view or a type, and are not
/// volatile: `array_in`, `record_in`, `domain_in`, `range_in`, `multirange_in`; `table_to_xml`, `query_to_xml`, `cursor_to_xml`,
/// `table_to_xmlschema` and the like, `schema_to_xml`, `database_to_xml` and theirs; since version 16 `pg_input_is_valid` and
/// `pg_input_error_info`. `pg_get_partition_constraintdef` and `satisfies_hash_partition` have the constants of a partition's key
/// computed; `fmgr_sql_validator` has those in a function's body read by the input functions of their types.
const BY_NAME: [u32; 24] = [
    2248, 3408, 5028, 750, 2290, 2597, 3834, 4229, 2923, 2924, 2925, 2926, 2927, 2928, 2929, 2930, 2933,
    2934, 2935, 2936, 2937, 2938, 6210, 6211,
];

callback! {
    unsafe fn is_users_function(function: Oid, _: *mut c_void) -> bool {
        // SAFETY: called by the walker, inside a guard and a transaction.
        BY_NAME.contains(&function.to_u32())
            || is_users(function) && unsafe { !is_ours(pg_sys::ProcedureRelationId, function) }
    }
}

/// Digits of a width that is large.
const WIDE: usize = 4;

callback! {
    /// Whether `format` is called, somewhere below a node of the analyzer or the planner, with a text that is not known, or one
    /// that takes a width from an argument or has a large one: what it returns may be as long as a client likes. A walker of
    /// PostgreSQL's.
    pub(crate) unsafe fn formats_freely_below(node: *mut pg_sys::Node, context: *mut c_void) -> bool {
        /// `format(text, variadic "any")` and `format(text)`.
        const FORMAT: [u32; 2] = [3539, 3540];
        // SAFETY: nodes of the analyzer or the planner; the tag tells the type.
        unsafe {
            if node.is_null() {
                return false;
            }
            if (*node).type_ == pg_sys::NodeTag::T_FuncExpr {
                let call = node.cast::<pg_sys::FuncExpr>();
                if FORMAT.contains(&(*call).funcid.to_u32()) && !has_known_widths(nth((*call).args, 0).cast()) {
                    return true;
                }
            }
            walk(node, formats_freely_below, context)
        }
    }
}

/// See [`formats_freely_below`].
///
/// # Safety
/// Inside a guard and a transaction.
pub(crate) unsafe fn formats_freely(node: *mut pg_sys::Node) -> bool {
    // SAFETY: by contract.
    unsafe { formats_freely_below(node, std::ptr::null_mut()) }
}

/// Whether a text of `format` is a constant without large widths and those of arguments.
unsafe fn has_known_widths(text: *mut pg_sys::Node) -> bool {
    // SAFETY: an argument of type text.
    unsafe {
        if (*text).type_ != pg_sys::NodeTag::T_Const {
            return false;
        }
        let constant = text.cast::<pg_sys::Const>();
        if (*constant).constisnull {
            return true;
        }
        let text = pgrx::varlena_to_byte_slice(pg_sys::pg_detoast_datum_packed(
            (*constant).constvalue.cast_mut_ptr(),
        ));
        !text.contains(&b'*')
            && text
                .chunk_by(|a, b| a.is_ascii_digit() == b.is_ascii_digit())
                .all(|part| part.len() < WIDE || !part[0].is_ascii_digit())
    }
}
