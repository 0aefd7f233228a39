//! Forms: a request that is refused comes back as the page of its form, filled in as it was sent, and says what is wrong where it is.

use std::collections::{BTreeMap, BTreeSet};

use fastrand::Rng;
use howdah_tests::{Platform, Reply};
use serde_json::{Value, json};

use super::argument_ways::{CASES, TYPES, encoded};
use super::printed_pages::browser::{Seen, seen};

const FORM: &str = "application/x-www-form-urlencoded";

/// Kinds of arguments that forms have beside those of [`CASES`].
const MORE: &[(&str, &[&str])] = &[
    ("smallint", &["1", "40000", "x"]),
    ("float8", &["1.5", "1e999", "x"]),
    ("time", &["12:30", "25:00", "12:30:15.5"]),
    ("timestamp", &["2026-11-30T12:30", "2026-02-30 1:00", "soon"]),
    ("json", &["{\"a\": 1}", "{", "null"]),
    ("jsonb", &["[1, \"<b>\"]", "nothing"]),
    ("short", &["abc", "abcdef", ""]),
    ("letters", &["abc", "ABC", "<b>\"'&"]),
    ("ranged", &["5", "0", "11", "x"]),
    ("colour", &["red", "it's", "none"]),
    ("day", &["2026-01-01", "2019-01-01", "x"]),
    ("price", &["1.25", "-1", "1000000"]),
];

const DOMAINS: &str = "
    create domain short as varchar(5);
    create domain letters as text constraint only_letters check (value ~ '^[a-z]+$');
    comment on constraint only_letters on domain letters is 'Small letters <alone>, \"please\".';
    create domain ranged as int check (value between 1 and 10);
    comment on domain ranged is 'A number from one to ten.';
    create domain colour as text check (value in ('red', 'it''s', 'a \"b\"'));
    create domain day as date check (value >= '2020-01-01');
    create domain price as numeric(6, 2) check (value > 0)";

/// All elements of a page with their attributes, and the texts in them.
struct Page {
    elements: Vec<(String, BTreeMap<String, String>, String)>,
}

impl Page {
    fn of(html: &str) -> Page {
        let mut elements: Vec<(String, BTreeMap<String, String>, String)> = Vec::new();
        for node in seen(html, true) {
            match node {
                Seen::Element { tag, attributes } => {
                    elements.push((tag, attributes.into_iter().collect(), String::new()));
                }
                Seen::Text { tag, text } => {
                    if let Some(last) = elements.iter_mut().rev().find(|(known, ..)| *known == tag) {
                        last.2 += &text;
                    }
                }
                Seen::Comment(text) => panic!("a comment {text}: {html}"),
            }
        }
        Page { elements }
    }

    fn named<'a>(
        &'a self,
        name: &'a str,
    ) -> impl Iterator<Item = &'a (String, BTreeMap<String, String>, String)> {
        self.elements
            .iter()
            .filter(move |(_, attributes, _)| attributes.get("name").is_some_and(|it| it == name))
    }

    fn with_id(&self, id: &str) -> Option<&(String, BTreeMap<String, String>, String)> {
        self.elements.iter().find(|(_, attributes, _)| attributes.get("id").is_some_and(|known| known == id))
    }

    /// Fields that are said to be wrong.
    fn wrong(&self) -> BTreeSet<String> {
        let invalid =
            self.elements.iter().filter(|(_, attributes, _)| attributes.contains_key("aria-invalid"));
        invalid.map(|(_, attributes, _)| attributes["name"].clone()).collect()
    }
}

fn posted(platform: &Platform, path: &str, fields: &str, accept: &str) -> Reply {
    let headers = [("content-type", FORM), ("accept", accept)];
    platform.connect().request("POST", path, &headers, fields.as_bytes())
}

/// The parameters that are wrong, with their messages, as programs are told.
fn told(platform: &Platform, path: &str, fields: &str) -> (u16, BTreeMap<String, String>) {
    let reply = posted(platform, path, fields, "application/json");
    let document: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
    let errors = document["errors"].as_array().cloned().unwrap_or_default();
    let pair = |error: &Value| {
        let text = |name: &str| error[name].as_str().unwrap_or_default().to_owned();
        (text("parameter"), text("message"))
    };
    (reply.status, errors.iter().map(pair).collect())
}

#[test]
fn each_field_comes_back_as_it_was_typed_with_its_error() {
    let platform = Platform::start();
    platform.sql(TYPES);
    platform.sql(DOMAINS);
    let cases: Vec<_> = CASES.iter().chain(MORE).copied().collect();
    let declared: Vec<String> =
        cases.iter().enumerate().map(|(place, (of, _))| format!("a{place} {of}")).collect();
    let fields: String = (0..cases.len()).map(|place| format!(" || http.field('a{place}')")).collect();
    platform.sql(&format!(
        "create table sent (n int generated always as identity); grant insert on sent to public;
         create function takes({}, secret http.secret default null, file http.file default null) returns http.response
           language plpgsql as $$ begin insert into public.sent default values; return http.redirect('/done'); end $$;
         create function shows() returns http.html language sql stable return '<form method=\"post\">'::http.html {fields}
           || http.field('secret') || http.field('file') || '</form>';
         select http.route('POST', '/takes', 'takes'), http.route('GET', '/form', 'shows'), http.form('POST', '/takes', page => '/form')",
        declared.join(", ")
    ));
    let mut random = Rng::with_seed(57);
    let (mut taken, mut refused) = (0, 0);
    for round in 0..250 {
        let share = [0.0, 0.03, 0.3, 1.0][round % 4];
        let mut typed = BTreeMap::new();
        for (place, (_, texts)) in cases.iter().enumerate() {
            if random.f64() < share / 5.0 {
                continue;
            }
            // The first is one of the type, unless it is empty.
            let good = texts.iter().position(|text| !text.is_empty()).unwrap();
            let chosen = if random.f64() < share { random.usize(..texts.len()) } else { good };
            typed.insert(format!("a{place}"), texts[chosen]);
        }
        let mut fields: Vec<String> =
            typed.iter().map(|(name, text)| format!("{name}={}", encoded(text))).collect();
        fields.push("secret=hunter2".into());
        let fields = fields.join("&");
        let (status, errors) = told(&platform, "/takes", &fields);
        let reply = posted(&platform, "/takes", &fields, "text/html,*/*;q=0.8");
        if errors.is_empty() {
            assert_eq!((status, reply.status), (303, 303), "{fields}: {}", reply.text());
            taken += 2;
            continue;
        }
        refused += 1;
        let html = reply.text();
        assert_eq!((status, reply.status), (400, 422), "{fields}: {html}");
        assert_eq!(reply.header("content-type"), Some("text/html; charset=utf-8"));
        assert_eq!(reply.header("cache-control"), Some("no-store"));
        assert!(!html.contains("hunter2"));
        let page = Page::of(&html);
        assert_eq!(page.wrong(), errors.keys().cloned().collect(), "{fields}: {html}");
        for (name, message) in &errors {
            let (_, _, shown) =
                page.with_id(&format!("field-{name}-error")).unwrap_or_else(|| panic!("{name}: {html}"));
            let of = cases[name[1..].parse::<usize>().unwrap()].0;
            let is_commented = ["letters", "ranged"].contains(&of) && message != "is missing";
            assert!(!shown.is_empty() && (shown == message || !is_commented), "{of}: {shown} {message}");
            // The words of a server are for programs.
            assert!(is_commented || !shown.contains("syntax") && !shown.contains("constraint"), "{shown}");
        }
        for (place, (of, _)) in cases.iter().enumerate() {
            let name = format!("a{place}");
            check_typed(&page, &name, of, typed.get(&name).copied());
        }
    }
    assert!(taken > 60 && refused > 120, "{taken} {refused}");
    assert_eq!(platform.count("sent"), taken);
}

/// Whether a field shows what was typed.
fn check_typed(page: &Page, name: &str, of: &str, typed: Option<&str>) {
    let fields: Vec<_> = page.named(name).collect();
    let (tag, attributes, text) = fields.first().unwrap_or_else(|| panic!("no field {name}"));
    let of_type = attributes.get("type").map_or(tag.as_str(), String::as_str);
    match of_type {
        "file" | "password" => assert_eq!(attributes.get("value"), None),
        "textarea" => assert_eq!(text, typed.unwrap_or_default(), "{name} {of}"),
        "select" => {
            let options = page
                .elements
                .iter()
                .skip_while(|(_, attributes, _)| attributes.get("name").is_none_or(|it| it != name));
            let options = options.skip(1).take_while(|(tag, ..)| tag == "option");
            let chosen: Vec<_> =
                options.filter(|(_, attributes, _)| attributes.contains_key("selected")).collect();
            let values: Vec<&str> =
                chosen.iter().map(|(_, attributes, _)| attributes["value"].as_str()).collect();
            assert!(
                values.is_empty() || values == [typed.unwrap_or_default()],
                "{name} {of}: {values:?} {typed:?}"
            );
        }
        "checkbox" if fields.len() == 1 && of == "boolean" => {
            assert_eq!(attributes.contains_key("checked"), typed == Some("t"), "{name} {of} {typed:?}");
        }
        "checkbox" => {
            let chosen = fields.iter().filter(|(_, attributes, _)| attributes.contains_key("checked"));
            assert!(
                chosen.clone().all(|(_, attributes, _)| typed == Some(&attributes["value"])),
                "{name} {of}"
            );
        }
        "datetime-local" => {
            let shown = attributes.get("value").map_or("", String::as_str).replace('T', " ");
            assert!(typed.unwrap_or_default().replace('T', " ").starts_with(&shown), "{name} {of}: {shown}");
        }
        _ => assert_eq!(attributes.get("value").map(String::as_str), typed, "{name} {of}"),
    }
}

/// A form with a table, on a page that is kept.
const NOTES: &str = "
    create table note (id int generated always as identity primary key, title text not null constraint note_title unique, stars int);
    comment on constraint note_title on note is 'There is such a note.';
    insert into note (title, stars) values ('one', 1), ('two', 2);
    grant select, insert, update on note to howdah_web;
    create function add_note(title text, stars int default null, is_open bool default true) returns http.response language plpgsql as $$ begin
      perform http.invalid('stars', 'Too many <stars>.') where stars > 5;
      perform http.invalid(null, 'Not today.') where title = 'never';
      if title = 'raised' then raise 'Sold & out'; end if;
      if title = 'fault' then perform 1 from nowhere; end if;
      if title = 'gone' then raise 'It is gone' using errcode = 'PT410'; end if;
      if not is_open then raise 'closed'; end if;
      insert into note (title, stars) values (add_note.title, add_note.stars); return http.redirect('/notes'); end $$;
    create function change_note(id int, title text, stars int default null) returns http.response language sql as $$
      update note set title = change_note.title, stars = change_note.stars where note.id = change_note.id; select http.redirect('/notes') $$;
    create function notes() returns http.html language sql stable return
      http.format('<h1>Notes</h1><form>%s%s%s%s</form>%s', http.form_error(form => '/notes'), http.field('title', form => '/notes'),
        http.field('stars', form => '/notes'), http.field('is_open', value => 'true', form => '/notes'),
        (select http.html_agg(http.format('<form>%s</form>',
          http.field('title', 'Title', n.title, form => http.url('/notes/{id}', n.id))) order by n.id) from note n));
    create function edit(id int) returns http.html language sql stable return
      (select http.format('<form>%s%s %s %s</form>', http.field('title', 'Title', n.title), http.field('stars', 'Stars', n.stars),
        http.form_sent(), (select string_agg(e.parameter || ': ' || e.message, ', ') from http.form_errors() e)) from note n where n.id = edit.id);
    select http.route('GET', '/notes', 'notes'), http.route('POST', '/notes', 'add_note'), http.route('POST', '/notes/{id}', 'change_note'),
      http.route('GET', '/notes/{id}/edit', 'edit'), http.route('PUT', '/notes/{id}', 'change_note'),
      http.form('POST', '/notes', '/notes'), http.form('POST', '/notes/{id}', '/notes'), http.form('PUT', '/notes/{id}', '/notes/{id}/edit'),
      http.cache('GET', '/notes'), http.validate('GET', '/notes/{id}/edit')";

const BROWSER: &str = "text/html,application/xhtml+xml,*/*;q=0.8";

#[test]
fn a_page_with_several_forms_shows_each_as_it_was_sent() {
    let platform = Platform::start();
    platform.sql(NOTES);
    let sent = |path: &str, fields: &str| {
        let reply = posted(&platform, path, fields, BROWSER);
        (reply.status, reply.text())
    };
    let values = |html: &str| -> Vec<String> {
        let page = Page::of(html);
        page.named("title")
            .map(|(_, attributes, _)| attributes.get("value").cloned().unwrap_or_default())
            .collect()
    };
    // The form of the page alone, and the one of a row.
    let (status, html) = sent("/notes", "title=%3Cb%3E&stars=9");
    assert_eq!((status, values(&html)), (422, vec!["<b>".into(), "one".into(), "two".into()]), "{html}");
    assert!(html.contains("Too many &lt;stars&gt;.") && !html.contains(" checked"), "{html}");
    let (status, html) = sent("/notes/2", "title=one");
    assert_eq!((status, values(&html)), (422, vec!["".into(), "one".into(), "one".into()]), "{html}");
    assert_eq!(html.matches("There is such a note.").count(), 1);
    // Errors of no field: as a whole, by raise, by a constraint of another column.
    for (fields, shown) in [
        ("title=never&is_open=true", "Not today."),
        ("title=raised&is_open=true", "Sold &amp; out"),
        ("title=closed", "closed"),
    ] {
        let (status, html) = sent("/notes", fields);
        assert!(
            status == 422 && html.starts_with(&format!("<h1>Notes</h1><form>{shown}<p")),
            "{status} {html}"
        );
    }
    // A checkbox that is set, and one that is not.
    let (_, html) = sent("/notes", "title=one&is_open=true");
    assert!(html.contains(" checked") && html.contains("There is such a note."), "{html}");
    // A fault of the function's own, and a status that it chooses, are no matter of what was typed.
    assert_eq!(sent("/notes", "title=fault&is_open=true").0, 500);
    assert_eq!(sent("/notes", "title=gone&is_open=true").0, 410);
    // Programs, and who asks for anything.
    for accept in ["application/json", "*/*"] {
        let reply = posted(&platform, "/notes", "title=new&stars=9&is_open=true", accept);
        assert_eq!((reply.status, reply.header("content-type")), (422, Some("application/problem+json")));
    }
    // By another method, with its own page, whose path has the form's parameter.
    let headers = [("content-type", FORM), ("accept", BROWSER)];
    let reply = platform.connect().request("PUT", "/notes/1", &headers, b"title=two&stars=x");
    let html = reply.text();
    assert_eq!((reply.status, values(&html)), (422, vec!["two".into()]), "{html}");
    assert!(
        html.contains("value=\"x\"") && html.contains(" true stars: This is no whole number.</form>"),
        "{html}"
    );
    let reply = platform.connect().request("PUT", "/notes/9", &headers, b"title=two&stars=x");
    assert!(
        reply.status == 400 && reply.text().contains("<h1>Bad Request</h1>"),
        "its page is null: {}",
        reply.text()
    );
    // By http.call, as by the server.
    let called = r#"select concat(status, ' ', convert_from(body, 'UTF8') like '%value="9"%') from http.call('POST', '/notes',
        array[http.header('content-type', 'application/x-www-form-urlencoded'), http.header('accept', 'text/html')], 'title=x&stars=9')"#;
    assert_eq!(platform.value(called).as_deref(), Some("422 t"));
    assert_eq!(platform.count("note"), 2);
    assert_eq!(sent("/notes", "title=new&stars=&is_open=true").0, 303);
    assert_eq!(platform.count("note"), 3);
}

#[test]
fn nobody_sees_what_another_has_typed() {
    let platform = Platform::start();
    platform.sql(NOTES);
    let plain = platform.get("/notes").text();
    let etag = platform.connect().request("GET", "/notes/1/edit", &[], b"");
    let tag = etag.header("etag").expect("a tag").to_owned();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (platform, plain) = (&platform, &plain);
            scope.spawn(move || {
                let mut connection = platform.connect();
                for round in 0..250 {
                    let own = format!("mine-{thread}-{round}-");
                    let fields = format!("title={own}&stars=9");
                    let headers = [("content-type", FORM), ("accept", BROWSER)];
                    let html = connection.request("POST", "/notes", &headers, fields.as_bytes()).text();
                    assert_eq!(html.matches("mine-").count(), 1, "{html}");
                    assert!(html.contains(&format!("value=\"{own}\"")), "{html}");
                    let reply = connection.request("GET", "/notes", &[("accept", BROWSER)], b"");
                    assert_eq!(reply.text(), *plain);
                }
            });
        }
    });
    // The page is kept meanwhile, and has its tag: a write that names it finds it as it is.
    let kept = platform.value("select sum(cached)::text from http.stats where pattern = '/notes'");
    assert!(kept.as_deref().unwrap_or("0").parse::<i64>().unwrap() > 500, "{kept:?}");
    platform.sql("select http.route('GET', '/notes/{id}', 'edit'), http.validate('GET', '/notes/{id}')");
    let tagged = platform.connect().request("GET", "/notes/1", &[], b"");
    let headers = [("content-type", FORM), ("if-match", tagged.header("etag").expect("a tag"))];
    assert_eq!(platform.connect().request("PUT", "/notes/1", &headers, b"title=changed").status, 303);
    assert_ne!(
        platform.connect().request("GET", "/notes/1/edit", &[], b"").header("etag"),
        Some(tag.as_str())
    );
    // A rule that changes shows at once.
    assert!(!platform.get("/notes").text().contains("maxlength"));
    platform.sql(
        "create domain short as varchar(7); drop function add_note;
         create function add_note(title short, stars int default null, is_open bool default true) returns text language sql as $$ select 'ok' $$;
         select http.route('POST', '/notes', 'add_note'), http.form('POST', '/notes', '/notes')",
    );
    assert!(platform.get("/notes").text().contains("maxlength=\"7\""));
    platform.sql("alter domain short add check (value ~ '^[a-z]+$')");
    assert!(platform.get("/notes").text().contains("pattern=\"[a-z]+\""));
}

#[test]
fn a_page_that_cannot_be_shown_leaves_the_problem() {
    let platform = Platform::with(&[("howdah.built_in_error_pages", "off")]);
    platform.sql(NOTES);
    platform.sql(
        "create function shuts() returns http.response language sql stable return http.response(403);
         create function fails() returns text language plpgsql stable as $$ begin raise 'broken page'; end $$;
         create function moves() returns http.response language sql stable return http.redirect('/elsewhere');
         create table seen (n int); grant insert on seen to howdah_web;
         create function writes() returns text language sql as $$ insert into seen values (1); select 'page' $$;
         select http.route('GET', '/guarded/form', 'notes'), http.guard('/guarded', 'shuts'), http.route('GET', '/fails', 'fails'),
           http.route('GET', '/moves', 'moves'), http.route('GET', '/writes', 'writes')",
    );
    for page in ["/guarded/form", "/fails", "/moves", "/writes", "/nowhere", "/notes/7/edit"] {
        platform.sql(&format!("select http.form('POST', '/notes', '{page}')"));
        let reply = posted(&platform, "/notes", "title=x&stars=9&is_open=true", BROWSER);
        assert_eq!(
            (reply.status, reply.header("content-type")),
            (422, Some("application/problem+json")),
            "{page}"
        );
        assert_eq!(reply.json()["errors"], json!([{ "parameter": "stars", "message": "Too many <stars>." }]));
    }
    assert_eq!((platform.count("seen"), platform.count("note")), (0, 2));
    // No form any more; and what is refused when it is registered.
    platform.sql("select http.form('POST', '/notes')");
    assert_eq!(
        posted(&platform, "/notes", "title=x&stars=9&is_open=true", BROWSER).header("content-type"),
        Some("application/problem+json")
    );
    platform.sql("select http.form('POST', '/notes', '/notes'), http.route('POST', '/notes', 'add_note')");
    assert_eq!(
        posted(&platform, "/notes", "title=x&stars=9&is_open=true", BROWSER).header("content-type"),
        Some("application/problem+json")
    );
    let mut session = platform.session();
    for (call, reason) in [
        ("http.form('GET', '/notes', '/notes')", "is not refused"),
        ("http.form('POST', '/none', '/notes')", "there is no route POST /none"),
        ("http.form('POST', '/notes', 'notes')", "the page of a form is a path"),
        ("http.form('POST', '/notes/{id}', '/{ids}')", "the page /{ids} has the parameter ids"),
        ("http.field('a', type => 'button')", "is no type of a field"),
        ("http.field('a', choices => array[array['a', 'b', 'c']])", "choices are values, or pairs"),
        ("http.field(null)", "must not be null"),
    ] {
        let error = session.batch_execute(&format!("select {call}")).unwrap_err();
        let message = error.as_db_error().unwrap().message();
        assert!(message.contains(reason), "{call}: {message}");
    }
    // Which form is meant has to be said where there are several.
    platform.sql(
        "create function unnamed() returns http.html language sql stable return http.field('title');
         create function misnamed() returns http.html language sql stable return http.field('title', form => '/note');
         select http.route('GET', '/unnamed', 'unnamed'), http.route('GET', '/misnamed', 'misnamed'),
           http.form('POST', '/notes', '/unnamed'), http.form('POST', '/notes/{id}', '/unnamed')",
    );
    for (path, reason) in [
        ("/unnamed", "the page has several forms: /notes, /notes/{id}"),
        ("/misnamed", "there is no form /note"),
    ] {
        assert_eq!(platform.get(path).status, 500);
        assert!(platform.log().contains(reason), "{reason}");
    }
}
