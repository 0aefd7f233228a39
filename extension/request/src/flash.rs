//! Flash: a message that a navigation brings in a cookie, for the page that answers it. Whether it was shown is of one run at a time, as requests do not
//! nest. The answer that shows it clears it, and is kept by nobody.

use std::cell::Cell;

use form::flash::{Flash, NAME, clearing_header};
use message::Scheme;

use super::current::{self, scheme};
use super::headers::Header;
use super::read_inputs::ReadInput;

thread_local! {
    /// Whether the message was shown, and is to be cleared by a cookie that goes over TLS alone.
    static SHOWN: Cell<Option<bool>> = const { Cell::new(None) };
}

/// The message of the request that runs, whose answer shows it.
pub fn show() -> Option<Flash<'static>> {
    // SAFETY: used within a call from SQL.
    let request = unsafe { current::get() }?.request;
    let flash = ReadInput::Flash.take(request).and_then(Flash::read)?;
    SHOWN.set(Some(scheme(request) == Scheme::Https));
    Some(flash)
}

/// The `Set-Cookie` header that clears the message, if it was shown.
pub(crate) fn clearing() -> Option<String> {
    SHOWN.get().map(clearing_header)
}

/// The headers of an answer that shows a message of `http.flash`: nobody keeps it, and this cookie clears the message, unless there is another already.
pub(crate) fn of_one<'h>(headers: &[Header<'h>], cookie: &'h str) -> Vec<Header<'h>> {
    let mut kept: Vec<_> = headers
        .iter()
        .copied()
        .filter(|header| !header.name.eq_ignore_ascii_case(b"cache-control"))
        .collect();
    let sets_another = kept.iter().any(|header| {
        header.name.eq_ignore_ascii_case(b"set-cookie")
            && header.value.strip_prefix(NAME.as_bytes()).is_some_and(|rest| rest.starts_with(b"="))
    });
    kept.push(Header { name: b"cache-control", value: b"no-store" });
    if !sets_another {
        kept.push(Header { name: b"set-cookie", value: cookie.as_bytes() });
    }
    kept
}

/// Another run begins.
pub(crate) fn forget() {
    SHOWN.set(None);
}
