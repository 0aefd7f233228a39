//! Exceptions from the rules. An entry that is no longer true is an error, too, so that the list only shrinks.

use std::collections::BTreeMap;
use std::fs;

use serde::Deserialize;

/// `tests/house/known.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Known {
    /// Crates that a crate knows, by what it depends on, and must not.
    pub forbidden_crates: BTreeMap<String, Vec<String>>,
    /// Files of a crate that form a circle.
    pub circles: Vec<Vec<String>>,
    /// Names of types that stand three times or more, and how often.
    pub type_names: BTreeMap<String, usize>,
    /// Files that are too long, and how many lines they have at most.
    pub long_files: BTreeMap<String, usize>,
    /// The same of functions, by file and name.
    pub long_functions: BTreeMap<String, usize>,
    /// Files whose SQL names tables of others, and how often.
    pub foreign_tables: BTreeMap<String, usize>,
    /// Comments that begin with a clause where a noun could stand.
    pub clauses_as_subjects: usize,
}

/// The list.
pub fn read() -> Known {
    let path = crate::root().join("tests/house/known.toml");
    toml::from_str(&fs::read_to_string(path).expect("known.toml")).expect("known.toml is as `Known` says")
}

/// Compares what was found, of which each has a number, with the list.
///
/// # Panics
///
/// Something is worse than its entry, or has none; or an entry is not true any more. The text says what to do.
pub fn compare(rule: &str, found: &BTreeMap<String, usize>, known: &BTreeMap<String, usize>) {
    let worse = found.iter().filter(|(name, number)| known.get(*name).is_none_or(|most| *number > most));
    let worse: Vec<String> = worse.map(|(name, number)| format!("{name}: {number}")).collect();
    assert!(worse.is_empty(), "{rule}:\n{}", worse.join("\n"));
    let over: Vec<&String> = known.keys().filter(|name| !found.contains_key(*name)).collect();
    assert!(over.is_empty(), "{rule}: take out of tests/house/known.toml what is true no more:\n{over:#?}");
}
