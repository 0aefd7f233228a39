//! DER (X.690), as much of it as tells kinds of files and keys apart.

/// The tag of a sequence.
pub(crate) const SEQUENCE: u8 = 0x30;
/// The tag of an integer.
pub(crate) const INTEGER: u8 = 0x02;
/// The tag of an object identifier.
pub(crate) const IDENTIFIER: u8 = 0x06;
/// The tag of an octet string.
pub(crate) const OCTETS: u8 = 0x04;

/// One value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Value<'a> {
    pub tag: u8,
    pub contents: &'a [u8],
    /// Tag, length and contents.
    pub whole: &'a [u8],
}

/// The first value of some bytes, and what comes after it. None if it is not whole, or not DER.
pub(crate) fn first(bytes: &[u8]) -> Option<(Value<'_>, &[u8])> {
    let (&tag, rest) = bytes.split_first()?;
    let (&short, rest) = rest.split_first()?;
    let (length, rest) = match short {
        0..=0x7f => (usize::from(short), rest),
        // One to four bytes of length; the largest file has a megabyte.
        0x81..=0x84 => {
            let (digits, rest) = rest.split_at_checked(usize::from(short & 0x7f))?;
            (digits.iter().fold(0, |length, &digit| length << 8 | usize::from(digit)), rest)
        }
        _ => return None,
    };
    let (contents, after) = rest.split_at_checked(length)?;
    let whole = &bytes[..bytes.len() - after.len()];
    Some((Value { tag, contents, whole }, after))
}

/// The values of a sequence that is all of some bytes. None if anything of it is not whole.
pub(crate) fn sequence(bytes: &[u8]) -> Option<Vec<Value<'_>>> {
    let (sequence, after) = first(bytes)?;
    if sequence.tag != SEQUENCE || !after.is_empty() {
        return None;
    }
    values(sequence.contents)
}

/// The values that some bytes are. None if one is not whole.
pub(crate) fn values(mut bytes: &[u8]) -> Option<Vec<Value<'_>>> {
    let mut values = Vec::new();
    while !bytes.is_empty() {
        let (value, after) = first(bytes)?;
        values.push(value);
        bytes = after;
    }
    Some(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_with_short_and_long_lengths() {
        let long = [&[OCTETS, 0x81, 0x80][..], &[7; 0x80]].concat();
        let (value, after) = first(&long).unwrap();
        assert_eq!((value.tag, value.contents.len(), after.len()), (OCTETS, 0x80, 0));
        let values = sequence(&[SEQUENCE, 5, INTEGER, 1, 3, OCTETS, 0]).unwrap();
        assert_eq!((values[0].contents, values[1].contents), (&[3][..], &[][..]));
        assert_eq!(values[0].whole, [INTEGER, 1, 3]);
    }

    #[test]
    fn what_is_not_whole_is_nothing() {
        let cases: [&[u8]; 7] = [
            &[],
            &[0x30],
            &[0x30, 1],
            &[0x30, 0x80],
            &[0x30, 0x84, 255, 255, 255, 255],
            &[0x30, 0x85],
            &[0x30, 0x82, 1],
        ];
        for bytes in cases {
            assert_eq!(first(bytes), None, "{bytes:?}");
        }
        assert_eq!(sequence(&[SEQUENCE, 0, 0]), None);
        assert_eq!(sequence(&[SEQUENCE, 1, INTEGER]), None);
    }
}
