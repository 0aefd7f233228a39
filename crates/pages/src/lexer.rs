//! Tokens of the SQL in a hole, and where the hole ends. PostgreSQL's own rules (`scan.l`), with `standard_conforming_strings` on.

use crate::fault::{FaultList, Span};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenKind {
    /// A name or keyword without quotes.
    Word,
    /// A name in double quotes.
    Quoted,
    /// A string of any kind.
    Text,
    Number,
    Comment,
    /// One character of anything else.
    Mark(u8),
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct SqlToken {
    pub(crate) kind: TokenKind,
    pub(crate) span: Span,
    /// For a bracket the number of its partner among the tokens of the page.
    pub(crate) partner: Option<usize>,
}

impl SqlToken {
    pub(crate) fn is(&self, mark: u8) -> bool {
        self.kind == TokenKind::Mark(mark)
    }

    pub(crate) fn is_name(&self) -> bool {
        matches!(self.kind, TokenKind::Word | TokenKind::Quoted)
    }

    /// Whether it is this word without quotes, which is given in lower case.
    pub(crate) fn is_word(&self, text: &str, word: &str) -> bool {
        self.kind == TokenKind::Word && text[self.span.range()].eq_ignore_ascii_case(word)
    }
}

/// The name that a token stands for: folded, or without its quotes.
pub(crate) fn name(text: &str, token: &SqlToken) -> String {
    let written = &text[token.span.range()];
    match token.kind {
        TokenKind::Quoted => {
            let inside = written.trim_start_matches(['u', 'U', '&']);
            inside[1..inside.len().max(2) - 1].replace("\"\"", "\"")
        }
        _ => written.to_ascii_lowercase(),
    }
}

/// The end of what was read of a hole.
pub(crate) enum HoleEnd {
    /// The place of its `}}`.
    Closed(usize),
    /// The hole is broken; the page goes on to be read here.
    Broken(usize),
}

/// Reads the tokens of a hole whose text begins at `start`.
pub(crate) fn read_hole(
    text: &str,
    start: usize,
    tokens: &mut Vec<SqlToken>,
    faults: &mut FaultList,
) -> HoleEnd {
    let mut lexer = SqlLexer { text, bytes: text.as_bytes(), at: start, is_over: false };
    let first = tokens.len();
    let mut open: Vec<usize> = Vec::new();
    loop {
        lexer.skip_blanks();
        let begin = lexer.at;
        let rest = &lexer.bytes[begin..];
        if rest.starts_with(b"}}") {
            break;
        }
        if rest.starts_with(b"{{") || rest.is_empty() {
            let message = if rest.is_empty() { "this hole has no end" } else { "a hole within a hole" };
            let place = if rest.is_empty() { start - 2 } else { begin };
            faults.add(place, message, "a hole ends with }}; as a string write '{{'");
            tokens.truncate(first);
            return HoleEnd::Broken(begin);
        }
        match lexer.token() {
            Ok(kind) => tokens.push(SqlToken { kind, span: Span::new(begin, lexer.at), partner: None }),
            Err(what) => {
                faults.add(begin, format!("{what} has no end"), "");
                tokens.truncate(first);
                return match text[begin..].find("}}") {
                    Some(place) => HoleEnd::Broken(begin + place + 2),
                    None => HoleEnd::Broken(text.len()),
                };
            }
        }
        check(text, tokens, &mut open, faults);
        if lexer.is_over {
            break;
        }
    }
    if let Some(&bracket) = open.first() {
        faults.add(tokens[bracket].span.start, "this bracket is not closed in the hole", "");
    }
    HoleEnd::Closed(lexer.at)
}

/// Looks at the newest token: brackets, and what no hole may have.
fn check(text: &str, tokens: &mut [SqlToken], open: &mut Vec<usize>, faults: &mut FaultList) {
    let Some((newest, token)) = tokens.iter().enumerate().next_back() else { return };
    let place = token.span.start;
    match token.kind {
        TokenKind::Mark(b'(' | b'[') => open.push(newest),
        TokenKind::Mark(close @ (b')' | b']')) => {
            let wanted = if close == b')' { b'(' } else { b'[' };
            match open.pop() {
                Some(bracket) if tokens[bracket].is(wanted) => {
                    tokens[bracket].partner = Some(newest);
                    tokens[newest].partner = Some(bracket);
                }
                Some(_) => faults.add(place, "this bracket closes one of the other kind", ""),
                None => {
                    faults.add(
                        place,
                        "this bracket closes none of the hole",
                        "each hole is an expression by itself",
                    );
                }
            }
        }
        TokenKind::Mark(b';') => faults.add(place, "a hole holds one expression or query, and no ;", ""),
        TokenKind::Mark(b'$') => {
            let hint = "name the page's arguments in {{ arguments: name type }}";
            faults.add(place, format!("{} has no meaning in a page", word_at(text, place)), hint);
        }
        _ => {}
    }
}

/// `$1` as it is written.
fn word_at(text: &str, place: usize) -> &str {
    let rest = &text[place..];
    let digits = rest[1..].bytes().take_while(u8::is_ascii_digit).count();
    &rest[..=digits]
}

struct SqlLexer<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    /// Whether a remark has met the end of its hole.
    is_over: bool,
}

fn begins_name(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || byte >= 0x80
}

impl SqlLexer<'_> {
    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or_default()
    }

    fn skip_blanks(&mut self) {
        while matches!(self.peek(0), b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c) {
            self.at += 1;
        }
    }

    /// Passes one token. The error says what has no end.
    fn token(&mut self) -> Result<TokenKind, &'static str> {
        match (self.peek(0), self.peek(1)) {
            (b'-', b'-') => Ok(self.remark()),
            (b'/', b'*') => self.comment(),
            (b'\'', _) => self.string(1, false),
            (b'e' | b'E', b'\'') => self.string(2, true),
            (b'b' | b'B' | b'x' | b'X' | b'n' | b'N', b'\'') => self.string(2, false),
            (b'u' | b'U', b'&') if self.peek(2) == b'\'' => self.string(3, false),
            (b'u' | b'U', b'&') if self.peek(2) == b'"' => self.quoted(3),
            (b'"', _) => self.quoted(1),
            (b'$', _) => self.dollar(),
            (first, _) if begins_name(first) => {
                while begins_name(self.peek(0)) || self.peek(0).is_ascii_digit() || self.peek(0) == b'$' {
                    self.at += 1;
                }
                Ok(TokenKind::Word)
            }
            (first, _) if first.is_ascii_digit() => {
                while self.peek(0).is_ascii_alphanumeric()
                    || self.peek(0) == b'_'
                    || (self.peek(0) == b'.' && self.peek(1).is_ascii_digit())
                {
                    self.at += 1;
                }
                Ok(TokenKind::Number)
            }
            (first, _) => {
                self.at += 1;
                Ok(TokenKind::Mark(first))
            }
        }
    }

    /// `-- …`, up to the end of the line or of the hole.
    fn remark(&mut self) -> TokenKind {
        let rest = &self.text[self.at..];
        let line = rest.find(['\n', '\r']).unwrap_or(rest.len());
        match rest[..line].find("}}") {
            Some(end) => {
                self.at += end;
                self.is_over = true;
            }
            None => self.at += line,
        }
        TokenKind::Comment
    }

    fn comment(&mut self) -> Result<TokenKind, &'static str> {
        let mut depth = 0_usize;
        loop {
            match (self.peek(0), self.peek(1)) {
                (b'/', b'*') => {
                    depth += 1;
                    self.at += 2;
                }
                (b'*', b'/') => {
                    depth -= 1;
                    self.at += 2;
                    if depth == 0 {
                        return Ok(TokenKind::Comment);
                    }
                }
                _ if self.at >= self.bytes.len() => return Err("this comment"),
                _ => self.at += 1,
            }
        }
    }

    fn string(&mut self, prefix: usize, has_escapes: bool) -> Result<TokenKind, &'static str> {
        self.at += prefix;
        loop {
            match self.peek(0) {
                b'\'' if self.peek(1) == b'\'' => self.at += 2,
                b'\'' => {
                    self.at += 1;
                    if !self.continues() {
                        return Ok(TokenKind::Text);
                    }
                }
                b'\\' if has_escapes => self.at += 2,
                _ if self.at >= self.bytes.len() => return Err("this string"),
                _ => self.at += 1,
            }
        }
    }

    /// Whether the string goes on in a later line, with the rules of its first part. If so that part's quote is passed.
    fn continues(&mut self) -> bool {
        let end = self.at;
        let mut has_line = false;
        loop {
            match (self.peek(0), self.peek(1)) {
                (b'\n' | b'\r', _) => {
                    has_line = true;
                    self.at += 1;
                }
                (b' ' | b'\t' | 0x0b | 0x0c, _) => self.at += 1,
                (b'-', b'-') => {
                    self.remark();
                    if std::mem::take(&mut self.is_over) {
                        break;
                    }
                }
                (b'\'', _) if has_line => {
                    self.at += 1;
                    return true;
                }
                _ => break,
            }
        }
        self.at = end;
        false
    }

    fn quoted(&mut self, prefix: usize) -> Result<TokenKind, &'static str> {
        self.at += prefix;
        loop {
            match (self.peek(0), self.peek(1)) {
                (b'"', b'"') => self.at += 2,
                (b'"', _) => {
                    self.at += 1;
                    return Ok(TokenKind::Quoted);
                }
                _ if self.at >= self.bytes.len() => return Err("this name in quotes"),
                _ => self.at += 1,
            }
        }
    }

    /// `$tag$ … $tag$`, or a lone `$`.
    fn dollar(&mut self) -> Result<TokenKind, &'static str> {
        let rest = &self.bytes[self.at + 1..];
        let length = rest.iter().take_while(|byte| begins_name(**byte) || byte.is_ascii_digit()).count();
        let is_tag = rest.get(length) == Some(&b'$') && !rest[0].is_ascii_digit();
        if !is_tag {
            self.at += 1;
            return Ok(TokenKind::Mark(b'$'));
        }
        let tag = &self.text[self.at..self.at + length + 2];
        let inside = self.at + tag.len();
        let end = self.text[inside..].find(tag).ok_or("this string")?;
        self.at = inside + end + tag.len();
        Ok(TokenKind::Text)
    }
}
