//! Files that users have sent, and that others get.

use ::files::download::{disposition, shown_type};
use ::files::range::{WantedRange, wanted};
use pg::entry::sql_function;
use request::read_inputs::ReadInput;

use super::requests::request;

sql_function!(
    /// `http.shown_type(body, content_type)`
    howdah_shown_type,
    |call| {
        let shown = call.get::<&[u8]>(0).and_then(|bytes| shown_type(bytes, call.text(1)));
        call.give(shown)
    }
);

sql_function!(
    /// `http.disposition(name, shown)`
    howdah_disposition,
    |call| call.give(disposition(call.need_text(0, "name"), call.need(1, "shown")))
);

sql_function!(
    /// `http.wanted_part(length)`
    howdah_wanted_part,
    |call| {
        let length: i64 = call.need(0, "length");
        let header = |name: &str| ReadInput::Header(name.to_owned()).take(request()?);
        // Nobody knows here which tag the answer will have: who asks for a part of that alone gets all.
        let asks = header("if-range").is_none();
        let part = header("range").filter(|_| asks).map_or(WantedRange::All, |range| wanted(range, length.max(0) as u64));
        let (status, from, count) = match part {
            WantedRange::All => (200, 0, length),
            WantedRange::Part(part) => (206, part.start.cast_signed(), (part.end - part.start).cast_signed()),
            WantedRange::Nothing => (416, 0, 0),
        };
        call.give(vec![status, from, count])
    }
);
