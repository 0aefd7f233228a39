//! Forms and pages of `howdah new` in a browser: read by axe, which looks for obstacles, and filled in by the keyboard alone.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::Platform;
use crate::dev::Dev;
use crate::dev_in_chromium::picture;
use crate::webdriver::Browser;

/// Obstacles on the page that is shown, which axe calls serious or worse.
fn obstacles(browser: &Browser, axe: &str) -> Vec<String> {
    browser.run(axe);
    browser.run("window.found = null; axe.run().then(found => { window.found = found }, error => { window.found = { violations: [{ impact: 'critical', id: String(error), nodes: [] }] } })");
    let found = loop {
        let found = browser.run("return window.found && window.found.violations.map(v => [v.impact, v.id, v.nodes.map(n => n.html).join(' ')])");
        if !found.is_null() {
            break found;
        }
    };
    let is_serious = |violation: &&Value| matches!(violation[0].as_str(), Some("serious" | "critical"));
    found.as_array().unwrap().iter().filter(is_serious).map(Value::to_string).collect()
}

#[test]
#[cfg_attr(not(feature = "long"), ignore = "it needs Chromium: make test-long")]
fn nothing_is_in_the_way_on_the_pages_of_a_new_application() {
    let axe = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/axe/node_modules/axe-core/axe.min.js");
    let axe = fs::read_to_string(axe).expect("scripts/setup long brings axe");
    let platform = Platform::new();
    platform.ok(&["new", "guestbook"]);
    platform.ok(&["new", "page", "about", "--app", "guestbook"]);
    platform.ok(&["new", "page", "booking", "--form", "--app", "guestbook"]);
    let dev = Dev::start_on(platform, "guestbook", &[]);
    let address = |path: &str| format!("http://localhost:{}{path}", dev.platform.port);
    let browser = Browser::start();
    // Browsers check first: a client that does not is answered, too.
    let send = "document.forms[0].noValidate = true; document.forms[0].requestSubmit()";
    for scheme in ["light", "dark"] {
        browser.prefer(scheme);
        for (path, sends, words) in [
            ("/", false, "Your name"),
            ("/entries", true, "Please fill in this field."),
            ("/about", false, "Hello, world!"),
            ("/booking", false, "Day"),
            ("/booking", true, "Please fill in this field."),
            ("/nothing", false, "Not Found"),
        ] {
            browser.visit(&address(path));
            if sends {
                browser.run(send);
            }
            browser.shows(words, "");
            let found = obstacles(&browser, &axe);
            assert!(found.is_empty(), "{scheme} {path}: {found:#?}");
            match (scheme, path, sends) {
                ("light", "/booking", true) => picture(&browser, "form.png"),
                ("dark", "/nothing", _) => picture(&browser, "not-found.png"),
                _ => {}
            }
        }
    }
    // It looks like something, on a telephone as well.
    let wide = browser.run("return document.documentElement.scrollWidth <= innerWidth");
    assert_eq!(wide, true);
}

const TAB: &str = "\u{e004}";
const ENTER: &str = "\u{e007}";
const END: &str = "\u{e010}";
const BACK: &str = "\u{e003}";

/// A form with ten kinds of fields.
const FUNCTION: &str = "create type bread as enum ('rye', 'wheat', 'spelt');
create domain loaves as int constraint some_loaves check (value between 1 and 20);
comment on constraint some_loaves on domain loaves is 'From one to twenty.';
create table taken (name text, email text, day date, at time, loaves int, bread bread, size text, sliced bool, extras text[], note text);
grant insert on taken to howdah_web;
";
const TAKES: &str = "create function take(name text, email text, day date, at time, loaves loaves, bread bread, size text, sliced bool, extras text[] default '{}', note text default null)
returns http.response language plpgsql as $$ begin
  perform http.invalid('email', 'This is no address.') where email not like '%_@_%.%';
  insert into taken values (take.name, take.email, take.day, take.at, take.loaves, take.bread, take.size, take.sliced, take.extras, take.note);
  return http.redirect('/done');
end $$;
";
const PAGE: &str = "<!doctype html><html lang=\"en\"><title>Take</title>
<form method=\"post\" action=\"/take\">
{{ http.form_error() }}
{{ http.field('name') }}{{ http.field('email', type => 'text') }}{{ http.field('day') }}{{ http.field('at') }}{{ http.field('loaves') }}{{ http.field('bread') }}
{{ http.field('size', type => 'radio', choices => array['small', 'large']) }}{{ http.field('sliced') }}
{{ http.field('extras', type => 'checkboxes', choices => array[array['n', 'Nuts'], array['s', 'Seeds']]) }}{{ http.field('note', type => 'textarea') }}
<button>Take</button>
</form>
";

#[test]
#[cfg_attr(not(feature = "long"), ignore = "it needs Chromium: make test-long")]
fn ten_kinds_of_fields_are_filled_in_by_the_keyboard_alone() {
    let platform = Platform::new();
    platform.ok(&["new", "bakery"]);
    let write = |path: &str, text: &str| {
        fs::write(platform.folder.path().join("bakery").join(path), text).unwrap();
    };
    write("migrations/002-taken.sql", FUNCTION);
    write("functions/take.sql", TAKES);
    write("pages/take-form.html", PAGE);
    write("functions/done.sql", "create function done() returns text language sql stable return 'Done';\n");
    write(
        "routes.sql",
        "select http.route('GET', '/take', 'take_form'), http.route('POST', '/take', 'take'), http.form('POST', '/take', '/take'), http.route('GET', '/done', 'done');\n",
    );
    fs::remove_file(platform.folder.path().join("bakery/tests/pages.sql")).unwrap();
    let dev = Dev::start_on(platform, "bakery", &[]);
    let browser = Browser::start();
    browser.visit(&format!("http://localhost:{}/take", dev.platform.port));
    let value = |name: &str| {
        let found = browser.run(&format!("return document.querySelector('[name={name}]').value"));
        found.as_str().unwrap_or_default().to_owned()
    };
    let focus = || browser.run("return document.activeElement.name").as_str().unwrap_or_default().to_owned();
    let to = |name: &str| {
        let is_there = (0..40).any(|_| {
            browser.press(TAB);
            focus() == name
        });
        assert!(is_there, "no key leads to {name}");
    };
    for (name, keys) in [
        ("name", "Ada & <b>"),
        ("email", "ada"),
        ("day", "11302026"),
        ("at", "0730AM"),
        ("loaves", "21"),
        ("bread", "r"),
        ("size", " "),
        ("sliced", " "),
        ("extras", " "),
        ("note", "Two\u{e007}lines"),
    ] {
        to(name);
        browser.press(keys);
    }
    // The browser refuses a number that is out of its bounds, and puts the cursor there.
    to("name");
    browser.press(ENTER);
    assert_eq!(focus(), "loaves");
    // A client that checks nothing is told by the server, at the first field that is wrong.
    browser.run("document.forms[0].noValidate = true");
    browser.press(ENTER);
    let shown = browser.shows("From one to twenty.", "");
    let typed = (value("name"), value("day"), value("loaves"), value("note").replace('\r', ""));
    assert_eq!(typed, ("Ada & <b>".into(), "2026-11-30".into(), "21".into(), "Two\nlines".into()), "{shown}");
    assert_eq!(focus(), "loaves");
    // The cursor stands there: the number is written anew, and sent.
    browser.press(&format!("{END}{BACK}{BACK}2{ENTER}"));
    let shown = browser.shows("This is no address.", "From one to twenty.");
    assert_eq!(focus(), "email", "{shown}");
    browser.press(&format!("{END}@example.com{ENTER}"));
    browser.shows("Done", "");
    assert_eq!(
        dev.platform.query(
            "select concat_ws('|', name, email, loaves, bread, size, note like 'Two%lines') from bakery.taken"
        ),
        "Ada & <b>|ada@example.com|2|rye|small|t"
    );
}
