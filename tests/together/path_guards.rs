//! Guards: whatever is at a path and below it answers only if a function lets the request pass.

use howdah_tests::application::Application;
use howdah_tests::{Platform, Reply, wait_for};

/// A guard that lets those pass who have a cookie that a table knows, and others see the sign-in page.
const ADMIN: &str = "
    create table session (id text primary key, is_admin boolean not null);
    insert into session values ('boss', true), ('clerk', false);
    create table seen (path text);
    grant select on session to howdah_web;
    grant select, insert on seen to howdah_web;
    create function only_admins() returns http.response language sql stable begin atomic
      select case
        when s.is_admin is null then http.redirect('/sign-in')
        when not s.is_admin then http.response('no', 403)
      end
      from (values (1)) one left join session s on s.id = http.cookie('session');
    end;
    create function page(page text default null) returns text language sql stable return 'the page';
    create function item(id text) returns text language sql stable return 'item ' || id;
    create function rest(rest text) returns text language sql stable return 'rest ' || rest;
    create function change(id text default null) returns text language sql volatile begin atomic insert into seen values ('changed') returning 'changed'; end;
    select http.route('GET', '/admin', 'page'), http.route('GET', '/admin/items/{id}', 'item'), http.route('POST', '/admin/items/{id}', 'change'),
      http.route('*', '/admin/any', 'change'), http.route('GET', '/open', 'page'), http.route('GET', '/administrators', 'page'),
      http.route('GET', '/files/{*rest}', 'rest'), http.route('GET', '/{page}/items/special', 'page');
    select http.guard('/admin', 'only_admins')";

const METHODS: [&str; 8] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "REPORT"];

fn ask(platform: &Platform, method: &str, path: &str, session: Option<&str>) -> Reply {
    let cookie = session.map(|session| format!("session={session}"));
    let headers: Vec<_> = cookie.iter().map(|cookie| ("cookie", cookie.as_str())).collect();
    platform.connect().request(method, path, &headers, b"")
}

#[test]
fn a_guard_is_asked_before_anything_answers() {
    let platform = Platform::start();
    platform.sql(ADMIN);
    for path in [
        "/admin",
        "/admin/items/1",
        "/admin/any",
        "/admin/nothing",
        "/admin/",
        "/%61dmin",
        "/admin/%69tems/1",
        "/admin/items/special",
        "/admin%2Fx",
    ] {
        for method in METHODS {
            let [stranger, clerk, boss] =
                [None, Some("clerk"), Some("boss")].map(|who| ask(&platform, method, path, who));
            assert_eq!(
                (stranger.status, stranger.header("location")),
                (303, Some("/sign-in")),
                "{method} {path}"
            );
            assert_eq!(clerk.status, 403, "{method} {path}");
            assert!(![303, 403].contains(&boss.status), "{method} {path}: {}", boss.status);
            assert!(!stranger.text().contains("page") && !clerk.text().contains("page"));
        }
    }
    // Nor does a page of another site tell a route from nothing.
    let elsewhere = |path: &str| {
        platform.connect().request("POST", path, &[("sec-fetch-site", "cross-site")], b"").status
    };
    assert_eq!((elsewhere("/admin/items/1"), elsewhere("/admin/nothing")), (403, 403));
    // Only the boss has changed something: by POST to three items, and to any by each method but GET, HEAD and OPTIONS.
    assert_eq!(platform.count("seen"), 8);
    assert_eq!(ask(&platform, "GET", "/admin/items/1", Some("boss")).text(), "item 1");
    assert_eq!(ask(&platform, "GET", "/admin/nothing", Some("boss")).status, 404);
    assert_eq!(ask(&platform, "DELETE", "/admin", Some("boss")).status, 405);
    assert_eq!(ask(&platform, "OPTIONS", "/admin", Some("boss")).header("allow"), Some("GET, HEAD, OPTIONS"));
    for path in ["/open", "/administrators", "/Admin", "//admin"] {
        assert_ne!(ask(&platform, "GET", path, None).status, 303, "{path}");
    }
}

#[test]
fn nothing_generated_gets_below_a_guard_that_says_no() {
    let platform = Platform::start();
    platform.sql(ADMIN);
    platform.sql(
        "create function never() returns http.response language sql stable return http.response('guarded', 418);
         select http.guard('/admin', 'never'), http.guard('/files/private', 'never'),
           http.handle('select http.response(''handled '' || path) from request')",
    );
    let mut random = fastrand::Rng::with_seed(56);
    let pieces = [
        "/admin",
        "/%61dmin",
        "/adm%69n",
        "/files",
        "/private",
        "/%70rivate",
        "/items",
        "/1",
        "/any",
        "/",
        "//",
        "/.",
        "/..",
        "/%2e%2e",
        "%2F",
        "%2f",
        "x",
        "/open",
        ";a=b",
        "?q",
        "#f",
        "\\",
        "%5C",
        "/files/%2E",
    ];
    let mut connection = platform.connect();
    let mut guarded = 0;
    for _ in 0..1_200 {
        let begin = ["/admin", "/%61dmin", "/files/private", "/", "/files"][random.usize(..5)];
        let rest: String = (0..random.usize(0..5)).map(|_| pieces[random.usize(..pieces.len())]).collect();
        let path = format!("{begin}{rest}");
        if path.contains(['#', '\\']) {
            continue;
        }
        let method = METHODS[random.usize(..METHODS.len())];
        let Some(reply) = ({
            connection.send(method, &path, &[], b"");
            connection.read_reply(method == "HEAD")
        }) else {
            connection = platform.connect();
            continue;
        };
        let target = path.split('?').next().unwrap_or_default();
        let decoded = target
            .replace("%61", "a")
            .replace("%69", "i")
            .replace("%70", "p")
            .replace("%2F", "/")
            .replace("%2f", "/");
        let is_below = |prefix: &str| {
            decoded.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        if is_below("/admin") || is_below("/files/private") {
            guarded += 1;
            assert_eq!(reply.status, 418, "{method} {path}: {}", reply.text());
            assert!(reply.header("allow").is_none());
        } else {
            assert_ne!(reply.status, 418, "{method} {path}");
        }
    }
    assert!(guarded >= 400, "{guarded}");
    assert_eq!(platform.count("seen"), 0);
}

#[test]
fn a_guard_that_fails_or_is_gone_refuses_everything() {
    let platform = Platform::with(&[("howdah.request_timeout", "1s")]);
    platform.sql(ADMIN);
    platform.sql(
        "create function fails() returns http.response language plpgsql stable as $$ begin raise 'broken'; end $$;
         create function sleeps() returns http.response language plpgsql as $$ begin perform pg_sleep(60); return null; end $$;
         create function wants(token text) returns http.response language sql stable return null::http.response;
         create function raises() returns void language plpgsql as $$ begin raise 'no' using errcode = 'PT401'; end $$;
         create function passes() returns void language plpgsql as $$ begin null; end $$;
         create function goes() returns http.response language sql stable return null::http.response;
         create function forbidden() returns http.response language sql stable return null::http.response;
         revoke execute on function forbidden() from public",
    );
    for (guard, status) in [
        ("fails", 400),
        ("sleeps", 504),
        ("wants", 400),
        ("raises", 401),
        ("passes", 200),
        ("forbidden", 403),
        ("goes", 200),
    ] {
        platform.sql(&format!("select http.guard('/admin', '{guard}')"));
        assert_eq!(ask(&platform, "GET", "/admin", Some("boss")).status, status, "{guard}");
    }
    platform.sql("drop function goes()");
    for path in ["/admin", "/admin/nothing"] {
        assert_eq!(ask(&platform, "GET", path, Some("boss")).status, 500, "{path}");
    }
    // One of the same name says neither yes nor no.
    platform.sql("create function goes() returns boolean language sql stable return null::boolean");
    for path in ["/admin", "/admin/nothing"] {
        assert_eq!(ask(&platform, "GET", path, Some("boss")).status, 500, "{path}");
    }
    // Nor does one that is not called.
    platform.sql(
        "create function late(key text default null) returns http.response language sql stable return http.response('no', 418);
         select http.guard('/admin', 'late'); alter function late(text) strict",
    );
    for path in ["/admin", "/admin/nothing"] {
        assert_eq!(ask(&platform, "GET", path, Some("boss")).status, 500, "{path}");
    }
    platform.sql("select http.unguard('/admin')");
    assert_eq!(ask(&platform, "GET", "/admin", None).status, 200);
    assert_eq!(platform.value("select http.unguard('/admin')").as_deref(), Some("f"));
}

#[test]
fn guards_are_asked_from_the_outer_to_the_inner_in_one_transaction() {
    let platform = Platform::start();
    platform.sql(
        "create table step (id serial, who text, xid text);
         grant insert, select on step to howdah_web; grant usage on sequence step_id_seq to howdah_web;
         create function outer_guard(stop text default null) returns http.response language plpgsql as $$
         begin
           insert into step (who, xid) values ('outer', pg_current_xact_id()::text);
           perform set_config('app.who', 'ada', false);
           if stop = 'outer' then return http.response('outer', 403); end if;
           return null;
         end $$;
         create function inner_guard(stop text default null) returns http.response language plpgsql as $$
         begin
           insert into step (who, xid) values ('inner ' || current_setting('app.who'), pg_current_xact_id()::text);
           if stop = 'inner' then return http.response('inner', 403); end if;
           if stop = 'raise' then raise 'no'; end if;
           return null;
         end $$;
         create function work() returns text language sql begin atomic
           insert into step (who, xid) values ('work ' || current_setting('app.who'), pg_current_xact_id()::text) returning who; end;
         select http.route('POST', '/a/b/c', 'work'), http.guard('/a/b', 'inner_guard'), http.guard('/', 'outer_guard')",
    );
    let steps = || {
        let steps =
            platform.value("select string_agg(who, ',' order by id) || ' ' || count(distinct xid) from step");
        platform.sql("truncate step");
        steps.unwrap_or_default()
    };
    for (query, status, expected) in [
        ("", 200, "outer,inner ada,work ada 1"),
        ("?stop=outer", 403, "outer 1"),
        ("?stop=inner", 403, "outer,inner ada 1"),
        ("?stop=raise", 400, ""),
    ] {
        let reply = ask(&platform, "POST", &format!("/a/b/c{query}"), None);
        assert_eq!(reply.status, status, "{}", reply.text());
        assert_eq!(steps(), expected, "{query}");
    }
    // A setting of a guard is over with its request.
    let left = "select http.handle('select http.response(coalesce(current_setting(''app.who'', true), ''none'')) from request')";
    platform.sql(&format!("select http.unguard('/'), http.unguard('/a/b'); {left}"));
    assert_eq!(ask(&platform, "GET", "/x", None).text(), "");
}

#[test]
fn a_guard_has_its_own_role_and_search_path() {
    let platform = Platform::start();
    platform.sql(
        "create role keeper nologin;
         create schema kept; create table kept.key (key text); insert into kept.key values ('sesame');
         grant usage on schema kept to keeper; grant select on kept.key to keeper;
         create function kept.knows_key(key text default null) returns http.response language plpgsql stable as $$
         begin
           if not exists (select from key k where k.key = knows_key.key) then return http.response('closed for ' || current_user, 403); end if;
           return null;
         end $$;
         create function who() returns text language plpgsql stable as $$ begin return current_user || ' ' || current_setting('search_path'); end $$;
         select http.route('GET', '/cave', 'who'), http.route('POST', '/cave', 'who');
         select http.guard('/cave', 'kept.knows_key', role => 'keeper', search_path => 'kept')",
    );
    for method in ["GET", "POST"] {
        let reply = ask(&platform, method, "/cave", None);
        assert_eq!((reply.status, reply.text().as_str()), (403, "closed for keeper"));
        let reply = ask(&platform, method, "/cave?key=sesame", None);
        assert_eq!(reply.status, 200, "{}", reply.text());
        assert!(
            reply.text().starts_with("howdah_web ") && !reply.text().contains("kept"),
            "{}",
            reply.text()
        );
    }
    assert_eq!(ask(&platform, "GET", "/cave/nothing?key=sesame", None).status, 404);
    assert_eq!(ask(&platform, "GET", "/cave/nothing", None).status, 403);
    let error = platform.session().batch_execute("drop role keeper").expect_err("an error");
    assert!(format!("{error:?}").contains("guarded"), "{error:?}");
}

#[test]
fn answers_that_are_kept_are_kept_for_those_who_pass() {
    let platform = Platform::start();
    platform.sql(ADMIN);
    platform.sql("select http.cache('GET', '/admin'), http.validate('GET', '/admin/items/{id}')");
    let cached = || {
        platform
            .value("select sum(cached)::text from http.stats where pattern = '/admin'")
            .and_then(|n| n.parse::<i64>().ok())
            .unwrap_or(0)
    };
    let everyone = || {
        for (who, status) in [(None, 303), (Some("clerk"), 403), (Some("boss"), 200), (Some("other"), 303)] {
            let reply = ask(&platform, "GET", "/admin", who);
            assert_eq!(reply.status, status, "{who:?}");
            let control = reply.header("cache-control").unwrap_or_default();
            assert!(
                status != 200 || control.contains("no-cache") && !control.contains("public"),
                "{control}"
            );
        }
    };
    wait_for("it is answered from what is kept", || {
        everyone();
        cached() > 20
    });
    let tag = ask(&platform, "GET", "/admin/items/1", Some("boss")).header("etag").expect("a tag").to_owned();
    let conditional = |who: &str| {
        let cookie = format!("session={who}");
        platform
            .connect()
            .request("GET", "/admin/items/1", &[("cookie", &cookie), ("if-none-match", &tag)], b"")
            .status
    };
    for _ in 0..60 {
        assert_eq!((conditional("boss"), conditional("clerk"), conditional("other")), (304, 403, 303));
    }
    // Out with the boss: from the commit on.
    platform.sql("update session set is_admin = not is_admin");
    assert_eq!(ask(&platform, "GET", "/admin", Some("boss")).status, 403);
    assert_eq!((conditional("boss"), conditional("clerk")), (403, 304));
    platform.sql("select http.guard('/admin/items', 'only_admins', role => 'howdah_web')");
    assert_eq!((conditional("boss"), conditional("clerk")), (403, 304));
}

#[test]
fn http_call_asks_guards_too_and_unfit_ones_are_refused() {
    let platform = Platform::start();
    platform.sql(ADMIN);
    let called =
        |headers: &str| platform.value(&format!("select (http.call('GET', '/admin'{headers})).status::text"));
    assert_eq!(called("").as_deref(), Some("303"));
    assert_eq!(called(", array[http.header('cookie', 'session=boss')]").as_deref(), Some("200"));
    platform.sql(
        "create function yes() returns boolean language sql stable return true;
         create function hushed(key text default null) returns http.response language sql stable strict return http.response('no', 403);
         create function many() returns setof http.response language sql stable return http.response('x');",
    );
    for (call, told) in [
        ("http.guard('/admin', 'yes')", "is no guard: it returns neither http.response nor void"),
        ("http.guard('/admin', 'many')", "is no guard"),
        ("http.guard('/admin', 'hushed')", "it is STRICT"),
        ("http.guard('/admin', 'page')", "is no guard"),
        ("http.guard('/admin/', 'only_admins')", "no slash at its end"),
        ("http.guard('admin', 'only_admins')", "begins with a slash"),
        ("http.guard('/admin/{id}', 'only_admins')", "no parameters"),
        ("http.guard('/%61dmin', 'only_admins')", "plain text"),
        ("http.guard('/admin', 'nowhere')", "does not exist"),
    ] {
        let error = platform.session().batch_execute(&format!("select {call}")).expect_err("an error");
        let message = error.as_db_error().map(|error| error.message().to_owned()).unwrap_or_default();
        assert!(message.contains(told), "{call}: {message}");
    }
    assert_eq!(ask(&platform, "GET", "/admin", None).status, 303);
}

#[test]
fn an_application_guards_what_is_its_own() {
    let platform = Platform::start();
    platform.sql(
        "select deploy.create_application('one'), deploy.create_application('two');
         create function one.page() returns text language sql stable return 'one'; alter function one.page() owner to one_owner;
         create function two.page(id text default null, x text default null) returns text language sql stable return 'two'; alter function two.page(text, text) owner to two_owner;
         create function one.no() returns http.response language sql stable return http.response('no', 403); alter function one.no() owner to one_owner;
         create function two.no() returns http.response language sql stable return http.response('no', 403); alter function two.no() owner to two_owner;
         set role one_owner; select http.route('GET', '/one', 'one.page'), http.guard('/one/admin', 'one.no'); reset role;
         set role two_owner; select http.route('GET', '/two/{id}', 'two.page'); reset role",
    );
    let refused = |role: &str, call: &str| {
        let error = platform
            .session()
            .batch_execute(&format!("set role {role}; select {call}"))
            .expect_err("an error");
        let message = error.as_db_error().map(|error| error.message().to_owned()).unwrap_or_default();
        assert!(message.contains("belongs to"), "{call}: {message}");
    };
    refused("two_owner", "http.guard('/', 'two.no')");
    refused("two_owner", "http.guard('/one', 'two.no')");
    refused("two_owner", "http.guard('/one/admin', 'two.no')");
    refused("two_owner", "http.guard('/one/admin/deep', 'two.no')");
    refused("two_owner", "http.unguard('/one/admin')");
    refused("two_owner", "http.route('GET', '/one/admin/x', 'two.page')");
    refused("two_owner", "http.route('GET', '/one/{x}', 'two.page')");
    refused("one_owner", "http.guard('/two/1', 'one.no')");
    platform.sql("set role two_owner; select http.guard('/two', 'two.no')");
    assert_eq!(ask(&platform, "GET", "/two/1", None).status, 403);
    let many = "set role two_owner; select http.guard('/two/' || n, 'two.no') from generate_series(1, 100) n";
    let error = platform.session().batch_execute(many).expect_err("an error");
    assert!(format!("{error:?}").contains("has 100 guards already"), "{error:?}");
}

#[test]
fn a_guard_comes_with_its_line_and_goes_with_it() {
    const FUNCTIONS: &str = "create function page() returns text language sql stable return 'x';\n
        create function no() returns http.response language sql stable return http.response('no', 403);\n";
    const ROUTE: &str = "select http.route('GET', '/shop/admin', 'page');\n";
    const GUARD: &str = "select http.guard('/shop/admin', 'no');\n";
    let shop =
        Application::of(&[("functions/page.sql", FUNCTIONS), ("routes.sql", &format!("{ROUTE}{GUARD}"))]);
    shop.ok("deploy");
    let status = || ask(&shop.platform, "GET", "/shop/admin", None).status;
    let drift = || {
        shop.value(
            "select coalesce(string_agg(concat_ws(' ', object, change), ', '), '') from deploy.drift('shop')",
        )
    };
    assert_eq!((status(), drift().as_str()), (403, ""));
    assert!(shop.ok("deploy").contains("Nothing has changed"), "no change");
    shop.platform.sql("select http.guard('/shop/admin', 'shop.no', search_path => 'shop')");
    assert_eq!(drift(), "guard /shop/admin was changed");
    shop.platform
        .sql("set role shop_owner; set search_path = shop; select http.guard('/shop/other', 'shop.no')");
    assert!(drift().contains("guard /shop/other was made by hand"), "{}", drift());
    shop.platform.sql("select http.unguard('/shop/admin')");
    assert!(drift().contains("guard /shop/admin is gone"), "{}", drift());
    shop.platform.sql("select http.unguard('/shop/other')");
    shop.write("routes.sql", &format!("-- Again.\n{ROUTE}{GUARD}"));
    shop.ok("deploy");
    assert_eq!((status(), drift().as_str()), (403, ""));
    // A guard whose function does not plan fails the deployment, not the requests.
    shop.write(
        "functions/page.sql",
        &FUNCTIONS.replace(
            "language sql stable return http.response('no', 403)",
            "language sql stable as $$ select r from gone r $$",
        ),
    );
    let told = shop.fails("deploy");
    assert!(told.contains("gone"), "{told}");
    shop.write("functions/page.sql", FUNCTIONS);
    // Without its line it is taken away, and a rollback brings it back.
    shop.write("routes.sql", ROUTE);
    assert!(shop.ok("deploy").contains("guard /shop/admin"), "it says so");
    assert_eq!(status(), 200);
    assert!(shop.run("rollback", &[]).status.success());
    assert_eq!(status(), 403);
}
