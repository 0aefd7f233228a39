//! The parameters of a match.

use std::borrow::Cow;

use smallvec::SmallVec;

use crate::path;

/// Raw values in the order of the pattern. Up to eight need no allocation.
pub(crate) type Values<'p> = SmallVec<[&'p str; 8]>;

/// The parameters of a match, decoded when they are read.
#[derive(Clone, Debug)]
pub struct Params<'r, 'p> {
    pub(crate) names: &'r [Box<str>],
    pub(crate) values: Values<'p>,
    /// Whether the path has escapes at all.
    pub(crate) escaped: bool,
}

impl<'r, 'p> Params<'r, 'p> {
    /// How many parameters there are.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether the pattern has no parameters.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Names and decoded values in the order of the pattern. A value is borrowed from the path unless it has
    /// escapes.
    pub fn iter(&self) -> impl Iterator<Item = (&'r str, Cow<'p, str>)> {
        self.names.iter().zip(&self.values).map(|(name, raw)| (&**name, self.decoded(raw)))
    }

    /// The decoded value of one parameter.
    pub fn get(&self, name: &str) -> Option<Cow<'p, str>> {
        let at = self.names.iter().position(|other| **other == *name)?;
        self.values.get(at).map(|raw| self.decoded(raw))
    }

    fn decoded(&self, raw: &'p str) -> Cow<'p, str> {
        if self.escaped { path::decode_checked(raw) } else { Cow::Borrowed(raw) }
    }
}
