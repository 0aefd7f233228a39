//! How long functions are.

use crate::sources::Source;

/// A function with its body.
pub struct Function {
    /// Its name.
    pub name: String,
    /// Lines from its head to its end.
    pub lines: usize,
}

/// Functions of a file that have more than one line.
pub fn of(source: &Source) -> Vec<Function> {
    let lines: Vec<&str> = source.text.lines().collect();
    let found = lines.iter().enumerate().filter_map(|(place, line)| {
        const MODIFIERS: [&str; 8] =
            ["pub", "pub(crate)", "pub(super)", "const", "unsafe", "async", "extern", "\"C\""];
        let mut words = line.trim_start().split(' ').skip_while(|word| MODIFIERS.contains(word));
        if words.next() != Some("fn") {
            return None;
        }
        let name = words.next()?.split(['(', '<']).next()?.to_owned();
        Some(Function { name, lines: length(&lines[place..])? })
    });
    found.collect()
}

/// Lines of the function that begins here; none if it is a declaration, or on one line.
fn length(lines: &[&str]) -> Option<usize> {
    let head = lines.iter().position(|line| line.ends_with(['{', ';', '}']))?;
    if !lines[head].ends_with('{') {
        return None;
    }
    let indentation = lines[0].len() - lines[0].trim_start().len();
    let end = format!("{}}}", &lines[0][..indentation]);
    Some(lines.iter().position(|line| **line == end)? + 1)
}
