//! A page beside a route: browsers get HTML and programs get JSON, and nobody between takes the one for the other.

use std::collections::HashMap;
use std::path::Path;
use std::process::{Child, Command};
use std::{env, fs};

use fastrand::Rng;
use howdah_tests::application::Application;
use howdah_tests::{Connection, Platform, Reply, free_port, wait_for};

const BROWSER: &str =
    "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8";

/// The page of each route says the same as its data, of one table: as other bytes, or, below `/same`, as equal ones.
const ITEMS: &str = "
    create table item (id integer primary key, version integer not null);
    insert into item select number, 0 from generate_series(1, 4) number;
    grant select, update on item to howdah_web;
    create function item(id integer) returns jsonb language sql stable begin atomic
      select jsonb_build_object('version', version) from item where item.id = $1; end;
    create function item_page(id integer) returns http.html language sql stable begin atomic
      select http.format('<b>%s</b>', version) from item where item.id = $1; end;
    create function bare(id integer) returns jsonb language sql stable begin atomic select to_jsonb(version) from item where item.id = $1; end;
    create function bare_page(id integer) returns http.html language sql stable begin atomic
      select http.format('%s', version) from item where item.id = $1; end;
    create function item_changed(id integer) returns text language sql volatile begin atomic
      update item set version = version + 1 where item.id = $1 returning 'changed ' || version; end;
    create function item_changed_page(id integer) returns http.response language sql volatile begin atomic
      select http.redirect('/items/' || id) from item_changed(id); end;
    select http.route('GET', prefix || '/{id}', data), http.page('GET', prefix || '/{id}', page)
      from (values ('/items', 'item', 'item_page'), ('/tagged', 'item', 'item_page'), ('/kept', 'item', 'item_page'),
        ('/same', 'bare', 'bare_page')) v (prefix, data, page);
    select http.route('PUT', '/kept/{id}', 'item_changed'), http.page('PUT', '/kept/{id}', 'item_changed_page');
    select http.page('GET', '/alone/{id}', 'item_page'), http.route('GET', '/data/{id}', 'item');
    select http.validate('GET', '/tagged/{id}'), http.cache('GET', '/kept/{id}'), http.cache('GET', '/same/{id}', max_age => '1 hour')";

fn platform() -> Platform {
    let platform = Platform::start();
    platform.sql(ITEMS);
    wait_for("the routes", || platform.get("/data/1").status == 200);
    platform
}

fn ask(platform: &Platform, method: &str, path: &str, headers: &[(&str, &str)]) -> Reply {
    platform.connect().request(method, path, headers, b"")
}

fn varies(reply: &Reply) -> bool {
    reply.all_headers("vary").iter().any(|value| value.split(',').any(|name| name.trim() == "accept"))
}

#[test]
fn browsers_get_the_page_and_programs_the_data() {
    let platform = platform();
    for path in ["/items/1", "/tagged/1", "/kept/1"] {
        let page = ask(&platform, "GET", path, &[("accept", BROWSER)]);
        assert_eq!(page.text(), "<b>0</b>", "{path}");
        assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"), "{path}");
        for accept in
            [None, Some("*/*"), Some("application/json"), Some("text/*"), Some("text/html;q=0"), Some("")]
        {
            let headers: Vec<_> = accept.iter().map(|accept| ("accept", *accept)).collect();
            let data = ask(&platform, "GET", path, &headers);
            assert_eq!(data.json()["version"], 0, "{path} {accept:?}");
            assert_eq!(data.header("content-type"), Some("application/json"), "{path} {accept:?}");
            assert!(varies(&data) && varies(&page), "{path} {accept:?}");
        }
        let several = [("accept", "application/xml"), ("accept", "text/html")];
        assert_eq!(ask(&platform, "GET", path, &several).text(), "<b>0</b>");
    }
    // So does an error, a write, and nothing.
    let browser = [("accept", BROWSER)];
    for (method, path, headers, status) in [
        ("GET", "/items/none", &browser[..], 400),
        ("GET", "/items/none", &[], 400),
        ("GET", "/items/99", &browser, 404),
        ("GET", "/kept/99", &[], 404),
        ("HEAD", "/kept/1", &[], 200),
        ("PUT", "/kept/2", &browser, 303),
        ("PUT", "/kept/2", &[], 200),
        ("PUT", "/kept/2", &[("sec-fetch-site", "cross-site")], 403),
    ] {
        let reply = ask(&platform, method, path, headers);
        assert_eq!(reply.status, status, "{method} {path}: {}", reply.text());
        assert!(varies(&reply), "{method} {path}: {:?}", reply.all_headers("vary"));
    }
    // Alone, each answers everybody, and nothing varies.
    for headers in [&browser[..], &[]] {
        let (page, data) =
            (ask(&platform, "GET", "/alone/1", headers), ask(&platform, "GET", "/data/1", headers));
        assert_eq!((page.text().as_str(), data.json()["version"].as_i64()), ("<b>0</b>", Some(0)));
        assert!(!varies(&page) && !varies(&data));
    }
    let kinds =
        "select string_agg(distinct kind, ' ' order by kind) from http.stats where pattern = '/items/{id}'";
    assert_eq!(platform.value(kinds).as_deref(), Some("page route"));
    let called = |accept: &str| {
        let query = format!(
            "select convert_from((r).body, 'UTF8') || ' ' || exists (select from unnest((r).headers) h where h.name = 'vary' and h.value = 'accept')
             from http.call('GET', '/kept/1', array[http.header('accept', '{accept}')]) r"
        );
        platform.value(&query).unwrap()
    };
    assert_eq!(called("text/html"), "<b>0</b> true");
    assert_eq!(called("*/*"), "{\"version\": 0} true");
}

/// Entity tags that clients have seen, by path and whether it was a page.
type Seen = HashMap<(String, bool), Vec<String>>;

#[test]
fn no_answer_is_taken_for_one_of_the_other_kind() {
    let platform = platform();
    let mut random = Rng::with_seed(56);
    let mut connections: Vec<Connection> = (0..4).map(|_| platform.connect()).collect();
    let mut versions = [0; 5];
    let (mut seen, mut unmodified) = (Seen::new(), 0);
    for round in 0..3000 {
        let connection = random.choice(&mut connections).unwrap();
        let id = random.usize(1..=4);
        if random.u8(..) < 8 {
            let reply = connection.request("PUT", &format!("/kept/{id}"), &[], b"");
            versions[id] += 1;
            assert_eq!(reply.text(), format!("changed {}", versions[id]));
            continue;
        }
        let prefix = *random.choice(&["/items", "/tagged", "/kept", "/same"]).unwrap();
        let path = format!("{prefix}/{id}");
        let method = *random.choice(&["GET", "GET", "GET", "HEAD"]).unwrap();
        let is_page = random.bool();
        let accepts: &[&str] = if is_page {
            &[BROWSER, "text/html", "application/json;q=0.5,text/html;q=0.6"]
        } else {
            &["*/*", "application/json", "application/json,text/html;q=0.9", "image/avif,*/*;q=0.8"]
        };
        let accept = *random.choice(accepts).unwrap();
        let mut headers = vec![("accept", accept)];
        let tags: Vec<_> =
            seen.iter().filter(|((of, _), _)| *of == path).map(|(key, tags)| (key.1, tags)).collect();
        // Any that was seen there, of either kind.
        let tag = if random.bool() {
            random.choice(&tags).and_then(|(_, tags)| tags.last()).cloned()
        } else {
            None
        };
        let is_own = tag
            .as_ref()
            .is_some_and(|tag| tags.iter().any(|(kind, tags)| *kind == is_page && tags.contains(tag)));
        if let Some(tag) = &tag {
            headers.push(("if-none-match", tag));
        }
        let reply = connection.request(method, &path, &headers, b"");
        let what = format!("{round}: {method} {path} {headers:?} answered {} {}", reply.status, reply.text());
        assert!(varies(&reply), "{what}");
        let version = versions[id];
        let expected = match (prefix, is_page) {
            ("/same", _) => version.to_string(),
            (_, true) => format!("<b>{version}</b>"),
            (_, false) => format!("{{\"version\": {version}}}"),
        };
        if reply.status == 304 {
            unmodified += 1;
            assert!(is_own && reply.header("etag") == tag.as_deref(), "{what}");
        } else {
            let kind = if is_page { "text/html; charset=utf-8" } else { "application/json" };
            assert_eq!((reply.status, reply.header("content-type")), (200, Some(kind)), "{what}");
            let expected = if method == "HEAD" { String::new() } else { expected };
            assert_eq!(reply.text().replace("\":", "\": ").replace(":  ", ": "), expected, "{what}");
        }
        if let Some(tag) = reply.header("etag") {
            seen.entry((path, is_page)).or_default().push(tag.to_owned());
        }
    }
    assert!(unmodified > 100, "{unmodified}");
    let kept = "select min(cached) > 0 from http.stats where pattern in ('/kept/{id}', '/same/{id}') and method = 'GET'";
    assert_eq!(platform.value(kept).as_deref(), Some("t"));
}

#[test]
fn a_write_that_says_what_it_is_to_find_finds_what_its_client_prefers() {
    let platform = platform();
    let tag =
        |accept| ask(&platform, "GET", "/kept/3", &[("accept", accept)]).header("etag").unwrap().to_owned();
    let (page, data) = (tag(BROWSER), tag("*/*"));
    assert_ne!(page, data);
    let put =
        |accept, tag: &str| ask(&platform, "PUT", "/kept/3", &[("accept", accept), ("if-match", tag)]).status;
    assert_eq!(put("*/*", &page), 412);
    assert_eq!(put(BROWSER, &data), 412);
    assert_eq!(put(BROWSER, &page), 303);
    assert_eq!(put(BROWSER, &page), 412);
    assert_eq!(put("*/*", &tag("*/*")), 200);
}

#[test]
fn pages_are_registered_and_removed_as_routes_are() {
    let platform = platform();
    let get = |accept| ask(&platform, "GET", "/items/1", &[("accept", accept)]);
    for (sql, told) in [
        ("select http.page('GET', '/items/{other}', 'item_page')", "page GET /items/{other}: "),
        ("select http.page('GET', 'items', 'item_page')", "page GET items: "),
        ("select http.page('GET', '/nothing/{name}', 'item_page')", "takes no argument name"),
        ("select http.page('GET', '/nothing', 'no_such_function')", "does not exist"),
        ("select http.validate('GET', '/nothing')", "there is no route GET /nothing"),
    ] {
        let error = platform.session().batch_execute(sql).unwrap_err();
        assert!(error.as_db_error().unwrap().message().contains(told), "{sql}: {error:?}");
    }
    // Each is taken back alone.
    assert_eq!(platform.value("select http.unpage('GET', '/items/{id}')").as_deref(), Some("t"));
    assert_eq!(platform.value("select http.unpage('GET', '/items/{id}')").as_deref(), Some("f"));
    wait_for("the page is gone", || get(BROWSER).text().contains("version"));
    assert!(!varies(&get(BROWSER)));
    platform.sql("select http.page('GET', '/items/{id}', 'item_page')");
    wait_for("the page is back", || get(BROWSER).text() == "<b>0</b>");
    assert_eq!(platform.value("select http.unroute('get', '/items/{id}')").as_deref(), Some("t"));
    wait_for("the page is alone", || get("*/*").text() == "<b>0</b>");
    // Answers of both are tagged.
    let said = "select string_agg(is_page || ':' || validates, ' ' order by is_page) from http.route where pattern = '/tagged/{id}'";
    assert_eq!(platform.value(said).as_deref(), Some("false:true true:true"));
    assert_eq!(platform.value("select http.cache_clear('/kept/{id}')").as_deref(), Some("2"));
}

#[test]
fn an_application_has_pages_beside_its_own_routes_alone() {
    let platform = Platform::start();
    platform.sql(
        "select deploy.create_application('one'), deploy.create_application('two');
         create function one.data() returns jsonb language sql stable return '[1]'::jsonb; alter function one.data() owner to one_owner;
         create function one.page() returns http.html language sql stable return '<p>1</p>'; alter function one.page() owner to one_owner;
         create function two.page(x text default null) returns http.html language sql stable return '<p>2</p>'; alter function two.page(text) owner to two_owner;
         set role one_owner; select http.route('GET', '/one', 'one.data'), http.page('GET', '/one', 'one.page'), http.page('GET', '/alone', 'one.page'); reset role",
    );
    for call in [
        "http.page('GET', '/one', 'two.page')",
        "http.page('POST', '/one', 'two.page')",
        "http.route('GET', '/alone', 'two.page')",
        "http.unpage('GET', '/one')",
        "http.cache('GET', '/alone')",
        "http.validate('GET', '/alone')",
        "http.cross_site('POST', '/one')",
    ] {
        let made = platform.session().batch_execute(&format!("set role two_owner; select {call}"));
        let error = made.err().map(|error| format!("{error:?}")).unwrap_or_default();
        let is_none = call.contains("cross_site") && error.contains("there is no route");
        assert!(error.contains("belongs to") || is_none, "{call}: {error}");
    }
    wait_for("it is served", || ask(&platform, "GET", "/one", &[("accept", BROWSER)]).text() == "<p>1</p>");
    platform.sql("select deploy.unregister_all('one')");
    assert_eq!(platform.count("http.route"), 0);
}

#[test]
fn a_page_comes_with_its_line_and_goes_with_it() {
    const FUNCTIONS: &str = "create function data() returns jsonb language sql stable return '[1]'::jsonb;\n";
    const ROUTE: &str = "select http.route('GET', '/shop', 'data');\n";
    const PAGE: &str = "select http.page('GET', '/shop', 'front');\n";
    let shop = Application::of(&[
        ("functions/data.sql", FUNCTIONS),
        ("pages/front.html", "<h1>Shop</h1>"),
        ("routes.sql", &format!("{ROUTE}{PAGE}")),
    ]);
    let get = |accept| ask(&shop.platform, "GET", "/shop", &[("accept", accept)]).text();
    let plan = shop.ok("plan");
    assert!(plan.contains("page GET /shop"), "{plan}");
    shop.ok("deploy");
    wait_for("it is served", || get(BROWSER) == "<h1>Shop</h1>" && get("*/*") == "[1]");
    assert_eq!(shop.dump(), shop.fresh().dump());
    let objects = "select string_agg(deploy.label(o), ', ' order by 1) from deploy.object o where o.path = 'routes.sql'";
    assert_eq!(shop.value(objects), "page GET /shop, route GET /shop");
    // By hand.
    shop.platform.sql("select http.unpage('GET', '/shop')");
    let drift = "select string_agg(concat_ws(' ', object, change), ', ') from deploy.drift('shop')";
    assert_eq!(shop.value(drift), "page GET /shop is gone");
    assert!(shop.run("deploy", &["--repair"]).status.success());
    assert_eq!(shop.value(&format!("select coalesce(({drift}), '')")), "");
    shop.platform
        .sql("set role shop_owner; set search_path = shop; select http.page('GET', '/by-hand', 'front')");
    assert_eq!(shop.value(drift), "page GET /by-hand was made by hand");
    shop.platform.sql("select http.unpage('GET', '/by-hand')");
    // The page alone, and the route alone.
    shop.write("routes.sql", PAGE);
    shop.ok("deploy");
    wait_for("the route is gone", || get("*/*") == "<h1>Shop</h1>");
    assert_eq!(shop.dump(), shop.fresh().dump());
    shop.write("routes.sql", ROUTE);
    shop.ok("deploy");
    wait_for("the page is gone", || get(BROWSER) == "[1]");
    assert_eq!(shop.dump(), shop.fresh().dump());
    // One that cannot be served is told at its file.
    shop.write("pages/front.html", "{{ arguments: x integer }}<h1>{{ x }}</h1>");
    shop.write("routes.sql", "select http.page('GET', '/shop', 'front');\nrevoke execute on function front from public, howdah_web;\n");
    let told = shop.fails("deploy");
    assert!(told.contains("page GET /shop cannot be served as howdah_web"), "{told}");
}

/// nginx with a cache in front, stopped when it is dropped.
struct Nginx {
    process: Child,
    port: u16,
    _folder: tempfile::TempDir,
}

impl Nginx {
    fn before(port: u16) -> Nginx {
        let folder = tempfile::tempdir().unwrap();
        let own = free_port();
        let at = folder.path().display();
        let configuration = format!(
            "daemon off; master_process off; pid {at}/pid; error_log {at}/error.log;
             events {{ }}
             http {{
               access_log off;
               client_body_temp_path {at}/body; proxy_temp_path {at}/temp; fastcgi_temp_path {at}/f; uwsgi_temp_path {at}/u; scgi_temp_path {at}/s;
               proxy_cache_path {at}/cache keys_zone=pages:1m;
               server {{
                 listen 127.0.0.1:{own};
                 location / {{
                   proxy_pass http://127.0.0.1:{port};
                   proxy_cache pages; proxy_cache_revalidate on; proxy_cache_methods GET HEAD;
                   add_header x-cache $upstream_cache_status always;
                 }}
               }}
             }}"
        );
        let path = folder.path().join("nginx.conf");
        fs::write(&path, configuration).unwrap();
        let search = format!("{}:/usr/sbin", env::var("PATH").unwrap_or_default());
        let process = Command::new("nginx")
            .env("PATH", search)
            .arg("-p")
            .arg(folder.path())
            .arg("-c")
            .arg(Path::new(&path))
            .spawn();
        let nginx = Nginx { process: process.expect("nginx"), port: own, _folder: folder };
        wait_for("nginx listens", || Connection::try_open(own).is_some());
        nginx
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
#[cfg_attr(not(feature = "long"), ignore = "it takes long: make test-long")]
fn the_cache_of_a_proxy_takes_no_kind_for_the_other() {
    let platform = platform();
    let nginx = Nginx::before(platform.port);
    let mut random = Rng::with_seed(57);
    let mut hits = 0;
    for _ in 0..3000 {
        let is_page = random.bool();
        let accept = if is_page { BROWSER } else { *random.choice(&["*/*", "application/json"]).unwrap() };
        let headers = [("accept", accept), ("host", "localhost")];
        let path =
            format!("{}/{}", random.choice(&["/same", "/kept", "/tagged"]).unwrap(), random.usize(1..=4));
        let method = *random.choice(&["GET", "HEAD"]).unwrap();
        let reply = Connection::open(nginx.port).request(method, &path, &headers, b"");
        let kind = if is_page { "text/html; charset=utf-8" } else { "application/json" };
        assert_eq!(
            (reply.status, reply.header("content-type")),
            (200, Some(kind)),
            "{method} {path} {accept}"
        );
        hits += usize::from(reply.header("x-cache") == Some("HIT"));
    }
    assert!(hits > 500, "{hits}");
}
