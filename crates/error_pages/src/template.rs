//! A page that is whole but for three values.

use std::fmt;

use form::escape::each_html_piece;

/// A value of a request's that stands in a page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PageHole {
    /// The fault, as the problem document tells it.
    Detail,
    /// The id of the request.
    RequestId,
    /// The path of the request.
    Path,
}

impl PageHole {
    /// All of them.
    pub const ALL: [PageHole; 3] = [PageHole::Detail, PageHole::RequestId, PageHole::Path];

    /// The name of the argument of a page's function.
    pub fn name(self) -> &'static str {
        match self {
            PageHole::Detail => "detail",
            PageHole::RequestId => "request_id",
            PageHole::Path => "path",
        }
    }

    fn of(name: &str) -> Option<PageHole> {
        Self::ALL.into_iter().find(|hole| hole.name() == name)
    }
}

/// The values of a request.
#[derive(Clone, Copy, Debug)]
pub struct PageValues<'v> {
    /// The fault; empty if it is not told.
    pub detail: &'v str,
    /// The id of the request.
    pub request_id: &'v str,
    /// The path of the request.
    pub path: &'v str,
}

impl<'v> PageValues<'v> {
    fn of(&self, hole: PageHole) -> &'v str {
        match hole {
            PageHole::Detail => self.detail,
            PageHole::RequestId => self.request_id,
            PageHole::Path => self.path,
        }
    }
}

/// Pieces that are no page: there is no text after the last value, or a value has an unknown name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BadPieces;

impl fmt::Display for BadPieces {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(
            "the pieces are no page: HTML and the names detail, request_id and path stand in turns",
        )
    }
}

impl std::error::Error for BadPieces {}

/// A page that is whole but for the values of a request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PageTemplate {
    first: Box<str>,
    /// Values, each with the HTML behind it.
    rest: Box<[(PageHole, Box<str>)]>,
    /// Bytes of the HTML.
    length: usize,
}

impl PageTemplate {
    /// A page of HTML and names of values in turns: HTML comes first and last.
    ///
    /// # Errors
    /// They are not in turns, or a name is unknown.
    pub fn of<'p>(pieces: impl IntoIterator<Item = &'p str>) -> Result<PageTemplate, BadPieces> {
        let mut pieces = pieces.into_iter();
        let first: Box<str> = pieces.next().ok_or(BadPieces)?.into();
        let mut rest = Vec::new();
        while let Some(name) = pieces.next() {
            let hole = PageHole::of(name).ok_or(BadPieces)?;
            rest.push((hole, pieces.next().ok_or(BadPieces)?.into()));
        }
        let length = first.len() + rest.iter().map(|(_, html): &(_, Box<str>)| html.len()).sum::<usize>();
        Ok(PageTemplate { first, rest: rest.into(), length })
    }

    /// HTML and names of values in turns.
    pub fn pieces(&self) -> impl Iterator<Item = &str> {
        let rest = self.rest.iter().flat_map(|(hole, html)| [hole.name(), &**html]);
        std::iter::once(&*self.first).chain(rest)
    }

    /// Bytes of its HTML.
    pub fn length(&self) -> usize {
        self.length
    }

    /// Writes the page with the values, each escaped.
    pub fn write(&self, values: &PageValues<'_>, out: &mut Vec<u8>) {
        let holes = self.rest.iter().map(|(hole, _)| values.of(*hole).len()).sum::<usize>();
        out.reserve(self.length + holes + holes / 4);
        out.extend_from_slice(self.first.as_bytes());
        for (hole, html) in &self.rest {
            each_html_piece(values.of(*hole), |piece| out.extend_from_slice(piece.as_bytes()));
            out.extend_from_slice(html.as_bytes());
        }
    }
}
