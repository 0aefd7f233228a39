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
create table entry (
  id integer generated always as identity primary key,
  author text not null check (author <> ''),
  message text not null check (message <> ''),
  written_at timestamptz not null default now());

-- Requests run as howdah_web, which may do what it is granted.
grant select, insert on entry to howdah_web;
";

const LAYOUT: &str = r#"{{ -- The frame around each page. }}
{{ arguments: title text, body http.html }}
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{ title }}</title>
<h1><a href="/">{{ title }}</a></h1>
{{ body }}
</html>
"#;

const ENTRIES: &str = r#"{{ -- The page. It is the function entries(page), which PostgreSQL plans; what comes out of the database is escaped. }}
{{ arguments: page integer default 1 }}
{{ layout: layout(title => '{name}') }}
<form method="post" action="/entries">
  <p><input name="author" placeholder="Your name" required>
  <p><textarea name="message" placeholder="Your message" required></textarea>
  <p><button>Sign</button>
</form>
{{ for e in select * from entry order by id desc limit 20 offset greatest(args.page - 1, 0) * 20 }}
{{ entry_line(e) }}
{{ else }}
<p>Nobody yet.</p>
{{ end }}
{{ if exists (select from entry offset args.page * 20) }}
<p><a href="{{ http.url_with('page', args.page + 1) }}">Older ones</a></p>
{{ end }}
"#;

const ENTRY_LINE: &str = r#"{{ -- A part: a page that other pages call. }}
{{ arguments: e entry }}
<p><b>{{ e.author }}</b>: {{ e.message }}</p>
"#;

const ADD_ENTRY: &str =
    "-- What the form sends. Arguments are bound by name; afterwards the browser gets the page again.
create function add_entry(author text, message text) returns http.response language sql
begin atomic
  insert into entry (author, message) values (add_entry.author, add_entry.message);
  select http.redirect('/entries');
end;
";

const ROUTES: &str =
    "-- The routes that there shall be. One that is taken out here goes with the next deployment.
-- try: curl localhost:9000/entries
select http.route('GET', '/', 'entries');
select http.route('GET', '/entries', 'entries');
select http.route('POST', '/entries', 'add_entry');
";

const TESTS: &str = r#"-- Runs in each deployment, inside its transaction, and is undone. What is not true, or raises an error, stops the deployment.
select status = 200 from http.call('GET', '/entries');

select status = 303
from http.call('POST', '/entries',
  headers => array[http.header('Content-Type', 'application/x-www-form-urlencoded')],
  body => 'author=Ada&message=%3Cb%3EHello%3C%2Fb%3E');

select convert_from(body, 'UTF8') like '%<b>Ada</b>: &lt;b&gt;Hello&lt;/b&gt;%'
from http.call('GET', '/entries');
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
