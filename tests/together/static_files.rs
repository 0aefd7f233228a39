//! Files of `static/`: deployed, answered, replaced and brought back, beside what nginx answers with the same files.

use std::fs;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use howdah_tests::application::{Application, dump, text};
use howdah_tests::bounds::DEPLOYED_THREE_FILES;
use howdah_tests::http2::Http2;
use howdah_tests::standbys::{ADDRESS, standby_of};
use howdah_tests::{Connection, Platform, Reply, free_port, wait_for};

const SHEET: (&str, &str) =
    ("static/css/app.css", "@import 'more.css';\nbody { background: url(../img/a.svg) url(../gone.png) }\n");
const MORE: (&str, &str) = ("static/css/more.css", "p { color: red }\n");
const PICTURE: (&str, &str) = ("static/img/a.svg", "<svg xmlns='http://www.w3.org/2000/svg'/>\n");
const ROBOTS: (&str, &str) = ("static/root/robots.txt", "User-agent: *\n");
const DOCS: (&str, &str) = ("static/docs/index.html", "<!doctype html><title>Docs</title>\n");
const ROUTES: (&str, &str) = ("routes.sql", "select http.route('GET', '/here', 'here');\n");
const HERE: (&str, &str) =
    ("functions/here.sql", "create function here() returns text language sql stable return 'here';\n");

/// Text of so many bytes that becomes fewer.
fn long(bytes: usize) -> String {
    "all work and no play makes jack a dull boy, he said. ".chars().cycle().take(bytes).collect()
}

fn shop() -> Application {
    let shop = Application::of(&[SHEET, MORE, PICTURE, ROBOTS, DOCS, ROUTES, HERE]);
    shop.write("static/long.js", &long(20_000));
    shop
}

fn ask(platform: &Platform, method: &str, path: &str, headers: &[(&str, &str)]) -> Reply {
    platform.connect().request(method, path, headers, b"")
}

/// The name of a file with the digest of what it has now.
fn hashed(shop: &Application, name: &str) -> String {
    let digest =
        shop.value(&format!("select digest from http.static_file where name = '{name}' and until is null"));
    files::hashed::hashed(name, &digest)
}

#[test]
fn files_are_deployed_named_and_answered() {
    let shop = shop();
    let told = shop.ok("deploy");
    assert!(told.contains("static/  6 files: 6 new, 0 changed, 0 gone"), "{told}");
    assert!(told.contains("warning: static/css/app.css:2: there is no file static/gone.png"), "{told}");
    let platform = &shop.platform;
    wait_for("the files", || platform.get("/static/css/app.css").status == 200);
    let sheet = platform.get("/static/css/app.css");
    let (more, picture) = (hashed(&shop, "css/more.css"), hashed(&shop, "img/a.svg"));
    let more_name = more.trim_start_matches("css/");
    assert_eq!(
        sheet.text(),
        format!("@import '{more_name}';\nbody {{ background: url(../{picture}) url(../gone.png) }}\n")
    );
    assert_eq!(sheet.header("cache-control"), Some("no-cache"));
    assert_eq!(sheet.header("content-type"), Some("text/css; charset=utf-8"));
    assert_eq!(sheet.header("x-content-type-options"), Some("nosniff"));
    let for_ever = platform.get(&format!("/static/{picture}"));
    assert_eq!((for_ever.status, for_ever.text()), (200, PICTURE.1.to_owned()));
    assert_eq!(for_ever.header("cache-control"), Some("public, max-age=31536000, immutable"));
    let made_up = platform.get("/static/img/a.0123456789ab.svg");
    assert_eq!((made_up.status, made_up.header("cache-control")), (404, Some("no-store")));
    assert_eq!(platform.get("/robots.txt").text(), ROBOTS.1);
    assert_eq!(platform.get("/here").text(), "here");
    let folder = ask(platform, "GET", "/static/docs?a=b", &[]);
    assert_eq!((folder.status, folder.header("location")), (308, Some("/static/docs/?a=b")));
    assert_eq!(platform.get("/static/docs/").text(), DOCS.1);
    let refused = ask(platform, "POST", "/static/long.js", &[]);
    assert_eq!((refused.status, refused.header("allow")), (405, Some("GET, HEAD, OPTIONS")));
    assert_eq!(ask(platform, "OPTIONS", "/static/long.js", &[]).status, 204);
    // The same again sends and changes nothing.
    shop.write("functions/more.sql", "create function more() returns text language sql return 'more';\n");
    let told = shop.ok("deploy");
    assert!(!told.contains("sent ") && !told.contains("static/"), "{told}");
    let explained = shop.value("select encode(r.body, 'escape') from http.call('GET', '/robots.txt') r");
    assert_eq!(explained, ROBOTS.1);
}

#[test]
fn codings_are_made_by_the_command_and_chosen_by_the_client() {
    let shop = shop();
    shop.ok("deploy");
    let platform = &shop.platform;
    wait_for("the files", || platform.get("/static/long.js").status == 200);
    let plain = platform.get("/static/long.js");
    assert_eq!((plain.body.len(), plain.header("content-encoding")), (20_000, None));
    assert_eq!(plain.all_headers("vary"), ["accept-encoding"]);
    for (accepted, coding) in [
        ("gzip", Some("gzip")),
        ("br", Some("br")),
        ("zstd", Some("zstd")),
        ("gzip, deflate, br, zstd", Some("br")),
        ("br;q=0, gzip", Some("gzip")),
        ("identity", None),
        ("deflate", None),
    ] {
        let reply = ask(platform, "GET", "/static/long.js", &[("accept-encoding", accepted)]);
        assert_eq!(reply.header("content-encoding"), coding, "{accepted}");
        if let Some(coding) = coding {
            let coding = codings::Coding::of(coding.as_bytes()).unwrap();
            let back = codings::unpack(coding, &reply.body, 20_000).unwrap();
            assert_eq!(back, codings::Unpacked::Whole(plain.body.clone()), "{accepted}");
            assert_ne!(reply.header("etag"), plain.header("etag"));
            // A file that was seen in one coding is not sent again in another.
            let tag = reply.header("etag").unwrap();
            let again = ask(platform, "GET", "/static/long.js", &[("if-none-match", tag)]);
            assert_eq!((again.status, again.body.len()), (304, 0), "{accepted}");
        }
    }
    let small = ask(platform, "GET", "/robots.txt", &[("accept-encoding", "br, gzip")]);
    assert_eq!((small.header("content-encoding"), small.header("vary")), (None, None));
    let part = [("accept-encoding", "br"), ("range", "bytes=10-19")];
    let part = ask(platform, "GET", "/static/long.js", &part);
    assert_eq!((part.status, part.header("content-encoding")), (206, None));
    assert_eq!(part.body, plain.body[10..20]);
    let head = ask(platform, "HEAD", "/static/long.js", &[("accept-encoding", "br")]);
    assert_eq!((head.status, head.header("content-encoding"), head.body.len()), (200, Some("br"), 0));
}

#[test]
fn what_a_deployment_has_replaced_answers_by_its_hashed_name_and_comes_back_by_a_rollback() {
    let shop = shop();
    shop.ok("deploy");
    let platform = &shop.platform;
    wait_for("the files", || platform.get("/static/long.js").status == 200);
    let first = hashed(&shop, "long.js");
    let mut seen = vec![first.clone()];
    for number in 0..3 {
        shop.write("static/long.js", &format!("{number} {}", long(5000)));
        let told = shop.ok("deploy");
        assert!(told.contains("0 new, 1 changed, 0 gone"), "{told}");
        seen.push(hashed(&shop, "long.js"));
    }
    shop.remove("static/long.js");
    assert!(shop.ok("deploy").contains("0 new, 0 changed, 1 gone"));
    wait_for("that it is gone", || platform.get("/static/long.js").status == 404);
    for name in &seen {
        let reply = platform.get(&format!("/static/{name}"));
        assert_eq!(reply.status, 200, "{name}");
        assert_eq!(reply.header("cache-control"), Some("public, max-age=31536000, immutable"));
    }
    shop.ok("rollback");
    wait_for("that it is back", || platform.get("/static/long.js").status == 200);
    assert!(platform.get("/static/long.js").text().starts_with("2 all work"));
    // A month later the first is gone, with its bytes.
    platform.sql("update http.static_file set until = until - interval '31 days' where until is not null");
    platform.sql("update http.static_content set sent_at = sent_at - interval '2 days'");
    shop.write("static/new.txt", "new\n");
    shop.ok("deploy");
    wait_for("that the old is gone", || platform.get(&format!("/static/{first}")).status == 404);
    assert_eq!(platform.get("/static/css/app.css").status, 200);
    let left = "select count(*)::text from http.static_content c where not exists (select from http.static_file f where f.digest = c.digest)";
    assert_eq!(shop.value(left), "0");
    // Without any the folder is no file of the deployment, and nothing answers.
    fs::remove_dir_all(shop.folder.path().join("static")).unwrap();
    shop.ok("deploy");
    wait_for("that all are gone", || platform.get("/static/css/app.css").status == 404);
    assert_eq!(shop.value("select count(*)::text from http.file_prefix"), "0");
}

/// A statement whose snapshot is from before a deployment must not have its process keep the address of then.
#[test]
fn an_address_is_that_of_now_also_where_a_transaction_sees_the_past() {
    let shop = shop();
    shop.ok("deploy");
    let mut session = shop.platform.session();
    let address = |session: &mut cluster::postgres::Client| -> String {
        session.query_one("select http.asset('long.js')", &[]).unwrap().get(0)
    };
    session.batch_execute("set role shop_owner").unwrap();
    assert_eq!(address(&mut session), format!("/static/{}", hashed(&shop, "long.js")));
    session.batch_execute("begin isolation level repeatable read; select 1").unwrap();
    shop.write("static/long.js", "another\n");
    shop.ok("deploy");
    // With a lock come the news.
    session.batch_execute("lock table pg_catalog.pg_class in access share mode").unwrap();
    address(&mut session);
    session.batch_execute("commit").unwrap();
    assert_eq!(address(&mut session), format!("/static/{}", hashed(&shop, "long.js")));
}

#[test]
fn the_names_of_a_bundler_are_kept_for_ever_and_answer_after_they_are_gone() {
    let shop = Application::of(&[
        ("static/app/assets/main-AAAA.js", "first\n"),
        ("static/app/index.html", "<!doctype html>\n"),
    ]);
    shop.write("howdah.toml", "name = \"shop\"\nimmutable = [\"app/assets/\"]\n");
    shop.ok("deploy");
    let platform = &shop.platform;
    let ask = |name: &str| {
        let reply = platform.get(&format!("/static/app/{name}"));
        (reply.status, reply.header("cache-control").unwrap_or_default().contains("immutable"), reply.text())
    };
    wait_for("the files", || ask("assets/main-AAAA.js") == (200, true, "first\n".into()));
    assert!(!ask("index.html").1);
    for number in 0..10 {
        fs::remove_dir_all(shop.folder.path().join("static/app/assets")).unwrap();
        shop.write(&format!("static/app/assets/main-B{number}.js"), &format!("later {number}\n"));
        shop.ok("deploy");
    }
    wait_for("the last", || ask("assets/main-B9.js").0 == 200);
    assert_eq!(ask("assets/main-AAAA.js"), (200, true, "first\n".into()));
    assert_eq!(ask("assets/main-B3.js"), (200, true, "later 3\n".into()));
    // Other bytes under such a name would never reach who has it.
    shop.write("static/app/assets/main-AAAA.js", "another\n");
    let told = shop.fails("deploy");
    assert!(told.contains("static/app/assets/main-AAAA.js has other bytes than before"), "{told}");
    // The same bytes may come back.
    shop.write("static/app/assets/main-AAAA.js", "first\n");
    shop.ok("deploy");
    assert_eq!(shop.value("select count(*)::text from http.static_file where name like '%AAAA.js'"), "1");
}

#[test]
fn a_fresh_database_answers_as_one_that_was_deployed_step_by_step() {
    let shop = shop();
    shop.ok("deploy");
    shop.write("static/css/more.css", "p { color: blue }\n");
    shop.ok("deploy");
    shop.write("routes.sql", "select http.route('GET', '/here', 'here'), http.files('/assets', 'css');\n");
    shop.ok("deploy");
    let fresh = shop.fresh();
    let files = "select string_agg(concat_ws(' ', name, digest, size), E'\\n' order by name) from http.static_file where until is null";
    let places = "select string_agg(concat_ws(' ', prefix, owner, folder, fallback, is_default), E'\\n' order by prefix) from http.file_prefix";
    for query in [files, places] {
        assert_eq!(shop.value(query), fresh.value(query), "{query}");
    }
    for platform in [&shop.platform, &fresh.platform] {
        wait_for("the files", || platform.get("/assets/app.css").status == 200);
        assert_eq!(platform.get("/static/css/app.css").status, 404, "it says where they answer");
    }
    assert_eq!(
        shop.platform.get("/assets/app.css").header("etag"),
        fresh.platform.get("/assets/app.css").header("etag")
    );
    // Without it they answer where they did.
    shop.write("routes.sql", ROUTES.1);
    shop.write("static/new.txt", "new\n");
    shop.ok("deploy");
    wait_for("the usual place", || shop.platform.get("/static/css/app.css").status == 200);
    assert_eq!(shop.platform.get("/assets/app.css").status, 404);
    assert!(shop.value("select count(*)::text from deploy.drift('shop')") == "0");
}

#[test]
fn a_browser_that_goes_to_a_page_which_is_none_gets_the_fallback() {
    let shop = shop();
    shop.write("static/app/index.html", "<!doctype html><title>App</title>\n");
    shop.write("static/app/app.js", "1\n");
    shop.write(
        "routes.sql",
        "select http.route('GET', '/here', 'here'), http.files('/static'), http.files('/', 'app', fallback => 'index.html');\n",
    );
    shop.ok("deploy");
    let platform = &shop.platform;
    wait_for("the files", || platform.get("/app.js").status == 200);
    let goes = [("sec-fetch-mode", "navigate"), ("accept", "text/html,*/*;q=0.8")];
    let old = [("accept", "text/html,*/*;q=0.8")];
    let script = [("sec-fetch-mode", "no-cors"), ("accept", "*/*")];
    for (method, path, headers, status, is_app) in [
        ("GET", "/", &goes[..], 200, true),
        ("GET", "/orders/7", &goes, 200, true),
        ("GET", "/user/john.doe", &goes, 200, true),
        ("GET", "/orders/7", &old, 200, true),
        ("HEAD", "/orders/7", &goes, 200, false),
        ("GET", "/orders/7", &script, 404, false),
        ("GET", "/orders/7", &[], 404, false),
        ("GET", "/missing.js", &script, 404, false),
        ("POST", "/orders/7", &goes, 404, false),
        ("GET", "/static/missing", &goes, 404, false),
        ("POST", "/here", &goes, 405, false),
        ("GET", "/here", &goes, 200, false),
    ] {
        let reply = ask(platform, method, path, headers);
        assert_eq!(reply.status, status, "{method} {path} {headers:?}");
        assert_eq!(reply.text().contains("<title>App"), is_app, "{method} {path} {headers:?}");
    }
    assert_eq!(ask(platform, "GET", "/orders/7", &goes).header("cache-control"), Some("no-cache"));
    // A folder and a fallback that are named have to be there.
    shop.write(
        "routes.sql",
        "select http.files('/', 'app', fallback => 'start.html'), http.files('/x', 'nowhere');\n",
    );
    let told = shop.fails("deploy");
    assert!(told.contains("there is no file static/app/start.html"), "{told}");
    assert!(told.contains("there is no file static/nowhere/"), "{told}");
}

#[test]
fn a_guard_holds_for_files() {
    let shop = shop();
    shop.write("static/secret/a.txt", "secret\n");
    shop.write(
        "functions/guards.sql",
        "create function keep_out() returns http.response language sql stable
           return case when http.header_value('x-key') is distinct from 'yes' then http.response('no', 403) end;\n",
    );
    shop.write(
        "routes.sql",
        "select http.route('GET', '/here', 'here'), http.guard('/static/secret', 'keep_out');\n",
    );
    shop.ok("deploy");
    let platform = &shop.platform;
    wait_for("the files", || platform.get("/static/long.js").status == 200);
    let key = [("x-key", "yes"), ("accept-encoding", "identity")];
    for _ in 0..20 {
        for path in [
            "/static/secret/a.txt",
            "/static/s%65cret/a.txt",
            "/static/secret/none",
            "/static/secret%2Fa.txt",
        ] {
            let reply = platform.get(path);
            assert_eq!((reply.status, reply.text()), (403, "no".to_owned()), "{path}");
        }
        let reply = ask(platform, "GET", "/static/secret/a.txt", &key);
        assert_eq!((reply.status, reply.text()), (200, "secret\n".to_owned()));
        assert_eq!(ask(platform, "GET", "/static/secret/none", &key).status, 404);
        let part = ask(platform, "GET", "/static/secret/a.txt", &[("x-key", "yes"), ("range", "bytes=0-2")]);
        assert_eq!((part.status, part.text()), (206, "sec".to_owned()));
        assert_eq!(platform.get("/static/long.js").status, 200);
    }
    for path in [
        "//static/secret/a.txt",
        "/static//secret/a.txt",
        "/static/x/../secret/a.txt",
        "/static\\secret\\a.txt",
    ] {
        assert!(matches!(ask(platform, "GET", path, &[]).status, 400 | 404), "{path}");
    }
}

#[test]
fn what_has_no_room_is_read_anew() {
    let shop = shop();
    for number in 0..6 {
        shop.write(&format!("static/large{number}.bin"), &format!("{number}{}", "x".repeat(200_000)));
    }
    shop.ok("deploy");
    let platform = &shop.platform;
    wait_for("the files", || platform.get("/static/large0.bin").status == 200);
    for limit in ["0", "64kB", "1MB", "64MB"] {
        platform.set("howdah.max_files", limit);
        for _ in 0..3 {
            for number in 0..6 {
                let reply = platform.get(&format!("/static/large{number}.bin"));
                assert_eq!((reply.status, reply.body.len()), (200, 200_001), "{limit}");
                assert_eq!(reply.body[0], b'0' + number, "{limit}");
                let part =
                    ask(platform, "GET", &format!("/static/large{number}.bin"), &[("range", "bytes=0-3")]);
                assert_eq!(part.text(), format!("{number}xxx"), "{limit}");
            }
        }
    }
}

/// More long files at once than are read in a turn: what follows is whole for each client, by HTTP/1.1 and by HTTP/2.
#[test]
fn many_long_files_that_are_asked_for_at_once_are_whole() {
    let shop = shop();
    let content = |number: usize| format!("{number} {}", long(1000 * (1 + number * 17 % 700)));
    for number in 0..40 {
        shop.write(&format!("static/large{number}.bin"), &content(number));
    }
    shop.ok("deploy");
    let platform = &shop.platform;
    wait_for("the files", || platform.get("/static/large0.bin").status == 200);
    platform.set("howdah.max_files", "0");
    for _ in 0..3 {
        let mut connections: Vec<Connection> = (0..40).map(|_| platform.connect()).collect();
        for (number, connection) in connections.iter_mut().enumerate() {
            connection.send("GET", &format!("/static/large{number}.bin"), &[], b"");
        }
        for (number, connection) in connections.iter_mut().enumerate() {
            let reply = connection.read_reply(false).expect("an answer");
            assert!(reply.status == 200 && reply.text() == content(number), "{number}: {}", reply.body.len());
        }
    }
    let mut connection = Http2::open(platform.port);
    for _ in 0..3 {
        let streams: Vec<_> =
            (0..40).map(|number| connection.get(&format!("/static/large{number}.bin"))).collect();
        for (number, stream) in streams.into_iter().enumerate() {
            let reply = connection.wait(stream);
            assert!(reply.status == 200 && reply.text() == content(number), "{number}: {}", reply.body.len());
        }
    }
}

#[test]
fn what_is_sent_is_checked() {
    let shop = shop();
    shop.ok("deploy");
    let session = || shop.platform.session();
    let digest = "encode(sha256('abc'::bytea), 'hex')";
    for (call, told) in [
        ("deploy.send_file('shop', 'x', 'abc', false, null, null, null)", "the digest is not the SHA-256"),
        (
            &format!("deploy.send_file('shop', {digest}, 'abc', true, 'nothing', null, null)"),
            "what is said to be the bytes by br is not",
        ),
        (
            &format!(
                "deploy.send_file('shop', {digest}, 'abc', true, null, null, '\\x1f8b0800000000000003'::bytea)"
            ),
            "what is said to be the bytes by gzip is not",
        ),
        ("deploy.send_file('none', 'x', 'abc', false, null, null, null)", "there is no application none"),
        ("deploy.set_files('')", "no deployment"),
        ("http.files('/x')", "files are those of an application"),
    ] {
        let error = session().batch_execute(&format!("select {call}")).expect_err(call);
        assert!(format!("{error:?}").contains(told), "{call}: {error:?}");
    }
    // A stranger, who may not deploy it, may not send either.
    shop.platform.sql("create role stranger login");
    let mut stranger =
        cluster::postgres::Client::connect(&shop.to("stranger"), cluster::postgres::NoTls).unwrap();
    let call = format!("select deploy.send_file('shop', {digest}, 'abc', false, null, null, null)");
    let error = stranger.batch_execute(&call).expect_err("an error");
    assert!(format!("{error:?}").contains("must be able to become shop_owner"), "{error:?}");
}

#[test]
fn two_applications_have_places_of_their_own() {
    let shop = shop();
    shop.ok("deploy");
    let blog = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = blog.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("howdah.toml", "name = \"blog\"\n");
    write("static/blog.css", "b {}\n");
    let deploy = || {
        let to = shop.to("postgres");
        let mut command = Command::new(howdah_tests::command());
        command.arg("deploy").arg("--app").arg(blog.path()).args(["--to", &to]).output().unwrap()
    };
    let refused = deploy();
    assert!(!refused.status.success());
    let told = text(&refused.stderr);
    assert!(told.contains("files at /static are those of shop_owner"), "{told}");
    assert!(told.contains("select http.files('/path')"), "{told}");
    write("routes.sql", "select http.files('/blog/static');\n");
    let done = deploy();
    assert!(done.status.success(), "{}", text(&done.stderr));
    wait_for("the other's files", || shop.platform.get("/blog/static/blog.css").status == 200);
    assert_eq!(shop.platform.get("/static/long.js").status, 200);
    assert_eq!(shop.platform.get("/static/blog.css").status, 404);
}

#[test]
fn a_dump_and_a_standby_have_the_files() {
    let shop = shop();
    shop.ok("deploy");
    shop.write("static/long.js", &format!("second {}", long(300_000)));
    shop.ok("deploy");
    let port = free_port();
    shop.platform.sql(&format!("select http.listen({port})"));
    let standby = standby_of(&shop.platform);
    wait_for("the standby listens", || Connection::try_open_at(ADDRESS, port).is_some());
    let mut there = Connection::try_open_at(ADDRESS, port).expect("a connection");
    for path in ["/static/long.js", "/static/css/app.css", "/robots.txt"] {
        let ours = ask(&shop.platform, "GET", path, &[("accept-encoding", "br")]);
        let theirs = there.request("GET", path, &[("accept-encoding", "br")], b"");
        assert_eq!((theirs.status, theirs.header("etag")), (200, ours.header("etag")), "{path}");
        assert!(theirs.body == ours.body, "{path}");
    }
    drop(standby);
    let count = "select concat_ws(' ', (select count(*) from http.static_content), (select count(*) from http.static_file), (select max(version) from http.static_tree))";
    let dumped = dump(
        &shop.platform,
        &[
            "--data-only",
            "-t",
            "http.static_content",
            "-t",
            "http.static_file",
            "-t",
            "http.static_tree",
            "-t",
            "http.file_prefix",
        ],
    );
    let rows = dumped.lines().filter(|line| line.starts_with("shop\t") || line.starts_with("/")).count();
    let expected: usize =
        shop.value(count).split(' ').take(2).map(|count| count.parse::<usize>().unwrap()).sum();
    // And the row that says how often they became others, and the two places.
    assert_eq!(rows, expected + 3, "{dumped}");
}

#[test]
fn a_deployment_that_is_killed_at_any_moment_leaves_the_old_files_whole() {
    let shop = shop();
    let version = |number: usize| {
        for file in 0..40 {
            shop.write(&format!("static/part{file}.js"), &format!("{number} {file} {}", long(40_000)));
        }
    };
    version(0);
    shop.ok("deploy");
    let platform = &shop.platform;
    wait_for("the files", || platform.get("/static/part0.js").status == 200);
    let (mut finished, mut number) = (0, 0);
    // From before it connects to after it has committed.
    for delay in (0..400).step_by(50).chain([2000]) {
        number += 1;
        version(number);
        let mut child = shop
            .command("deploy", "postgres", &[])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        thread::sleep(Duration::from_millis(delay));
        let _ = child.kill();
        finished += usize::from(child.wait().unwrap().success());
        // All are of one deployment: that which the database says is the last.
        let last = shop.value("select substr(convert_from(substr(c.bytes, 1, 4), 'UTF8'), 1, 4) from http.static_file f
            join http.static_content c using (application, digest) where f.name = 'part0.js' and f.until is null");
        let last = last.split(' ').next().unwrap().to_owned();
        wait_for("the last deployment's files", || {
            platform.get("/static/part39.js").text().starts_with(&format!("{last} "))
        });
        for file in 0..40 {
            let reply =
                ask(platform, "GET", &format!("/static/part{file}.js"), &[("accept-encoding", "gzip")]);
            let back = codings::unpack(codings::Coding::Gzip, &reply.body, 100_000).unwrap();
            let codings::Unpacked::Whole(bytes) = back else { panic!("too long") };
            assert!(bytes.starts_with(format!("{last} {file} ").as_bytes()), "{file} of {last}");
        }
    }
    shop.ok("deploy");
    wait_for("the last", || platform.get("/static/part0.js").text().starts_with(&format!("{number} ")));
    println!("{finished} of {number} deployments were not killed in time");
}

#[test]
fn of_ten_thousand_files_three_are_sent_that_have_changed() {
    let shop = shop();
    for number in 0..10_000 {
        shop.write(&format!("static/many/{}/{number}.txt", number % 100), &format!("file {number}\n"));
    }
    let told = shop.ok("deploy");
    assert!(told.contains("sent 10,006 files of static/"), "{told}");
    let platform = &shop.platform;
    wait_for("the files", || platform.get("/static/many/99/9999.txt").status == 200);
    for number in [3, 5000, 9999] {
        shop.write(&format!("static/many/{}/{number}.txt", number % 100), "another\n");
    }
    let begun = Instant::now();
    let told = shop.ok("deploy");
    DEPLOYED_THREE_FILES.check(begun.elapsed());
    // All three have the same bytes.
    assert!(told.contains("sent 1 file of static/"), "{told}");
    assert!(told.contains("static/  10,006 files: 0 new, 3 changed, 0 gone"), "{told}");
    wait_for("the others", || platform.get("/static/many/0/5000.txt").text() == "another\n");
    assert_eq!(platform.get("/static/many/1/5001.txt").text(), "file 5001\n");
}
