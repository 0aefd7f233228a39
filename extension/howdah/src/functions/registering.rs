//! Registering routes and pages.
//!
//! These functions run as their caller. Whom a request may run as is asked of the current user; names mean what they mean to
//! the caller. Only the rows are written as the extension's owner, by fixed texts.

use std::ffi::{CStr, CString};

use deploy::giving_way::give_way;
use deploy::recorder::{Registered, note_kept, note_registered};
use pg::entry::{Call, sql_function};
use pg::refuse::{refuse, refuse_with_hint};
use pg::text::string;
use pgrx::datum::DatumWithOid;
use pgrx::pg_sys::{self, Datum, Oid};
use pgrx::prelude::*;
use request::function::Function;
use request::inputs::Input;
use request::types::Types;
use router::{InsertError, Router, may_be_below};
use session::authority::{
    check_role, function_name, has_rights_of, is_admin, name_of, refuse_restricted, rows_as_owner,
    value_as_owner, with_path,
};
use session::temporary;
use shared::settings;

sql_function!(
    /// `http.route(method, pattern, function, role, search_path)`
    howdah_route,
    |call| register_route(call, Registered::Route)
);

sql_function!(
    /// `http.page(method, pattern, function, role, search_path)`
    howdah_page,
    |call| register_route(call, Registered::Page)
);

/// Registers a route or a page.
fn register_route(call: Call, what: Registered) -> Datum {
    refuse_restricted();
    let method = call.need_text(0, "method").to_uppercase();
    let pattern = call.need_text(1, "pattern");
    let role = check_role(call.need_text(3, "role"));
    let path = SearchPath::of(call, 4);
    let function = with_path(&path.0, || look_up(call.need_text(2, "function")));
    let function_as_it_is = check_function(function);
    let owner = name_of(function_as_it_is.owner());
    check_function_owner(&owner, &function_as_it_is);
    let (function, path) = (function_name(function), path.text());
    let route = NewRoute { what, method: &method, pattern, function, role, path, owner };
    let (former, is_same) = route.former();
    if !is_same {
        route.register(former.as_deref());
    }
    check_parameters(pattern, &function_as_it_is);
    let note = if is_same { note_kept } else { note_registered };
    note(what, &[&method, pattern]);
    Datum::null()
}

sql_function!(
    /// `http.registration_path()`: the schemas of the search_path but those for what is temporary, and pg_temp last. A session's own has a
    /// number, by which it is another session's next.
    howdah_registration_path,
    |call| {
        // SAFETY: inside a transaction; a list of schemas, of which one may be gone by now.
        let names = unsafe {
            let schemas = pgrx::PgList::<Oid>::from_pg(pg_sys::fetch_search_path(false));
            schemas
                .iter_oid()
                .map(|schema| pg_sys::get_namespace_name(schema))
                .filter(|name| !name.is_null() && !CStr::from_ptr(*name).to_bytes().starts_with(b"pg_temp"))
                .map(|name| string(pg_sys::quote_identifier(name)))
                .collect::<Vec<_>>()
        };
        if names.is_empty() { call.null() } else { call.give(names.join(", ") + ", pg_temp") }
    }
);

sql_function!(
    /// `http.unroute(method, pattern)`
    howdah_unroute,
    |call| remove_route(call, Registered::Route)
);

sql_function!(
    /// `http.unpage(method, pattern)`
    howdah_unpage,
    |call| remove_route(call, Registered::Page)
);

/// Removes a route or a page.
fn remove_route(call: Call, what: Registered) -> Datum {
    refuse_restricted();
    let method = call.text(0).map(|method| method.to_uppercase());
    if let (Some(method), Some(pattern)) = (&method, call.text(1)) {
        check_route_owner(method, pattern, &[what]);
    }
    is_removed(
        "delete from http.route r where r.method = $1 and r.pattern = $2 and r.is_page = $3 returning true",
        &[method.into(), call.text(1).into(), is_page(what).into()],
    )
}

fn is_page(what: Registered) -> bool {
    what == Registered::Page
}

sql_function!(
    /// `http.validate(method, pattern, validates)`
    howdah_validate,
    |call| say_of_route(
        call,
        "validates",
        "update http.route r set validates = $3 where r.method = $1 and r.pattern = $2 returning true",
        |method| check_reads(method, "have no entity tag"),
    )
);

sql_function!(
    /// `http.cross_site(method, pattern, takes)`
    howdah_cross_site,
    |call| say_of_route(
        call,
        "takes",
        "update http.route r set takes_other_sites = $3 where r.method = $1 and r.pattern = $2 returning true",
        |method| check_writes(method, &format!("requests by {method} are taken from pages of every site")),
    )
);

sql_function!(
    /// `http.uncompressed(method, pattern, uncompressed)`
    howdah_uncompressed,
    |call| say_of_route(
        call,
        "uncompressed",
        "update http.route r set uncompressed = $3 where r.method = $1 and r.pattern = $2 returning true",
        |_| (),
    )
);

sql_function!(
    /// `http.compressed_body(method, pattern, takes)`
    howdah_compressed_body,
    |call| say_of_route(
        call,
        "takes",
        "update http.route r set takes_compressed = $3 where r.method = $1 and r.pattern = $2 returning true",
        |method| check_writes(method, &format!("requests by {method} have no body")),
    )
);

/// Says something of the route, and of the page, of a method and a pattern: yes, or no.
fn say_of_route(call: Call, what: &str, update: &'static str, check: impl FnOnce(&str)) -> Datum {
    refuse_restricted();
    let method = call.need_text(0, "method").to_uppercase();
    let pattern = call.need_text(1, "pattern");
    let says: bool = call.need(2, what);
    check(&method);
    check_route_owner(&method, pattern, BOTH);
    let set = value_as_owner::<bool>(update, &[method.as_str().into(), pattern.into(), says.into()]);
    check_set(set, &method, pattern);
    Datum::null()
}

/// Refuses what is said of requests by a method that only reads.
fn check_writes(method: &str, why: &str) {
    if matches!(method, "GET" | "HEAD" | "OPTIONS") {
        refuse_with_hint(
            PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            why,
            "Name a route that changes something: POST, PUT, PATCH, DELETE or *.",
        );
    }
}

/// Refuses what is said of answers to another method than GET.
pub(super) fn check_reads(method: &str, what: &str) {
    if !matches!(method, "GET" | "*") {
        refuse_with_hint(
            PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            &format!("answers to {method} {what}"),
            "Name the route of GET at the same path.",
        );
    }
}

pub(super) fn check_set(set: Option<bool>, method: &str, pattern: &str) {
    if set.is_none() {
        refuse_with_hint(
            PgSqlErrorCode::ERRCODE_UNDEFINED_OBJECT,
            &format!("there is no route {method} {pattern}"),
            "http.route() makes one, and replaces what was said of it before.",
        );
    }
}

/// A route or a page as it is to be.
struct NewRoute<'a> {
    what: Registered,
    method: &'a str,
    pattern: &'a str,
    function: String,
    role: Oid,
    path: String,
    owner: String,
}

impl NewRoute<'_> {
    /// The owner of the one that there is; and whether it is registered so, and nothing more was said of it. Then nothing has to be written, and
    /// no process reads the routes again. An error as of [`check_route_owner`].
    fn former(&self) -> (Option<String>, bool) {
        let found = rows_as_owner(
            "select coalesce(r.owner, ''), (r.function, r.role, r.search_path, r.vary) = ($3, $4, $5, '{}'::text[])
               and not (r.validates or r.takes_other_sites or r.uncompressed or r.takes_compressed)
               and r.owner = $6 and r.max_entries is null and r.max_age is null and r.form_page is null
             from http.route r where r.method = $1 and r.pattern = $2 and r.is_page = $7",
            &[
                self.method.into(),
                self.pattern.into(),
                self.function.as_str().into(),
                self.role.into(),
                self.path.as_str().into(),
                self.owner.as_str().into(),
                is_page(self.what).into(),
            ],
            |row| Some((row.get::<String>(1).ok()??, row.get::<bool>(2).ok()?.unwrap_or_default())),
        );
        let (former, is_same) = found.into_iter().next().unzip();
        check_rights(former.as_deref(), &self.title());
        (former, is_same.unwrap_or_default())
    }

    fn title(&self) -> String {
        format!("{} {} {}", self.what.word(), self.method, self.pattern)
    }

    /// Registers it, where there is none, or in place of one of `former`. What it has in common with others is asked when its owner has
    /// it registered first.
    fn register(&self, former: Option<&str>) {
        let is_known = former == Some(&self.owner);
        if !is_known {
            self.check_other_routes();
            self.check_guards();
            self.check_room();
        }
        register(
            &self.title(),
            "insert into http.route as r (method, pattern, function, role, search_path, owner, is_page) values ($1, $2, $3, $4, $5, $6, $9)
             on conflict (method, pattern, is_page) do update
             set function = excluded.function, role = excluded.role, search_path = excluded.search_path,
               owner = excluded.owner, validates = false, vary = default, max_entries = null, max_age = null,
               takes_other_sites = false, form_page = null, uncompressed = false, takes_compressed = false
             where $7 or coalesce(r.owner, '') = $8 returning true",
            &[
                self.method.into(),
                self.pattern.into(),
                self.function.as_str().into(),
                self.role.into(),
                self.path.as_str().into(),
                self.owner.as_str().into(),
                is_admin().into(),
                former.unwrap_or(&self.owner).into(),
                is_page(self.what).into(),
            ],
        );
        if !is_known {
            self.check_pattern();
        }
    }

    /// An error if the route would answer some of the requests that another's does, of somebody whose rights the current user has not.
    fn check_other_routes(&self) {
        if is_admin() {
            return;
        }
        let pattern = self.pattern;
        let beginning = pattern.split('{').next().unwrap_or_default();
        let others = rows_as_owner(
            "select r.pattern, coalesce(r.owner, '') from http.route r
             where starts_with(r.pattern, $1) or starts_with($1, split_part(r.pattern, '{', 1))",
            &[beginning.into()],
            |row| row.get::<String>(1).ok()?.zip(row.get::<String>(2).ok()?),
        );
        let taken = others
            .iter()
            .find(|(other, owner)| router::takes_part_of(pattern, other) && !has_rights_of(owner));
        if let Some((other, owner)) = taken {
            refuse_with_hint(
                PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
                &format!("{} would answer requests to {other}, which belongs to {owner}", self.title()),
                "Choose another path.",
            );
        }
    }

    /// An error if the route would be guarded by somebody whose rights the current user has not, who would see its requests, and could refuse them.
    fn check_guards(&self) {
        if is_admin() {
            return;
        }
        let guards =
            rows_as_owner("select g.prefix, coalesce(g.owner, '') from http.guarded g", &[], |row| {
                row.get::<String>(1).ok()?.zip(row.get::<String>(2).ok()?)
            });
        let theirs =
            guards.iter().find(|(prefix, owner)| may_be_below(prefix, self.pattern) && !has_rights_of(owner));
        if let Some((prefix, owner)) = theirs {
            refuse_with_hint(
                PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
                &format!("{} would lie below the guard {prefix}, which belongs to {owner}", self.title()),
                "Choose another path.",
            );
        }
    }

    /// An error if an application would have more than half of the routes that have statistics and a limit of their own.
    fn check_room(&self) {
        let most = i64::from(settings::MAX_ROUTES.get()) / 2;
        let others = || {
            value_as_owner::<i64>(
                "select count(*) from http.route r where r.owner = $1 and (r.method, r.pattern, r.is_page) <> ($2, $3, $4)",
                &[
                    self.owner.as_str().into(),
                    self.method.into(),
                    self.pattern.into(),
                    is_page(self.what).into(),
                ],
            )
        };
        if !is_admin() && others().is_some_and(|count| count >= most) {
            refuse_with_hint(
                PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
                &format!("{} has {most} routes already", self.owner),
                "An application may have half of howdah.max_routes. Raise it and restart the server.",
            );
        }
    }

    /// An error if a route is malformed, or conflicts with another that does not give way. Those that can match the same paths have the same text up to
    /// the first parameter: what the others cost does not grow with each route that is added.
    fn check_pattern(&self) {
        let (method, pattern) = (self.method, self.pattern);
        let beginning = pattern.split('{').next().unwrap_or_default();
        let others = rows_as_owner(
            "select distinct r.pattern from http.route r
             where r.method = $1 and starts_with(r.pattern, $2) and r.pattern <> $3",
            &[method.into(), beginning.into(), pattern.into()],
            |row| row.get::<String>(1).ok().flatten(),
        );
        let mut router = Router::new();
        let added = others.iter().try_for_each(|other| router.insert(method, other, 0));
        if let Err(error) = added.and_then(|()| router.insert(method, pattern, 0)) {
            if matches!(&error, InsertError::Conflict { existing, .. } if give_way(method, existing, &self.owner))
            {
                return;
            }
            refuse(PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE, &format!("{}: {error}", self.title()));
        }
    }
}

/// Whether a statement that removes something has found it.
pub(crate) fn is_removed(statement: &str, arguments: &[DatumWithOid<'_>]) -> Datum {
    Datum::from(value_as_owner::<bool>(statement, arguments).unwrap_or_default())
}

/// Writes a row. An error if another has come in its place since its owner was asked for.
pub(super) fn register(what: &str, statement: &str, arguments: &[DatumWithOid<'_>]) {
    if value_as_owner::<bool>(statement, arguments).is_none() {
        refuse(
            PgSqlErrorCode::ERRCODE_T_R_SERIALIZATION_FAILURE,
            &format!("somebody else has just registered {what}"),
        );
    }
}

/// The search path in which names are to resolve, as it is registered.
pub(crate) struct SearchPath(pub(super) CString);

impl SearchPath {
    /// That of an argument; null stands for no schema of anybody's.
    pub(crate) fn of(call: Call, place: usize) -> SearchPath {
        let text = call.text(place).unwrap_or("pg_temp");
        temporary::refuse_in_path(text);
        // What SQL passes as text has no byte 0.
        SearchPath(CString::new(text).unwrap_or_default())
    }

    /// As it is stored.
    pub(crate) fn text(&self) -> String {
        self.0.to_string_lossy().into_owned()
    }
}

/// The function that a name, or a name with the types of its arguments, means under the search path in force.
pub(crate) fn look_up(name: &str) -> Oid {
    if name.bytes().all(|byte| byte.is_ascii_digit()) {
        refuse(PgSqlErrorCode::ERRCODE_INVALID_NAME, &format!("{name:?} is no function's name"));
    }
    let text = CString::new(name).unwrap_or_default();
    let input = if name.contains('(') { pg_sys::regprocedurein } else { pg_sys::regprocin };
    // SAFETY: both take a C string, which lives for as long as the call.
    let found = unsafe { pgrx::direct_function_call::<Oid>(input, &[Some(Datum::from(text.as_ptr()))]) };
    found.unwrap_or(Oid::INVALID)
}

/// A route and the page beside it: [`http.validate()`](howdah_validate) and its like say something of both.
pub(super) const BOTH: &[Registered] = &[Registered::Route, Registered::Page];

/// An error if there is such a route or page, and its function is that of somebody whose rights the current user has not: who may register
/// routes without being a member of howdah_admin, such as the owner of an application, changes none of others.
pub(super) fn check_route_owner(method: &str, pattern: &str, which: &[Registered]) {
    for what in which {
        check_owner(
            "select coalesce(r.owner, '') from http.route r where r.method = $1 and r.pattern = $2 and r.is_page = $3",
            &[method.into(), pattern.into(), is_page(*what).into()],
            &format!("{} {method} {pattern}", what.word()),
        );
    }
}

/// An error if it is the function of somebody whose rights the current user has not: a route belongs to its function's owner.
pub(crate) fn check_function_owner(owner: &str, function: &Function) {
    if !is_admin() && !has_rights_of(owner) {
        refuse_with_hint(
            PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
            &format!("{} belongs to {owner}", function.qualified_name()),
            "Write a function of your own, which calls it.",
        );
    }
}

pub(super) fn check_owner(query: &str, arguments: &[DatumWithOid<'_>], what: &str) -> Option<String> {
    let owner = value_as_owner::<String>(query, arguments);
    check_rights(owner.as_deref(), what);
    owner
}

/// An error if the current user has not the rights of who has registered something.
fn check_rights(owner: Option<&str>, what: &str) {
    if let Some(owner) = owner.filter(|owner| !is_admin() && !has_rights_of(owner)) {
        let whose = if owner.is_empty() { "others" } else { owner };
        refuse(PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE, &format!("{what} belongs to {whose}"));
    }
}

/// The function as the catalog describes it.
pub(crate) fn described(function: Oid) -> Function {
    // SAFETY: inside a transaction.
    unsafe { Function::of(function, &types()) }
}

/// The function; an error if a route cannot call it.
pub(super) fn check_function(function: Oid) -> Function {
    let function = described(function);
    if let Some(obstacle) = function.obstacle() {
        refuse(PgSqlErrorCode::ERRCODE_WRONG_OBJECT_TYPE, obstacle);
    }
    let mut bodies = 0;
    for argument in function.arguments() {
        bodies += usize::from(argument.takes_body());
        let takes_body = argument.takes_body() && bodies == 1;
        if argument.name.is_none() && !takes_body && !matches!(argument.input, Input::Request) {
            refuse_with_hint(
                PgSqlErrorCode::ERRCODE_INVALID_FUNCTION_DEFINITION,
                "an argument of a route's function has no name",
                "Name it: arguments are bound by name. One without a name, of type text, json, jsonb or bytea, takes the body.",
            );
        }
    }
    function
}

/// An error if the pattern has a parameter that nothing of the function takes: a name is misspelled.
fn check_parameters(pattern: &str, function: &Function) {
    let takes = |name: &str| function.arguments().iter().any(|argument| argument.takes(name));
    let lost = router::parameters(pattern).into_iter().find(|name| !takes(name));
    if let Some(name) = lost.filter(|_| !function.may_read_request()) {
        refuse_with_hint(
            PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            &format!(
                "{} takes no argument {name}, which the pattern {pattern} has",
                function.qualified_name()
            ),
            "Rename the one or the other. A function that leaves it to others to call http.path_value() takes an argument of type http.request.",
        );
    }
}

/// The types, looked up in a session that registers.
pub(super) fn types() -> Types {
    // SAFETY: inside a transaction, in a database with the extension.
    unsafe { Types::look_up(pg_sys::get_namespace_oid(c"http".as_ptr(), false)) }
}
