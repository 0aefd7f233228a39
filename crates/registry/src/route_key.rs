//! Routes, pages and query handlers, to which the counters of [`crate::routes`] belong.

/// What the counters belong to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum RouteKind {
    /// A function behind a method and a pattern.
    Route = 0,
    /// A query handler, by name.
    Handler,
    /// A page: a function behind a method and a pattern, for who prefers HTML.
    Page,
}

impl RouteKind {
    /// The word for it in `http.stats`.
    pub fn word(self) -> &'static str {
        match self {
            RouteKind::Route => "route",
            RouteKind::Handler => "handler",
            RouteKind::Page => "page",
        }
    }
}

/// The key of a route's counters: method and pattern of a route or page; of a handler no method, and its name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RouteKey<'a> {
    /// Oid of the database.
    pub database: u32,
    /// What it is.
    pub kind: RouteKind,
    /// The method, as registered.
    pub method: &'a str,
    /// The pattern, or the handler's name.
    pub pattern: &'a str,
}

impl RouteKey<'_> {
    pub(crate) fn hash(&self) -> u64 {
        crate::hash((self.database, self.kind as u32, self.method, self.pattern))
    }
}
