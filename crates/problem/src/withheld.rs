//! Values that no message shows: passwords, tokens, keys, wherever PostgreSQL or a function quotes them.

/// Stands for a value that is left out.
const STARS: &[u8] = b"***";
/// Bytes at the beginning by which a longer value is found: messages cut what is long.
const FOUND_BY: usize = 16;
/// A shorter value is left out where it stands as a word: parts of other words would tell what it is.
const SHORTEST: usize = 4;

/// Leaves values out of a text, in its place, without memory of its own: a hook calls this while an error is being reported. The new length. The text remains UTF-8 if it, and the values, are. A value of up to three bytes
/// is left out where it is a word.
///
/// ```
/// let mut text = *b"invalid input syntax for type integer: \"hunter2\"";
/// let length = problem::withheld::leave_out(&mut text, &["hunter2".to_owned()]);
/// assert_eq!(&text[..length], b"invalid input syntax for type integer: \"***\"");
/// ```
pub fn leave_out(text: &mut [u8], values: &[String]) -> usize {
    let (mut read, mut written) = (0, 0);
    while read < text.len() {
        // The text is written before the place where it is read: a byte that was read last is there still, or was left out.
        let before = read.checked_sub(1).map(|last| text[last]);
        let here = |value: &String| found(before, &text[read..], value.as_bytes());
        let Some(found) = values.iter().map(here).max() else { return text.len() };
        if found == 0 {
            text[written] = text[read];
            (read, written) = (read + 1, written + 1);
            continue;
        }
        let stars = STARS.len().min(found);
        text[written..written + stars].copy_from_slice(&STARS[..stars]);
        (read, written) = (read + found, written + stars);
    }
    written
}

/// The same of a text that can grow no shorter in its place.
pub fn left_out(text: String, values: &[String]) -> String {
    let mut bytes = text.into_bytes();
    let length = leave_out(&mut bytes, values);
    bytes.truncate(length);
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// Bytes at the beginning of the text that are those of a value, or of its beginning where it is long; 0 if it begins with another.
fn found(before: Option<u8>, text: &[u8], value: &[u8]) -> usize {
    let beginning = &value[..value.len().min(FOUND_BY)];
    if beginning.is_empty() || !text.starts_with(beginning) {
        return 0;
    }
    let is_in_word =
        |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || !byte.is_ascii());
    if value.len() < SHORTEST && (is_in_word(before) || is_in_word(text.get(value.len()).copied())) {
        return 0;
    }
    let common = text.iter().zip(value).take_while(|(one, other)| one == other).count();
    // A character that only begins like one of the value's goes, too.
    let is_within = |byte: &&u8| **byte & 0xc0 == 0x80;
    common + text[common..].iter().take_while(is_within).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(text: &str, values: &[&str]) -> String {
        let values: Vec<_> = values.iter().map(|value| (*value).to_owned()).collect();
        left_out(text.to_owned(), &values)
    }

    #[test]
    fn a_value_is_left_out_wherever_it_stands() {
        assert_eq!(after("hunter2 and hunter2, hunter", &["hunter2"]), "*** and ***, hunter");
        assert_eq!(after("Key (a)=(hunter2) exists", &["other", "hunter2"]), "Key (a)=(***) exists");
        assert_eq!(after("hunter2hunter2", &["hunter2"]), "******");
        assert_eq!(after("nothing", &["hunter2"]), "nothing");
        assert_eq!(after("nothing", &[]), "nothing");
        assert_eq!(after("nothing", &[""]), "nothing");
        assert_eq!(after("", &["hunter2"]), "");
    }

    #[test]
    fn a_longer_value_goes_before_one_that_it_begins_with() {
        assert_eq!(after("abcdefgh", &["abcd", "abcdefgh"]), "***");
        assert_eq!(after("abcdefgx", &["abcdefgh", "abcd"]), "***efgx");
    }

    #[test]
    fn what_a_message_has_cut_is_found_by_its_beginning() {
        let long = "0123456789abcdef0123456789";
        assert_eq!(after("(0123456789abcdef01...)", &[long]), "(***...)");
        assert_eq!(after("(0123456789abcde)", &[long]), "(0123456789abcde)");
    }

    #[test]
    fn a_very_short_value_is_left_out_as_a_word() {
        assert_eq!(after("invalid bib: \"b\"", &["b"]), "invalid bib: \"*\"");
        assert_eq!(after("b", &["b"]), "*");
        assert_eq!(after("(ab) abc 1ab ab1 äab abä ab", &["ab"]), "(**) abc 1ab ab1 äab abä **");
        assert_eq!(after("a", &["b"]), "a");
    }

    #[test]
    fn random_texts_remain_text_and_have_no_value() {
        let mut random = fastrand::Rng::with_seed(56);
        let pieces = ["a", "ab", "ä", "€", "🦉", "*", "geheim", "x"];
        let mut text = |most: usize| -> String {
            (0..random.usize(0..=most)).map(|_| pieces[random.usize(..pieces.len())]).collect()
        };
        for _ in 0..20_000 {
            let values = [text(12), text(4)];
            let before = text(8) + &values[0] + &text(8) + &values[1] + &text(3);
            let left = left_out(before.clone(), &values);
            assert!(!left.contains('\u{fffd}'), "{before:?} {values:?} {left:?}");
            for value in values.iter().filter(|value| value.len() >= SHORTEST && !value.contains('*')) {
                // The text on both sides of one may be another.
                let parts = left.split("***");
                assert!(
                    parts.clone().all(|part| !part.contains(value.as_str())),
                    "{before:?} {values:?} {left:?}"
                );
            }
        }
    }
}
