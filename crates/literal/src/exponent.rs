//! Numbers that are short as they are spelled and long as PostgreSQL writes them: `1e131071`.

/// Digits of an exponent that is large.
const LARGE: usize = 4;

/// Whether there is a number among these bytes whose exponent has four digits or more. Escapes of URLs and of JSON count as what
/// they stand for.
pub fn has_large(bytes: &[u8]) -> bool {
    if bytes.contains(&b'%') || bytes.contains(&b'\\') { is_in(&unescaped(bytes)) } else { is_in(bytes) }
}

fn is_in(bytes: &[u8]) -> bool {
    let marks = bytes.iter().enumerate().filter(|(_, byte)| matches!(byte, b'e' | b'E'));
    marks
        .map(|(place, _)| place)
        .any(|place| ends_number(&bytes[..place]) && begins_large(&bytes[place + 1..]))
}

/// Whether these bytes end with a number, and not with a name that has digits.
fn ends_number(bytes: &[u8]) -> bool {
    let length = bytes.iter().rev().take_while(|byte| is_part(**byte) || **byte == b'.').count();
    let before = bytes[..bytes.len() - length].last();
    length > 0 && before.is_none_or(|byte| !byte.is_ascii_alphanumeric())
}

/// Whether these bytes begin with a large exponent, and not with a name.
fn begins_large(bytes: &[u8]) -> bool {
    let bytes = bytes.strip_prefix(b"+").or(bytes.strip_prefix(b"-")).unwrap_or(bytes);
    let length = bytes.iter().take_while(|byte| is_part(**byte)).count();
    let (exponent, after) = bytes.split_at(length);
    let digits = exponent.iter().filter(|byte| **byte != b'_').skip_while(|byte| **byte == b'0').count();
    digits >= LARGE && after.first().is_none_or(|byte| !byte.is_ascii_alphanumeric())
}

/// PostgreSQL takes underscores between digits from 16 on.
fn is_part(byte: u8) -> bool {
    byte.is_ascii_digit() || byte == b'_'
}

fn unescaped(mut bytes: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(bytes.len());
    while let [first, rest @ ..] = bytes {
        let escaped = match bytes {
            [b'%', high, low, after @ ..] | [b'\\', b'u', b'0', b'0', high, low, after @ ..] => {
                hexadecimal(*high).zip(hexadecimal(*low)).map(|(high, low)| (high << 4 | low, after))
            }
            _ => None,
        };
        let (byte, after) = escaped.unwrap_or((*first, rest));
        plain.push(byte);
        bytes = after;
    }
    plain
}

fn hexadecimal(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).map(|value| value as u8)
}

#[cfg(test)]
mod tests {
    use super::has_large;

    #[test]
    fn a_number_with_a_large_exponent_is_found_however_it_is_spelled() {
        for text in [
            "1e131071",
            "[1,1.5E+1000]",
            "a=.1e-9999&b",
            "{\"a\":\"1\\u006531071\"}",
            "/x/1%65%3131071",
            "%31e131071",
            "1e0131071",
            "x 1_0e13_1071",
            "(1e131071)",
            "-1e1000",
        ] {
            assert!(has_large(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn names_and_common_numbers_are_not_taken_for_one() {
        for text in [
            "",
            "e",
            "1e308",
            "1e-324",
            "1e0000012",
            "e12345",
            "the 1st e1234",
            "4a1e12345-9e1f",
            "5f0e8400e29b41d4a716446655440000",
            "1e12345f",
            "%",
            "%6",
            "\\u00",
            "100%e1000",
        ] {
            assert!(!has_large(text.as_bytes()), "{text}");
        }
    }
}
