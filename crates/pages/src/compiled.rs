//! The SQL that a page is compiled into.

use crate::map::SqlText;

/// A page as SQL.
#[derive(Clone, Debug)]
pub struct CompiledPage {
    /// Calls of pages are calls. PostgreSQL finds out from this one whether names and types are right.
    pub plain: SqlText,
    /// Calls of pages are replaced by what these put together, where that means the same.
    pub expanded: SqlText,
    /// Pages in `expanded`, also indirectly, in order.
    pub expands: Vec<String>,
    /// Whether a dump of `plain` would be read as something else: what the page has from a table or a row is called as the page itself. In `expanded`
    /// its arguments are columns then.
    pub is_read_otherwise: bool,
    /// Whether that goes for `expanded` as well, as there they cannot be.
    pub is_ambiguous: bool,
}
