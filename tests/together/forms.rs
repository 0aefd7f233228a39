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
        ("http.form('POST', '/notes', '/notes?a=1')", "has a query"),
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

#[test]
fn one_argument_of_a_row_type_takes_all_fields() {
    let platform = Platform::start();
    platform.sql(
        "create domain person as text not null check (value <> '');
         create type order_form as (name person, day date, pieces int, code varchar(3), wants bool, pin http.secret, tags text[]);
         create table ordered (name text);
         grant insert on ordered to public;
         create function order_it(f order_form, id int default 0) returns text language plpgsql as $$ begin
           perform http.invalid('day', 'Too early.') where f.day < '2026-01-01';
           insert into public.ordered values (f.name);
           return concat_ws('|', id, f.name, f.day, f.pieces, f.code, f.wants, f.tags::text, length(f.pin)); end $$;
         create function shows() returns http.html language sql stable return http.field('name') || http.field('day') || http.field('pieces')
           || http.field('code') || http.field('wants') || http.field('pin') || http.field('tags', choices => array['a', 'b']);
         create function counts(f order_form default null) returns text language sql stable as $$ select coalesce(f.pieces::text, 'none') $$;
         select http.route('GET', '/order', 'shows'), http.route('POST', '/orders/{id}', 'order_it'), http.form('POST', '/orders/{id}', '/order'),
           http.route('POST', '/plain', 'order_it'), http.route('GET', '/counts', 'counts')",
    );
    let good = "name=Ada&day=2026-11-30&pieces=3&code=abc&wants=true&tags=a&tags=b&pin=1234";
    for path in ["/orders/7", "/plain"] {
        let id = if path == "/plain" { "0" } else { "7" };
        assert_eq!(
            posted(&platform, path, good, BROWSER).text(),
            format!("{id}|Ada|2026-11-30|3|abc|t|{{a,b}}|4")
        );
    }
    // A checkbox that is not set is false in a form, and nothing elsewhere.
    assert_eq!(posted(&platform, "/orders/7", "name=Ada&pieces=", BROWSER).text(), "7|Ada|f");
    assert_eq!(posted(&platform, "/plain", "name=Ada&pieces=", BROWSER).text(), "0|Ada");
    // All that is wrong, at its field, by form and by JSON.
    let bad = "day=31.02.&pieces=many&code=abcd&pin=hunter2";
    let (status, errors) = told(&platform, "/orders/7", bad);
    assert_eq!(
        (status, errors.keys().map(String::as_str).collect::<Vec<_>>()),
        (400, vec!["code", "day", "name", "pieces"])
    );
    let html = posted(&platform, "/orders/7", bad, BROWSER).text();
    let page = Page::of(&html);
    assert_eq!(page.wrong(), errors.keys().cloned().collect(), "{html}");
    assert!(html.contains("value=\"abcd\" maxlength=\"3\"") && html.contains("This is too long."), "{html}");
    assert!(html.contains("name=\"name\" required") && !html.contains("hunter2"), "{html}");
    assert_eq!(page.named("tags").count(), 2);
    assert!(!platform.log().contains("hunter2"));
    let json = |path: &str, body: Value| platform.post(path, "application/json", body.to_string().as_bytes());
    let reply = json("/plain", json!({ "name": "", "pieces": 1.5, "code": "x", "day": [1] }));
    let named: Vec<Value> =
        reply.json()["errors"].as_array().unwrap().iter().map(|error| error["parameter"].clone()).collect();
    assert_eq!((reply.status, json!(named)), (400, json!(["name", "day", "pieces"])), "{}", reply.text());
    let reply = json("/orders/7", json!({ "name": "Ada", "day": "2025-01-01" }));
    assert_eq!((reply.status, &reply.json()["errors"][0]["message"]), (422, &json!("Too early.")));
    // By its own name it is a row as PostgreSQL writes it; without any of it, its default, or missing.
    assert_eq!(json("/plain", json!({ "f": "(Ada,,5,,,,)", "pieces": 9 })).text(), "0|Ada|5");
    assert_eq!(json("/plain", json!({ "other": 1 })).json()["errors"][0]["parameter"], "f");
    assert_eq!(
        (platform.get("/counts").text(), platform.get("/counts?pieces=4&name=a").text()),
        ("none".into(), "4".into())
    );
    // What is kept for a request without fields is none of one with some.
    platform.sql("select http.cache('GET', '/counts'), http.validate('GET', '/counts')");
    for _ in 0..4 {
        for (query, answer) in [("", "none"), ("?pieces=4&name=a", "4"), ("?pieces=5&name=a", "5")] {
            assert_eq!(platform.get(&format!("/counts{query}")).text(), answer, "{query}");
        }
    }
    // Attributes that come, go and change their names, between two requests. A default of the type would forbid it.
    platform.sql(
        "drop function counts;
         create function counts(f order_form) returns text language sql stable as $$ select coalesce(f.pieces::text, 'none') $$",
    );
    assert_eq!(platform.get("/counts?pieces=4&name=a").text(), "4");
    platform.sql(
        "alter type order_form add attribute more int, drop attribute day, alter attribute code type varchar(5)",
    );
    platform.sql(
        "create or replace function order_it(f order_form, id int default 0) returns text language plpgsql as $$ begin
           return concat_ws('|', f.name, f.code, f.more); end $$",
    );
    assert_eq!(posted(&platform, "/orders/7", "name=Ada&code=abcde&more=5", BROWSER).text(), "Ada|abcde|5");
    platform.sql("alter type order_form rename attribute more to less");
    assert_eq!(json("/counts", json!({})).status, 405);
    assert_eq!(platform.get("/counts?less=x&name=a").json()["errors"][0]["parameter"], "less");
    assert_eq!(platform.get("/counts?less=x").json()["errors"][0]["parameter"], "name");
    assert_eq!(platform.get("/counts?more=x&name=a&pieces=2").text(), "2");
    assert_eq!(platform.count("ordered"), 5);
}

#[test]
fn a_form_beside_which_a_page_takes_browsers_is_one_form() {
    let platform = Platform::start();
    platform.sql(
        "create function for_programs(n int) returns text language sql stable as $$ select 'program' $$;
         create function for_people(n int, day date default null) returns http.html language sql stable as $$ select '<p>people'::http.html $$;
         create function shows() returns http.html language sql stable return http.field('n') || http.field('day', form => '/take');
         select http.route('GET', '/form', 'shows'), http.route('POST', '/take', 'for_programs'), http.page('POST', '/take', 'for_people'),
           http.form('POST', '/take', '/form')",
    );
    assert_eq!(posted(&platform, "/take", "n=1", BROWSER).text(), "<p>people");
    assert_eq!(posted(&platform, "/take", "n=1", "*/*").text(), "program");
    let reply = posted(&platform, "/take", "n=x&day=y", BROWSER);
    let page = Page::of(&reply.text());
    assert_eq!((reply.status, page.wrong().len()), (422, 2), "{}", reply.text());
    assert_eq!(
        posted(&platform, "/take", "n=x", "*/*").header("content-type"),
        Some("application/problem+json")
    );
}

#[test]
fn a_form_never_comes_back_without_a_word() {
    let platform = Platform::start();
    platform.sql(
        "create domain zip as text check (value ~ '^[0-9]{5}$');
         create table row (id int primary key, loaves int); insert into row values (1, 1), (2, 2);
         grant select, update on row to howdah_web;
         create function takes(name text, n int default 5, zip zip default null, note text default 'none', files http.file[] default null) returns text
           language plpgsql as $$ begin
             perform http.invalid('cart', 'The cart is empty.'), http.invalid(null, 'Not now.') where name = 'empty';
             perform 1 / (n - 7);
             return concat_ws('|', name, n, zip, note, cardinality(files)); end $$;
         create function shows(page int default 1) returns http.html language sql stable return http.format('<i>%s</i><a href=\"%s\">next</a>page %s%s%s',
           http.form_error(), http.url_with('page', page + 1), page, http.field('n'), http.field('files'));
         create function misspelt() returns http.html language sql stable return http.field('nmae');
         select http.route('GET', '/form', 'shows'), http.route('POST', '/takes', 'takes'), http.form('POST', '/takes', '/form'),
           http.cache('GET', '/form'), http.validate('GET', '/form')",
    );
    let sent = |path: &str, fields: &str| posted(&platform, path, fields, BROWSER);
    // An argument that has no field, names that are none, and the form as a whole; several at once.
    let html = sent("/takes", "n=x").text();
    assert!(
        html.contains("<i>Name: Please fill in this field.</i>") && html.contains("This is no whole number."),
        "{html}"
    );
    let reply = sent("/takes?page=3", "name=empty");
    let html = reply.text();
    assert!(html.contains("<i>The cart is empty. Not now.</i>"), "{html}");
    // The page has the form's query, and its links lead to it.
    assert!(html.contains("page 3") && html.contains("href=\"/form?page=4\""), "{html}");
    assert_eq!(
        (reply.status, reply.header("etag"), reply.header("cache-control")),
        (422, None, Some("no-store"))
    );
    assert!(platform.get("/form?page=3").text().contains("href=\"?page=4\""));
    // A field with a default may be left empty, whatever its type; one without has to be filled in by JSON, too.
    assert_eq!(sent("/takes", "name=a&n=&zip=&note=").text(), "a|5|none");
    for body in [json!({ "n": 1 }), json!({ "name": null }), json!({ "name": "" })] {
        let reply = platform.post("/takes", "application/json", body.to_string().as_bytes());
        assert_eq!(
            (reply.status, &reply.json()["errors"][0]["message"]),
            (400, &json!("is missing")),
            "{body}"
        );
    }
    // A program that asks for HTML gets its members back.
    let headers = [("content-type", "application/json"), ("accept", "text/html")];
    let reply = platform.connect().request("POST", "/takes", &headers, br#"{"name": "a", "n": "<x>"}"#);
    assert!(reply.text().contains("value=\"&lt;x&gt;\""), "{}", reply.text());
    assert!(
        platform
            .get("/form")
            .text()
            .contains("<input type=\"file\" id=\"field-files\" name=\"files\" multiple>")
    );
    // A mistake of the function is none of what was typed.
    assert_eq!(sent("/takes", "name=a&n=7").status, 400);
    // A field that nobody takes is told when its page is made.
    platform
        .sql("select http.route('GET', '/misspelt', 'misspelt'), http.form('POST', '/takes', '/misspelt')");
    assert_eq!(platform.get("/misspelt").status, 500);
    assert!(platform.log().contains("the form POST /takes has no argument nmae"));
    assert!(platform.log().contains("It has name, n, zip, note, files."));
}
