//! Cookies: values of any text, and values that nobody else can have made.

use std::time::Duration;
use std::{iter, thread};

use fastrand::Rng;
use howdah_tests::application::dump;
use howdah_tests::{Connection, Platform, Reply, wait_for};

const APPLICATION: &str = "
    create function remember(value text, max_age integer default null) returns http.response language sql stable
      return http.response(status => 204, headers => array[http.set_cookie('plain', value), http.set_signed_cookie('basket', value, max_age => max_age)]);
    create function seen() returns json language sql stable begin atomic
      select json_build_object('plain', http.cookie('plain'), 'basket', http.signed_cookie('basket'), 'other', http.signed_cookie('other')); end;
    create role neighbour;
    grant create on schema public to neighbour;
    set role neighbour;
    create function seen_by_neighbour() returns text language sql stable begin atomic select coalesce(http.signed_cookie('basket'), 'nothing'); end;
    create function signed_by_neighbour(value text) returns http.response language sql stable
      return http.response(status => 204, headers => array[http.set_signed_cookie('basket', value)]);
    reset role;
    create function of_both() returns text language sql stable begin atomic
      select coalesce(http.signed_cookie('basket'), 'nothing') || ' ' || seen_by_neighbour(); end;
    select http.route('POST', '/remember', 'remember'), http.route('GET', '/seen', 'seen'), http.route('GET', '/neighbour', 'seen_by_neighbour'),
      http.route('POST', '/neighbour', 'signed_by_neighbour'), http.route('GET', '/both', 'of_both'),
      http.route('GET', '/aging', 'seen'),
      http.cache('GET', '/aging', vary => '{cookie:plain,cookie:basket,cookie:other}', max_age => '1 hour'),
      http.route('GET', '/kept', 'seen'), http.cache('GET', '/kept', vary => '{cookie:plain,cookie:basket,cookie:other}');
";

fn application() -> Platform {
    let platform = Platform::start();
    platform.sql(APPLICATION);
    wait_for("the routes", || platform.get("/both").status == 200);
    platform
}

fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02x}")).collect()
}

/// `name=value` of the cookies that are set by a form.
fn set(client: &mut Connection, path: &str, form: &str) -> Vec<String> {
    let reply = client.request(
        "POST",
        path,
        &[("content-type", "application/x-www-form-urlencoded")],
        form.as_bytes(),
    );
    assert_eq!(reply.status, 204, "{}", reply.text());
    let pair = |header: &str| header.split(';').next().unwrap().to_owned();
    reply.all_headers("set-cookie").into_iter().map(pair).collect()
}

fn ask(client: &mut Connection, path: &str, cookies: &str) -> Reply {
    client.request("GET", path, &[("cookie", cookies)], b"")
}

fn seen(client: &mut Connection, path: &str, cookies: &str) -> [Option<String>; 2] {
    let all = ask(client, path, cookies).json();
    ["plain", "basket"].map(|name| all[name].as_str().map(str::to_owned))
}

#[test]
fn a_value_of_any_text_comes_back_signed_or_not() {
    let platform = application();
    let mut client = platform.connect();
    let mut random = Rng::with_seed(57);
    let characters = [
        'a', '.', '%', ' ', ';', ',', '"', '\\', '=', '+', '\u{1}', '\n', 'é', '😀', '0', '\u{7f}',
        '\u{2028}',
    ];
    for _ in 0..300 {
        let length = random.usize(..12);
        let value: String =
            iter::repeat_with(|| characters[random.usize(..characters.len())]).take(length).collect();
        let cookies = set(&mut client, "/remember", &format!("value={}", encoded(&value))).join("; ");
        for path in ["/seen", "/kept", "/kept"] {
            assert_eq!(
                seen(&mut client, path, &cookies),
                [Some(value.clone()), Some(value.clone())],
                "{cookies}"
            );
        }
        // A change in any place makes it nothing.
        let signed = cookies.split_once("basket=").unwrap().1;
        let place = random.usize(..signed.len());
        let mut changed = signed.to_owned().into_bytes();
        changed[place] = if changed[place] == b'x' { b'y' } else { b'x' };
        let changed = format!("basket={}", String::from_utf8(changed).unwrap());
        assert_eq!(seen(&mut client, "/kept", &changed), [None, None], "{changed}");
        assert_eq!(seen(&mut client, "/kept", &format!("basket={value}", value = encoded(&value)))[1], None);
    }
    // Cookies of others come as they have sent them.
    assert_eq!(seen(&mut client, "/seen", "plain=50%")[0].as_deref(), Some("50%"));
    assert_eq!(seen(&mut client, "/seen", "plain=%ff%00a")[0].as_deref(), Some("%ff%00a"));
    let long = client.request(
        "POST",
        "/remember",
        &[("content-type", "application/x-www-form-urlencoded")],
        format!("value={}", "x".repeat(5000)).as_bytes(),
    );
    assert!(long.status == 400 && long.text().contains("longer than 4096 bytes"), "{}", long.text());
}

#[test]
fn a_signed_cookie_counts_for_whom_and_as_long_as_it_was_signed() {
    let platform = application();
    let mut client = platform.connect();
    let own = set(&mut client, "/remember", "value=17")[1].clone();
    let neighbours = set(&mut client, "/neighbour", "value=17")[0].clone();
    assert_ne!(own, neighbours);
    // One owner's is none of another's, also where one calls the other: whoever answers counts.
    assert_eq!(ask(&mut client, "/neighbour", &own).text(), "nothing");
    assert_eq!(ask(&mut client, "/neighbour", &neighbours).text(), "17");
    assert_eq!(seen(&mut client, "/seen", &neighbours)[1], None);
    assert_eq!(ask(&mut client, "/both", &own).text(), "17 17");
    // A cookie of one name is none of another's.
    let renamed = own.replace("basket=", "other=");
    assert!(ask(&mut client, "/seen", &renamed).json()["other"].is_null());

    // It ends when it was to end, kept or not.
    let brief = set(&mut client, "/remember", "value=18&max_age=2")[1].clone();
    for path in ["/kept", "/aging", "/aging", "/aging"] {
        assert_eq!(seen(&mut client, path, &brief)[1].as_deref(), Some("18"), "{path}");
    }
    // A browser, which would not ask again, is not told that it may be old.
    let told = |client: &mut Connection, cookies: &str| {
        ask(client, "/aging", cookies).header("cache-control").map(str::to_owned)
    };
    assert_eq!(told(&mut client, &brief).as_deref(), Some("private, no-cache"));
    assert_eq!(told(&mut client, &own).as_deref(), Some("private, max-age=3600"));
    let over = set(&mut client, "/remember", "value=18&max_age=0")[1].clone();
    assert_eq!(seen(&mut client, "/kept", &over)[1], None);
    thread::sleep(Duration::from_millis(2_100));
    for path in ["/seen", "/kept", "/aging"] {
        assert_eq!(seen(&mut client, path, &brief)[1], None, "{path}");
        assert_eq!(seen(&mut client, path, &own)[1].as_deref(), Some("17"), "{path}");
    }

    // In a session only by a request.
    let error = platform.session().batch_execute("select http.set_signed_cookie('a', 'b')").unwrap_err();
    assert!(error.as_db_error().unwrap().message().contains("no request is being answered"), "{error:?}");
    let called = format!(
        "select convert_from(body, 'UTF8')::json ->> 'basket' from http.call('GET', '/seen', headers => array[http.header('Cookie', '{own}')])"
    );
    assert_eq!(platform.value(&called).as_deref(), Some("17"));

    // After a new key none counts that was signed before; without a key nothing is signed, or read.
    platform.sql("select http.renew_cookie_key()");
    wait_for("the new key", || seen(&mut client, "/kept", &own)[1].is_none());
    let renewed = set(&mut client, "/remember", "value=19")[1].clone();
    assert_eq!(seen(&mut client, "/kept", &renewed)[1].as_deref(), Some("19"));
    platform.sql("delete from http.cookie_key");
    wait_for("no key", || seen(&mut client, "/kept", &renewed)[1].is_none());
    let refused = client.request(
        "POST",
        "/remember",
        &[("content-type", "application/x-www-form-urlencoded")],
        b"value=20",
    );
    assert_eq!(refused.status, 500);
    assert!(platform.log().contains("A superuser makes one: select http.renew_cookie_key()."));
}

#[test]
fn nobody_reads_the_key() {
    let platform = application();
    for role in ["howdah_web", "howdah_admin", "neighbour"] {
        for statement in [
            "select key from http.cookie_key",
            "select http.renew_cookie_key()",
            "copy http.cookie_key to stdout",
        ] {
            let error =
                platform.session().batch_execute(&format!("set role {role}; {statement}")).unwrap_err();
            assert_eq!(error.code().unwrap().code(), "42501", "{role}: {statement}");
        }
    }
    let key = platform.value("select encode(key, 'hex') from http.cookie_key").unwrap();
    assert_eq!(key.len(), 64);
    assert!(!dump(&platform, &[]).contains(&key));
    platform.sql("select http.renew_cookie_key()");
    assert_ne!(platform.value("select encode(key, 'hex') from http.cookie_key"), Some(key));
}
