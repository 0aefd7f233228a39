//! Holes of random SQL, whose end is known, and the place of each of their characters.

use std::collections::HashMap;
use std::time::Duration;

use hunt::{Hunt, Rng};
use pages::{HoleKind, PageFile, PageLibrary, SqlText, compile, read};

/// Tokens that a hole may have, with what would end it in those that hide it.
const TOKENS: &[&str] = &[
    "x",
    "\"a\"",
    "1",
    "1.5",
    ".",
    "+",
    "-",
    "*",
    "/",
    "<",
    "=",
    "'",
    "::",
    "{",
    "%",
    "é",
    "ünï",
    "''",
    "'}}'",
    "'it''s }} '''",
    "'\\'",
    "'--'",
    "'/*'",
    "'$$'",
    "'\"'",
    "'{{'",
    "E'\\' }}'",
    "e'\\\\'",
    "E'a''b\\'}}'",
    "E'a'\n'\\'}}'",
    "E'a' -- c\n '\\'}}'",
    "U&'\\'",
    "u&'}}'",
    "B'1'",
    "n'}}'",
    "x'}}'",
    "\"}}\"",
    "\"a\"\"}}\"",
    "U&\"}}\"",
    "\"'\"",
    "$$}}$$",
    "$$ ' $$",
    "$a$ $$ }} $b$ $a$",
    "$é_1$}}$é_1$",
    "a$b$",
    "/* }} */",
    "/* /* }} */ }} ' */",
    "/*/**/*/",
    "/***/",
    "-- remark ' {{ $a$\n",
    "-- \"\n",
    "--\n",
    "--/*\n",
    "(x)",
    "[1]",
    "(')}}')",
    "(/* ) */)",
    "[($$]$$)]",
    "null",
    "and",
    "p.x",
    "->>",
    "@>",
    "1e5",
    "0x1f",
    "a1",
    "_",
    "\u{a0}",
    "𝒳",
];

/// SQL that is not looked at by itself, so that it may be anything.
fn random_sql(random: &mut Rng) -> String {
    let mut sql = String::from("x");
    for _ in 0..random.usize(..10) {
        let token = *random.choice(TOKENS).unwrap_or(&"");
        // Two tokens without a blank may be others; a single quote is none.
        sql.push_str(if random.bool() { " " } else { "\n\t" });
        sql.push_str(if token == "'" { "''" } else { token });
        if token.starts_with(['E', 'e']) {
            // A string in the next line would be a part of this one.
            sql.push_str(" ||");
        }
    }
    sql.push_str(" y");
    sql
}

#[test]
fn a_hole_ends_where_its_tokens_end() {
    let mut hunt = Hunt::begin("ends of holes", Duration::from_millis(10));
    while let Some(mut random) = hunt.next_round_until(hunt.rounds() >= 3000) {
        let (first, second) = (random_sql(&mut random), random_sql(&mut random));
        let text = format!("a }}}} {{{{{first}}}}}'}}}}{{{{ {second} -- }} '\n}}}}\"");
        let text = text.replace("-- } '\n", "-- ' } {{\n");
        let page = read("pages/x.txt", &text).unwrap_or_else(|faults| panic!("{text}\n{faults:?}"));
        let holes: Vec<&str> = page.holes().iter().map(|hole| &text[hole.span.range()]).collect();
        assert_eq!(holes, [first.as_str(), second.as_str()], "{text}");
        let sql = compile(&page, &PageLibrary::default()).plain.text;
        let string = |text: &str| format!("'{}'::text", text.replace('\'', "''"));
        let written = format!(
            "http.text_of({}, {first}, {}, {second}, {})",
            string("a }} "),
            string("'}}"),
            string("\"")
        );
        assert_eq!(sql, written);
    }
}

fn places_of(text: &str) -> HashMap<(usize, usize), char> {
    let (mut line, mut column, mut found) = (1, 1, HashMap::new());
    for letter in text.chars() {
        found.insert((line, column), letter);
        column += 1;
        if letter == '\n' {
            (line, column) = (line + 1, 1);
        }
    }
    found
}

/// Checks a map: where a character is not the first of what it was made of, it is the very character of the page; and all characters of all
/// holes are there. Each hole that was found is counted.
fn check(sql: &SqlText, pages: &[&PageFile], hidden: &[&str]) -> usize {
    let places: HashMap<&str, HashMap<(usize, usize), char>> =
        pages.iter().map(|page| (page.path(), places_of(page.text()))).collect();
    let mut told: HashMap<(String, usize, usize), usize> = HashMap::new();
    for (number, letter) in sql.text.chars().enumerate() {
        let place = sql.map.place(number);
        let page = pages.iter().find(|page| page.path() == place.path).expect("the page of a place");
        let begin = page.text()[..place.span.start].chars().filter(|letter| *letter == '\n').count() + 1;
        let is_first = begin == place.line
            && page.text()[..place.span.start].rsplit('\n').next().map_or(0, |line| line.chars().count()) + 1
                == place.column;
        let own = places[place.path.as_str()].get(&(place.line, place.column));
        assert!(
            is_first || own == Some(&letter),
            "{number} is {letter:?}, and there is {own:?}\n{}",
            sql.text
        );
        if own == Some(&letter) {
            told.insert((place.path.clone(), place.line, place.column), number);
        }
    }
    let mut count = 0;
    for page in pages {
        let starts: Vec<(usize, usize)> = {
            let (mut line, mut column) = (1, 1);
            page.text()
                .chars()
                .map(|letter| {
                    let own = (line, column);
                    column += 1;
                    if letter == '\n' {
                        (line, column) = (line + 1, 1);
                    }
                    own
                })
                .collect()
        };
        for hole in page.holes() {
            let text = &page.text()[hole.span.range()];
            let is_head = matches!(hole.kind, HoleKind::ArgumentType | HoleKind::Default);
            if is_head || hidden.iter().any(|hidden| text.contains(hidden)) {
                continue;
            }
            let first = page.text()[..hole.span.start].chars().count();
            for (ahead, letter) in text.chars().enumerate() {
                let (line, column) = starts[first + ahead];
                assert!(
                    told.contains_key(&(page.path().to_owned(), line, column)),
                    "{letter:?} of {text}\n{}",
                    sql.text
                );
            }
            count += 1;
        }
    }
    count
}

fn random_page(random: &mut Rng, path: &str, head: &str, call: &str) -> PageFile {
    let mut text = head.to_owned();
    for _ in 0..random.usize(1..8) {
        let sql = random_sql(random);
        let literal = *random.choice(&["é\n", "<p>\n", "\\ 𝒳", "\n\n  ", "'", ""]).unwrap_or(&"");
        let part = match random.u8(..6) {
            0 => format!("{{{{ if {sql} }}}}{literal}{{{{ else }}}}{{{{ {sql} }}}}{{{{ end }}}}"),
            1 => format!("{{{{ for r in select {sql} }}}}{{{{ {sql} }}}}{{{{ else }}}}x{{{{ end }}}}"),
            2 => format!("<a href=\"{{{{ {sql} }}}}\" title='{{{{ {sql} }}}}'>"),
            3 => format!("{{{{ args.a }}}}{{{{ args.b || {sql} }}}}"),
            4 if !call.is_empty() => format!("{{{{ {call}(a => {sql}) || {sql} }}}}"),
            _ => format!("{{{{ {sql} }}}}"),
        };
        text.push_str(literal);
        text.push_str(&part);
    }
    read(path, &text).unwrap_or_else(|faults| panic!("{text}\n{faults:?}"))
}

#[test]
fn each_character_of_a_hole_is_found_again() {
    let mut hunt = Hunt::begin("places", Duration::from_millis(10));
    let mut count = 0;
    while let Some(mut random) = hunt.next_round_until(hunt.rounds() >= 150) {
        let head = "{{ arguments: a text = 'ä', b int default 1 }}\n";
        let part = random_page(&mut random, "pages/part.html", head, "");
        let top = random_page(&mut random, "pages/top.html", head, "part");
        let library: PageLibrary = [part.clone()].into_iter().collect();
        let compiled = compile(&top, &library);
        count += check(&compiled.plain, &[&top], &["args."]);
        let is_expanded = !compiled.expands.is_empty();
        let pages: Vec<&PageFile> = if is_expanded { vec![&top, &part] } else { vec![&top] };
        // The name of a page that is expanded, and the bracket behind its arguments, are not there.
        count += check(&compiled.expanded, &pages, &["args.", "part("]);
    }
    assert!(count > 1000, "{count}");
}
