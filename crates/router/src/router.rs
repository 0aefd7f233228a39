//! The table of routes.

use crate::methods::{self, Answer, Methods, Route, is_method};
use crate::params::{Params, Values};
use crate::tree::Node;
use crate::{InsertError, PathError, path, pattern};

/// Routes by method and pattern. Built once, then only read; a changed configuration makes a new one.
#[derive(Debug, Default)]
pub struct Router {
    root: Node,
    len: usize,
}

/// What a request's method and path lead to.
#[derive(Clone, Debug)]
pub enum Match<'r, 'p> {
    /// A route answers.
    Found(Found<'r, 'p>),
    /// An OPTIONS request that no route answers: 204 with this `Allow` header.
    Options {
        /// The methods of the pattern, as the header's value.
        allow: &'r str,
    },
    /// The path is known, the method is not: 405 with this `Allow` header.
    MethodNotAllowed {
        /// The methods of the pattern, as the header's value.
        allow: &'r str,
    },
    /// No pattern matches.
    NotFound,
}

/// The route that answers, and the path's parameters.
#[derive(Clone, Debug)]
pub struct Found<'r, 'p> {
    /// The number that the route was registered with.
    pub route: u32,
    /// The path's parameters, under the names of this route's pattern.
    pub params: Params<'r, 'p>,
}

impl Router {
    /// A table without routes.
    pub fn new() -> Self {
        Self::default()
    }

    /// How many routes there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no routes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Registers a route. `method` is upper case, or `*` for any method that has no route of its own here.
    /// After an error the table is as it was.
    pub fn insert(&mut self, method: &str, pattern: &str, route: u32) -> Result<(), InsertError> {
        if !is_method(method) {
            return Err(InsertError::BadMethod { method: method.chars().take(100).collect() });
        }
        let segments = pattern::parse(pattern)?;
        let methods: &mut Methods = self.root.entry(&segments);
        if let Some(existing) = methods.registered(method) {
            return Err(InsertError::Conflict {
                method: method.into(),
                pattern: pattern.into(),
                existing: existing.pattern.to_string(),
            });
        }
        let names = pattern::names(&segments).map(Box::from).collect();
        methods.add(method, Route { number: route, pattern: pattern.into(), names });
        self.len += 1;
        Ok(())
    }

    /// Finds what answers `method` on `raw_path`: the request target up to the `?`, still percent-encoded.
    /// A path that is not UTF-8 or holds NUL once decoded is an error, whether a pattern matches or not. `OPTIONS *` asks
    /// about the server as a whole (RFC 9110, 9.3.7).
    pub fn lookup<'r, 'p>(&'r self, method: &str, raw_path: &'p str) -> Result<Match<'r, 'p>, PathError> {
        let escaped = path::needs_decoding(raw_path)?;
        if escaped {
            path::decode(raw_path)?;
        }
        let Some(relative) = raw_path.strip_prefix('/') else {
            return Ok(match (method, raw_path) {
                ("OPTIONS", "*") => Match::Options { allow: methods::ANY },
                _ => Match::NotFound,
            });
        };
        let mut values = Values::new();
        let Some(methods) = self.root.find(relative, escaped, &mut values) else {
            return Ok(Match::NotFound);
        };
        Ok(match methods.answer(method) {
            Answer::Route(route) => Match::Found(Found {
                route: route.number,
                params: Params { names: &route.names, values, escaped },
            }),
            Answer::Options => Match::Options { allow: &methods.allow },
            Answer::NotAllowed => Match::MethodNotAllowed { allow: &methods.allow },
        })
    }

    /// The methods that a path has routes for, as the value of `Allow`; none if no pattern matches.
    pub fn allow(&self, raw_path: &str) -> Option<&str> {
        let escaped = path::needs_decoding(raw_path).ok()?;
        let methods = self.root.find(raw_path.strip_prefix('/')?, escaped, &mut Values::new())?;
        Some(&methods.allow)
    }
}
