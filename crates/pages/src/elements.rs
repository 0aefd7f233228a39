//! Elements that HTML's standard treats apart.

/// How the content of an element is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ElementContent {
    /// Text and tags.
    Markup,
    /// Text with character references, and no tags (RCDATA).
    Plain,
    /// Text alone (raw text).
    Raw,
    Script,
    /// Text up to the end of everything.
    Endless,
}

pub(crate) fn content(tag: &str) -> ElementContent {
    match tag {
        "title" | "textarea" => ElementContent::Plain,
        "style" | "xmp" | "iframe" | "noembed" | "noframes" | "noscript" => ElementContent::Raw,
        "script" => ElementContent::Script,
        "plaintext" => ElementContent::Endless,
        _ => ElementContent::Markup,
    }
}

/// Elements without content and end tag.
pub(crate) fn is_void(tag: &str) -> bool {
    const VOID: [&str; 18] = [
        "area", "base", "basefont", "bgsound", "br", "col", "embed", "frame", "hr", "image", "img", "input",
        "keygen", "link", "meta", "param", "source", "track",
    ];
    VOID.contains(&tag) || tag == "wbr"
}

/// Elements whose end tag may be left out.
pub(crate) fn may_stay_open(tag: &str) -> bool {
    const OPTIONAL: [&str; 20] = [
        "body", "caption", "colgroup", "dd", "dt", "head", "html", "li", "optgroup", "option", "p", "rb",
        "rp", "rt", "rtc", "tbody", "td", "tfoot", "th", "thead",
    ];
    OPTIONAL.contains(&tag) || tag == "tr"
}

/// Elements in which others are read by other rules, or left out, so that what a tag begins is not certain there.
pub(crate) fn is_foreign(tag: &str) -> bool {
    matches!(tag, "svg" | "math" | "select" | "frameset")
}

/// Elements of SVG and MathML in which HTML is read.
pub(crate) fn is_integration(tag: &str) -> bool {
    matches!(tag, "foreignobject" | "desc" | "title" | "annotation-xml" | "mi" | "mo" | "mn" | "ms" | "mtext")
}

/// Elements the parser leaves out the first line end of.
pub(crate) fn eats_newline(tag: &str) -> bool {
    matches!(tag, "pre" | "listing" | "textarea")
}
