//! HTML of values: what pages, and who writes HTML in SQL, are made by.

mod aggregates;
mod printing;
mod template;
mod urls;

use pages::escape;
use pg::entry::{Call, sql_function};
use pg::guard::direct;
use pgrx::pg_sys::Datum;

use printing::{PrintedValue, ROOM, pieces};

sql_function!(
    /// `http.html_of(variadic "any")`: its arguments one after the other, HTML as it is, all else escaped.
    howdah_html_of,
    |call| joined(call, |piece| !piece.is_html)
);

sql_function!(
    /// `http.text_of(variadic "any")`: its arguments one after the other, as text.
    howdah_text_of,
    |call| joined(call, |_| false)
);

sql_function!(
    /// `http.attribute("any")`: a value in an attribute, where HTML is text, too.
    howdah_attribute,
    |call| joined(call, |_| true)
);

sql_function!(
    /// `http.safe_url(value)`
    howdah_safe_url,
    |call| {
        let value: &str = call.need(0, "value");
        match escape::safe_url(value) {
            // As it was: nothing is copied.
            std::borrow::Cow::Borrowed(same) if same.len() == value.len() => call.argument(0).unwrap_or(Datum::null()),
            safe => call.give(safe.as_ref()),
        }
    }
);

sql_function!(
    /// `http.script_json(value)`: null is JSON's.
    howdah_script_json,
    |call| {
        let json: &str = call.get(0).unwrap_or("null");
        let pieces = || escape::script_json_pieces(json);
        let length = pieces().map(str::len).sum();
        // SAFETY: inside a transaction; what is owned meanwhile is nothing.
        unsafe { direct(|| request::params::text_of_pieces(length, pieces())) }
    }
);

/// The arguments of a call one after the other; those escaped of which `escapes` is true.
fn joined(call: Call, escapes: impl Fn(&PrintedValue) -> bool) -> Datum {
    // SAFETY: inside a transaction; nothing that has a destructor is held meanwhile.
    unsafe {
        direct(|| {
            let mut room = ROOM;
            written(pieces(call, 0, &mut room).iter().map(|piece| (piece.bytes, escapes(piece))))
        })
    }
}

/// A text of pieces, each with whether it is escaped.
///
/// # Safety
/// Inside [`direct`]; the bytes are those of texts.
unsafe fn written<'a>(pieces: impl Iterator<Item = (&'a [u8], bool)> + Clone) -> Datum {
    let each = || {
        pieces.clone().flat_map(|(bytes, is_escaped)| {
            // SAFETY: by contract: text of a database whose encoding is UTF-8.
            let text = unsafe { std::str::from_utf8_unchecked(bytes) };
            let (raw, escaped) = if is_escaped { ("", text) } else { (text, "") };
            std::iter::once(raw).chain(form::escape::html_pieces(escaped))
        })
    };
    let length = each().map(str::len).sum::<usize>();
    // SAFETY: as above.
    unsafe { request::params::text_of_pieces(length, each()) }
}
