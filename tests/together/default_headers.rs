//! Headers of every answer whose function leaves them unsaid: who may keep it, and that nobody guesses what it is.

use howdah_tests::{Platform, Reply};

const ROUTES: &str = "
    create function plain() returns text language sql stable return 'text';
    create function moved() returns http.response language sql immutable return http.redirect('/plain', 301);
    create function said() returns http.response language sql immutable
      return http.response('x', headers => array[http.header('Cache-Control', 'max-age=60'), http.header('x-content-type-options', 'none')]);
    create function kept() returns text language sql stable return 'kept';
    create function failed() returns text language plpgsql as $$ begin raise 'no' using errcode = 'internal_error'; end $$;
    create function gone() returns http.response language sql immutable return http.response('gone', 410);
    select http.route('GET', '/plain', 'plain'), http.route('POST', '/plain', 'plain'), http.route('GET', '/moved', 'moved'), http.route('GET', '/said', 'said'),
      http.route('GET', '/kept', 'kept'), http.cache('GET', '/kept'), http.route('GET', '/tagged', 'plain'), http.validate('GET', '/tagged'),
      http.route('GET', '/failed', 'failed'), http.route('GET', '/gone', 'gone')";

#[track_caller]
fn says(reply: &Reply, status: u16, cache_control: &str, options: &str) {
    assert_eq!(reply.status, status, "{}", reply.text());
    assert_eq!(reply.all_headers("cache-control"), [cache_control]);
    assert_eq!(reply.all_headers("x-content-type-options"), [options]);
}

#[test]
fn an_answer_that_says_nothing_is_asked_for_before_each_use() {
    let platform = Platform::start();
    platform.sql(ROUTES);
    let mut connection = platform.connect();
    let mut get = |path: &str, headers: &[(&str, &str)]| connection.request("GET", path, headers, b"");
    for path in ["/plain", "/tagged", "/kept", "/plain"] {
        // Often enough that each way has answered: executor, gateway, what is kept.
        for _ in 0..20 {
            says(&get(path, &[]), 200, "no-cache", "nosniff");
        }
    }
    says(&get("/moved", &[]), 301, "no-cache", "nosniff");
    let tag = get("/tagged", &[]).header("etag").expect("a tag").to_owned();
    says(&get("/tagged", &[("if-none-match", &tag)]), 304, "no-cache", "nosniff");
    for personal in [("cookie", "a=b"), ("authorization", "Bearer x")] {
        says(&get("/plain", &[personal]), 200, "private, no-cache", "nosniff");
        says(&get("/tagged", &[("if-none-match", &tag), personal]), 304, "private, no-cache", "nosniff");
        says(&get("/gone", &[personal]), 410, "no-store", "nosniff");
    }
    says(&get("/said", &[]), 200, "max-age=60", "none");
    says(&get("/said", &[("cookie", "a=b")]), 200, "max-age=60", "none");
}

#[test]
fn nobody_keeps_an_error() {
    let platform = Platform::start();
    platform.sql(ROUTES);
    let ask = |method: &str, path: &str| platform.connect().request(method, path, &[], b"");
    says(&ask("GET", "/failed"), 500, "no-store", "nosniff");
    says(&ask("GET", "/gone"), 410, "no-store", "nosniff");
    says(&ask("GET", "/nothing"), 404, "no-store", "nosniff");
    says(&ask("DELETE", "/plain"), 405, "no-store", "nosniff");
    says(&ask("GET", "/%ff"), 400, "no-store", "nosniff");
    says(&ask("HEAD", "/plain"), 200, "no-cache", "nosniff");
    says(&ask("POST", "/plain"), 200, "no-cache", "nosniff");
    let mut connection = platform.connect();
    connection.send_bytes(b"nonsense\r\n\r\n");
    says(&connection.read_reply(false).expect("an answer"), 400, "no-store", "nosniff");
}

#[test]
fn http2_says_the_same() {
    let platform = Platform::start();
    platform.sql(ROUTES);
    let url = |path: &str| format!("http://localhost:{}{path}", platform.port);
    let head = |path: &str, more: &[&str]| {
        let output = std::process::Command::new("curl")
            .args(["-s", "-i", "--http2-prior-knowledge"])
            .args(more)
            .arg(url(path))
            .output()
            .expect("curl");
        String::from_utf8_lossy(&output.stdout).to_lowercase()
    };
    for (path, more, cache_control) in [
        ("/plain", &[][..], "no-cache"),
        ("/plain", &["-H", "Cookie: a=b"], "private, no-cache"),
        ("/gone", &[], "no-store"),
        ("/nothing", &[], "no-store"),
        ("/said", &[], "max-age=60"),
    ] {
        let head = head(path, more);
        assert!(head.starts_with("http/2 "), "{head}");
        assert_eq!(head.matches("cache-control: ").count(), 1, "{head}");
        assert!(head.contains(&format!("\r\ncache-control: {cache_control}\r\n")), "{path} {head}");
        assert_eq!(head.matches("x-content-type-options: ").count(), 1, "{head}");
    }
}
