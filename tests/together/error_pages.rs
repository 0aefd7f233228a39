//! Error pages: browsers get a page in the place of an error's document, of the application or the one that is built in, and nobody else does.

use howdah_tests::application::Application;
use howdah_tests::{Platform, Reply, wait_for};

const BROWSER: (&str, &str) =
    ("accept", "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8");
const HTML: Option<&str> = Some("text/html; charset=utf-8");
const DOCUMENT: Option<&str> = Some("application/problem+json");

const FUNCTIONS: (&str, &str) = (
    "functions/all.sql",
    "create function here() returns text language sql stable return 'here';
     create function failed(code text, detail text default 'told') returns text language plpgsql stable as $$ begin raise '%', detail using errcode = code; end $$;
     create function broken() returns text language plpgsql stable as $$ begin execute 'select from nowhere'; return 'x'; end $$;
     create function item(id integer) returns text language sql stable return null;
     create function own() returns http.response language sql stable
       return http.response('{\"own\": true}', 404, array[http.header('Content-Type', 'application/problem+json')]);
     create function write() returns text language sql return 'written';
",
);
const ROUTES: (&str, &str) = (
    "routes.sql",
    "select http.route('GET', '/here', 'here'), http.route('GET', '/failed/{code}', 'failed'), http.route('GET', '/broken', 'broken'),
       http.route('GET', '/none/{id}', 'item'), http.cache('GET', '/none/{id}'), http.route('GET', '/own', 'own'), http.route('POST', '/write', 'write');\n",
);
const LAYOUT: (&str, &str) = (
    "pages/errors/frame.html",
    "{{ arguments: title text, body http.html }}\n<!doctype html><title>{{ title }}</title>{{ body }}\n",
);
const GONE: (&str, &str) = (
    "pages/errors/404.html",
    "{{ arguments: title text, path text, request_id text, detail text }}
{{ layout: frame(title => args.title) }}
<h1 title=\"{{ path }}\">{{ title }}</h1>{{ if detail is null }}<p>Untold{{ else }}<p>{{ detail }}{{ end }}<i>{{ request_id }}</i>
",
);
const OTHERS: (&str, &str) = (
    "pages/errors/default.html",
    "{{ arguments: status integer, detail text }}\n<h1>{{ status }}</h1>{{ detail }}\n",
);

fn frame() -> (&'static str, String) {
    (GONE.0, GONE.1.replace("layout: frame", "layout: errors_frame"))
}

/// An application with error pages, deployed.
fn shop() -> Application {
    let gone = frame();
    let shop = Application::of(&[FUNCTIONS, ROUTES, LAYOUT, (gone.0, &gone.1), OTHERS]);
    shop.ok("deploy");
    wait_for("the routes", || shop.platform.get("/here").status == 200);
    shop
}

fn ask(platform: &Platform, method: &str, path: &str, headers: &[(&str, &str)]) -> Reply {
    platform.connect().request(method, path, headers, b"")
}

fn page(platform: &Platform, path: &str) -> String {
    let reply = ask(platform, "GET", path, &[BROWSER, ("x-request-id", "an-id")]);
    assert_eq!(reply.header("content-type"), HTML, "{path}: {}", reply.text());
    reply.text().trim().to_owned()
}

#[test]
fn browsers_get_the_pages_of_the_application() {
    let shop = shop();
    let platform = &shop.platform;
    platform.set("howdah.show_errors", "off");
    wait_for("the setting", || page(platform, "/broken") == "<h1>500</h1>");
    let gone = |path: &str, told: &str| {
        format!(
            "<!doctype html><title>Not Found</title><h1 title=\"{path}\">Not Found</h1><p>{told}<i>an-id</i>"
        )
    };
    assert_eq!(page(platform, "/nothing"), gone("/nothing", "nothing answers GET /nothing"));
    let odd = "/%3Cscript%3E%22%26'";
    assert_eq!(
        page(platform, odd),
        gone("/&lt;script&gt;&quot;&amp;&#39;", "nothing answers GET /&lt;script&gt;&quot;&amp;&#39;")
    );
    // A function that has found nothing, kept or not, and one that has failed; in an executor and in a gateway.
    for _ in 0..30 {
        assert!(page(platform, "/none/1").starts_with("<!doctype html><title>Not Found"));
        assert_eq!(page(platform, "/failed/PT404"), gone("/failed/PT404", "told"));
        assert_eq!(page(platform, "/failed/PT409?detail=%3Cb%3E"), "<h1>409</h1>&lt;b&gt;");
        // Its detail is none of the client's business.
        assert_eq!(page(platform, "/broken"), "<h1>500</h1>");
        assert_eq!(page(platform, "/failed/PT404?detail="), gone("/failed/PT404", ""));
    }
    assert_eq!(page(platform, "/%ff"), "<h1>400</h1>the escapes in the request target are not UTF-8");
    platform.set("howdah.show_errors", "on");
    wait_for("what is told", || {
        page(platform, "/broken") == "<h1>500</h1>relation &quot;nowhere&quot; does not exist"
    });
}

#[test]
fn nobody_else_gets_a_page() {
    let shop = shop();
    for (headers, is_page) in [
        (&[BROWSER][..], true),
        (&[BROWSER, ("sec-fetch-dest", "document")], true),
        (&[BROWSER, ("sec-fetch-dest", "iframe")], true),
        (&[BROWSER, ("hx-request", "true")], false),
        (&[BROWSER, ("sec-fetch-dest", "image")], false),
        (&[BROWSER, ("sec-fetch-dest", "script")], false),
        (&[BROWSER, ("sec-fetch-dest", "empty")], false),
        (&[("accept", "image/avif,image/webp,*/*;q=0.8")], false),
        (&[("accept", "*/*")], false),
        (&[("accept", "application/json")], false),
        (&[("accept", "application/json, text/html;q=0.5")], false),
        (&[], false),
    ] {
        for path in ["/nothing", "/none/1", "/failed/PT404", "/broken", "/failed/PT503", "/%ff"] {
            let reply = ask(&shop.platform, "GET", path, headers);
            let kind = if is_page { HTML } else { DOCUMENT };
            assert_eq!(reply.header("content-type"), kind, "{path} {headers:?}: {}", reply.text());
            assert_eq!(reply.all_headers("cache-control"), ["no-store"]);
            assert_eq!(reply.all_headers("vary").contains(&"accept"), is_page, "{path} {headers:?}");
        }
        // An answer of a handler's own stays, and so does one that is no error.
        assert_eq!(ask(&shop.platform, "GET", "/own", headers).text(), "{\"own\": true}");
        assert_eq!(ask(&shop.platform, "GET", "/here", headers).text(), "here");
    }
}

#[test]
fn status_and_headers_stay_and_head_has_no_body() {
    let shop = shop();
    let platform = &shop.platform;
    let refused = ask(platform, "POST", "/here", &[BROWSER]);
    assert_eq!((refused.status, refused.header("allow")), (405, Some("GET, HEAD, OPTIONS")));
    assert!(refused.text().starts_with("<h1>405</h1>"), "{}", refused.text());
    let document = ask(platform, "POST", "/here", &[]);
    assert_eq!((document.status, document.header("allow")), (405, refused.header("allow")));
    let busy = ask(platform, "GET", "/failed/PT503", &[BROWSER]);
    assert_eq!((busy.status, busy.header("retry-after")), (503, Some("1")));
    let id = ask(platform, "GET", "/nothing", &[BROWSER, ("x-request-id", "my-1")]);
    assert_eq!(id.all_headers("x-request-id"), ["my-1"]);
    assert_eq!(id.all_headers("x-content-type-options"), ["nosniff"]);
    for path in ["/none/1", "/broken"] {
        let get = ask(platform, "GET", path, &[BROWSER, ("x-request-id", "my-1")]);
        let head = ask(platform, "HEAD", path, &[BROWSER, ("x-request-id", "my-1")]);
        assert_eq!((head.status, head.text().as_str()), (get.status, ""));
        for name in ["content-type", "content-length", "vary", "cache-control"] {
            assert_eq!(head.header(name), get.header(name), "{name}");
        }
    }
    let stranger = ask(platform, "POST", "/write", &[BROWSER, ("sec-fetch-site", "cross-site")]);
    assert_eq!((stranger.status, stranger.header("content-type")), (403, HTML));
}

#[test]
fn a_request_in_the_callers_transaction_is_answered_by_the_same_rule() {
    let shop = shop();
    let called = |headers: &str| {
        let query = format!(
            "select concat_ws(' ', (r).status, (r).content_type, convert_from((r).body, 'UTF8'))
             from http.call('GET', '/nothing', array[{headers}]::http.header[]) r"
        );
        shop.value(&query)
    };
    let page = called("http.header('accept', 'text/html'), http.header('x-request-id', 'one')");
    assert!(
        page.starts_with("404 text/html; charset=utf-8 <!doctype html>") && page.contains("<i>one</i>"),
        "{page}"
    );
    assert!(called("").contains("404 application/problem+json {"));
    assert!(called("http.header('accept', 'text/html'), http.header('hx-request', 'true')").contains("json"));
}

#[test]
fn without_pages_of_its_own_a_browser_is_told_what_to_do() {
    let platform = Platform::start();
    let nothing = page(&platform, "/nothing");
    assert!(nothing.contains("<h1>Not Found</h1>") && nothing.contains("Check the address"), "{nothing}");
    assert!(nothing.contains("nothing answers GET /nothing") && nothing.contains("an-id"), "{nothing}");
    let mut connection = platform.connect();
    connection.send_bytes(b"GET / HTTP/1.1\r\nHost: a\r\nAccept: text/html\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n");
    let refused = connection.read_reply(false).expect("an answer");
    assert_eq!((refused.status, refused.header("content-type")), (400, HTML));
}

#[test]
fn a_page_that_fails_loops_or_is_none_fails_the_deployment() {
    let shop = shop();
    let before = page(&shop.platform, "/nothing");
    let file = "pages/errors/500.html";
    for (text, told) in [
        ("{{ 1 / (status - 500) }}", "pages/errors/500.html: division by zero"),
        (
            "{{ (select count(*) from generate_series(1, 100000000000)) }}",
            "pages/errors/500.html: the page takes longer than 5 seconds",
        ),
        (
            "{{ repeat('x', 300000) }}",
            "pages/errors/500.html: the page of 500 has 300004 bytes, more than 262144",
        ),
        ("{{ with select where false }}x{{ end }}", "pages/errors/500.html: the page of 500 is null"),
        ("<p>{{ http.raw(detail) }}", "pages/errors/500.html:3: detail is not put out as text"),
        (
            "<script type=\"application/json\">{{ json: detail }}</script>",
            "pages/errors/500.html:3: detail is not put out as text",
        ),
        (
            "<a href=\"{{ path }}\">again</a>",
            "pages/errors/500.html:3: the page is another for another detail, request_id or path",
        ),
        (
            "{{ upper(detail) }}",
            "pages/errors/500.html:3: the page is another for another detail, request_id or path",
        ),
        (
            "{{ length(request_id) }}",
            "pages/errors/500.html:3: the page is another for another detail, request_id or path",
        ),
        (
            "{{ random() }}",
            "pages/errors/500.html: the page is another for another detail, request_id or path",
        ),
        ("{{ written() }}", "cannot execute INSERT in a read-only transaction"),
    ] {
        let first = if text.starts_with("{{ with") { "" } else { "<p>\n" };
        let arguments = "{{ arguments: status integer, detail text, path text, request_id text }}";
        shop.write(file, &format!("{arguments}\n{first}{text}\n"));
        if text.contains("written") {
            shop.write("migrations/1-t.sql", "create table t (x int);");
            shop.write("functions/written.sql", "create function written() returns text language sql as $$ insert into t values (1) returning 'x' $$;");
        }
        let said = shop.fails("deploy");
        assert!(said.contains(told), "{text}: {said}");
        assert_eq!(page(&shop.platform, "/nothing"), before);
    }
    for (path, text, told) in [
        ("pages/errors/200.html", "x", "pages/errors/200.html: 200 is no status of an error"),
        (
            "pages/errors/403.html",
            "{{ arguments: id integer }}\nx",
            "pages/errors/403.html:1: nothing gives an error page the argument id",
        ),
        (
            "pages/errors/403.html",
            "{{ arguments: detail integer }}\nx",
            "pages/errors/403.html: function shop.errors_403(detail => text) does not exist",
        ),
    ] {
        shop.remove(if path.contains("200") { file } else { "pages/errors/200.html" });
        shop.write("pages/errors/200.html", "x");
        shop.write(path, text);
        if path.contains("403") {
            shop.remove("pages/errors/200.html");
        }
        let said = shop.fails("deploy");
        assert!(said.contains(told), "{said}");
        shop.write("pages/errors/200.html", "x");
        shop.write(file, "x");
    }
}

#[test]
fn pages_come_go_and_come_back_with_their_deployment() {
    let shop = shop();
    let count = || shop.value("select count(*)::text from http.error_page");
    let (first, kept) = (page(&shop.platform, "/nothing"), count());
    assert!(shop.value("select pg_get_userbyid(a.owner) from deploy.application a") == "shop_owner");
    // What it is made of changes, and so does the page; what is only tried does not.
    shop.write(LAYOUT.0, &LAYOUT.1.replace("<!doctype html>", "<!doctype html><link>"));
    shop.ok("plan");
    assert_eq!(page(&shop.platform, "/nothing"), first);
    shop.ok("deploy");
    wait_for("the new page", || page(&shop.platform, "/nothing").starts_with("<!doctype html><link>"));
    assert_eq!(
        (count(), shop.value("select count(*)::text from deploy.drift('shop')").as_str()),
        (kept, "0")
    );
    shop.ok("rollback");
    wait_for("the first page", || page(&shop.platform, "/nothing") == first);
    // Those of a number, of a hundred, and all others.
    shop.remove(OTHERS.0);
    shop.write("pages/errors/4xx.html", "<b>4xx</b>");
    shop.write("pages/errors/418.html", "<b>tea</b>");
    shop.ok("deploy");
    wait_for("the class", || page(&shop.platform, "/failed/PT409") == "<b>4xx</b>");
    assert_eq!(page(&shop.platform, "/failed/PT418"), "<b>tea</b>");
    assert!(page(&shop.platform, "/broken").contains("It is not your fault"));
    for path in ["404", "frame", "4xx", "418"] {
        shop.remove(&format!("pages/errors/{path}.html"));
    }
    shop.ok("deploy");
    wait_for("none", || page(&shop.platform, "/nothing").contains("Check the address"));
    assert_eq!(count(), "0");
}

#[test]
fn several_applications_answer_below_their_own_paths() {
    let shop = shop();
    let other = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = other.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("howdah.toml", "name = \"blog\"\n");
    write("pages/errors/404.html", "{{ arguments: path text }}\n<b>blog {{ path }}</b>\n");
    let deploy = || {
        let to = shop.to("postgres");
        let mut command = std::process::Command::new(howdah_tests::command());
        let output = command.args(["deploy", "--to", &to, "--app"]).arg(other.path()).output().unwrap();
        (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (_, said) = deploy();
    assert!(said.contains("pages/errors/404.html: the error pages of / are those of shop_owner"), "{said}");
    assert!(said.contains("select http.error_pages('/path')"), "{said}");
    write("routes.sql", "select http.error_pages('/blog'), http.error_pages('/news');\n");
    assert_eq!(deploy(), (true, String::new()));
    wait_for("the blog", || page(&shop.platform, "/blog/x") == "<b>blog /blog/x</b>");
    assert_eq!(page(&shop.platform, "/news"), "<b>blog /news</b>");
    assert!(page(&shop.platform, "/blogs").starts_with("<!doctype html><title>Not Found"));
    // The blog has no other page, and that of the shop is none of its.
    let unexpected = ask(&shop.platform, "GET", "/blog/x", &[BROWSER, ("expect", "x")]);
    assert!(
        unexpected.status == 417 && unexpected.text().contains("begin at the start page"),
        "{}",
        unexpected.text()
    );
    shop.write("routes.sql", &format!("{} select http.error_pages('/blog');", ROUTES.1));
    assert!(shop.fails("deploy").contains("the place of error pages /blog belongs to blog_owner"));
    let error = shop.platform.session().batch_execute("select http.error_pages('/x')").expect_err("an error");
    assert!(format!("{error:?}").contains("error pages are those of an application"), "{error:?}");
    write("routes.sql", "select http.error_pages('/news');\n");
    assert_eq!(deploy(), (true, String::new()));
    wait_for("the shop's", || page(&shop.platform, "/blog/x").starts_with("<!doctype html><title>Not Found"));
    assert_eq!(page(&shop.platform, "/news/1"), "<b>blog /news/1</b>");
    shop.platform.sql("select deploy.unregister_all('blog')");
    wait_for("none", || page(&shop.platform, "/news/1").starts_with("<!doctype html><title>Not Found"));
    assert_eq!(shop.value("select count(*)::text from http.error_prefix"), "0");
}

#[test]
fn a_row_that_is_no_page_is_the_one_built_in() {
    let shop = shop();
    let lines =
        || shop.platform.log().matches("howdah sends the error page that is built in below /").count();
    shop.platform
        .sql("update http.error_page set pieces = array['x', 'password', 'y'] where 404 = any (statuses)");
    wait_for("the page that is built in", || page(&shop.platform, "/nothing").contains("Check the address"));
    let told = lines();
    for _ in 0..1000 {
        ask(&shop.platform, "GET", "/nothing", &[BROWSER]);
    }
    assert_eq!(lines(), told);
    assert!(told > 0, "{}", shop.platform.log());
}

#[test]
fn thousands_of_pages_run_nothing_and_tell_the_log_nothing() {
    let shop = shop();
    let (first, before) = (page(&shop.platform, "/nothing"), shop.platform.log().len());
    // A run of it would fail.
    shop.platform.sql("create or replace function shop.errors_404(title text, path text, request_id text, detail text) returns http.html
        language plpgsql as $$ begin raise 'it runs'; end $$");
    let executors = "select coalesce(sum(requests), 0)::text from http.workers where kind = 'executor'";
    let ran = shop.value(executors);
    let mut connection = shop.platform.connect();
    for _ in 0..5000 {
        let reply = connection.request("GET", "/nothing", &[BROWSER, ("x-request-id", "an-id")], b"");
        assert_eq!((reply.status, reply.text().trim()), (404, first.as_str()));
    }
    assert_eq!(shop.value(executors), ran);
    let log = shop.platform.log();
    assert_eq!(
        log[before..].lines().filter(|line| line.contains("nothing")).count(),
        0,
        "{}",
        &log[before..]
    );
}

#[test]
fn all_pages_of_an_application_have_a_bound() {
    let shop = Application::of(&[(
        "pages/errors/default.html",
        "{{ arguments: status integer }}\n{{ status }}{{ repeat('x', 200000) }}\n",
    )]);
    let said = shop.fails("deploy");
    assert!(said.contains("in all, more than 4194304"), "{said}");
    // One for all is stored once.
    shop.write("pages/errors/default.html", "{{ repeat('x', 200000) }}\n");
    shop.ok("deploy");
    assert_eq!(shop.value("select count(*)::text from http.error_page"), "1");
    wait_for("the page", || page(&shop.platform, "/nothing").len() == 200_000);
}

#[test]
fn without_the_page_that_is_built_in_browsers_get_documents() {
    let shop = Application::of(&[("pages/errors/500.html", "x")]);
    shop.ok("deploy");
    assert_eq!(ask(&shop.platform, "GET", "/nothing", &[BROWSER]).header("content-type"), HTML);
    shop.platform.set("howdah.built_in_error_pages", "off");
    wait_for("the setting", || {
        ask(&shop.platform, "GET", "/nothing", &[BROWSER]).header("content-type") == DOCUMENT
    });
}

#[test]
fn a_secret_is_in_no_page() {
    let shop = shop();
    shop.platform.sql(
        "create function shop.sign_in(name text, password http.secret) returns text language plpgsql stable as $$
           begin raise '% is not the password of %', password, name; end $$;
         select http.route('GET', '/sign-in', 'shop.sign_in')",
    );
    wait_for("the route", || page(&shop.platform, "/sign-in").contains("400"));
    for _ in 0..30 {
        let told = page(&shop.platform, "/sign-in?name=ada&password=lovelace1815");
        assert!(told.contains("is not the password of ada") && !told.contains("lovelace"), "{told}");
    }
}
