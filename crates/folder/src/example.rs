//! The files of `howdah new`: an application that works, to be changed.

/// Paths and texts for an application of this name.
pub fn files(name: &str) -> Vec<(String, String)> {
    let schema = name;
    let of =
        |path: &str, text: &str| (path.to_owned(), text.replace("{name}", name).replace("{schema}", schema));
    vec![
        of("howdah.toml", MANIFEST),
        of("migrations/001-entry.sql", MIGRATION),
        of("functions/entries.sql", ENTRIES),
        of("functions/add_entry.sql", ADD_ENTRY),
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

const ENTRIES: &str = r#"-- The page. Files here run again when their text changes.
create function entries() returns http.html language sql stable
return '<!doctype html><title>{name}</title><h1>{name}</h1>
  <form method="post" action="/entries">
    <p><input name="author" placeholder="Your name" required>
    <p><textarea name="message" placeholder="Your message" required></textarea>
    <p><button>Sign</button>
  </form>' || coalesce((
    select string_agg(
      format('<p><b>%s</b>: %s</p>', http.escape(author), http.escape(message)), '' order by id desc)
    from entry), '');
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

    howdah dev                # http://127.0.0.1:9000/entries: each save is live, until Ctrl-C
    howdah test               # what tests/ says, on copies
    howdah up --detach        # a private PostgreSQL that stays
    howdah plan               # what would change in it
    howdah deploy             # all of it, or nothing
";
