//! Checks of domains, as PostgreSQL writes them: `((VALUE >= 1) AND (VALUE <= 10))`.
//!
//! They are read as far as a browser can check the same. All else is passed over, so that a browser never asks for more than the server does.

/// A part of a check that all values fulfil.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Check {
    /// A lower bound.
    Min {
        /// The bound.
        value: String,
        /// Whether it is no value itself.
        is_exclusive: bool,
    },
    /// An upper bound.
    Max {
        /// The bound.
        value: String,
        /// Whether it is no value itself.
        is_exclusive: bool,
    },
    /// So many characters at least.
    MinLength(u32),
    /// So many characters at most.
    MaxLength(u32),
    /// A regular expression of PostgreSQL's, where case counts.
    Matches(String),
    /// One of these.
    OneOf(Vec<String>),
}

#[derive(Clone, PartialEq, Debug)]
enum Token {
    Open,
    Close,
    Comma,
    OpenBracket,
    CloseBracket,
    Word(String),
    Number(String),
    Text(String),
    Operator(String),
}

/// The parts of a check's expression that are understood.
pub fn read(expression: &str) -> Vec<Check> {
    let Some(tokens) = tokens(expression) else { return Vec::new() };
    let mut checks = Vec::new();
    let mut left = vec![bare(&tokens)];
    while let Some(part) = left.pop() {
        let ands = split(part, |token| is_word(token, "AND"));
        if ands.len() > 1 {
            left.extend(ands.into_iter().rev().map(bare));
        } else {
            checks.extend(comparison(part));
        }
    }
    checks
}

/// Reads an expression's tokens; none if something is none.
fn tokens(text: &str) -> Option<Vec<Token>> {
    let mut tokens = Vec::new();
    let mut rest = text.chars().peekable();
    while let Some(&next) = rest.peek() {
        let single = match next {
            '(' => Some(Token::Open),
            ')' => Some(Token::Close),
            ',' => Some(Token::Comma),
            '[' => Some(Token::OpenBracket),
            ']' => Some(Token::CloseBracket),
            _ => None,
        };
        if let Some(single) = single {
            rest.next();
            tokens.push(single);
        } else if next.is_whitespace() {
            rest.next();
        } else if next == '\'' {
            rest.next();
            let mut text = String::new();
            loop {
                match rest.next()? {
                    '\'' if rest.next_if_eq(&'\'').is_some() => text.push('\''),
                    '\'' => break,
                    other => text.push(other),
                }
            }
            // E'…' has escapes of its own.
            if tokens.last() == Some(&Token::Word("E".into())) {
                tokens.pop();
                text = text.replace("\\\\", "\\");
            }
            tokens.push(Token::Text(text));
        } else if next.is_ascii_digit() {
            let number = |next: &char| next.is_ascii_digit() || *next == '.';
            tokens.push(Token::Number(std::iter::from_fn(|| rest.next_if(number)).collect()));
        } else if next.is_alphanumeric() || next == '_' || next == '"' {
            let word = |next: &char| next.is_alphanumeric() || "_\".".contains(*next);
            tokens.push(Token::Word(std::iter::from_fn(|| rest.next_if(word)).collect()));
        } else {
            let operator = |next: &char| "+-*/<>=~!@#%^&|`?:".contains(*next);
            let found: String = std::iter::from_fn(|| rest.next_if(operator)).collect();
            if found.is_empty() {
                return None;
            }
            tokens.push(Token::Operator(found));
        }
    }
    Some(tokens)
}

fn is_word(token: &Token, word: &str) -> bool {
    matches!(token, Token::Word(text) if text.eq_ignore_ascii_case(word))
}

/// Parts between tokens that stand in no parentheses.
fn split(tokens: &[Token], is_between: impl Fn(&Token) -> bool) -> Vec<&[Token]> {
    let mut depth = 0i32;
    tokens
        .split(|token| {
            match token {
                Token::Open | Token::OpenBracket => depth += 1,
                Token::Close | Token::CloseBracket => depth -= 1,
                _ => {}
            }
            depth == 0 && is_between(token)
        })
        .collect()
}

/// The same without parentheses around all of it, and without casts of all of it.
fn bare(mut tokens: &[Token]) -> &[Token] {
    loop {
        let before = tokens.len();
        if let [Token::Open, inner @ .., Token::Close] = tokens
            && closes_at_end(inner)
        {
            tokens = inner;
        }
        let cast = tokens.iter().rposition(|token| matches!(token, Token::Operator(text) if text == "::"));
        if let Some(cast) = cast
            && is_type(&tokens[cast + 1..])
            && (cast == 1
                || matches!(tokens[..cast], [Token::Open, ref inner @ .., Token::Close] if closes_at_end(inner)))
        {
            tokens = &tokens[..cast];
        }
        if tokens.len() == before {
            return tokens;
        }
    }
}

/// Whether parentheses around these tokens belong together.
fn closes_at_end(inner: &[Token]) -> bool {
    let mut depth = 0i32;
    inner.iter().all(|token| {
        match token {
            Token::Open => depth += 1,
            Token::Close => depth -= 1,
            _ => {}
        }
        depth >= 0
    }) && depth == 0
}

/// Whether tokens are the name of a type: `character varying(20)[]`.
fn is_type(tokens: &[Token]) -> bool {
    let names = tokens.iter().take_while(|token| matches!(token, Token::Word(_))).count();
    let is_rest = |token: &Token| {
        matches!(
            token,
            Token::Open
                | Token::Close
                | Token::Comma
                | Token::Number(_)
                | Token::OpenBracket
                | Token::CloseBracket
                | Token::Word(_)
        )
    };
    let operators = ["AND", "OR", "NOT", "IS"];
    names > 0
        && tokens.iter().all(|token| is_rest(token) && !operators.iter().any(|word| is_word(token, word)))
}

fn comparison(tokens: &[Token]) -> Option<Check> {
    let is_operator = |token: &Token| matches!(token, Token::Operator(text) if text != "::" && text != "-");
    let place = {
        let mut depth = 0i32;
        tokens.iter().position(|token| {
            match token {
                Token::Open | Token::OpenBracket => depth += 1,
                Token::Close | Token::CloseBracket => depth -= 1,
                _ => {}
            }
            depth == 0 && is_operator(token)
        })?
    };
    let Token::Operator(operator) = &tokens[place] else { return None };
    let (left, right) = (bare(&tokens[..place]), &tokens[place + 1..]);
    if let [Token::Word(function), Token::Open, inner @ .., Token::Close] = left {
        let is_length =
            matches!(function.to_lowercase().as_str(), "length" | "char_length" | "character_length");
        let length: u32 = constant(right)?.parse().ok()?;
        return (is_length && is_value(bare(inner))).then(|| length_check(operator, length)).flatten();
    }
    if !is_value(left) {
        return None;
    }
    match operator.as_str() {
        ">=" => Some(Check::Min { value: constant(right)?, is_exclusive: false }),
        ">" => Some(Check::Min { value: constant(right)?, is_exclusive: true }),
        "<=" => Some(Check::Max { value: constant(right)?, is_exclusive: false }),
        "<" => Some(Check::Max { value: constant(right)?, is_exclusive: true }),
        "~" => Some(Check::Matches(constant(right)?)),
        "=" => any_of(right),
        _ => None,
    }
}

fn length_check(operator: &str, length: u32) -> Option<Check> {
    match operator {
        ">=" => Some(Check::MinLength(length)),
        ">" => Some(Check::MinLength(length.checked_add(1)?)),
        "<=" => Some(Check::MaxLength(length)),
        "<" => Some(Check::MaxLength(length.checked_sub(1)?)),
        _ => None,
    }
}

fn is_value(tokens: &[Token]) -> bool {
    matches!(tokens, [one] if is_word(one, "VALUE"))
}

/// A number or a text.
fn constant(tokens: &[Token]) -> Option<String> {
    match bare(tokens) {
        [Token::Number(text) | Token::Text(text)] => Some(text.clone()),
        [Token::Operator(sign), rest @ ..] if sign == "-" => match bare(rest) {
            [Token::Number(text)] => Some(format!("-{text}")),
            _ => None,
        },
        _ => None,
    }
}

/// `ANY (ARRAY['a'::text, 'b'::text])`.
fn any_of(tokens: &[Token]) -> Option<Check> {
    let [Token::Word(any), rest @ ..] = tokens else { return None };
    if !any.eq_ignore_ascii_case("ANY") {
        return None;
    }
    let [Token::Word(array), Token::OpenBracket, inner @ .., Token::CloseBracket] = bare(rest) else {
        return None;
    };
    if !array.eq_ignore_ascii_case("ARRAY") {
        return None;
    }
    let values: Option<Vec<String>> =
        split(inner, |token| *token == Token::Comma).into_iter().map(constant).collect();
    values.map(Check::OneOf)
}
