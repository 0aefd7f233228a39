//! Values of `http.secret`, and of arguments that are named like secrets, appear in no answer and in no line of the log.

use howdah_tests::{Platform, wait_for};

const FORM: &str = "application/x-www-form-urlencoded";

/// Each quotes its argument in another place of an error, or of a line of the log. `$type` is the argument's type.
const QUOTED: [(&str, &str); 12] = [
    ("message", "raise 'this is %', value"),
    ("twice", "raise '%, and again %', value, value"),
    ("detail", "raise 'no' using detail = 'it is ' || value"),
    ("hint", "raise 'no' using hint = 'not ' || value"),
    ("conversion", "perform value::text::integer"),
    ("statement", "execute format('select %L::integer', value)"),
    ("long", "raise '%', left(value, 20) || '…'"),
    ("unique", "insert into taken values (value), (value)"),
    ("check", "insert into never values (1, value)"),
    ("notice", "raise warning 'there was %', value; raise 'no'"),
    ("caught", "begin raise 'this is %', value; exception when others then raise '%', sqlerrm; end"),
    (
        "returned",
        "perform http.response(value::text, 200); raise exception '%', jsonb_build_object('a', value::text)",
    ),
];

fn platform() -> Platform {
    let platform = Platform::with(&[("howdah.show_errors", "on"), ("howdah.log_min_duration", "0")]);
    platform.sql(
        "create domain pin as http.secret check (length(value) > 2);
         create table taken (value text unique);
         create table never (id integer check (id > 1), value text);
         grant all on taken, never to howdah_web",
    );
    platform
}

fn make(platform: &Platform, prefix: &str, argument: &str, of_type: &str) {
    for (name, body) in QUOTED {
        let body = if argument == "value" { body.to_owned() } else { body.replace("value", argument) };
        let body = body.replace(&format!("{argument}s "), "values ");
        platform.sql(&format!(
            "create function {prefix}_{name}({argument} {of_type}) returns text language plpgsql as $body$ begin {body}; return 'x'; end $body$;
             select http.route('POST', '/{prefix}/{name}', '{prefix}_{name}')"
        ));
    }
}

#[test]
fn a_secret_is_in_no_answer_and_no_line() {
    let platform = platform();
    let secret = "correct-horse-Battery-Stäple-0123456789";
    for (prefix, argument, of_type) in [
        ("open", "value", "text"),
        ("typed", "value", "http.secret"),
        ("domain", "value", "pin"),
        ("named", "new_password", "text"),
        ("token", "ResetToken", "varchar"),
    ] {
        make(&platform, prefix, argument, of_type);
        let sent_as = argument.to_lowercase();
        for (name, _) in QUOTED {
            let before = platform.log().len();
            let body = format!("{{\"{sent_as}\": \"{secret}\"}}");
            let reply = platform.post(&format!("/{prefix}/{name}"), "application/json", body.as_bytes());
            assert!(reply.status >= 400, "{prefix} {name}: {}", reply.text());
            let done = format!("POST /{prefix}/{name} answered");
            wait_for("it is logged", || platform.log()[before..].contains(&done));
            let log = platform.log()[before..].to_owned();
            let shows = |text: &str| text.contains("correct-horse-Ba");
            if prefix == "open" {
                assert!(shows(&log), "{name}: {log}");
            } else {
                assert!(!shows(&reply.text()), "{prefix} {name}: {}", reply.text());
                assert!(!shows(&log), "{prefix} {name}: {log}");
                assert!(log.contains("***"), "{prefix} {name}: {log}");
            }
        }
    }
}

#[test]
fn what_cannot_be_converted_is_not_quoted_if_it_is_a_secret() {
    let platform = platform();
    platform.sql(
        "create function log_in(pw integer, password integer, pins pin[] default null) returns text language sql return 'x';
         select http.route('POST', '/log_in', 'log_in'), http.route('GET', '/log_in/{password}/{pw}', 'log_in');
         create function by_name() returns text language plpgsql volatile as $$ begin raise '%', http.form_value('password'); end $$;
         select http.route('POST', '/by_name', 'by_name');
         create function by_query() returns text language plpgsql stable as $$ begin raise '%', http.query_value('token'); end $$;
         select http.route('GET', '/by_query', 'by_query')",
    );
    let reply = platform.post("/log_in", FORM, b"pw=hunter2&password=1");
    assert!(reply.text().contains("hunter2"), "a name that says nothing: {}", reply.text());
    let before = platform.log().len();
    for (body, told) in [
        ("pw=1&password=hunter3", "invalid input syntax for type integer: \\\"***\\\""),
        ("pw=1&password=1&pins=hunter3&pins=a", "pin"),
        ("pw=hunter3&password=hunter3", "***"),
    ] {
        let reply = platform.post("/log_in", FORM, body.as_bytes());
        assert_eq!(reply.status, 400, "{body}: {}", reply.text());
        assert!(reply.text().contains(told) && !reply.text().contains("hunter3"), "{}", reply.text());
    }
    for path in ["/log_in/hunter3/1", "/log_in/h%75nter3/1", "/log_in/hunter3/hunter3"] {
        let reply = platform.get(path);
        assert!(reply.status == 400 && !reply.text().contains("nter3"), "{path}: {}", reply.text());
    }
    assert!(!platform.post("/by_name", FORM, b"password=hunter3").text().contains("hunter3"));
    assert!(!platform.get("/by_query?token=hunter3").text().contains("hunter3"));
    wait_for("all is logged", || platform.log()[before..].contains("GET /by_query answered"));
    assert!(!platform.log()[before..].contains("nter3"), "{}", &platform.log()[before..]);
    // The next request has secrets of its own alone.
    let reply = platform.post("/log_in", FORM, b"pw=hunter3&password=1");
    assert!(reply.text().contains("hunter3"), "{}", reply.text());
}

#[test]
fn a_job_keeps_no_secret_of_its_own_in_what_is_told_of_it() {
    let platform = platform();
    platform.sql(
        "create function welcome(email text, password http.secret) returns void language plpgsql as
           $$ begin raise 'cannot tell % of %', email, password using detail = password; end $$;
         select job.define('welcome', 'welcome', attempts => 1);
         select job.enqueue('welcome', '{\"email\": \"ada@example.org\", \"password\": \"hunter4-5\"}')",
    );
    wait_for("it has failed", || platform.log().contains("cannot tell ada@example.org of"));
    assert!(!platform.log().contains("hunter4"), "{}", platform.log());
    wait_for("its failure is kept", || platform.count("job.dead") == 1);
    let told = platform.value("select to_jsonb(d)::text from job.dead d").unwrap_or_default();
    assert!(told.contains("cannot tell ada@example.org of ***"), "{told}");
}
