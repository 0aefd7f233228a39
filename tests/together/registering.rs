//! What can never answer is refused when it is registered; what no longer can is shown.

use std::thread;
use std::time::{Duration, Instant};

use howdah_tests::Platform;
use howdah_tests::bounds;
use howdah_tests::platform::wait_for;

/// Message and hint of the error that a statement raises; none if it succeeds.
fn error(platform: &Platform, statement: &str) -> Option<(String, String)> {
    let error = platform.session().batch_execute(statement).err()?;
    let found = error.as_db_error().expect("an error of PostgreSQL's");
    Some((found.message().to_owned(), found.hint().unwrap_or_default().to_owned()))
}

#[test]
fn a_function_that_returns_record_without_columns_is_refused() {
    let platform = Platform::start();
    platform.sql(
        "create function bare() returns record language sql as 'select 1, 2';
         create function bares() returns setof record language sql as 'select 1, 2';
         create function named(out a int, out b int) language sql as 'select 1, 2';
         create function tabled() returns table (a int, b int) language sql as 'select 1, 2'",
    );
    for function in ["bare", "bares"] {
        let (message, _) =
            error(&platform, &format!("select http.route('GET', '/bare', '{function}')")).unwrap();
        assert!(message.contains("record") && message.contains("returns table"), "{message}");
    }
    platform.sql("select http.route('GET', '/named', 'named'), http.route('GET', '/tabled', 'tabled')");
    assert_eq!(platform.get("/named").text(), r#"{"a":1,"b":2}"#);
    assert_eq!(platform.get("/tabled").text(), r#"[{"a":1,"b":2}]"#);
}

#[test]
fn a_parameter_of_the_pattern_that_nothing_takes_is_refused() {
    let platform = Platform::start();
    platform.sql(
        "create function by_id(id int) returns int language sql return id;
         create function constant() returns int language sql return 1;
         create function by_request(r http.request) returns text language sql return http.path_value('name');
         create function by_value() returns text language sql return http.path_value('name');
         create function by_value_in_plpgsql() returns text language plpgsql as
           $$ begin return http.path_value('name'); end $$",
    );
    for (pattern, function, name) in
        [("/x/{ident}", "by_id", "ident"), ("/x/{id}/{*rest}", "by_id", "rest"), ("/x/{n}", "constant", "n")]
    {
        let (message, hint) =
            error(&platform, &format!("select http.route('GET', '{pattern}', '{function}')")).unwrap();
        assert!(
            message.contains(&format!("no argument {name}")) && hint.contains("http.request"),
            "{message} {hint}"
        );
    }
    assert_eq!(platform.count("http.route"), 0);
    for function in ["by_request", "by_value", "by_value_in_plpgsql"] {
        platform.sql(&format!("select http.route('GET', '/{function}/{{name}}', '{function}')"));
        assert_eq!(platform.get(&format!("/{function}/me")).text(), "me", "{function}");
    }
}

#[test]
fn a_function_whose_star_was_expanded_before_a_column_came_is_shown_as_broken() {
    let platform = Platform::start();
    platform.sql(
        "create table book (id int, title text);
         insert into book values (1, 'Dune');
         grant select, insert on book to howdah_web;
         create function starred(id int) returns book language sql stable
           begin atomic select * from book where book.id = starred.id; end;
         create function whole(id int) returns book language sql stable
           begin atomic select book from book where book.id = whole.id; end;
         create function added(id int) returns book language sql
           begin atomic insert into book (id) values (id) returning book; end;
         select http.route('GET', '/starred/{id}', 'starred'), http.route('GET', '/whole/{id}', 'whole'),
           http.route('POST', '/added/{id}', 'added')",
    );
    for path in ["/starred/1", "/whole/1"] {
        assert_eq!(platform.get(path).text(), r#"{"id":1,"title":"Dune"}"#);
    }
    platform.sql("alter table book add column year int default 1965");
    assert_eq!(platform.get("/whole/1").text(), r#"{"id":1,"title":"Dune","year":1965}"#);
    assert_eq!(platform.post("/added/2", "", b"").text(), r#"{"id":2,"title":null,"year":1965}"#);
    assert_eq!(platform.get("/starred/1").status, 500);
    let reason = "select broken from http.stats where pattern = '/starred/{id}'";
    wait_for("the view says why", || {
        platform.get("/starred/1");
        platform.value(reason).is_some_and(|reason| reason.contains("return type mismatch"))
    });
    platform.sql(
        "create or replace function starred(id int) returns book language sql stable
           begin atomic select * from book where book.id = starred.id; end",
    );
    assert_eq!(platform.get("/starred/1").status, 200);
    assert_eq!(platform.value(reason), None);
}

#[test]
fn routes_that_match_the_same_paths_are_refused_and_the_most_specific_answers() {
    let platform = Platform::start();
    platform.sql(
        "create function constant(r http.request) returns int language sql return 1;
         select http.route('GET', '/users/{id}/posts', 'constant'), http.route('GET', '/users/{id}', 'constant'),
           http.route('GET', '/{*rest}', 'constant'), http.route('GET', '/users/new', 'constant'),
           http.route('PUT', '/users/{name}', 'constant'), http.route('*', '/users/{other}', 'constant'),
           http.route('GET', '/users/{id}', 'constant')",
    );
    for pattern in ["/users/{name}/posts", "/users/{name}", "/{*all}"] {
        let (message, _) =
            error(&platform, &format!("select http.route('get', '{pattern}', 'constant')")).unwrap();
        assert!(message.contains(&format!("GET {pattern} matches the same paths as GET ")), "{message}");
    }
    assert_eq!(platform.count("http.route"), 6);
}

/// A schema in which two may make functions, and a route to one of `victim`'s that runs as it.
const SHARED: &str = "
    create role victim; create role evil; create role deploy in role victim; create role group_of_both;
    create schema shared; grant usage on schema shared to public;
    grant create on schema shared to victim, evil, deploy, group_of_both; grant group_of_both to victim;
    set role victim; create function shared.f() returns text language sql as $$ select 'victim''s, as ' || current_user $$;
    create function shared.web() returns text language sql as $$ select 'victim''s, as ' || current_user $$;
    reset role; select http.route('POST', '/f', 'shared.f', role => 'victim'), http.route('POST', '/web', 'shared.web')";

/// Drops a function of the schema and makes it again, as another.
fn make_anew(platform: &Platform, function: &str, role: &str) {
    platform.sql(&format!(
        "drop function if exists shared.{function}(); set role {role};
         create function shared.{function}() returns text language sql as
           $$ select '{role}''s, as ' || current_user $$"
    ));
}

/// Status and text of what answers, and why nothing can.
fn answer(platform: &Platform, path: &str) -> (u16, String, Option<String>) {
    let reply = platform.post(path, "text/plain", b"");
    (
        reply.status,
        reply.text(),
        platform.value(&format!("select broken from http.stats where pattern = '{path}'")),
    )
}

fn expect(platform: &Platform, path: &str, text: &str) {
    assert_eq!(answer(platform, path), (200, text.to_owned(), None), "{path}");
}

fn expect_refused(platform: &Platform, path: &str, owner: &str) {
    let (status, text, broken) = answer(platform, path);
    let broken = broken.unwrap_or_default();
    let told = format!("is {owner}'s now, and was victim's when the route was registered: register it anew");
    assert!(status == 500 && broken.contains(&told) && text.contains(&told), "{status} {text} {broken}");
}

#[test]
fn a_function_of_the_same_name_by_somebody_else_does_not_answer() {
    let platform = Platform::start();
    platform.sql(SHARED);
    expect(&platform, "/f", "victim's, as victim");
    for function in ["f", "web"] {
        make_anew(&platform, function, "evil");
        expect_refused(&platform, &format!("/{function}"), "evil");
    }
    assert!(platform.log().contains("howdah cannot serve POST /f: shared.f is evil's now"));
    // Nobody could have it who asks for it now; who may register says that it is right.
    platform.sql("select http.route('POST', '/web', 'shared.web')");
    expect(&platform, "/web", "evil's, as howdah_web");
    make_anew(&platform, "f", "victim");
    expect(&platform, "/f", "victim's, as victim");
    // The schema is exchanged under the function.
    platform.sql(
        "grant create on database app to evil; alter schema shared owner to evil; set role evil;
         alter schema shared rename to hidden; create schema shared; grant usage on schema shared to public;
         create function shared.f() returns text language sql as $$ select 'taken over' $$",
    );
    expect_refused(&platform, "/f", "evil");
}

/// As docs/roles.md says: registering a function trusts its owner until the route is removed.
#[test]
fn an_owner_who_may_register_no_more_goes_on_answering_for_its_functions() {
    let platform = Platform::start();
    platform.sql(SHARED);
    platform.sql(
        "create role hired in role howdah_admin, victim; create schema hired authorization hired;
         grant usage on schema hired to public; set role hired;
         create function hired.page() returns text language sql as $$ select 'honest, as ' || current_user $$;
         select http.route('POST', '/page', 'hired.page', role => 'victim')",
    );
    expect(&platform, "/page", "honest, as victim");
    platform.sql(
        "revoke howdah_admin, victim from hired; set role hired;
         create or replace function hired.page() returns text language sql as $$ select 'new, as ' || current_user $$",
    );
    expect(&platform, "/page", "new, as victim");
    platform.sql("select http.unroute(method, pattern) from http.route where owner = 'hired'");
    assert_eq!(platform.post("/page", "text/plain", b"").status, 404);
}

#[test]
fn a_function_of_the_same_name_that_fits_the_call_keeps_the_route_from_answering_and_never_runs() {
    let platform = Platform::start();
    platform.sql(SHARED);
    platform.sql(
        "create sequence ran; grant usage on ran to public;
         set role victim;
         create function shared.greet(name text, times int default 1) returns text language plpgsql as
           $$ begin return repeat('Hello ' || name, times); end $$;
         create function shared.rows(name text, times int default 1) returns table (line text) language plpgsql as
           $$ begin return query select name from generate_series(1, times); end $$;
         reset role;
         select http.route('POST', '/' || name, 'shared.' || name, role => 'victim') from unnest(array['greet', 'rows']) name",
    );
    let ask =
        || ["/greet?name=Ann", "/rows?name=Ann"].map(|path| platform.post(path, "text/plain", b"").status);
    assert_eq!(ask(), [200, 200]);
    platform.sql(
        "set role evil;
         create function shared.greet(name text) returns text language plpgsql as
           $$ begin perform nextval('public.ran'); return 'evil''s'; end $$;
         create function shared.rows(name text) returns table (line text) language plpgsql as
           $$ begin perform nextval('public.ran'); return query select 'evil''s'; end $$",
    );
    for _ in 0..3 {
        assert_eq!(ask(), [500, 500]);
        platform.sql("alter function shared.greet(text, int) cost 99");
    }
    assert_eq!(platform.value("select is_called from ran").as_deref(), Some("f"));
    platform.sql("drop function shared.greet(text), shared.rows(text)");
    assert_eq!(ask(), [200, 200]);
}

#[test]
fn a_function_that_is_deployed_anew_answers() {
    let platform = Platform::start();
    platform.sql(SHARED);
    platform.sql("set role victim; create or replace function shared.f() returns text language sql as $$ select 'replaced' $$");
    expect(&platform, "/f", "replaced");
    // Who owns it might have replaced it, or become the route's role.
    for role in ["victim", "deploy", "postgres"] {
        make_anew(&platform, "f", role);
        expect(&platform, "/f", &format!("{role}'s, as victim"));
        make_anew(&platform, "web", role);
        expect(&platform, "/web", &format!("{role}'s, as howdah_web"));
    }
    make_anew(&platform, "f", "deploy");
    expect(&platform, "/f", "deploy's, as victim");
    platform.sql("revoke victim from deploy");
    expect_refused(&platform, "/f", "deploy");
    // Whoever is in howdah_admin registers for howdah_web without being its member.
    make_anew(&platform, "web", "evil");
    expect_refused(&platform, "/web", "evil");
    platform.sql("grant howdah_admin to evil");
    expect(&platform, "/web", "evil's, as howdah_web");
    // Given away, it is another's, who has to be asked about.
    make_anew(&platform, "f", "victim");
    platform.sql("set role victim; alter function shared.f() owner to group_of_both");
    expect_refused(&platform, "/f", "group_of_both");
    platform.sql("select http.route('POST', '/f', 'shared.f', role => 'victim')");
    expect(&platform, "/f", "victim's, as victim");
    // Rows that say nothing of an owner.
    make_anew(&platform, "f", "evil");
    platform.sql("update http.route set owner = null");
    expect(&platform, "/f", "evil's, as victim");
}

/// A request that has found its function waits for a table before it calls it.
#[test]
fn a_function_that_comes_while_a_request_waits_does_not_answer_it() {
    let platform = Platform::start();
    platform.sql(
        "create role victim; create role evil; create schema shared authorization victim;
         grant usage, create on schema shared to public; set role victim;
         create table shared.t (text text); insert into shared.t values ('victim''s');
         create function shared.f() returns setof shared.t language sql stable as $$ select * from shared.t $$;
         reset role; create sequence ran; grant usage on sequence ran to public;
         select http.route('POST', '/f', 'shared.f', role => 'victim'), http.route('GET', '/f', 'shared.f', role => 'victim')",
    );
    // The planner computes what is constant, a call in FROM as well. What a sequence gives is not rolled back.
    let functions = [
        "setof shared.t language sql stable as $$ select row('evil''s, as ' || current_user)::shared.t $$",
        "text language plpgsql immutable as $$ begin perform nextval('public.ran'); return 'evil''s'; end $$",
    ];
    let text = r#"[{"text":"victim's"}]"#;
    for (method, function) in
        ["POST", "GET"].into_iter().flat_map(|method| functions.map(|one| (method, one)))
    {
        platform.sql(
            "drop function shared.f(); set role victim;
             create function shared.f() returns setof shared.t language sql stable as $$ select * from shared.t $$",
        );
        for _ in 0..10 {
            assert_eq!(platform.connect().request(method, "/f", &[], b"").text(), text);
        }
        let reply = thread::scope(|scope| {
            // In here, so that it lets go of the table before a panic waits for the request.
            let mut session = platform.session();
            session.batch_execute("begin; lock table shared.t").unwrap();
            let waiting = scope.spawn(|| platform.connect().request(method, "/f", &[], b""));
            wait_for("it waits for the table", || platform.count("pg_locks where not granted") > 0);
            // In one transaction: a request that looks in between finds none.
            platform.sql(&format!(
                "drop function shared.f(); set role evil; set check_function_bodies = off;
                 create function shared.f() returns {function}"
            ));
            session.batch_execute("commit").unwrap();
            waiting.join().expect("no panic")
        });
        assert!(
            reply.status == 500 && reply.text().contains("shared.f is evil's now"),
            "{method}: {}",
            reply.text()
        );
        let ran = platform.value("select is_called from ran");
        assert_eq!(ran.as_deref(), Some("f"), "{method}: it was evaluated as victim");
    }
}

/// The same of a process that meets the route for the first time: it waits for the table while it tries the function's body, which
/// cannot stand for the call, and calls by the name afterwards.
#[test]
fn a_function_that_comes_while_a_process_makes_its_first_plan_is_not_planned() {
    let platform = Platform::with(&[("howdah.inline", "off"), ("howdah.min_executors", "1")]);
    platform.sql(
        "create role victim; create role evil; create schema shared; grant usage, create on schema shared to public;
         create table shared.t (text text); insert into shared.t values ('victim''s'); grant select on shared.t to public;
         set role victim;
         create function shared.f() returns varchar language sql as $$ select t.text from shared.t t $$;
         reset role; create sequence ran; grant usage on sequence ran to public;
         select http.route('POST', '/f', 'shared.f', role => 'victim')",
    );
    assert_eq!(platform.post("/f", "text/plain", b"").text(), "victim's");
    let before = platform.workers("executor");
    platform.sql("select pg_terminate_backend(pid) from http.workers where kind = 'executor'");
    wait_for("another executor", || {
        let now = platform.workers("executor");
        !now.is_empty() && now.iter().all(|pid| !before.contains(pid))
    });
    let reply = thread::scope(|scope| {
        let mut session = platform.session();
        session.batch_execute("begin; lock table shared.t").unwrap();
        let waiting = scope.spawn(|| platform.post("/f", "text/plain", b""));
        wait_for("it waits for the table", || platform.count("pg_locks where not granted") > 0);
        platform.sql(
            "drop function shared.f(); set role evil;
             create function shared.f() returns varchar language plpgsql immutable as
               $$ begin perform nextval('public.ran'); return 'evil''s'; end $$",
        );
        session.batch_execute("commit").unwrap();
        waiting.join().expect("no panic")
    });
    assert!(reply.status == 500 && reply.text().contains("shared.f is evil's now"), "{}", reply.text());
    let ran = platform.value("select is_called from ran");
    assert_eq!(ran.as_deref(), Some("f"), "it was evaluated as victim");
}

/// How long it takes to register a hundred routes.
fn register_hundred(platform: &Platform, begin: usize) -> Duration {
    let statement = format!(
        "select http.route('GET', '/route' || n || '/{{id}}', 'constant') from generate_series({begin}, {begin} + 99) n"
    );
    let start = Instant::now();
    platform.sql(&statement);
    start.elapsed()
}

#[test]
fn what_a_route_costs_to_register_hardly_grows_with_their_number() {
    let platform = Platform::start();
    platform.sql("create function constant(id int) returns int language sql return id");
    let first = register_hundred(&platform, 0).min(register_hundred(&platform, 100));
    platform.sql(
        "insert into http.route (method, pattern, function, role, search_path)
         select 'GET', '/before' || n || '/{id}', r.function, r.role, r.search_path
         from http.route r, generate_series(1, 3000) n where r.pattern = '/route0/{id}'",
    );
    let last = register_hundred(&platform, 200).min(register_hundred(&platform, 300));
    bounds::REGISTERED_AMONG_MANY.check_against(last, first * 10);
}

#[test]
fn a_type_before_postgresqls_own_in_the_search_path_takes_no_route_down() {
    let platform = Platform::start();
    platform.sql(
        "create schema open; create function open.greet(name text) returns text language plpgsql as
           $$ begin return 'Hello ' || name; end $$;
         grant usage on schema open to public;
         select http.route('GET', '/greet/{name}', 'open.greet', search_path => 'open, pg_catalog')",
    );
    assert_eq!(platform.get("/greet/you").text(), "Hello you");
    platform.sql("create domain open.text as pg_catalog.text");
    let reply = platform.get("/greet/you");
    assert_eq!((reply.status, reply.text().as_str()), (200, "Hello you"));
}

#[test]
fn a_function_of_a_very_long_body_is_known_to_read_the_path() {
    let platform = Platform::start();
    let array = vec!["'x'"; 4000].join(", ");
    platform.sql(&format!(
        "create function long() returns text language sql stable
         begin atomic select concat(http.path_value('id'), ' ', cardinality(array[{array}])); end;
         select http.route('GET', '/long/{{id}}', 'long')"
    ));
    let size = platform
        .value("select (length(prosqlbody::text) > 200000)::text from pg_proc where proname = 'long'");
    assert_eq!(size.as_deref(), Some("true"));
    for id in 1..4 {
        assert_eq!(platform.get(&format!("/long/{id}")).text(), format!("{id} 4000"));
    }
    // Its plan is analysed anew.
    platform.sql("alter function long() cost 200");
    assert_eq!(platform.get("/long/5").text(), "5 4000");
}
