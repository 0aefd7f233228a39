//! Numbers of type `numeric`, built as PostgreSQL keeps them (`NumericShort` in numeric.c): a header of sign, scale and
//! weight, then digits to the base of ten thousand.

/// Digits to the base of ten that are built here; longer numbers are left to PostgreSQL.
const LONGEST: usize = 60;
const SHORT: u16 = 0x8000;
const NEGATIVE: u16 = 0x2000;
const SCALE_SHIFT: u32 = 7;
const WEIGHT_NEGATIVE: u16 = 0x40;
const WEIGHT: u16 = 0x3f;

/// The content of the value, in `room`; none if the spelling is not digits with or without a point, or if it does not fit
/// the type's modifier as it is.
pub fn numeric(text: &str, modifier: i32, room: &mut Vec<u8>) -> Option<()> {
    let (is_negative, number) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let are_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty()
        || whole.len() + fraction.len() > LONGEST
        || !are_digits(whole)
        || !are_digits(fraction)
    {
        return None;
    }
    if fraction.is_empty() && number.len() != whole.len() {
        return None;
    }
    let scale = scale(whole, fraction, modifier)?;
    let whole = whole.trim_start_matches('0');
    let groups = groups(whole, fraction);
    let first = groups.iter().position(|group| *group != 0).unwrap_or(groups.len());
    let last = groups.iter().rposition(|group| *group != 0).map_or(first, |last| last + 1);
    let weight = match first == groups.len() {
        true => 0,
        false => whole.len().div_ceil(4) as i32 - 1 - first as i32,
    };
    let mut header = SHORT | scale << SCALE_SHIFT | weight as u16 & WEIGHT;
    if weight < 0 {
        header |= WEIGHT_NEGATIVE;
    }
    if is_negative && first < groups.len() {
        header |= NEGATIVE;
    }
    room.extend_from_slice(&header.to_ne_bytes());
    groups[first..last].iter().for_each(|group| room.extend_from_slice(&group.to_ne_bytes()));
    Some(())
}

/// Digits after the point that the value has: as many as are written, or as the type wants.
fn scale(whole: &str, fraction: &str, modifier: i32) -> Option<u16> {
    if modifier < 4 {
        return Some(fraction.len() as u16);
    }
    let (precision, scale) = ((modifier - 4) >> 16 & 0xffff, (modifier - 4) & 0x7ff);
    // From 1024 on it is negative.
    let fits = scale < 64
        && fraction.len() as i32 <= scale
        && whole.trim_start_matches('0').len() as i32 <= precision - scale;
    fits.then_some(scale as u16)
}

/// Groups of four digits, to both sides of the point.
fn groups(whole: &str, fraction: &str) -> Vec<i16> {
    let value = |group: &[u8]| group.iter().fold(0, |value, digit| value * 10 + i16::from(digit - b'0'));
    let (head, tail) = whole.as_bytes().split_at(whole.len() % 4);
    let padded = |group: &[u8]| value(group) * 10_i16.pow(4 - group.len() as u32);
    let head = (!head.is_empty()).then(|| value(head));
    head.into_iter()
        .chain(tail.chunks(4).map(value))
        .chain(fraction.as_bytes().chunks(4).map(padded))
        .collect()
}
