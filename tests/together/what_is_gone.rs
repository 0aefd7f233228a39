//! A route or a listener whose role or function is gone runs nothing, and says so; it answers again when all is back.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use howdah_tests::{Platform, Reply, wait_for};

const EXECUTORS: usize = 4;

fn platform() -> Platform {
    let executors = EXECUTORS.to_string();
    let platform =
        Platform::with(&[("howdah.min_executors", &executors), ("howdah.max_executors", &executors)]);
    wait_for("the executors", || platform.workers("executor").len() == EXECUTORS);
    platform
}

/// Has every executor run something.
fn reach_all(platform: &Platform) {
    for mut connection in platform.post_at_once("/slow", EXECUTORS * 2) {
        assert_eq!(connection.read_reply(false).expect("an answer").status, 204);
    }
}

/// Asks in all executors at once, often.
fn ask_everywhere(platform: &Platform, path: &str) -> Vec<Reply> {
    std::thread::scope(|threads| {
        let clients: Vec<_> = (0..EXECUTORS * 2)
            .map(|_| {
                threads.spawn(|| {
                    let mut connection = platform.connect();
                    (0..10).map(|_| connection.request("GET", path, &[], b"")).collect::<Vec<_>>()
                })
            })
            .collect();
        clients.into_iter().flat_map(|client| client.join().unwrap()).collect()
    })
}

fn broken(platform: &Platform, pattern: &str) -> Option<String> {
    platform.value(&format!("select broken from http.stats where pattern = '{pattern}'"))
}

#[test]
fn a_function_that_is_gone_is_marked_and_logged_once_and_answers_again_when_it_is_back() {
    let platform = platform();
    let function = "create function answer() returns text language sql stable return 'here'";
    platform.sql(&format!(
        "{function};
         create function slow() returns void language sql volatile begin atomic select pg_sleep(0.1); end;
         create table things (name text); insert into things values ('thing'); grant select on things to howdah_web;
         select http.route('POST', '/slow', 'slow'), http.route('GET', '/it', 'answer'),
                http.handle('select name from things, request where path = ''/things''', name => 'things')"
    ));
    for reply in ask_everywhere(&platform, "/it").iter().chain(&ask_everywhere(&platform, "/things")) {
        assert_eq!(reply.status, 200, "{}", reply.text());
    }
    assert_eq!((broken(&platform, "/it"), broken(&platform, "things")), (None, None));
    platform.sql("drop function answer(); drop table things");
    let complaints = |of: &str| platform.log().matches(&format!("howdah cannot serve {of}")).count();
    for (path, pattern, title, reason) in [
        ("/it", "/it", "GET /it", "function \"public.answer()\" does not exist"),
        ("/things", "things", "handler things", "relation \"things\" does not exist"),
    ] {
        for round in 0..5 {
            reach_all(&platform);
            for reply in ask_everywhere(&platform, path) {
                assert_eq!(reply.status, 500, "{}", reply.text());
                let detail = format!("{title} cannot be served: {reason}");
                assert_eq!(reply.json()["detail"].as_str(), Some(&*detail));
            }
            // Any change of a catalog lets each process try again.
            platform.sql(&format!("create table other_{pattern}_{round} ()").replace('/', ""));
        }
        assert_eq!(broken(&platform, pattern).as_deref(), Some(reason));
        assert_eq!(complaints(title), 1, "{}", platform.log());
        let errors =
            platform.log().lines().filter(|line| line.contains("ERROR") && line.contains(reason)).count();
        assert_eq!(errors, 0, "{}", platform.log());
    }

    platform.sql(function);
    platform.sql("create table things (name text); insert into things values ('thing'); grant select on things to howdah_web");
    for path in ["/it", "/things"] {
        assert!(ask_everywhere(&platform, path).iter().all(|reply| reply.status == 200), "{path}");
    }
    assert_eq!((broken(&platform, "/it"), broken(&platform, "things")), (None, None));
    wait_for("it runs in the gateway again", || {
        ask_everywhere(&platform, "/it");
        let inline = "select inline from http.stats where pattern = '/it'";
        let before = platform.value(inline);
        ask_everywhere(&platform, "/it");
        platform.value(inline) > before
    });
    // What breaks again is told again.
    platform.sql("drop function answer()");
    assert!(ask_everywhere(&platform, "/it").iter().all(|reply| reply.status == 500));
    assert_eq!(complaints("GET /it"), 2);
}

/// What a role owns and runs: a route, a handler, a listener, a queue, a right to another.
const CLERK: &str = "
    create role clerk; create role bystander;
    create function who() returns text language sql stable return current_user;
    create table lines (line text); grant insert on lines to clerk;
    select queue.create('bips'); select queue.create('others');
    select http.route('GET', '/who', 'who', role => 'clerk'),
           http.route('POST', '/who', 'who', role => 'clerk'),
           http.handle('select current_user::text', name => 'who', role => 'clerk')";

#[test]
fn a_role_that_something_runs_as_cannot_be_dropped() {
    let platform = platform();
    platform.sql(CLERK);
    let refusal = |role: &str| -> Option<String> {
        let error = platform.session().batch_execute(&format!("drop role {role}")).err()?;
        let error = error.as_db_error().expect("an error of the server's");
        assert_eq!(error.code().code(), "2BP01", "{error:?}");
        let mut detail: Vec<_> = error.detail().unwrap_or_default().lines().map(str::to_owned).collect();
        detail.sort();
        Some(detail.join(", "))
    };
    let all = "privileges for column role of table http.handler, privileges for column role of table http.route, \
               privileges for table lines";
    assert_eq!(refusal("clerk").as_deref(), Some(all));
    platform.sql("revoke all on lines from clerk; select http.unroute('GET', '/who'), http.unhandle('who')");
    assert_eq!(refusal("clerk").as_deref(), Some("privileges for column role of table http.route"));
    // Neither what fails nor what only takes rights away changes that.
    let session = &mut platform.session();
    session.batch_execute("begin; delete from http.route; rollback").unwrap();
    session.batch_execute("drop owned by clerk").unwrap();
    assert_eq!(refusal("clerk").as_deref(), Some("privileges for column role of table http.route"));
    // Another database says how many there are.
    let outside = platform.cluster.connect("postgres").unwrap().batch_execute("drop role clerk").unwrap_err();
    assert_eq!(outside.as_db_error().and_then(|error| error.detail()), Some("1 object in database app"));

    let port = howdah_tests::free_port();
    platform.sql(&format!(
        "select http.route('POST', '/who', 'who', role => 'bystander'),
                queue.listen({port}, into_table => 'lines', role => 'clerk', address => '127.0.0.1')"
    ));
    assert_eq!(refusal("clerk").as_deref(), Some("privileges for column role of table queue.listener"));
    platform.sql(&format!("select queue.unlisten({port}); select queue.grant('bips', 'send', 'clerk')"));
    assert_eq!(refusal("clerk").as_deref(), Some("privileges for column role of table queue.permission"));
    platform.sql("select queue.revoke('bips', 'send', 'clerk')");
    assert_eq!((refusal("clerk"), refusal("bystander").is_some()), (None, true));
    platform.sql("truncate http.route");
    assert_eq!(refusal("bystander"), None);
    platform.sql("drop extension howdah cascade");
    let left =
        "pg_shdepend where dbid = (select oid from pg_database where datname = 'app') and objsubid <> 0";
    assert_eq!(platform.count(left), 0);
}

/// A catalog that somebody has had his hands in.
const DROP: &str = "delete from pg_shdepend where refobjid = 'clerk'::regrole;
    revoke all on lines from clerk; drop role clerk";

#[test]
fn nothing_runs_as_a_role_that_is_gone() {
    let platform = platform();
    platform.sql(CLERK);
    let port = howdah_tests::free_port();
    platform.sql(&format!(
        "select queue.listen({port}, into_table => 'lines', role => 'clerk', address => '127.0.0.1')"
    ));
    // In the gateway as well.
    wait_for("it runs in the gateway", || {
        assert_eq!(platform.get("/who").text(), "clerk");
        platform
            .value("select inline > 0 from http.stats where pattern = '/who' and method = 'GET'")
            .as_deref()
            == Some("t")
    });
    assert_eq!(platform.get("/other").text(), "clerk");
    let number = platform.value("select 'clerk'::regrole::oid").expect("a role");
    let over = AtomicBool::new(false);
    std::thread::scope(|threads| {
        // Requests come while the role is dropped.
        let clients: Vec<_> = ["/who", "/other"]
            .map(|path| {
                let (platform, over) = (&platform, &over);
                threads.spawn(move || {
                    let mut connection = platform.connect();
                    let mut refused = 0;
                    while !over.load(Relaxed) {
                        let reply = connection.request("GET", path, &[], b"");
                        match reply.status {
                            200 => assert_eq!((refused, reply.text()), (0, "clerk".into())),
                            500 => refused += 1,
                            _ => panic!("{}", reply.text()),
                        }
                    }
                    refused
                })
            })
            .into();
        platform.sql(DROP);
        for path in ["/who", "/other"] {
            for reply in ask_everywhere(&platform, path) {
                assert_eq!(reply.status, 500, "{}", reply.text());
            }
        }
        over.store(true, Relaxed);
        assert!(clients.into_iter().all(|client| client.join().unwrap() > 0));
    });
    assert_eq!(platform.post("/who", "text/plain", b"").status, 500);
    let reason = format!("role with OID {number} does not exist");
    for pattern in ["/who", "who"] {
        assert_eq!(broken(&platform, pattern).as_deref(), Some(&*reason));
    }
    for title in ["GET /who", "POST /who", "handler who"] {
        assert_eq!(platform.log().matches(&format!("howdah cannot serve {title}: {reason}")).count(), 1);
    }

    // Lines of such a listener are not written, and not lost.
    let mut shipper = std::net::TcpStream::connect(("127.0.0.1", port)).unwrap();
    std::io::Write::write_all(&mut shipper, b"{\"line\": \"one\"}\n").unwrap();
    wait_for("the listener says why", || {
        platform.value(&format!("select error from queue.listeners where port = {port}")).as_deref()
            == Some(&*reason)
    });
    assert_eq!(platform.count("lines"), 0);
    platform.sql("create role clerk; grant insert on lines to clerk");
    platform.sql(&format!(
        "select http.route('GET', '/who', 'who', role => 'clerk'),
                http.handle('select current_user::text', name => 'who', role => 'clerk'),
                queue.listen({port}, into_table => 'lines', role => 'clerk', address => '127.0.0.1')"
    ));
    assert_eq!(
        (platform.get("/who").text(), platform.get("/other").text()),
        ("clerk".into(), "clerk".into())
    );
    wait_for("the line is written", || platform.count("lines") == 1);
}
