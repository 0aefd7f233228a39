//! The request that this process is running: what `http.current_request()` and its kin read.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::ffi::c_char;
use std::net::IpAddr;

use form::signed_cookie::SigningKey;
use message::{Request, Scheme};
use pg::text::c_string;
use session::authority;

use super::forms::FormContext;
use super::types::Types;

/// A path parameter: name and value.
pub(crate) type PathParameter<'a> = (&'a str, Cow<'a, str>);

/// A request as what it runs sees it.
pub struct CurrentRequest<'s> {
    /// The request.
    pub request: &'s Request<'s>,
    /// The parameters of its path.
    pub(crate) path: &'s [PathParameter<'s>],
    /// OIDs of the extension's types.
    pub types: &'s Types,
    /// The client's address: the peer's, or what a trusted proxy says.
    pub(crate) client: Option<IpAddr>,
    /// The forms that it may show.
    pub form: FormContext<'s>,
    /// The key of the cookies of whoever owns what runs.
    pub key: SigningKey<'s>,
}

thread_local! {
    static CURRENT: Cell<Option<*const CurrentRequest<'static>>> = const { Cell::new(None) };
}

/// Runs `work` with this request as the current one. An error of PostgreSQL's jumps over the end: call
/// [`clear`] after one.
pub(crate) fn with<T>(seen: &CurrentRequest<'_>, work: impl FnOnce() -> T) -> T {
    CURRENT.set(Some(std::ptr::from_ref(seen).cast()));
    let result = work();
    clear();
    result
}

/// Forgets the current request.
pub fn clear() {
    CURRENT.set(None);
}

/// The current request, if one runs. What runs as somebody else sees none.
///
/// # Safety
/// The reference is used before the request ends: within one call from SQL.
pub unsafe fn get<'a>() -> Option<&'a CurrentRequest<'a>> {
    let seen = CURRENT.get().filter(|_| !authority::runs_restricted())?;
    // SAFETY: `with` keeps it alive while it is set; a shorter lifetime than it has.
    Some(unsafe { &*seen.cast() })
}

/// The client's address: the peer's, or what a trusted proxy says.
pub fn client(request: &Request<'_>) -> Option<IpAddr> {
    // SAFETY: used at once.
    match unsafe { get() } {
        Some(seen) => seen.client,
        None => request.remote().map(|address| address.ip()),
    }
}

/// How the client came: as the connection did, or as a trusted proxy says.
pub fn scheme(request: &Request<'_>) -> Scheme {
    crate::proxies::scheme(request)
}

/// A parameter of the path.
pub fn path_value(name: &str) -> Option<String> {
    // SAFETY: used at once.
    let seen = unsafe { get()? };
    seen.path.iter().find(|(known, _)| *known == name).map(|(_, value)| value.clone().into_owned())
}

/// The path's parameters as a JSON object, a C string in the current memory context.
///
/// # Safety
/// Inside a guard.
pub(crate) unsafe fn path_parameters() -> *mut c_char {
    // SAFETY: used at once.
    let path = unsafe { get() }.map_or(&[][..], |seen| seen.path);
    let object = path.iter().map(|(name, value)| ((*name).to_owned(), value.as_ref().into())).collect();
    let text = serde_json::Value::Object(object).to_string();
    // SAFETY: inside a guard; running out of memory alone can raise, and leaks the text.
    unsafe { c_string(&text) }
}

thread_local! {
    /// The title of what has answered the last request of `http.call`.
    static ENDPOINT: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Notes what answers the request.
pub(crate) fn note_endpoint(title: &str) {
    ENDPOINT.set(Some(title.to_owned()));
}

/// The route or query handler that has answered the last request, such as `GET /users/{handle}`; none if none has.
pub fn take_endpoint() -> Option<String> {
    ENDPOINT.take()
}
