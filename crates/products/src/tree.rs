//! The text of a tree of PostgreSQL's, as `nodeToString` writes it: nodes in braces, their fields after a colon, lists in parentheses.

use std::fmt;

/// What a field or a list has.
#[derive(Debug, PartialEq, Eq)]
pub enum Item<'a> {
    /// Anything else.
    Word(&'a str),
    /// A list.
    List(Vec<Item<'a>>),
    /// A node.
    Node(Node<'a>),
}

/// A node.
#[derive(Debug, PartialEq, Eq)]
pub struct Node<'a> {
    /// Its kind, such as `OPEXPR`.
    pub name: &'a str,
    /// Its fields.
    pub fields: Vec<(&'a str, Vec<Item<'a>>)>,
}

impl<'a> Node<'a> {
    /// What a field has first, if that is a word.
    pub fn word(&self, field: &str) -> Option<&'a str> {
        match self.fields.iter().find(|(name, _)| *name == field)?.1.first()? {
            Item::Word(word) => Some(word),
            _ => None,
        }
    }

    /// The list that a field has; empty if it has none.
    pub fn list(&self, field: &str) -> &[Item<'a>] {
        match self.fields.iter().find(|(name, _)| *name == field).and_then(|(_, items)| items.first()) {
            Some(Item::List(items)) => items,
            _ => &[],
        }
    }
}

/// The text is none of a tree, or is nested too deeply.
#[derive(Debug, PartialEq, Eq)]
pub struct Malformed;

impl fmt::Display for Malformed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("this is no tree that can be read")
    }
}

impl std::error::Error for Malformed {}

/// Nodes and lists in each other at most: a reader of many more would need more stack than there is.
const DEEPEST: usize = 1000;

/// Reads a tree.
///
/// # Errors
///
/// The text is none, or is nested too deeply.
pub fn parse(text: &str) -> Result<Item<'_>, Malformed> {
    let mut reader = Reader { text, at: 0 };
    let item = reader.next().ok_or(Malformed).and_then(|token| reader.item(token, 0))?;
    if reader.next().is_none() { Ok(item) } else { Err(Malformed) }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    /// The next token: a parenthesis or brace, or what stands between such and blanks. A backslash takes the meaning of what
    /// follows it.
    fn next(&mut self) -> Option<&'a str> {
        let bytes = self.text.as_bytes();
        let is_blank = |byte: u8| matches!(byte, b' ' | b'\n' | b'\t');
        while bytes.get(self.at).is_some_and(|byte| is_blank(*byte)) {
            self.at += 1;
        }
        let begin = self.at;
        let is_mark = |byte: u8| matches!(byte, b'(' | b')' | b'{' | b'}');
        if bytes.get(begin).is_some_and(|byte| is_mark(*byte)) {
            self.at += 1;
            return Some(&self.text[begin..self.at]);
        }
        while let Some(byte) = bytes.get(self.at) {
            match byte {
                b'\\' => self.at += 2,
                byte if is_blank(*byte) || is_mark(*byte) => break,
                _ => self.at += 1,
            }
        }
        self.at = self.at.min(bytes.len());
        // A backslash may stand before a character of several bytes.
        while !self.text.is_char_boundary(self.at) {
            self.at += 1;
        }
        Some(&self.text[begin..self.at]).filter(|token| !token.is_empty())
    }

    fn item(&mut self, token: &'a str, depth: usize) -> Result<Item<'a>, Malformed> {
        match token {
            _ if depth > DEEPEST => Err(Malformed),
            "(" => self.list(depth),
            "{" => self.node(depth),
            ")" | "}" => Err(Malformed),
            word => Ok(Item::Word(word)),
        }
    }

    fn list(&mut self, depth: usize) -> Result<Item<'a>, Malformed> {
        let mut items = Vec::new();
        loop {
            match self.next().ok_or(Malformed)? {
                ")" => return Ok(Item::List(items)),
                token => items.push(self.item(token, depth + 1)?),
            }
        }
    }

    fn node(&mut self, depth: usize) -> Result<Item<'a>, Malformed> {
        let name = self.next().filter(|name| !matches!(*name, "(" | ")" | "{" | "}")).ok_or(Malformed)?;
        let mut fields: Vec<(&str, Vec<Item<'_>>)> = Vec::new();
        loop {
            let token = self.next().ok_or(Malformed)?;
            if token == "}" {
                return Ok(Item::Node(Node { name, fields }));
            }
            match (token.strip_prefix(':'), fields.last_mut()) {
                (Some(field), _) => fields.push((field, Vec::new())),
                (None, Some((_, items))) => items.push(self.item(token, depth + 1)?),
                // Lists of columns and the like have no names.
                (None, None) => fields.push(("", vec![self.item(token, depth + 1)?])),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_lists_and_words_are_read() {
        let text = "{A :one 1 :two (b 1 2) :three {B :x <> :y \"a\\ b\\}\"} :four 4 [ 0 1 ] :five ({C} {C :z \\:x})}";
        let Item::Node(node) = parse(text).unwrap() else { panic!() };
        assert_eq!((node.name, node.word("one"), node.list("two").len()), ("A", Some("1"), 3));
        assert_eq!(node.fields[3].1.len(), 5);
        let Item::Node(inner) = &node.fields[2].1[0] else { panic!() };
        assert_eq!((inner.word("x"), inner.word("y")), (Some("<>"), Some("\"a\\ b\\}\"")));
        assert_eq!(node.list("five").len(), 2);
        assert_eq!((node.word("two"), node.list("one").len(), node.word("none")), (None, 0, None));
    }

    #[test]
    fn what_is_no_tree_is_refused() {
        for text in ["", "{", "{A :x", "{A :x (1}", ")", "{A} {B}", "{{A}}", "{A :x 1\\", "(1 2"] {
            assert_eq!(parse(text), Err(Malformed), "{text}");
        }
        let deep = |depth: usize| format!("{}1{}", "(".repeat(depth), ")".repeat(depth));
        assert!(parse(&deep(DEEPEST)).is_ok());
        assert_eq!(parse(&deep(DEEPEST + 1)), Err(Malformed));
        assert_eq!(parse(&"(".repeat(10_000_000)), Err(Malformed));
        assert!(parse("{A :x \\é :y \\").is_err());
    }
}
