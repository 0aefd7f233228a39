//! Queues that are named by text: where another's queue has the name, its row type's code does not run as the role of a
//! listener, nor as that of routes.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};

use cluster::postgres::Client;
use howdah_tests::traps::{ran_as, set_up};
use howdah_tests::{Platform, free_port, wait_for};
use serde_json::{Value, json};

/// `mallory` is in howdah_admin, too, and has a row type whose domain notes who sends; `shop` is a role of the superuser's.
const ROLES: &str = "
    grant howdah_admin to mallory; create role shop; create role clerk; grant shop to admin;
    create sequence evil.shop; grant all on all sequences in schema evil to public;
    set role mallory;
    create domain evil.d as text check (evil.trap(value)); create type evil.t as (a evil.d);
    reset role;
    create type good as (a text)";

/// A queue of a role, to which `shop` may send.
fn create(role: &str, queue: &str, row_type: &str) -> String {
    format!(
        "set role {role}; select queue.create('{queue}', '{row_type}'), queue.grant('{queue}', 'send', 'shop'),
           queue.grant('{queue}', 'take', 'shop'); reset role"
    )
}

fn start() -> (Platform, Client) {
    let platform = Platform::start();
    let mut session = platform.session();
    set_up(&mut session);
    session.batch_execute(ROLES).unwrap();
    (platform, session)
}

fn connect(port: u16) -> TcpStream {
    TcpStream::connect(("127.0.0.1", port)).unwrap()
}

/// Sends one line by the acknowledged protocol; what the server says to the hello.
fn greet(port: u16) -> Value {
    let mut stream = connect(port);
    stream.write_all(b"{\"$hello\": {\"producer\": \"p\", \"v\": 1}}\n").unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    let mut said = String::new();
    stream.read_to_string(&mut said).unwrap();
    serde_json::from_str(said.lines().next().unwrap_or("null")).unwrap()
}

#[test]
fn a_listener_stores_nothing_in_a_queue_that_is_somebody_elses_by_now() {
    let (platform, mut session) = start();
    let port = free_port();
    session.batch_execute(&create("admin", "orders", "good")).unwrap();
    session
        .batch_execute(&format!(
            "select queue.listen({port}, 'orders', role => 'shop', address => '127.0.0.1')"
        ))
        .unwrap();
    let view = |column: &str| {
        platform.value(&format!("select {column}::text from queue.listeners where port = {port}"))
    };
    wait_for("the port takes lines", || view("bound").is_some());
    let mut plain = connect(port);
    plain.write_all(b"{\"a\": \"1\"}\n").unwrap();
    let rows = |count: &str| {
        wait_for("rows", || {
            platform.value("select queue_length::text from queue.metrics('orders')").unwrap() == count
        });
    };
    rows("1");
    session.batch_execute("select queue.drop_queue('orders')").unwrap();
    session.batch_execute(&create("mallory", "orders", "evil.t")).unwrap();
    plain.write_all(b"{\"a\": \"2\"}\n").unwrap();
    wait_for("the view says so", || view("failing").as_deref() == Some("true"));
    assert_eq!(view("code").as_deref(), Some("42501"));
    let error = view("error").unwrap();
    assert!(error.contains("queue orders is mallory's now, and was admin's when"), "{error}");
    let said = greet(port);
    assert_eq!(said["$error"]["code"], "42501", "{said}");
    assert_eq!(ran_as(&mut session), [""; 0]);
    // The same owner's goes on, and so does that of whoever might listen so.
    for owner in ["admin", "postgres"] {
        session.batch_execute("select queue.drop_queue('orders')").unwrap();
        session.batch_execute(&create(owner, "orders", "good")).unwrap();
        if owner == "admin" {
            rows("1");
        }
        assert_eq!(greet(port)["$hello"]["v"], json!(1), "{owner}");
    }
    // Who listens anew says that it is right.
    session.batch_execute("select queue.drop_queue('orders')").unwrap();
    session.batch_execute(&create("mallory", "orders", "evil.t")).unwrap();
    session
        .batch_execute(&format!(
            "select queue.listen({port}, 'orders', role => 'shop', address => '127.0.0.1')"
        ))
        .unwrap();
    plain.write_all(b"{\"a\": \"3\"}\n").unwrap();
    rows("1");
    assert_eq!(ran_as(&mut session), ["shop"]);
}

#[test]
fn routes_of_another_role_than_howdah_web_serve_the_queues_of_who_may_become_it() {
    let (platform, mut session) = start();
    session
        .batch_execute(
            "select queue.serve(), queue.serve('/shop', role => 'shop');
             grant usage on schema evil to howdah_web",
        )
        .unwrap();
    for (owner, queue, row_type) in
        [("mallory", "trap", "evil.t"), ("admin", "orders", "good"), ("postgres", "bills", "good")]
    {
        session.batch_execute(&create(owner, queue, row_type)).unwrap();
    }
    let mut client = platform.connect();
    let mut post = |path: &str, body: &str| {
        let response =
            client.request("POST", path, &[("content-type", "application/x-ndjson")], body.as_bytes());
        (response.status, String::from_utf8_lossy(&response.body).into_owned())
    };
    for path in ["trap", "trap/read", "trap/take", "trap/ack?batch=1-1:1"] {
        let (status, body) =
            post(&format!("/shop/{path}"), if path == "trap" { "{\"a\": \"1\"}" } else { "" });
        assert_eq!(status, 403, "{path}: {body}");
    }
    assert_eq!(ran_as(&mut session), [""; 0]);
    for queue in ["orders", "bills"] {
        let (status, body) = post(&format!("/shop/{queue}"), "{\"a\": \"1\"}");
        assert_eq!(status, 200, "{queue}: {body}");
        let (status, body) = post(&format!("/shop/{queue}/take"), "");
        assert!(status == 200 && body.contains("\"1\""), "{queue}: {status} {body}");
    }
    // Whoever may register routes may register them for howdah_web.
    session
        .batch_execute("set role mallory; select queue.grant('trap', 'send', 'howdah_web'); reset role")
        .unwrap();
    assert_eq!(post("/queues/trap", "{\"a\": \"1\"}").0, 200);
    assert_eq!(ran_as(&mut session), ["howdah_web"]);
}
