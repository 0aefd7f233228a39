//! Dates and times in the spelling of ISO 8601 that is one for every setting.

/// Days from 0000-03-01 to 2000-01-01, PostgreSQL's first day.
const EPOCH: i32 = 730_425;
const DAY: i64 = 86_400_000_000;

/// `YYYY-MM-DD` as days since 2000-01-01.
pub fn date(text: &str) -> Option<i32> {
    let bytes = text.as_bytes();
    if bytes.len() != 10 || bytes[4] != b'-' || bytes[7] != b'-' {
        return None;
    }
    let (year, month, day) = (digits(&bytes[..4])?, digits(&bytes[5..7])?, digits(&bytes[8..])?);
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let last = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if is_leap => 29,
        2 => 28,
        _ => return None,
    };
    if year == 0 || day == 0 || day > last {
        return None;
    }
    // Years begin in March, so that the day that some have more is their last.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    Some(365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1 - EPOCH)
}

/// `YYYY-MM-DD HH:MM:SS`, or with a `T`, with up to six digits after the second, as microseconds since 2000-01-01.
pub fn timestamp(text: &str) -> Option<i64> {
    let (moment, rest) = moment(text)?;
    rest.is_empty().then_some(moment)
}

/// The same with `Z` or an offset, at UTC.
pub fn timestamp_with_zone(text: &str) -> Option<i64> {
    let (moment, rest) = moment(text)?;
    Some(moment - offset(rest)?)
}

/// A moment, and what follows it.
fn moment(text: &str) -> Option<(i64, &[u8])> {
    let days = date(text.get(..10)?)?;
    let bytes = text.as_bytes().get(10..)?;
    let [b'T' | b' ', time @ ..] = bytes else { return None };
    if time.len() < 8 || time[2] != b':' || time[5] != b':' {
        return None;
    }
    let (hour, minute, second) = (digits(&time[..2])?, digits(&time[3..5])?, digits(&time[6..8])?);
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let (fraction, rest) = fraction(&time[8..])?;
    let seconds = i64::from(hour * 3600 + minute * 60 + second);
    Some((i64::from(days) * DAY + seconds * 1_000_000 + fraction, rest))
}

/// Microseconds after a point, if there is one, and what follows.
fn fraction(bytes: &[u8]) -> Option<(i64, &[u8])> {
    let [b'.', rest @ ..] = bytes else { return Some((0, bytes)) };
    let count = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    // More are rounded, and none is a question of taste.
    if count == 0 || count > 6 {
        return None;
    }
    let value = i64::from(digits(&rest[..count])?);
    Some((value * 10_i64.pow(6 - count as u32), &rest[count..]))
}

/// `Z`, `±HH`, `±HHMM` or `±HH:MM` in microseconds.
fn offset(bytes: &[u8]) -> Option<i64> {
    let (sign, digits_of) = match bytes {
        b"Z" => return Some(0),
        [b'+', rest @ ..] => (1, rest),
        [b'-', rest @ ..] => (-1, rest),
        _ => return None,
    };
    let (hours, minutes) = match digits_of.len() {
        2 => (digits(digits_of)?, 0),
        4 => (digits(&digits_of[..2])?, digits(&digits_of[2..])?),
        5 if digits_of[2] == b':' => (digits(&digits_of[..2])?, digits(&digits_of[3..])?),
        _ => return None,
    };
    (hours < 15 && minutes < 60).then_some(sign * i64::from(hours * 3600 + minutes * 60) * 1_000_000)
}

fn digits(bytes: &[u8]) -> Option<i32> {
    bytes.iter().try_fold(0, |value, byte| byte.is_ascii_digit().then(|| value * 10 + i32::from(byte - b'0')))
}
