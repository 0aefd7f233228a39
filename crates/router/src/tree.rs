//! Segments as a tree, and the search for the most specific pattern.

use std::collections::HashMap;

use crate::methods::Methods;
use crate::params::Values;
use crate::path;
use crate::pattern::Segment;

/// What may follow a prefix of a pattern. The three kinds are tried in this order, which is what makes the
/// most specific pattern win.
#[derive(Debug, Default)]
pub(crate) struct Node {
    /// A hash table: its cost is the same for one entry and for a thousand.
    literals: HashMap<Box<str>, Node, foldhash::fast::FixedState>,
    parameter: Option<Box<Node>>,
    /// The patterns that end here with `{*name}`.
    rest: Option<Box<Methods>>,
    /// The patterns that end here.
    end: Option<Box<Methods>>,
}

impl Node {
    /// The methods of the pattern, with the nodes on the way made where they are missing.
    pub(crate) fn entry(&mut self, segments: &[Segment<'_>]) -> &mut Methods {
        match segments.split_first() {
            None => self.end.get_or_insert_default(),
            Some((Segment::Rest(_), _)) => self.rest.get_or_insert_default(),
            Some((Segment::Parameter(_), tail)) => self.parameter.get_or_insert_default().entry(tail),
            Some((Segment::Literal(text), tail)) => {
                self.literals.entry((*text).into()).or_default().entry(tail)
            }
        }
    }

    /// Finds the most specific pattern for `path`, which is what follows the slash. Leaves the raw values in
    /// `values`.
    ///
    /// A dead end is left for the next kind of segment. Every node stands at one depth and so is visited at
    /// most once: the work is bounded by the size of the tree, whatever the path.
    pub(crate) fn find<'p>(&self, path: &'p str, escaped: bool, values: &mut Values<'p>) -> Option<&Methods> {
        let (segment, tail) = split_segment(path);
        let found = self.literal(segment, escaped).and_then(|node| node.follow(tail, escaped, values));
        if found.is_some() {
            return found;
        }
        if let Some(node) = self.parameter.as_ref().filter(|_| !segment.is_empty()) {
            values.push(segment);
            let found = node.follow(tail, escaped, values);
            if found.is_some() {
                return found;
            }
            values.pop();
        }
        let rest = self.rest.as_ref()?;
        values.push(path);
        Some(rest)
    }

    fn follow<'p>(&self, tail: Option<&'p str>, escaped: bool, values: &mut Values<'p>) -> Option<&Methods> {
        match tail {
            Some(tail) => self.find(tail, escaped, values),
            None => self.end.as_deref(),
        }
    }

    fn literal(&self, segment: &str, escaped: bool) -> Option<&Node> {
        if self.literals.is_empty() {
            None
        } else if escaped {
            self.literals.get(&*path::decode_checked(segment))
        } else {
            self.literals.get(segment)
        }
    }
}

/// The text up to the next slash, and what follows that slash if there is one.
fn split_segment(path: &str) -> (&str, Option<&str>) {
    match memchr::memchr(b'/', path.as_bytes()) {
        Some(at) => (&path[..at], Some(&path[at + 1..])),
        None => (path, None),
    }
}
