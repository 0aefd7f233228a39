//! Words of other templates, and what is written here in their place.

use crate::directive::Directive;
use crate::lexer::{SqlToken, TokenKind};

/// Words of other templates, with what to write, and what they are read as.
const WORDS: [(&[&str], &str, Directive); 7] = [
    (&["elseif", "elif"], "write elsif", Directive::Elsif),
    (&["endif", "endfor", "endforeach", "endwith", "endblock", "endeach"], "write {{ end }}", Directive::End),
    (&["unless"], "write {{ if not … }}", Directive::If),
    (&["foreach", "each", "while"], "write {{ for row in select … from … }} … {{ end }}", Directive::Remark),
    (
        &["include", "partial", "render", "import"],
        "a part is a page: call it, {{ card(…) }}",
        Directive::Remark,
    ),
    (&["extends"], "write {{ layout: layout(title => …) }} at the beginning", Directive::Remark),
    (
        &["block", "yield"],
        "write {{ slot head }} … {{ end }} here, and {{ head }} in the layout",
        Directive::Remark,
    ),
];

/// Words by which an expression goes on that begins with a column.
const BEHIND_A_COLUMN: [&str; 14] = [
    "and", "at", "between", "collate", "ilike", "in", "is", "isnull", "like", "not", "notnull", "operator",
    "or", "similar",
];

/// A hole that begins as in another language: what is wrong, what to write, and what it is read as. A column of such a name is left alone
/// wherever SQL could mean it.
pub(crate) fn of_another_language(
    text: &str,
    tokens: &[SqlToken],
) -> Option<(String, &'static str, Directive)> {
    let (first, rest) = tokens.split_first()?;
    let written = &text[first.span.range()];
    if first.is(b'/') || first.is(b'>') {
        let hint = "blocks are written {{ if … }} … {{ end }}, and a part is called, {{ card(…) }}";
        return Some((format!("no expression begins with {written}"), hint, Directive::Remark));
    }
    let word = written.to_ascii_lowercase();
    let (_, hint, directive) = WORDS.iter().find(|(words, ..)| words.contains(&word.as_str()))?;
    let next = rest.iter().find(|token| token.kind != TokenKind::Comment);
    let is_foreign = match (directive, next) {
        (Directive::End, None) => true,
        (Directive::End, Some(_)) | (_, None) => false,
        (_, Some(next)) if BEHIND_A_COLUMN.iter().any(|behind| next.is_word(text, behind)) => {
            *directive == Directive::Elsif && next.is_word(text, "not")
        }
        (_, Some(next)) => next.is_name() || matches!(next.kind, TokenKind::Text | TokenKind::Number),
    };
    is_foreign.then(|| (format!("{written} is no word of pages"), *hint, *directive))
}
