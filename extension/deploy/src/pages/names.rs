//! Names of a page that mean an argument and a column: PostgreSQL takes the column, unseen, and a new column changes a page. And functions
//! that are VOLATILE, by which a page is.

use std::ffi::{CStr, CString, c_char, c_void};

use pages::{PageFile, SqlText};
use pg::entry::callback;
use pg::text::string;
use pg::version::{expression_tree_walker, query_tree_walker};
use pgrx::pg_sys::{self, Node, NodeTag, Oid, ParseState};

use super::sql::select_of;

/// The findings in a page.
pub(super) struct FoundNames {
    /// A name that means two things: a message, a hint, and the character of the expression where it stands, counted from 0.
    pub clash: Option<(String, String, usize)>,
    /// Whether it calls something that is VOLATILE.
    pub is_volatile: bool,
    /// The function that is.
    pub volatile_function: Option<String>,
}

/// A walk through a page: its subject, and the findings.
struct NameSearch<'a> {
    text: &'a [u8],
    arguments: &'a [String],
    /// Where a column stands that has the name of an argument, and that argument.
    clash: Option<(usize, usize)>,
    volatile_function: Oid,
}

/// Analyses the expression of a page with the names of its function's arguments, as PostgreSQL has when it made the function.
pub(super) fn look(function: Oid, page: &PageFile, plain: &SqlText) -> FoundNames {
    let text = select_of(plain);
    let arguments: Vec<String> = page.arguments().iter().map(|argument| argument.name.clone()).collect();
    let mut search = NameSearch {
        text: text.as_bytes(),
        arguments: &arguments,
        clash: None,
        volatile_function: Oid::INVALID,
    };
    let Ok(source) = CString::new(text.as_str()) else {
        return FoundNames { clash: None, is_volatile: false, volatile_function: None };
    };
    // SAFETY: inside a transaction, as the owner; pgrx guards each call. The function was made just now, and its row is released.
    unsafe {
        let tuple = pg_sys::SearchSysCache1(pg_sys::SysCacheIdentifier::PROCOID as i32, function.into());
        if !tuple.is_null() {
            let query = analysed(tuple, &source);
            pg_sys::ReleaseSysCache(tuple);
            walk(query.cast(), (&raw mut search).cast());
        }
    }
    let clash = search.clash.map(|(bytes, argument)| {
        let name = &arguments[argument];
        let written = &page.arguments()[argument].name_span;
        let line = page.text()[..written.start].matches('\n').count() + 1;
        let message = format!("{name} is an argument of the page, in line {line}, and a column here");
        let hint = format!("Write args.{name} for the argument, and the column with the name of its row: for e in …, e.{name}.");
        (message, hint, text[..bytes].chars().count() - "select ".len())
    });
    let is_volatile = search.volatile_function != Oid::INVALID;
    let volatile_function = is_volatile.then(|| {
        // SAFETY: as above.
        unsafe { string(pg_sys::get_func_name(search.volatile_function)) }
    });
    FoundNames { clash, is_volatile, volatile_function }
}

/// The query of a text, in which names are those of a function's arguments, too.
unsafe fn analysed(function: pg_sys::HeapTuple, text: &CStr) -> *mut pg_sys::Query {
    // SAFETY: by the contract of `look`.
    unsafe {
        let statements = super::super::steps::parse(text);
        let info = pg::guard::direct(|| {
            pg::prepare_sql_fn_parse_info(function, std::ptr::null_mut(), pg_sys::DEFAULT_COLLATION_OID)
        });
        let statement = pg::list::nth(statements, 0).cast::<pg_sys::RawStmt>();
        pg_sys::parse_analyze_withcb(statement, text.as_ptr(), Some(with_names), info, std::ptr::null_mut())
    }
}

callback! {
    unsafe fn with_names(state: *mut ParseState, info: *mut c_void) {
        // SAFETY: called by the parser with what `analysed` has given it.
        unsafe { pg::sql_fn_parser_setup(state, info) }
    }
}

callback! {
    unsafe fn walk(node: *mut Node, search: *mut c_void) -> bool {
        // SAFETY: nodes of the analyzer, walked by PostgreSQL's own functions; null is none.
        unsafe {
            if node.is_null() {
                return false;
            }
            let found = &mut *search.cast::<NameSearch<'_>>();
            match (*node).type_ {
                NodeTag::T_Query => return query_tree_walker(node.cast(), Some(walk), search, 0),
                NodeTag::T_Var => found.look_at((*node.cast::<pg_sys::Var>()).location),
                _ => found.volatile_function = volatile_of(node).unwrap_or(found.volatile_function),
            }
            expression_tree_walker(node, Some(walk), search)
        }
    }
}

/// The function that a node calls, if it is VOLATILE.
unsafe fn volatile_of(node: *mut Node) -> Option<Oid> {
    // SAFETY: a node of the analyzer; the tag tells the type.
    let function = unsafe {
        match (*node).type_ {
            NodeTag::T_FuncExpr => (*node.cast::<pg_sys::FuncExpr>()).funcid,
            NodeTag::T_OpExpr | NodeTag::T_DistinctExpr | NodeTag::T_NullIfExpr => {
                pg_sys::get_opcode((*node.cast::<pg_sys::OpExpr>()).opno)
            }
            NodeTag::T_Aggref => (*node.cast::<pg_sys::Aggref>()).aggfnoid,
            NodeTag::T_WindowFunc => (*node.cast::<pg_sys::WindowFunc>()).winfnoid,
            _ => return None,
        }
    };
    // SAFETY: a look-up inside a transaction.
    let is_volatile = function != Oid::INVALID
        && unsafe { pg_sys::func_volatile(function) } == pg_sys::PROVOLATILE_VOLATILE as c_char;
    is_volatile.then_some(function)
}

impl NameSearch<'_> {
    /// Notes a column that stands as a plain name, which is an argument's as well.
    fn look_at(&mut self, location: i32) {
        let Ok(place) = usize::try_from(location) else { return };
        let Some((name, rest)) = self.text.get(place..).and_then(name_of) else { return };
        let is_qualified = rest.trim_ascii_start().starts_with(b".");
        let argument = self.arguments.iter().position(|argument| *argument == name);
        if let Some(argument) =
            argument.filter(|_| !is_qualified && self.clash.is_none_or(|(known, _)| place < known))
        {
            self.clash = Some((place, argument));
        }
    }
}

/// The name that a text begins with, as PostgreSQL knows it, and what follows.
fn name_of(text: &[u8]) -> Option<(String, &[u8])> {
    if let Some(quoted) = text.strip_prefix(b"\"") {
        let mut end = 0;
        while end < quoted.len() && (quoted[end] != b'"' || quoted.get(end + 1) == Some(&b'"')) {
            end += if quoted[end] == b'"' { 2 } else { 1 };
        }
        let name = String::from_utf8_lossy(quoted.get(..end)?).replace("\"\"", "\"");
        return Some((name, quoted.get(end + 1..)?));
    }
    let is_letter =
        |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$') || !byte.is_ascii();
    let end = text.iter().position(|byte| !is_letter(byte)).unwrap_or(text.len());
    let name = String::from_utf8_lossy(&text[..end]).to_ascii_lowercase();
    (end > 0).then_some((name, &text[end..]))
}
