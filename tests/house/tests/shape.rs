//! The shape of the sources: circles of files, names of types, lengths.

use std::collections::{BTreeMap, BTreeSet};

use house::sources::{self, Source};
use house::{functions, known, modules};

/// Lines of a file, and of a function: of the product, and of tests.
const LONGEST_FILE: [usize; 2] = [500, 600];
const LONGEST_FUNCTION: [usize; 2] = [60, 100];
/// So many types may have one name.
const NAMESAKES: usize = 2;

#[test]
fn no_files_of_a_crate_form_a_circle() {
    let all = sources::all();
    let mut crates: BTreeMap<&str, Vec<&Source>> = BTreeMap::new();
    for source in all.iter().filter(|source| source.is_product()) {
        crates.entry(source.crate_folder()).or_default().push(source);
    }
    assert!(crates.len() > 35, "{} crates", crates.len());
    let found: BTreeSet<Vec<String>> =
        crates.values().flat_map(|sources| modules::circles(sources)).collect();
    let known: BTreeSet<Vec<String>> = known::read().circles.into_iter().collect();
    let new: Vec<_> = found.difference(&known).collect();
    assert!(
        new.is_empty(),
        "files that name each other: put what both need into a file below them\n{new:#?}"
    );
    let over: Vec<_> = known.difference(&found).collect();
    assert!(
        over.is_empty(),
        "take out of tests/house/known.toml what is no circle any more, or a smaller one\n{over:#?}"
    );
}

#[test]
fn no_type_name_stands_three_times() {
    let all = sources::all();
    let mut count: BTreeMap<String, usize> = BTreeMap::new();
    for source in all.iter().filter(|source| source.is_product()) {
        for line in source.code.lines() {
            let mut words =
                line.split_whitespace().skip_while(|word| word.starts_with("pub") || *word == "unsafe");
            if words.next().is_some_and(|word| ["struct", "enum", "trait", "union"].contains(&word))
                && let Some(name) = words.next()
            {
                let name: String = name.chars().take_while(|letter| letter.is_alphanumeric()).collect();
                *count.entry(name).or_default() += 1;
            }
        }
    }
    assert!(count.len() > 500, "{} names", count.len());
    count.retain(|_, times| *times > NAMESAKES);
    known::compare("type names that stand three times", &count, &known::read().type_names);
}

#[test]
fn no_file_is_too_long() {
    let lines = |source: &Source| (source.path.clone(), source.text.lines().count());
    let is_long =
        |source: &&Source| source.text.lines().count() > LONGEST_FILE[usize::from(!source.is_product())];
    let found = sources::all().iter().filter(is_long).map(lines).collect();
    known::compare("files that are too long", &found, &known::read().long_files);
}

#[test]
fn no_function_is_too_long() {
    let (mut count, mut found) = (0, BTreeMap::new());
    for source in sources::all() {
        for function in functions::of(&source) {
            count += 1;
            if function.lines > LONGEST_FUNCTION[usize::from(!source.is_product())] {
                found.insert(format!("{}: {}", source.path, function.name), function.lines);
            }
        }
    }
    assert!(count > 5000, "{count} functions");
    known::compare("functions that are too long", &found, &known::read().long_functions);
}
