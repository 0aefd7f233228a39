//! Ranges of bytes, as RFC 9110, section 14, has them.

use std::ops::Range;

/// The wish of a header `Range`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WantedRange {
    /// All: there is no range, or one that nobody has to follow, such as several, of which a client could have sent thousands that overlap.
    All,
    /// These bytes.
    Part(Range<u64>),
    /// Nothing that is there.
    Nothing,
}

/// The part of so many bytes that a header asks for.
///
/// ```
/// use files::range::{WantedRange, wanted};
///
/// assert_eq!(wanted("bytes=0-9", 100), WantedRange::Part(0..10));
/// assert_eq!(wanted("bytes=-10", 100), WantedRange::Part(90..100));
/// assert_eq!(wanted("bytes=100-", 100), WantedRange::Nothing);
/// ```
pub fn wanted(header: &str, length: u64) -> WantedRange {
    let Some((unit, set)) = header.split_once('=') else { return WantedRange::All };
    if !unit.trim().eq_ignore_ascii_case("bytes") || set.contains(',') {
        return WantedRange::All;
    }
    let Some((first, last)) = set.trim().split_once('-') else { return WantedRange::All };
    match (number(first), number(last)) {
        // Of nothing the beginning and the end are all of it.
        (Number::None | Number::Of(0), _) if length == 0 => WantedRange::All,
        // The last so many.
        (Number::None, Number::Of(0)) => WantedRange::Nothing,
        (Number::None, Number::Of(count)) => WantedRange::Part(length.saturating_sub(count)..length),
        (Number::Of(first), Number::None) if first < length => WantedRange::Part(first..length),
        (Number::Of(first), Number::Of(last)) if last < first => WantedRange::All,
        (Number::Of(first), Number::Of(last)) if first < length => {
            WantedRange::Part(first..last.saturating_add(1).min(length))
        }
        (Number::Of(_), Number::None | Number::Of(_)) => WantedRange::Nothing,
        _ => WantedRange::All,
    }
}

/// The number on one side of the dash.
enum Number {
    None,
    /// A number; one that is too large for 64 bits is the largest.
    Of(u64),
    Wrong,
}

fn number(text: &str) -> Number {
    if text.is_empty() {
        return Number::None;
    }
    if !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Number::Wrong;
    }
    Number::Of(text.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_range_is_followed_and_everything_else_is_all() {
        let part = |first, end| WantedRange::Part(first..end);
        for (header, length, result) in [
            ("bytes=0-0", 10, part(0, 1)),
            ("bytes=0-", 10, part(0, 10)),
            ("bytes=9-", 10, part(9, 10)),
            ("bytes=3-100", 10, part(3, 10)),
            ("bytes=-1", 10, part(9, 10)),
            ("bytes=-100", 10, part(0, 10)),
            ("BYTES=1-2", 10, part(1, 3)),
            ("bytes= 1-2 ", 10, part(1, 3)),
            ("bytes=0-18446744073709551615", 10, part(0, 10)),
            ("bytes=0-99999999999999999999999", 10, part(0, 10)),
            ("bytes=-99999999999999999999999", 10, part(0, 10)),
            ("bytes=10-", 10, WantedRange::Nothing),
            ("bytes=99999999999999999999999-", 10, WantedRange::Nothing),
            ("bytes=10-20", 10, WantedRange::Nothing),
            ("bytes=-0", 10, WantedRange::Nothing),
            ("bytes=0-", 0, WantedRange::All),
            ("bytes=-5", 0, WantedRange::All),
            ("bytes=-0", 0, WantedRange::All),
            ("bytes=5-", 0, WantedRange::Nothing),
            ("bytes=5-4", 10, WantedRange::All),
            ("bytes=0-1,3-4", 10, WantedRange::All),
            ("bytes=", 10, WantedRange::All),
            ("bytes=-", 10, WantedRange::All),
            ("bytes=a-b", 10, WantedRange::All),
            ("bytes=+1-2", 10, WantedRange::All),
            ("bytes=1--2", 10, WantedRange::All),
            ("bytes 1-2", 10, WantedRange::All),
            ("rows=1-2", 10, WantedRange::All),
            ("", 10, WantedRange::All),
        ] {
            assert_eq!(wanted(header, length), result, "{header} of {length}");
        }
    }
}
