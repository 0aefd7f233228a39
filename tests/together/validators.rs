//! Entity tags: who has the answer already gets 304, whatever the way and the protocol.

use howdah_tests::Reply;
use howdah_tests::platform::{Platform, wait_for};

const ROUTES: &str = "
    create table item (id integer primary key, name text not null);
    insert into item values (1, 'one'), (2, 'two');
    grant select, update on item to howdah_web;
    create function one(id integer) returns item language sql stable begin atomic select item from item where item.id = one.id; end;
    create function chosen(tag text default null, modified text default null, code integer default 200) returns http.response language sql stable return
      http.response('chosen', status => code, headers => array[
        http.header('Cache-Control', 'no-cache'), http.header('Vary', 'Accept'), http.header('Content-Language', 'en'), http.header('Content-Location', '/there')]
        || case when tag is not null then array[http.header('ETag', tag)] else '{}' end
        || case when modified is not null then array[http.header('Last-Modified', modified)] else '{}' end);
    create function plain() returns text language sql stable return 'plain';
    select http.route('GET', '/items/{id}', 'one'), http.route('GET', '/chosen', 'chosen'), http.route('GET', '/plain', 'plain');
    create function closed(id integer) returns item language plpgsql stable as 'begin return (select i from item i where i.id = closed.id and now() is not null); end';
    select http.route('GET', '/closed/{id}', 'closed');
    select http.validate('GET', '/items/{id}'), http.validate('GET', '/closed/{id}'), http.validate('get', '/chosen')";

fn platform() -> Platform {
    let platform = Platform::start();
    platform.sql(ROUTES);
    wait_for("the routes", || platform.get("/plain").status == 200);
    platform
}

fn ask(platform: &Platform, method: &str, path: &str, headers: &[(&str, &str)]) -> Reply {
    platform.connect().request(method, path, headers, b"")
}

#[test]
fn who_has_the_answer_gets_304_until_it_is_another() {
    let platform = platform();
    let first = ask(&platform, "GET", "/items/1", &[]);
    assert_eq!((first.status, first.text()), (200, "{\"id\":1,\"name\":\"one\"}".into()));
    let tag = first.header("etag").expect("a tag").to_owned();
    assert!(tag.starts_with('"') && tag.len() == 24, "{tag}");
    // As often as it takes for the route to be answered by the gateway, too.
    for round in 0..200 {
        // What cannot be remembered runs each time.
        let path = if round % 2 == 0 { "/items/1" } else { "/closed/1" };
        let again = ask(&platform, "GET", path, &[("If-None-Match", &tag)]);
        assert_eq!((again.status, again.text()), (304, String::new()), "round {round}");
        assert_eq!(again.header("etag"), Some(&*tag));
        assert_eq!((again.header("content-type"), again.header("content-length")), (None, None));
    }
    assert!(platform.inline_count("/closed/{id}") > 0, "none was answered by the gateway");
    let head = ask(&platform, "HEAD", "/items/1", &[]);
    assert_eq!((head.status, head.header("etag")), (200, Some(&*tag)));
    assert_eq!(ask(&platform, "HEAD", "/items/1", &[("If-None-Match", &tag)]).status, 304);
    assert_ne!(ask(&platform, "GET", "/items/2", &[]).header("etag"), Some(&*tag));
    assert_eq!(ask(&platform, "GET", "/items/2", &[("If-None-Match", &tag)]).status, 200);
    platform.sql("update item set name = 'uno' where id = 1");
    let changed = ask(&platform, "GET", "/items/1", &[("If-None-Match", &tag)]);
    assert_eq!((changed.status, changed.text()), (200, "{\"id\":1,\"name\":\"uno\"}".into()));
    platform.sql("update item set name = 'one' where id = 1");
    assert_eq!(ask(&platform, "GET", "/items/1", &[("If-None-Match", &tag)]).status, 304, "it is as it was");
    // What is not there has no tag, and no condition counts.
    for name in ["If-None-Match", "If-Match"] {
        let gone = ask(&platform, "GET", "/items/9", &[(name, "*")]);
        assert_eq!((gone.status, gone.header("etag")), (404, None));
    }
    let unmet = ask(&platform, "GET", "/items/1", &[("If-Match", "\"other\"")]);
    assert_eq!(unmet.status, 412);
    assert!(unmet.text().contains("Precondition Failed"), "{}", unmet.text());
    assert_eq!(ask(&platform, "GET", "/items/1", &[("If-Match", &tag)]).status, 200);
    // A right that is gone comes before any condition.
    platform.sql("revoke select on item from howdah_web");
    assert_ne!(ask(&platform, "GET", "/items/1", &[("If-None-Match", &tag)]).status, 304);
}

#[test]
fn a_function_that_sets_its_validators_is_taken_at_its_word() {
    let platform = platform();
    let kept = ask(&platform, "GET", "/chosen", &[("If-None-Match", "*")]);
    assert_eq!(kept.status, 304);
    let names = ["cache-control", "vary", "content-location", "etag", "date"];
    assert!(names.iter().all(|name| kept.header(name).is_some()), "{:?}", kept.headers);
    assert_eq!((kept.header("content-language"), kept.header("content-type")), (None, None));
    let own = "/chosen?tag=%22v1%22";
    assert_eq!(ask(&platform, "GET", own, &[]).header("etag"), Some("\"v1\""));
    assert_eq!(ask(&platform, "GET", own, &[("If-None-Match", "\"v0\", W/\"v1\"")]).status, 304);
    assert_eq!(
        ask(&platform, "GET", own, &[("If-None-Match", "\"v0\""), ("If-None-Match", "\"v1-gzip\"")]).status,
        304
    );
    assert_eq!(ask(&platform, "GET", own, &[("If-None-Match", "\"v2\"")]).status, 200);
    let dated = "/chosen?modified=Sat,%2028%20Nov%202026%2012:00:00%20GMT";
    for (date, status) in
        [("Sat, 28 Nov 2026 12:00:00 GMT", 304), ("Sat, 28 Nov 2026 11:00:00 GMT", 200), ("soon", 200)]
    {
        assert_eq!(ask(&platform, "GET", dated, &[("If-Modified-Since", date)]).status, status, "{date}");
    }
    assert_eq!(
        ask(&platform, "GET", dated, &[("If-Unmodified-Since", "Sat, 28 Nov 2026 11:00:00 GMT")]).status,
        412
    );
    // Who gets a cookie gets the answer, and so does who has sent a body.
    platform.sql(
        "create function greeted() returns http.response language sql stable return
           http.response('hello', headers => array[http.set_cookie('seen', 'yes')]);
         select http.route('GET', '/greeted', 'greeted'), http.validate('GET', '/greeted')",
    );
    let any = [("If-None-Match", "*")];
    wait_for("the route", || ask(&platform, "GET", "/greeted", &any).status == 200);
    let greeted = ask(&platform, "GET", "/greeted", &any);
    assert!(greeted.header("etag").is_none() && greeted.header("set-cookie").is_some());
    let with_body = platform.connect().request("GET", "/chosen", &any, b"body");
    assert_eq!((with_body.status, with_body.header("etag")), (200, None));
    // Another status has no tag, and no condition counts.
    let teapot = ask(&platform, "GET", "/chosen?code=418", &[("If-None-Match", "*"), ("If-Match", "\"x\"")]);
    assert_eq!((teapot.status, teapot.header("etag")), (418, None));
}

#[test]
fn routes_have_validators_by_their_owners_word_alone() {
    let platform = platform();
    let plain = ask(&platform, "GET", "/plain", &[("If-None-Match", "*")]);
    assert_eq!((plain.status, plain.header("etag")), (200, None), "nobody has asked for it");
    let mut session = platform.session();
    for (call, says) in [
        ("http.validate('POST', '/plain')", "answers to POST have no entity tag"),
        ("http.validate('GET', '/nowhere')", "there is no route GET /nowhere"),
    ] {
        let refused = howdah_tests::queues::error(&mut session, &format!("select {call}"));
        assert!(refused.contains(says), "{call}: {refused}");
    }
    session.batch_execute("create role eve; set role eve").unwrap();
    let refused = howdah_tests::queues::error(&mut session, "select http.validate('GET', '/plain')");
    assert!(refused.contains("permission denied"), "{refused}");
    let has_tag = |path: &str| ask(&platform, "GET", path, &[]).header("etag").is_some();
    platform.sql("select http.validate('GET', '/items/{id}', false)");
    wait_for("it has none", || !has_tag("/items/1"));
    platform.sql("select http.route('GET', '/chosen', 'chosen')");
    wait_for("what was said is replaced", || !has_tag("/chosen"));
}
