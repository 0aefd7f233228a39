//! The files of `howdah new`: an application that works, to be changed.

/// Paths and texts for an application of this name.
pub fn files(name: &str) -> Vec<(String, String)> {
    let schema = name;
    let of =
        |path: &str, text: &str| (path.to_owned(), text.replace("{name}", name).replace("{schema}", schema));
    vec![
        of("howdah.toml", MANIFEST),
        of("migrations/001-entry.sql", MIGRATION),
        of("functions/add_entry.sql", ADD_ENTRY),
        of("pages/layout.html", LAYOUT),
        of("pages/entries.html", ENTRIES),
        of("pages/entry-line.html", ENTRY_LINE),
        of("pages/errors/default.html", ERROR),
        of("static/app.css", STYLE),
        of("routes.sql", ROUTES),
        of("tests/pages.sql", TESTS),
        of("README.md", README),
        of(".gitignore", IGNORED),
    ]
}

const MANIFEST: &str = r#"# Its name; its objects are in the schema of this name, and belong to the role NAME_owner.
name = "{name}"

# howdah deploy --to production
[environments]
# production = "postgresql://deployer@db.example.com/app"
"#;

const MIGRATION: &str =
    "-- Runs once. What has been deployed stays as it is: the next change is a file of its own, 002-….sql.
create domain short_text as varchar(60);
create table entry (
  id integer generated always as identity primary key,
  author short_text not null,
  message text not null check (message <> ''),
  written_at timestamptz not null default now());

-- Requests run as howdah_web, which may do what it is granted.
grant select, insert on entry to howdah_web;
";

const LAYOUT: &str = r#"{{ -- The frame around each page. }}
{{ arguments: title text, body http.html }}
<!doctype html><html lang="en">
<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{ title }}</title><link rel="stylesheet" href="{{ http.asset('app.css') }}">
<h1><a href="/">{{ title }}</a></h1>
<main>{{ body }}</main>
"#;

const STYLE: &str = "/* A style for elements that have no class. Its name in pages says what is in it: browsers keep it, and never have to ask. */
:root { color-scheme: light dark; color: CanvasText; background: Canvas; --accent: light-dark(#0b57d0, #a8c7fa); --line: light-dark(#8a8f98, #7d828c); --wrong: light-dark(#b3261e, #f2b8b5) }
body { max-width: 40rem; margin: 2rem auto; padding: 0 1rem; font: 1.0625rem/1.6 system-ui, sans-serif }
a { color: var(--accent) }
h1 a { color: inherit; text-decoration: none }
label { font-weight: 600 }
input, textarea, select, button { font: inherit; border-radius: .5rem }
input:not([type=checkbox], [type=radio]), textarea, select {
  display: block; box-sizing: border-box; width: 100%; padding: .5rem .75rem; border: 1px solid var(--line); color: inherit; background: transparent
}
textarea { min-height: 6rem }
fieldset { border: 1px solid var(--line); border-radius: .5rem }
button { padding: .5rem 1.25rem; border: 0; color: Canvas; background: var(--accent); cursor: pointer }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px }
[aria-invalid] { border-color: var(--wrong) !important }
.error { color: var(--wrong) }
";

const ENTRIES: &str = r#"{{ -- The page. It is the function entries(page), which PostgreSQL plans; what comes out of the database is escaped. }}
{{ arguments: page integer default 1 }}
{{ layout: layout(title => '{name}') }}
<form method="post" action="/entries">
{{ http.field('author', 'Your name') }}
{{ http.field('message', 'Your message', type => 'textarea') }}
<button>Sign</button></form>
{{ for e in select * from entry order by id desc limit 20 offset greatest(args.page - 1, 0) * 20 }}
{{ entry_line(e) }}
{{ else }}<p>Nobody yet.</p>
{{ end }}
{{ if exists (select from entry offset args.page * 20) }}
<p><a href="{{ http.url_with('page', args.page + 1) }}">Older ones</a></p>
{{ end }}
"#;

const ENTRY_LINE: &str = r#"{{ -- A part: a page that other pages call. }}
{{ arguments: e entry }}
<p><b>{{ e.author }}</b>: {{ e.message }}</p>
"#;

const ERROR: &str = r#"{{ -- The page that browsers get for each error. It is made with each deployment; nothing runs when it is sent. }}
{{ arguments: title text, detail text }}
{{ layout: layout(title => '{name}') }}
<h2>{{ title }}</h2> {{ if detail is not null }}<p>{{ detail }}</p>{{ end }}
<p><a href="/">To the start page</a></p>
"#;

const ADD_ENTRY: &str =
    "-- Takes the form. Arguments are bound by name; those without a default have to be filled in. Afterwards the browser gets the page again.
create function add_entry(author short_text, message text) returns http.response language sql
begin atomic
  insert into entry (author, message) values (add_entry.author, add_entry.message);
  select http.redirect('/entries');
end;
";

const ROUTES: &str =
    "-- The routes that there shall be. One that is taken out here goes with the next deployment.
-- try: curl localhost:9000/entries
select http.route('GET', '/', 'entries'), http.route('GET', '/entries', 'entries');
select http.route('POST', '/entries', 'add_entry');
-- An entry that is refused comes back as this page, with what was typed, and with each error at its field.
select http.form('POST', '/entries', page => '/entries');
";

const TESTS: &str = r#"-- Runs in each deployment, inside its transaction, and is undone. What is not true, or raises an error, stops the deployment.
select status = 200 from http.call('GET', '/entries');

select status = 303
from http.call('POST', '/entries',
  headers => array[http.header('Content-Type', 'application/x-www-form-urlencoded')],
  body => 'author=Ada&message=%3Cb%3EHello%3C%2Fb%3E');

select convert_from(body, 'UTF8') like '%<b>Ada</b>: &lt;b&gt;Hello&lt;/b&gt;%'
from http.call('GET', '/entries');

-- A browser gets the form again that was not filled in.
select status = 422 and convert_from(body, 'UTF8') like '%value="Bob"%Please fill in this field.%'
from http.call('POST', '/entries',
  headers => array[http.header('Content-Type', 'application/x-www-form-urlencoded'), http.header('Accept', 'text/html')],
  body => 'author=Bob&message=');
"#;

/// The data of a platform that is started here.
const IGNORED: &str = ".howdah\n";

const README: &str = "# {name}

    howdah dev                # http://127.0.0.1:9000: each save is live, until Ctrl-C
    howdah test               # what tests/ says, on copies
    howdah up --detach        # a private PostgreSQL that stays
    howdah plan               # what would change in it
    howdah deploy             # all of it, or nothing
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_no_more_than_forty_lines_of_sql_and_html() {
        let is_code = |path: &str| path.ends_with(".sql") || path.ends_with(".html");
        let files =
            files("guestbook").into_iter().filter(|(path, _)| is_code(path) && !path.starts_with("tests/"));
        let mut lines = 0;
        for (path, text) in files {
            let mut is_style = false;
            for line in text.lines() {
                is_style |= line == "<style>";
                let is_remark = line.is_empty() || line.starts_with("--") || line.starts_with("{{ --");
                lines += usize::from(!is_style && !is_remark);
                is_style &= line != "</style>";
            }
            assert!(!path.ends_with(".html") || ::pages::read(&path, &text).is_ok(), "{path}");
        }
        assert!(lines <= 40, "{lines}");
    }
}
