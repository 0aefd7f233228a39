//! Requests that change something, sent by pages of other sites: refused before anything runs, unless the route takes them.

use howdah_tests::{Platform, Reply};

const NOTES: &str = "
    create table note (text text);
    grant select, insert on note to howdah_web;
    create function written(text text default 'x') returns text language sql volatile begin atomic insert into note values (text) returning text; end;
    create function read() returns bigint language sql stable return (select count(*) from note);
    select http.route('POST', '/notes', 'written'), http.route('GET', '/notes', 'read'), http.route('PUT', '/notes', 'written'),
      http.route('*', '/any', 'written'), http.route('POST', '/callback', 'written'), http.cross_site('POST', '/callback')";

fn sent(platform: &Platform, method: &str, path: &str, headers: &[(&str, &str)]) -> Reply {
    platform.connect().request(method, path, headers, b"")
}

#[test]
fn a_page_of_another_site_changes_nothing() {
    let platform = Platform::start();
    platform.sql(NOTES);
    let here = format!("http://localhost:{}", platform.port);
    let host = ("host", here.trim_start_matches("http://"));
    let refused: [&[(&str, &str)]; 9] = [
        &[("sec-fetch-site", "cross-site")],
        &[("sec-fetch-site", "same-site")],
        &[("sec-fetch-site", "cross-site"), ("origin", &here)],
        &[("sec-fetch-site", "same-origin"), ("sec-fetch-site", "cross-site")],
        &[("sec-fetch-site", "")],
        &[("origin", "http://evil.example")],
        &[("origin", "null")],
        &[("origin", "https://localhost")],
        &[("origin", "http://evil.example"), ("x-forwarded-host", "evil.example"), ("cookie", "a=b")],
    ];
    for headers in refused {
        let headers: Vec<_> = headers.iter().copied().chain([host]).collect();
        for (method, path) in [("POST", "/notes"), ("PUT", "/notes"), ("PATCH", "/any"), ("DELETE", "/any")] {
            let reply = sent(&platform, method, path, &headers);
            assert_eq!(reply.status, 403, "{method} {path} {headers:?}: {}", reply.text());
            assert!(
                reply.json()["detail"].as_str().unwrap_or_default().contains("http.cross_site()"),
                "{}",
                reply.text()
            );
        }
        assert_eq!(sent(&platform, "GET", "/notes", &headers).status, 200, "{headers:?}");
        assert_eq!(sent(&platform, "HEAD", "/notes", &headers).status, 200, "{headers:?}");
        assert_eq!(sent(&platform, "OPTIONS", "/notes", &headers).status, 204, "{headers:?}");
    }
    assert_eq!(platform.count("note"), 0);
    let taken: [&[(&str, &str)]; 6] = [
        &[],
        &[("sec-fetch-site", "same-origin"), ("origin", "null")],
        &[("sec-fetch-site", "none")],
        &[("origin", &here)],
        &[("origin", &here.to_uppercase().replace("HTTP", "http"))],
        &[("cookie", "session=1")],
    ];
    for headers in taken {
        let headers: Vec<_> = headers.iter().copied().chain([host]).collect();
        let reply = sent(&platform, "POST", "/notes", &headers);
        assert_eq!(reply.status, 200, "{headers:?}: {}", reply.text());
    }
    assert_eq!(platform.count("note"), taken.len() as i64);
}

#[test]
fn a_route_takes_them_that_says_so() {
    let platform = Platform::start();
    platform.sql(NOTES);
    let elsewhere = [("sec-fetch-site", "cross-site"), ("origin", "https://pay.example")];
    let status = |path| sent(&platform, "POST", path, &elsewhere).status;
    assert_eq!((status("/callback"), status("/notes")), (200, 403));
    // Said again, a route is as it was made.
    platform.sql("select http.route('POST', '/callback', 'written')");
    assert_eq!(status("/callback"), 403);
    platform.sql("select http.cross_site('post', '/callback')");
    assert_eq!(status("/callback"), 200);
    platform.sql("select http.cross_site('POST', '/callback', false)");
    assert_eq!(status("/callback"), 403);
    for (sql, told) in [
        ("select http.cross_site('GET', '/notes')", "are taken from pages of every site"),
        ("select http.cross_site('POST', '/nowhere')", "there is no route POST /nowhere"),
    ] {
        let mut client = platform.session();
        let error = client.batch_execute(sql).expect_err("an error");
        let message = error.as_db_error().map(|error| error.message().to_owned()).unwrap_or_default();
        assert!(message.contains(told), "{message}");
    }
}

#[test]
fn query_handlers_and_calls_in_sql_take_none() {
    let platform = Platform::start();
    platform.sql(NOTES);
    platform.sql("select http.handle('select http.response(''handled'')')");
    let elsewhere = [("sec-fetch-site", "cross-site")];
    assert_eq!(sent(&platform, "POST", "/handled", &elsewhere).status, 403);
    assert_eq!(sent(&platform, "POST", "/handled", &[]).status, 200);
    let called =
        "select (http.call('POST', '/notes', array[http.header('sec-fetch-site', 'cross-site')])).status";
    assert_eq!(platform.value(called).as_deref(), Some("403"));
}

#[test]
fn a_trusted_proxy_says_which_host_was_asked() {
    let platform = Platform::with(&[("howdah.trusted_proxies", "127.0.0.1, ::1")]);
    platform.sql(NOTES);
    let origin = ("origin", "https://shop.example");
    let status = |headers: &[(&str, &str)]| sent(&platform, "POST", "/notes", headers).status;
    assert_eq!(status(&[origin, ("x-forwarded-host", "shop.example"), ("x-forwarded-proto", "https")]), 200);
    assert_eq!(
        status(&[origin, ("x-forwarded-host", "evil.example, shop.example"), ("x-forwarded-proto", "https")]),
        200
    );
    assert_eq!(
        status(&[origin, ("x-forwarded-host", "shop.example, evil.example"), ("x-forwarded-proto", "https")]),
        403
    );
    assert_eq!(status(&[origin, ("x-forwarded-host", "shop.example")]), 403);
    assert_eq!(status(&[origin, ("host", "shop.example"), ("x-forwarded-proto", "https")]), 200);
}
