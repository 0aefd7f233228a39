//! Files that are added to an application: `howdah new migration`, `howdah new page`.

use std::collections::BTreeMap;

use crate::files::{File, Kind};
use crate::plan;

/// Fewest digits of a migration's number.
const DIGITS: usize = 3;

/// Path and text of a new migration: the number after the highest, in as many digits.
///
/// ```
/// let (path, _) = folder::additions::migration(&Default::default(), "books").expect("a name");
/// assert_eq!(path, "migrations/001-books.sql");
/// ```
///
/// # Errors
/// What is wrong with the name.
pub fn migration(files: &BTreeMap<String, File>, name: &str) -> Result<(String, String), String> {
    let name = word(name, '-')?;
    let known = files.iter().filter(|(_, file)| file.kind == Kind::Migration);
    let numbers = known.filter_map(|(path, _)| plan::number(path).zip(digits(path)));
    let (last, width) = numbers.max().unwrap_or((0, DIGITS));
    let number = last.checked_add(1).ok_or("no number is left above the last migration's")?;
    let path = format!("migrations/{number:0width$}-{name}.sql");
    let text =
        "-- Runs once, in the deployment that brings it. Once it has been deployed it stays as it is.\n";
    Ok((path, text.to_owned()))
}

/// The digits of a migration's number.
fn digits(path: &str) -> Option<usize> {
    let name = path.rsplit('/').next()?;
    Some(name.bytes().take_while(u8::is_ascii_digit).count())
}

/// A page, its route, a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// Path and text of the page.
    pub page: (String, String),
    /// Path and text of the test.
    pub test: (String, String),
    /// The line that `routes.sql` gets.
    pub route: String,
}

/// A page of this name, in the layout if the application has one.
///
/// # Errors
/// What is wrong with the name.
pub fn page(files: &BTreeMap<String, File>, name: &str) -> Result<Page, String> {
    let path = word(name, '-')?;
    let file = format!("pages/{path}.html");
    let function = ::pages::name_of(&file).map_err(|fault| fault.to_string())?.function;
    let has_layout = files.contains_key("pages/layout.html");
    let around = if has_layout {
        format!("{{{{ layout: layout(title => '{path}') }}}}\n")
    } else {
        format!("<!doctype html>\n<title>{path}</title>\n")
    };
    let text = format!(
        "{{{{ -- The page /{path}. An argument takes the value of its name in the query, or in the route's path. }}}}
{{{{ arguments: name text default 'world' }}}}
{around}<p>Hello, {{{{ name }}}}!
"
    );
    let test = format!("select status = 200 from http.call('GET', '/{path}');\n");
    Ok(Page {
        page: (file, text),
        test: (format!("tests/{function}.sql"), test),
        route: format!("select http.route('GET', '/{path}', '{function}');\n"),
    })
}

/// A name in small letters, digits and this character, beginning with a letter.
fn word(name: &str, between: char) -> Result<String, String> {
    let letter = |letter: char| match letter {
        ' ' | '-' | '_' => between,
        other => other.to_ascii_lowercase(),
    };
    let word: String = name.trim().chars().map(letter).collect();
    let is_fit = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == between;
    let begins = word.starts_with(|letter: char| letter.is_ascii_lowercase());
    match begins && word.len() <= 50 && word.chars().all(is_fit) {
        true => Ok(word),
        false => Err(format!(
            "{name:?} is no name: it begins with a letter and has letters, digits, - and _, 50 at most"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(paths: &[&str]) -> BTreeMap<String, File> {
        let file = |path: &&str| Some((path.to_string(), File::new(Kind::of(path)?, String::new())));
        paths.iter().filter_map(file).collect()
    }

    #[test]
    fn a_migration_has_the_number_after_the_highest() {
        for (known, name, path) in [
            (&[][..], "books", "migrations/001-books.sql"),
            (
                &["migrations/001-a.sql", "migrations/002-b.sql"],
                "More Stars",
                "migrations/003-more-stars.sql",
            ),
            (&["migrations/9.sql"], "b", "migrations/10-b.sql"),
            (&["migrations/20261127-a.sql", "migrations/0005.sql"], "b", "migrations/20261128-b.sql"),
            (&["functions/700.sql"], "b", "migrations/001-b.sql"),
        ] {
            assert_eq!(migration(&files(known), name).map(|(path, _)| path), Ok(path.to_owned()));
        }
        for name in ["", "../x", "1", "x/y", "é", &"x".repeat(51)] {
            assert!(migration(&files(&[]), name).is_err() && page(&files(&[]), name).is_err(), "{name}");
        }
    }

    #[test]
    fn a_page_has_a_file_a_route_and_a_test_and_stands_in_the_layout() {
        let one = page(&files(&[]), "order-list").unwrap();
        assert_eq!(one.page.0, "pages/order-list.html");
        assert_eq!(one.route, "select http.route('GET', '/order-list', 'order_list');\n");
        assert_eq!(one.test.0, "tests/order_list.sql");
        let framed = page(&files(&["pages/layout.html"]), "order-list").unwrap();
        assert!(framed.page.1.contains("{{ layout: layout(title => 'order-list') }}"), "{}", framed.page.1);
        for made in [one, framed] {
            assert!(::pages::read(&made.page.0, &made.page.1).is_ok(), "{}", made.page.1);
        }
        assert!(page(&files(&[]), "select").is_err());
    }
}
