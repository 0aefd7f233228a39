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

/// A page, its routes, a test; with a form the function that takes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// Paths and texts of its files: the page first.
    pub files: Vec<(String, String)>,
    /// The lines that `routes.sql` gets.
    pub routes: String,
}

/// A page of this name, in the layout if the application has one; with a form, or without.
///
/// # Errors
/// What is wrong with the name.
pub fn page(files: &BTreeMap<String, File>, name: &str, has_form: bool) -> Result<Page, String> {
    let path = word(name, '-')?;
    let file = format!("pages/{path}.html");
    let function = ::pages::name_of(&file).map_err(|fault| fault.to_string())?.function;
    let has_layout = files.contains_key("pages/layout.html");
    let around = if has_layout {
        format!("{{{{ layout: layout(title => '{path}') }}}}\n")
    } else {
        format!("<!doctype html>\n<title>{path}</title>\n")
    };
    if has_form {
        return Ok(form(&path, &function, &around, file));
    }
    let text = format!(
        "{{{{ -- The page /{path}. An argument takes the value of its name in the query, or in the route's path. }}}}
{{{{ arguments: name text default 'world' }}}}
{around}<p>Hello, {{{{ name }}}}!
"
    );
    let test = format!("select status = 200 from http.call('GET', '/{path}');\n");
    Ok(Page {
        files: vec![(file, text), (format!("tests/{function}.sql"), test)],
        routes: format!("select http.route('GET', '/{path}', '{function}');\n"),
    })
}

/// A page with a form, and the function that takes it.
fn form(path: &str, function: &str, around: &str, file: String) -> Page {
    let page = format!(
        "{{{{ -- The form /{path}. Its fields have the rules of the arguments of {function}_sent, and show what is wrong. }}}}
{around}{{{{ if http.flash_message() is not null }}}}<p role=\"status\">{{{{ http.flash_message() }}}}</p>{{{{ end }}}}
<form method=\"post\" action=\"/{path}\">
{{{{ http.form_error() }}}}
{{{{ http.field('name', 'Your name') }}}}
{{{{ http.field('day', 'Day') }}}}
{{{{ http.field('note', 'Note', type => 'textarea') }}}}
<button>Send</button>
</form>
"
    );
    let taken = format!(
        "-- Takes the form /{path}. An argument without a default has to be filled in.
create function {function}_sent(name text, day date, note text default '') returns http.response language plpgsql as $$
begin
  -- Each that is refused is told at its field, and nothing is kept.
  perform http.invalid('day', 'Choose a day from today on.') where day < current_date;
  return http.redirect('/{path}', headers => array[http.flash(format('Thank you, %s!', name))]);
end $$;
"
    );
    let sent = |fields: &str| {
        format!(
            "from http.call('POST', '/{path}',
  headers => array[http.header('Content-Type', 'application/x-www-form-urlencoded'), http.header('Accept', 'text/html')],
  body => '{fields}')"
        )
    };
    let test = format!(
        "select status = 200 from http.call('GET', '/{path}');

select status = 303 {};

-- It comes back as it was sent.
select status = 422 and convert_from(body, 'UTF8') like '%value=\"Ada\"%Choose a day from today on.%' {};
",
        sent("name=Ada&day=2999-12-31"),
        sent("name=Ada&day=1999-12-31")
    );
    let routes = format!(
        "select http.route('GET', '/{path}', '{function}'), http.route('POST', '/{path}', '{function}_sent');
select http.form('POST', '/{path}', page => '/{path}');
"
    );
    Page {
        files: vec![
            (file, page),
            (format!("functions/{function}_sent.sql"), taken),
            (format!("tests/{function}.sql"), test),
        ],
        routes,
    }
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
            assert!(
                migration(&files(&[]), name).is_err() && page(&files(&[]), name, false).is_err(),
                "{name}"
            );
        }
    }

    #[test]
    fn a_page_has_a_file_a_route_and_a_test_and_stands_in_the_layout() {
        let paths = |page: &Page| page.files.iter().map(|(path, _)| path.clone()).collect::<Vec<_>>();
        let one = page(&files(&[]), "order-list", false).unwrap();
        assert_eq!(paths(&one), ["pages/order-list.html", "tests/order_list.sql"]);
        assert_eq!(one.routes, "select http.route('GET', '/order-list', 'order_list');\n");
        let framed = page(&files(&["pages/layout.html"]), "order-list", false).unwrap();
        let form = page(&files(&["pages/layout.html"]), "order-list", true).unwrap();
        assert_eq!(paths(&form)[1], "functions/order_list_sent.sql");
        for framed in [&framed, &form] {
            let text = &framed.files[0].1;
            assert!(text.contains("{{ layout: layout(title => 'order-list') }}"), "{text}");
        }
        for made in [one, framed, form] {
            let (path, text) = &made.files[0];
            assert!(::pages::read(path, text).is_ok(), "{text}");
        }
        assert!(page(&files(&[]), "select", true).is_err());
    }
}
