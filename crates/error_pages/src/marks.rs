//! A page is made of what its function returns for marks: texts that nobody can guess, in the place of the values that a request has.
//!
//! The function is called twice, with other marks. What is the same but for them is the page. A mark ends with a quote: where it is not escaped, or
//! is escaped for something else than HTML, it is not found as it should be. One begins like an address that no link may have, so that a value does
//! not become a link: nobody looks at addresses when a page is sent.

use crate::template::{PageHole, PageTemplate};

/// Marks for each value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PageMarks {
    prefix: &'static str,
    /// In the order of [`PageHole::ALL`].
    words: [String; PageHole::ALL.len()],
}

/// Why what a function has returned is no page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unmarked {
    /// A value stands where it is not escaped as text.
    Unescaped(PageHole),
    /// The two are not the same but for the values.
    Computed,
}

impl Unmarked {
    /// The fault, for people.
    pub fn message(self) -> String {
        match self {
            Unmarked::Unescaped(hole) => {
                format!("{} is not put out as text: it may stand between tags or in an attribute's quotes", hole.name())
            }
            Unmarked::Computed => "the page is another for another detail, request_id or path: it computes with one, or has one as an \
                 address; or it is another at each call"
                .to_owned(),
        }
    }

    /// A way out.
    pub const HINT: &str = "The page is made when it is deployed, and these values are put in later. A page may put them out as they are, and ask whether detail is null.";
}

impl PageMarks {
    /// Two sets of marks. The words are made by `random`, which gives texts of letters and digits that nobody can guess.
    pub fn two(mut random: impl FnMut() -> String) -> [PageMarks; 2] {
        let mut words = |more: &str| PageHole::ALL.map(|_| random() + more);
        // Another length, too: a page may count letters.
        [PageMarks { prefix: "javascript:", words: words("") }, PageMarks { prefix: "", words: words("x") }]
    }

    /// The mark in the place of a value.
    pub fn of(&self, hole: PageHole) -> String {
        format!("{}{}\"", self.prefix, self.word(hole))
    }

    fn word(&self, hole: PageHole) -> &str {
        &self.words[hole as usize]
    }

    /// Cuts a page at the marks: HTML and names of values in turns.
    ///
    /// # Errors
    /// A mark is there and not as it should be.
    fn cut<'p>(&self, page: &'p str) -> Result<Vec<&'p str>, Unmarked> {
        let marks = PageHole::ALL.map(|hole| (hole, format!("{}{}&quot;", self.prefix, self.word(hole))));
        let (mut pieces, mut rest) = (Vec::new(), page);
        loop {
            let found =
                marks.iter().filter_map(|(hole, mark)| Some((rest.find(mark.as_str())?, *hole, mark.len())));
            let next = found.min_by_key(|(place, ..)| *place);
            let html = next.map_or(rest, |(place, ..)| &rest[..place]);
            if let Some(hole) = PageHole::ALL.into_iter().find(|hole| html.contains(self.word(*hole))) {
                return Err(Unmarked::Unescaped(hole));
            }
            pieces.push(html);
            let Some((place, hole, length)) = next else { return Ok(pieces) };
            pieces.push(hole.name());
            rest = &rest[place + length..];
        }
    }
}

/// Makes a page of what a function has returned for both sets of marks.
///
/// # Errors
/// A value is not put out as it is, or the two differ by more than the values.
pub fn template(marks: &[PageMarks; 2], returned: [&str; 2]) -> Result<PageTemplate, Unmarked> {
    let (one, other) = (marks[0].cut(returned[0]), marks[1].cut(returned[1]));
    // A text in the place of an address is none in the one.
    let (one, other) = (one?, other?);
    if one != other {
        return Err(Unmarked::Computed);
    }
    PageTemplate::of(one).map_err(|_| Unmarked::Computed)
}
