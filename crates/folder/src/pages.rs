//! The pages of a folder: what is wrong with them, and which are to be compiled anew when others change.

use std::collections::{BTreeSet, HashMap};

use ::pages::{PageFile, circles, name_of, read};

use crate::Fault;

/// The folder of pages, each of which becomes a function.
pub const FOLDER: &str = "pages";

/// Whether a file is a page: HTML or text with SQL in it.
pub fn is_page(path: &str) -> bool {
    let below = path.split_once('/').filter(|(folder, _)| *folder == FOLDER);
    below.is_some_and(|(_, name)| name.ends_with(".html") || name.ends_with(".txt"))
}

/// All that is wrong with the pages among files, which are paths with texts.
pub(crate) fn faults<'a>(files: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<Fault> {
    let mut faults = Vec::new();
    let mut named: HashMap<String, &str> = HashMap::new();
    let mut read_well = Vec::new();
    for (path, text) in files.filter(|(path, _)| is_page(path)) {
        match name_of(path) {
            Err(fault) => faults.push(Fault::of(path, fault.to_string())),
            Ok(name) => {
                if let Some(other) = named.insert(name.function.clone(), path) {
                    let message =
                        format!("{other} becomes the function {} as well: rename one", name.function);
                    faults.push(Fault::of(path, message));
                }
            }
        }
        match read(path, text) {
            Ok(page) => read_well.push(page),
            Err(found) => faults.extend(found.iter().map(|fault| Fault {
                path: path.to_owned(),
                line: Some(fault.line),
                column: Some(fault.column),
                message: match &fault.hint {
                    Some(hint) => format!("{}\nhint: {hint}", fault.message),
                    None => fault.message.clone(),
                },
            })),
        }
    }
    faults.extend(circles(&read_well).into_iter().filter_map(|circle| {
        let told: Vec<String> = circle
            .calls
            .iter()
            .map(|(path, call)| format!("{path}:{} calls {}", call.line, call.name))
            .collect();
        let (path, call) = circle.calls.first()?;
        let message = format!(
            "pages call each other in a circle, so that none can be made before the others: {}",
            told.join(", ")
        );
        Some(Fault { line: Some(call.line), column: Some(call.column), ..Fault::of(path, message) })
    }));
    faults
}

/// The pages among files, paths with texts, that call, themselves or through others, what is made by the files of these paths: they are put together
/// of it.
pub fn callers<'a>(
    files: impl Iterator<Item = (&'a str, &'a str)>,
    changed: &BTreeSet<String>,
) -> BTreeSet<String> {
    let pages = files.filter(|(path, _)| is_page(path));
    let pages: Vec<PageFile> = pages.filter_map(|(path, text)| read(path, text).ok()).collect();
    let mut names: BTreeSet<String> =
        changed.iter().filter_map(|path| name_of(path).ok()).map(|name| name.function).collect();
    let mut found = BTreeSet::new();
    loop {
        let calls = |page: &&PageFile| {
            !found.contains(page.path()) && page.calls().iter().any(|call| names.contains(&call.name))
        };
        let more: Vec<&PageFile> = pages.iter().filter(calls).collect();
        if more.is_empty() {
            return found;
        }
        names.extend(more.iter().map(|page| page.name().function.clone()));
        found.extend(more.iter().map(|page| page.path().to_owned()));
    }
}
