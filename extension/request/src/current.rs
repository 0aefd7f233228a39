//! The request that this process is running: what `http.current_request()` and its kin read.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::ffi::c_char;
use std::net::IpAddr;

use message::{Request, Scheme};
use pg::text::c_string;
use session::authority;

use super::forms::FormContext;
use super::types::Types;

/// A path parameter: name and value.
pub(crate) type PathParameter<'a> = (&'a str, Cow<'a, str>);

/// Pointers to what the runner holds while a request runs.
#[derive(Clone, Copy)]
struct Current {
    request: *const Request<'static>,
    path: *const [PathParameter<'static>],
    types: *const Types,
    client: Option<IpAddr>,
    form: *const FormContext<'static>,
}

thread_local! {
    static CURRENT: Cell<Option<Current>> = const { Cell::new(None) };
}

/// Runs `work` with this request as the current one. An error of PostgreSQL's jumps over the end: call
/// [`clear`] after one.
pub fn with<T>(
    request: &Request<'_>,
    path: &[PathParameter<'_>],
    client: Option<IpAddr>,
    types: &Types,
    form: &FormContext<'_>,
    work: impl FnOnce() -> T,
) -> T {
    // The cast changes the lifetime alone.
    #[allow(clippy::unnecessary_cast)]
    let path = std::ptr::from_ref(path) as *const [PathParameter<'static>];
    let form = std::ptr::from_ref(form).cast();
    CURRENT.set(Some(Current { request: std::ptr::from_ref(request).cast(), path, types, client, form }));
    let result = work();
    clear();
    result
}

/// Forgets the current request.
pub fn clear() {
    CURRENT.set(None);
}

/// What runs as somebody else sees no request.
fn visible() -> Option<Current> {
    if authority::runs_restricted() { None } else { CURRENT.get() }
}

/// The current request and the types, if a request runs.
///
/// # Safety
/// The references are used before the request ends: within one call from SQL.
pub unsafe fn get<'a>() -> Option<(&'a Request<'a>, &'a Types)> {
    let current = visible()?;
    // SAFETY: `with` keeps both alive while they are set.
    unsafe { Some((&*current.request, &*current.types)) }
}

/// The forms that the current request sees, if one runs.
///
/// # Safety
/// As of [`get`].
pub unsafe fn forms<'a>() -> Option<FormContext<'a>> {
    // SAFETY: `with` keeps it alive while it is set.
    visible().map(|current| unsafe { *current.form })
}

/// The client's address: the peer's, or what a trusted proxy says.
pub fn client(request: &Request<'_>) -> Option<IpAddr> {
    match visible() {
        Some(current) => current.client,
        None => request.remote().map(|address| address.ip()),
    }
}

/// How the client came: as the connection did, or as a trusted proxy says.
pub fn scheme(request: &Request<'_>) -> Scheme {
    crate::proxies::scheme(request)
}

/// A parameter of the path.
pub fn path_value(name: &str) -> Option<String> {
    // SAFETY: `with` keeps the parameters alive while they are set.
    let path = unsafe { &*visible()?.path };
    path.iter().find(|(known, _)| *known == name).map(|(_, value)| value.clone().into_owned())
}

/// The path's parameters as a JSON object, a C string in the current memory context.
///
/// # Safety
/// Inside a guard.
pub(crate) unsafe fn path_parameters() -> *mut c_char {
    let path = match visible() {
        // SAFETY: `with` keeps the parameters alive while they are set.
        Some(current) => unsafe { &*current.path },
        None => &[],
    };
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
