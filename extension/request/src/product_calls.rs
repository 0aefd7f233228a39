//! Which calls of a query or plan may cost the product of two lengths, by what the catalogs say of functions and types
//! (`crates/products`).

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::{CStr, c_void};
use std::ptr::null_mut;

use pg::catalog::{SQL_LANGUAGE, is_users};
use pg::entry::callback;
use pg::text::string;
use pg::version::{PLANNING_EXPANDS_COLUMNS, is_json_expression};
use pgrx::pg_sys::{self, Datum, Oid};
use products::arithmetic::Arithmetic;
use products::linear::is_linear;
use products::path::multiplies;
use products::{Catalog, first_product};

use super::fixed_functions::language_of;
use super::node_walk::walk;

const AGGFNOID: i32 = pg_sys::SysCacheIdentifier::AGGFNOID as i32;
/// The place of `aggtransfn` in pg_aggregate, which pgrx does not name.
const TRANSITION: i16 = 4;

thread_local! {
    /// What was found of PostgreSQL's own functions, which stay what they are.
    static KNOWN: RefCell<HashMap<u32, KnownFunction>> = RefCell::default();
}

/// A function of PostgreSQL's.
#[derive(Clone)]
struct KnownFunction {
    long_arguments: Vec<bool>,
    arithmetic: Arithmetic,
    /// Its body may take the place of a call.
    is_sql: bool,
}

/// A call that a tree has.
pub(crate) enum ProductCall {
    None,
    /// By this function.
    Of(Oid),
    /// It is not known, as the tree is nested too deeply.
    Unknown,
}

/// Digits of a number in a request that runs in a gateway: it has 16 kB, and no exponent of four digits.
const OF_REQUEST: u64 = (16 << 10) + 999;

/// Looks through a query, or a finished plan, whose arguments are the request's own, or any.
///
/// # Safety
/// A tree of PostgreSQL's, inside a transaction.
pub(crate) unsafe fn product_call(tree: *const c_void, is_request: bool) -> ProductCall {
    // SAFETY: by contract; the text is freed once it has been read.
    unsafe {
        let written = pg_sys::nodeToString(tree);
        let argument = is_request.then_some(OF_REQUEST);
        let found = match CStr::from_ptr(written).to_str() {
            Ok(text) => first_product(text, argument, &mut Catalogs),
            // Names in another encoding than UTF-8, which none of the words that count has.
            Err(_) => first_product(&string(written), argument, &mut Catalogs),
        };
        pg_sys::pfree(written.cast());
        match found {
            Ok(None) => ProductCall::None,
            Ok(Some(function)) => ProductCall::Of(Oid::from(function)),
            Err(_) => ProductCall::Unknown,
        }
    }
}

/// Whether a query needs to be looked through at all, and its plan: it calls something that may cost a product, or that may make room for
/// other calls when it is planned, as a function of SQL does. Most that PL/pgSQL plans in each run of an EXECUTE do neither, and their text
/// would take as long as planning them.
///
/// # Safety
/// Inside a guard and a transaction; a query of the analyzer, after the rewriter.
pub(crate) unsafe fn is_suspect(query: *mut pg_sys::Query) -> bool {
    // SAFETY: by contract.
    PLANNING_EXPANDS_COLUMNS || unsafe { has_suspect(query.cast(), null_mut()) }
}

callback! {
    /// A walker of PostgreSQL's.
    unsafe fn has_suspect(node: *mut pg_sys::Node, context: *mut c_void) -> bool {
        // SAFETY: nodes of the analyzer; the tag tells the type.
        unsafe {
            if node.is_null() {
                return false;
            }
            let kind = (*node).type_;
            let is_path = kind == pg_sys::NodeTag::T_Const && (*node.cast::<pg_sys::Const>()).consttype == pg_sys::JSONPATHOID;
            is_path
                || is_json_expression(kind)
                || pg_sys::check_functions_in_node(node, Some(is_suspect_function), context)
                || walk(node, has_suspect, context)
        }
    }
}

callback! {
    unsafe fn is_suspect_function(function: Oid, _: *mut c_void) -> bool {
        known(function.to_u32(), |known| known.is_sql || known.arithmetic.is_costly() || !known.long_arguments.is_empty()).unwrap_or(true)
    }
}

/// PostgreSQL's catalogs.
struct Catalogs;

impl Catalog for Catalogs {
    fn long_arguments(&mut self, function: u32) -> Vec<bool> {
        known(function, |known| known.long_arguments.clone()).unwrap_or_default()
    }

    fn arithmetic(&mut self, function: u32) -> Arithmetic {
        known(function, |known| known.arithmetic).unwrap_or(Arithmetic::Other)
    }

    fn multiplies(&mut self, path: &[u8]) -> bool {
        const JSONPATH: Oid = pg_sys::JSONPATHOID;
        // SAFETY: inside a transaction; the bytes are of a constant that PostgreSQL has written, and are aligned once they are copied.
        unsafe {
            let copy = pg_sys::palloc(path.len()).cast::<u8>();
            copy.copy_from_nonoverlapping(path.as_ptr(), path.len());
            let (mut output, mut is_varlena) = (Oid::INVALID, false);
            pg_sys::getTypeOutputInfo(JSONPATH, &mut output, &mut is_varlena);
            multiplies(&string(pg_sys::OidOutputFunctionCall(output, Datum::from(copy))))
        }
    }

    fn function_of(&mut self, operator: u32) -> u32 {
        // SAFETY: a look-up inside a transaction.
        unsafe { pg_sys::get_opcode(Oid::from(operator)) }.to_u32()
    }

    fn transition_of(&mut self, function: u32) -> Option<u32> {
        let function = Oid::from(function);
        // SAFETY: look-ups inside a transaction, one for a row that is let go at once.
        unsafe {
            if !is_users(function) || pg_sys::get_func_prokind(function) as u8 != pg_sys::PROKIND_AGGREGATE {
                return None;
            }
            let row = pg_sys::SearchSysCache1(AGGFNOID, Datum::from(function));
            if row.is_null() {
                return None;
            }
            let mut is_null = false;
            let transition = pg_sys::SysCacheGetAttr(AGGFNOID, row, TRANSITION, &mut is_null).value() as u32;
            pg_sys::ReleaseSysCache(row);
            Some(transition)
        }
    }

    fn base(&mut self, of_type: u32, mut modifier: i32) -> (u32, i32) {
        if !is_users(Oid::from(of_type)) {
            return (of_type, modifier);
        }
        // SAFETY: a look-up inside a transaction.
        let base = unsafe { pg_sys::getBaseTypeAndTypmod(Oid::from(of_type), &mut modifier) };
        (base.to_u32(), modifier)
    }
}

/// What is known of a function of PostgreSQL's. Of a user's nothing is: in SQL and PL/pgSQL it is planned itself, and what an extension
/// brings is for whoever lists the extension.
fn known<T>(function: u32, read: impl FnOnce(&KnownFunction) -> T) -> Option<T> {
    if is_users(Oid::from(function)) {
        return None;
    }
    if !KNOWN.with_borrow(|known| known.contains_key(&function)) {
        // SAFETY: inside a transaction.
        let found = unsafe { look_up(Oid::from(function)) };
        KNOWN.with_borrow_mut(|known| known.insert(function, found));
    }
    KNOWN.with_borrow(|known| known.get(&function).map(read))
}

unsafe fn look_up(function: Oid) -> KnownFunction {
    // SAFETY: look-ups inside a transaction; the list has as many types as it says.
    unsafe {
        let name = string(pg_sys::get_func_name(function));
        let arithmetic = Arithmetic::of(&name);
        let is_sql = language_of(function).to_u32() == SQL_LANGUAGE;
        // Aggregates of PostgreSQL's add one value after the other, and look for interrupts in between.
        let is_aggregate = pg_sys::get_func_prokind(function) as u8 == pg_sys::PROKIND_AGGREGATE;
        if is_aggregate || is_linear(&name) {
            return KnownFunction { long_arguments: Vec::new(), arithmetic, is_sql };
        }
        let (mut types, mut count) = (null_mut(), 0);
        pg_sys::get_func_signature(function, &mut types, &mut count);
        let mut long_arguments: Vec<_> =
            (0..count as usize).map(|place| may_be_long(*types.add(place))).collect();
        // One length alone makes no product.
        if long_arguments.iter().filter(|is_long| **is_long).count() < 2 {
            long_arguments.clear();
        }
        KnownFunction { long_arguments, arithmetic, is_sql }
    }
}

/// Whether a value of a type may be of any length, or the type is any. Addresses are short. What numbers cost is counted apart, and ranges
/// are compared by their ends alone.
unsafe fn may_be_long(of_type: Oid) -> bool {
    const SHORT: [Oid; 5] = [
        pg_sys::NUMERICOID,
        pg_sys::INETOID,
        pg_sys::CIDROID,
        pg_sys::ANYRANGEOID,
        pg_sys::ANYCOMPATIBLERANGEOID,
    ];
    // SAFETY: look-ups inside a transaction.
    unsafe {
        pg_sys::get_typlen(of_type) == -1 && !SHORT.contains(&of_type) && !pg_sys::type_is_range(of_type)
    }
}
