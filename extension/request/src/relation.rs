//! The relation `request` of handlers' statements: a common table expression whose columns are parameters.
//!
//! It is put into the parse tree; the text stays the user's, and so do error positions.

use pg::list::{first, list_length, nth};
use pg::text::keep_text;
use pgrx::pg_sys::{self, Oid};

use super::types::Types;

/// The columns of `request`, in the order of `http.request`. The names are those of its attributes.
pub(crate) const REQUEST_COLUMNS: [&str; 10] = [
    "id",
    "method",
    "path",
    "query_string",
    "headers",
    "body",
    "remote_address",
    "parameters",
    "scheme",
    "client_certificate",
];

/// Puts `request` into the statement as its first common table expression. NOT MATERIALIZED, so that the
/// planner replaces its columns by the parameters they are.
///
/// # Safety
/// Inside a transaction; a statement that is planned, of the parser.
pub(crate) unsafe fn add_request(raw: *mut pg_sys::RawStmt) {
    let columns: Vec<String> =
        REQUEST_COLUMNS.iter().enumerate().map(|(place, name)| format!("${} as {name}", place + 1)).collect();
    let text = format!("with request as not materialized (select {}) select 1", columns.join(", "));
    // SAFETY: a text of ours; the nodes are PostgreSQL's.
    unsafe {
        let text = keep_text(&text);
        let donor = first(pg_sys::pg_parse_query(text)).cast::<pg_sys::RawStmt>();
        let donor = (*(*donor).stmt.cast::<pg_sys::SelectStmt>()).withClause;
        forget_positions(donor);
        let own = with_clause((*raw).stmt);
        if (*own).is_null() {
            *own = donor;
        } else {
            let first_expression = first((*donor).ctes);
            (**own).ctes = pg_sys::lcons(first_expression.cast(), (**own).ctes);
        }
    }
}

/// Positions in a text of ours would mislead in an error about the user's.
unsafe fn forget_positions(with: *mut pg_sys::WithClause) {
    // SAFETY: the nodes that `add_request` has parsed.
    unsafe {
        (*with).location = -1;
        let expression = first((*with).ctes).cast::<pg_sys::CommonTableExpr>();
        (*expression).location = -1;
        let select = (*expression).ctequery.cast::<pg_sys::SelectStmt>();
        for place in 0..list_length((*select).targetList) {
            let target = nth((*select).targetList, place).cast::<pg_sys::ResTarget>();
            (*target).location = -1;
            (*(*target).val.cast::<pg_sys::ParamRef>()).location = -1;
        }
    }
}

/// Where a statement keeps its WITH clause.
unsafe fn with_clause(statement: *mut pg_sys::Node) -> *mut *mut pg_sys::WithClause {
    use pg_sys::NodeTag::*;
    // SAFETY: the caller has seen that it is planned.
    unsafe {
        match (*statement).type_ {
            T_InsertStmt => &raw mut (*statement.cast::<pg_sys::InsertStmt>()).withClause,
            T_UpdateStmt => &raw mut (*statement.cast::<pg_sys::UpdateStmt>()).withClause,
            T_DeleteStmt => &raw mut (*statement.cast::<pg_sys::DeleteStmt>()).withClause,
            T_MergeStmt => &raw mut (*statement.cast::<pg_sys::MergeStmt>()).withClause,
            _ => &raw mut (*statement.cast::<pg_sys::SelectStmt>()).withClause,
        }
    }
}

/// The types of [`REQUEST_COLUMNS`].
pub(crate) fn request_types(types: &Types) -> [Oid; REQUEST_COLUMNS.len()] {
    [
        pg_sys::TEXTOID,
        pg_sys::TEXTOID,
        pg_sys::TEXTOID,
        pg_sys::TEXTOID,
        types.header_array,
        pg_sys::BYTEAOID,
        pg_sys::INETOID,
        pg_sys::JSONBOID,
        pg_sys::TEXTOID,
        pg_sys::JSONBOID,
    ]
}
