//! HTML of values: what pages, and who writes HTML in SQL, are made by.

mod aggregates;
mod printing;
mod template;
mod urls;

use pages::escape;
use pg::TextBuilder;
use pg::entry::{Call, sql_function};
use pg::guard::direct;
use pgrx::pg_sys::Datum;

pub(super) use printing::piece;
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

/// The arguments of a call one after the other; those escaped of which `escapes` is true. A page calls this for each of its rows: it owns nothing,
/// so that PostgreSQL's errors may leave it without a guard.
fn joined(call: Call, escapes: impl Fn(&PrintedValue) -> bool) -> Datum {
    let mut room = ROOM;
    // SAFETY: inside a function that PostgreSQL calls; nothing that has a destructor is held.
    unsafe {
        let pieces = pieces(call, 0, &mut room);
        let mut text = with_room(pieces.iter().map(|piece| piece.bytes.len()).sum());
        pieces.iter().for_each(|piece| push(&mut text, piece.bytes, escapes(piece)));
        text.finish()
    }
}

/// A text with room for so many bytes, and some that escapes take.
unsafe fn with_room(length: usize) -> TextBuilder {
    // SAFETY: by contract.
    unsafe { TextBuilder::with_room(length + length / 16 + 32) }
}

/// Adds a piece, escaped or as it is.
///
/// # Safety
/// Inside [`direct`]; the bytes are those of a text.
unsafe fn push(text: &mut TextBuilder, bytes: &[u8], is_escaped: bool) {
    // SAFETY: by contract: text of a database whose encoding is UTF-8.
    unsafe {
        if is_escaped {
            form::escape::each_html_piece(std::str::from_utf8_unchecked(bytes), |piece| {
                text.push(piece.as_bytes())
            });
        } else {
            text.push(bytes);
        }
    }
}
