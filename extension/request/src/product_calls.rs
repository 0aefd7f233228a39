//! Which calls of a query or plan may cost the product of two lengths, by what the catalogs say of functions (`crates/products`).

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::{CStr, c_void};
use std::ptr::null_mut;

use pg::catalog::is_users;
use pg::text::string;
use pgrx::pg_sys::{self, Oid};
use products::linear::is_linear;
use products::{Catalog, first_product};

thread_local! {
    /// What was found of PostgreSQL's own functions, which stay what they are.
    static KNOWN: RefCell<HashMap<u32, Vec<bool>>> = RefCell::default();
}

/// A call that a tree has.
pub(crate) enum ProductCall {
    None,
    /// By this function.
    Of(Oid),
    /// It is not known, as the tree is nested too deeply.
    Unknown,
}

/// Looks through a query, or a finished plan.
///
/// # Safety
/// A tree of PostgreSQL's, inside a transaction.
pub(crate) unsafe fn product_call(tree: *const c_void) -> ProductCall {
    // SAFETY: by contract; the text is freed once it has been read.
    unsafe {
        let written = pg_sys::nodeToString(tree);
        let found = match CStr::from_ptr(written).to_str() {
            Ok(text) => first_product(text, &mut Catalogs),
            // Names in another encoding than UTF-8, which none of the words that count has.
            Err(_) => first_product(&string(written), &mut Catalogs),
        };
        pg_sys::pfree(written.cast());
        match found {
            Ok(None) => ProductCall::None,
            Ok(Some(function)) => ProductCall::Of(Oid::from(function)),
            Err(_) => ProductCall::Unknown,
        }
    }
}

/// PostgreSQL's catalogs.
struct Catalogs;

impl Catalog for Catalogs {
    fn long_arguments(&mut self, function: u32) -> Vec<bool> {
        if is_users(Oid::from(function)) {
            // In SQL and PL/pgSQL it is planned itself, and what an extension brings is for whoever lists the extension.
            return Vec::new();
        }
        if let Some(known) = KNOWN.with_borrow(|known| known.get(&function).cloned()) {
            return known;
        }
        // SAFETY: inside a transaction.
        let found = unsafe { look_up(Oid::from(function)) };
        KNOWN.with_borrow_mut(|known| known.insert(function, found.clone()));
        found
    }

    fn function_of(&mut self, operator: u32) -> u32 {
        // SAFETY: a look-up inside a transaction.
        unsafe { pg_sys::get_opcode(Oid::from(operator)) }.to_u32()
    }
}

unsafe fn look_up(function: Oid) -> Vec<bool> {
    // SAFETY: look-ups inside a transaction; the list has as many types as it says.
    unsafe {
        if is_linear(&string(pg_sys::get_func_name(function))) {
            return Vec::new();
        }
        let (mut types, mut count) = (null_mut(), 0);
        pg_sys::get_func_signature(function, &mut types, &mut count);
        (0..count as usize).map(|place| may_be_long(*types.add(place))).collect()
    }
}

/// Whether a value of a type may be of any length, or the type is any. Numbers, addresses and ranges are short as long as what they are made of is, and long
/// numbers go to executors in any case.
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
