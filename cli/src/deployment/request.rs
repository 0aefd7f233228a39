//! A deployment that was asked for: its files, and where they go.

use super::attempt::End;
use super::source::Source;
use crate::arguments::Deploy;
use crate::connection::Address;

/// A deployment that was asked for.
pub(crate) struct Run<'a> {
    /// How.
    pub(crate) options: &'a Deploy,
    /// Where.
    pub(crate) address: &'a Address,
    /// What.
    pub(crate) source: &'a Source,
    pub(crate) end: End,
    /// Whether it is known that no migration has to run.
    pub(crate) is_code: bool,
}
