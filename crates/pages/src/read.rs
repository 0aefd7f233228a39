//! A file into a page.

use crate::arguments::PageArgument;
use crate::checks;
use crate::contexts;
use crate::cut;
use crate::fault::{FaultList, LineStarts, PageFault};
use crate::links;
use crate::map::MappedFile;
use crate::name::{self, PageKind};
use crate::nodes::HoleKind;
use crate::page::{PageFile, PageHole};
use crate::pieces::PagePiece;
use crate::plain_text;
use crate::reader;

/// Reads the file of a page.
///
/// ```
/// let page = pages::read("pages/hello.html", "<p>Hello {{ 'World' }}").unwrap();
/// assert_eq!(page.name().function, "hello");
/// let faults = pages::read("pages/hello.html", "<p>Hello {{ 'World }}").unwrap_err();
/// assert_eq!(faults[0].to_string(), "1:13: this string has no end");
/// ```
///
/// # Errors
/// If something is wrong with it: all that is, up to a hundred faults.
pub fn read(path: &str, text: &str) -> Result<PageFile, Vec<PageFault>> {
    let (mut faults, mut warnings) = (FaultList::default(), FaultList::default());
    let name = match name::name_of(path) {
        Ok(name) => name,
        Err(fault) => {
            faults.add(0, fault.to_string(), "");
            return Err(faults.told(text));
        }
    };
    if let Some(place) = text.find('\0') {
        faults.add(place, "a page has no character NUL", "");
        return Err(faults.told(text));
    }
    let mut tokens = Vec::new();
    // The end of the last line is the editor's: a part may stand within a line.
    let inside = text.strip_suffix('\n').unwrap_or(text);
    let cuts = cut::cut(inside, &mut tokens, &mut faults);
    let read = reader::read(text, &cuts, &tokens, &mut faults);
    checks::check(text, name.kind, &read, &tokens, &mut faults);
    let mut found = match name.kind {
        PageKind::Html => contexts::find(text, &read.nodes, &tokens, &mut faults, &mut warnings),
        PageKind::Text => {
            let pieces = plain_text::pieces(text, &read.nodes, &mut faults);
            let values = plain_text::placed(&pieces);
            contexts::FoundPieces { pieces, values, slots: Vec::new() }
        }
    };
    let is_one_with = checks::is_one_with(text, &read.nodes);
    if is_one_with {
        // White space beside it would make a page where there is no row.
        found.pieces.retain(|piece| matches!(piece, PagePiece::Rows(_)));
    }
    if !faults.is_empty() {
        return Err(faults.told(text));
    }
    let alone = read.sql.iter().map(|(kind, sql)| PageHole { span: sql.span, kind: *kind });
    let mut holes: Vec<PageHole> = alone.chain(read.arguments.iter().flat_map(of_argument)).collect();
    holes.sort_by_key(|hole| hole.span);
    let sql = read.sql.into_iter().map(|(_, sql)| sql.tokens).collect();
    let page = PageFile {
        file: MappedFile { path: path.into(), text: text.into(), lines: LineStarts::of(text).into() },
        name,
        is_one_with,
        arguments: read.arguments,
        tokens,
        layout: read.layout,
        pieces: found.pieces,
        slots: found.slots,
        holes,
        sql,
        rows: read.rows,
        values: found.values,
        warnings: warnings.told(text),
    };
    links::check(&page, &mut faults);
    if faults.is_empty() { Ok(page) } else { Err(faults.told(text)) }
}

fn of_argument(argument: &PageArgument) -> impl Iterator<Item = PageHole> {
    let default = argument.default_span.map(|span| PageHole { span, kind: HoleKind::Default });
    [PageHole { span: argument.type_span, kind: HoleKind::ArgumentType }].into_iter().chain(default)
}
