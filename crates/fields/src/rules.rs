//! The rules of a field that a browser can check.

use crate::checks::Check;

/// Attributes of a control that follow from an argument's type and domain. All texts are as the attributes have them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Rules {
    /// Something must be there.
    pub required: bool,
    /// The least number, date or time.
    pub min: Option<String>,
    /// The greatest.
    pub max: Option<String>,
    /// The distance of numbers; `any` where there is none.
    pub step: Option<String>,
    /// The fewest characters.
    pub min_length: Option<u32>,
    /// The most characters.
    pub max_length: Option<u32>,
    /// A regular expression of JavaScript's that all of the text must match.
    pub pattern: Option<String>,
    /// The values that there are, if they are listed.
    pub values: Vec<String>,
}

impl Rules {
    /// Adds what a check says. `is_whole` tells that values are whole numbers.
    pub fn add(&mut self, check: Check, is_whole: bool) {
        match check {
            Check::Min { value, is_exclusive } => {
                self.min = bound(value, is_exclusive, is_whole, 1).or(self.min.take())
            }
            Check::Max { value, is_exclusive } => {
                self.max = bound(value, is_exclusive, is_whole, -1).or(self.max.take())
            }
            Check::MinLength(length) => {
                self.min_length = Some(self.min_length.map_or(length, |known| known.max(length)));
            }
            Check::MaxLength(length) => {
                self.max_length = Some(self.max_length.map_or(length, |known| known.min(length)));
            }
            Check::Matches(pattern) => self.pattern = pattern_of(&pattern).or(self.pattern.take()),
            Check::OneOf(values) => self.values = values,
        }
    }
}

/// A bound as `min` or `max` has it: one that is exclusive has a neighbour among whole numbers alone.
fn bound(value: String, is_exclusive: bool, is_whole: bool, inwards: i64) -> Option<String> {
    if !is_exclusive {
        return Some(value);
    }
    let number = is_whole.then(|| value.parse::<i64>().ok()).flatten()?;
    Some(number.checked_add(inwards)?.to_string())
}

/// A regular expression of PostgreSQL's as one of JavaScript's with the flag `v`, for all of a text; none if it means something else there, or may.
fn pattern_of(pattern: &str) -> Option<String> {
    let inner = pattern.strip_prefix('^')?.strip_suffix('$')?;
    let mut depth = 0usize;
    let mut rest = inner.chars().peekable();
    while let Some(next) = rest.next() {
        match next {
            '\\' => match rest.next()? {
                'd' | 's' | '.' | '-' | '+' | '/' | '(' | ')' | '[' | ']' | '{' | '}' | '*' | '?' | '|'
                | '^' | '$' | '\\' => {}
                _ => return None,
            },
            '[' => class(&mut rest)?,
            '(' if rest.peek() == Some(&'?') => return None,
            '(' => depth += 1,
            ')' => depth = depth.checked_sub(1)?,
            '|' if depth == 0 => return None,
            '{' => repetition(&mut rest)?,
            '*' | '+' | '?' => {
                // Neither lazy nor possessive.
                if matches!(rest.peek(), Some('?' | '+' | '*')) {
                    return None;
                }
            }
            '|' | '.' => {}
            '^' | '$' | '}' | ']' => return None,
            literal if literal.is_ascii_alphanumeric() || " _@,:;=!\"'<>#%&~-/".contains(literal) => {}
            _ => return None,
        }
    }
    (depth == 0 && !inner.ends_with('\\')).then(|| inner.to_owned())
}

/// The rest of a class of characters.
fn class(rest: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Option<()> {
    rest.next_if_eq(&'^');
    let mut count = 0;
    loop {
        match rest.next()? {
            ']' if count > 0 => return Some(()),
            '\\' if matches!(rest.next()?, 'd' | 's') => {}
            '-' if count == 0 || rest.peek() == Some(&']') => return None,
            '-' => {
                // A range of letters or digits.
                let to = rest.next()?;
                if !to.is_ascii_alphanumeric() {
                    return None;
                }
            }
            literal if literal.is_ascii_alphanumeric() || "_.,@%+ ".contains(literal) => {
                // A punctuator twice is kept for later in JavaScript.
                if !literal.is_ascii_alphanumeric() && rest.peek() == Some(&literal) {
                    return None;
                }
            }
            _ => return None,
        }
        count += 1;
    }
}

/// The rest of `{n}`, `{n,}` or `{n,m}`.
fn repetition(rest: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Option<()> {
    let text: String = std::iter::from_fn(|| rest.next_if(|next| *next != '}')).collect();
    rest.next_if_eq(&'}')?;
    let (from, to) = text.split_once(',').unwrap_or((&text, &text));
    let is_number = |text: &str| text.parse::<u16>().is_ok_and(|number| number <= 255);
    (is_number(from) && (to.is_empty() || is_number(to)) && !matches!(rest.peek(), Some('?'))).then_some(())
}
