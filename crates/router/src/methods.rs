//! The methods that one pattern answers, and its `Allow` header.

/// What a server answers as a whole: the methods of RFC 9110 and PATCH, as the value of `Allow`.
pub(crate) const ANY: &str = "DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT";

/// A route: its number and, for this method, the pattern that it was registered with.
#[derive(Debug)]
pub(crate) struct Route {
    pub(crate) number: u32,
    /// Kept for messages.
    pub(crate) pattern: Box<str>,
    /// In the order of the pattern. Two methods may name the parameters of one shape differently.
    pub(crate) names: Box<[Box<str>]>,
}

/// What a method finds at a pattern.
pub(crate) enum Answer<'r> {
    Route(&'r Route),
    /// OPTIONS without a route of its own.
    Options,
    NotAllowed,
}

/// The routes of one pattern by method. Few, so a list is faster than a hash table.
#[derive(Debug, Default)]
pub(crate) struct Methods {
    routes: Vec<(Box<str>, Route)>,
    /// The value of `Allow`, made when a route is added.
    pub(crate) allow: String,
}

impl Methods {
    /// The route registered under exactly this method, `*` included.
    pub(crate) fn registered(&self, method: &str) -> Option<&Route> {
        self.routes.iter().find(|(registered, _)| **registered == *method).map(|(_, route)| route)
    }

    pub(crate) fn add(&mut self, method: &str, route: Route) {
        self.routes.push((method.into(), route));
        self.allow = self.allow_header();
    }

    /// The route that answers a request: its own method's, for HEAD that of GET, then that of any method.
    pub(crate) fn answer(&self, method: &str) -> Answer<'_> {
        let route = self
            .registered(method)
            .or_else(|| if method == "HEAD" { self.registered("GET") } else { None })
            .or_else(|| self.registered("*"));
        match route {
            Some(route) => Answer::Route(route),
            None if method == "OPTIONS" => Answer::Options,
            None => Answer::NotAllowed,
        }
    }

    /// With a route for any method the list cannot be complete: it names the methods of RFC 9110 and PATCH.
    fn allow_header(&self) -> String {
        let mut allowed: Vec<&str> = self.routes.iter().map(|(method, _)| &**method).collect();
        if self.registered("*").is_some() {
            allowed.retain(|method| *method != "*");
            allowed.extend(["DELETE", "GET", "PATCH", "POST", "PUT"]);
        }
        if allowed.contains(&"GET") {
            allowed.push("HEAD");
        }
        allowed.push("OPTIONS");
        allowed.sort_unstable();
        allowed.dedup();
        allowed.join(", ")
    }
}

/// Whether a method can be registered: `*`, or a token of RFC 9110 without lower-case letters. Methods are
/// case-sensitive, and one in lower case is always a slip.
pub(crate) fn is_method(method: &str) -> bool {
    let token =
        |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !method.is_empty() && method.len() <= 64 && method.bytes().all(token)
}
