//! The machine has no memory left for a process: what it was doing fails, and nobody else notices.

use howdah_tests::{MemoryFaults, Platform, wait_for};

/// A text, a form and a line that need much more memory than they have bytes.
const SCHEMA: &str = "
    create table huge (text text, form text); alter table huge alter text set storage external, alter form set storage external;
    insert into huge values (repeat('<', 24 << 20), 'a=' || repeat('%3C', 8 << 20));
    create type job as (id bigint, note text);
    select queue.create('jobs', 'job'), queue.create('messages');
    create function pid() returns int language sql as 'select pg_backend_pid()';
    create function limited(megabytes int) returns void language sql as
      'select limit_memory(null), limit_memory(megabytes::bigint << 20)';
    create function field(megabytes int) returns int language plpgsql as
      $$ begin perform limited(megabytes); return length(http.form_value('a')); end $$;
    create function fields(megabytes int) returns int language plpgsql as
      $$ begin perform limited(megabytes);
         return (select sum(length(http.escape(value))) from unnest(http.form_values('a')) value); end $$;
    select http.route('GET', '/pid', 'pid'), http.route('POST', '/field', 'field'), http.route('POST', '/fields', 'fields')";

/// MiB: from too little for anything to too much to fail.
const LIMITS: &[u32] = if cfg!(feature = "long") {
    &[2, 10, 25, 35, 50, 60, 75, 100, 125, 150, 175, 200]
} else {
    &[2, 35, 75, 150]
};

#[test]
fn a_session_without_memory_gets_an_error_and_the_server_goes_on() {
    let platform = Platform::start();
    let _faults = MemoryFaults::install(&platform);
    platform.sql(SCHEMA);
    let began = platform.began();
    for call in [
        "select length(http.escape(text)) from huge",
        "select queue.create(text) from huge",
        "select http.header_value(text) from huge",
        "select http.cookie_text('a', text, '/', null, null, true, true, 'Lax') from huge",
        "select http.route('GET', '/' || text, 'pid') from huge",
        "select http.set_status(text) from huge",
        "select queue.put_lines('jobs', convert_to('{\"id\": 1, \"note\": \"' || text || '\"}', 'utf8')) from huge",
        "select queue.send('messages', to_jsonb(text)) from huge",
        "select queue.put('jobs', row(1, text)::job) from huge",
    ] {
        let mut without = platform.session();
        // All that the call needs besides memory is there when it is called.
        let _ = without.batch_execute(&format!("begin; {call}; rollback"));
        let _ = without.batch_execute("rollback");
        let mut tried = 0;
        for more in LIMITS {
            let limited = format!("select limit_memory(null), limit_memory({more} << 20)");
            without.batch_execute(&limited).expect("a limit of memory");
            let result = without.batch_execute(&format!("begin; {call}; rollback"));
            if let Err(error) = result {
                assert!(error.code().is_some(), "{call} with {more} MiB more ended the session: {error}");
                tried += usize::from(error.code().is_some_and(|code| code.code() == "53200"));
                without.batch_execute("rollback").expect("the session goes on");
            }
        }
        println!("{tried} times out of memory: {call}");
    }
    assert_eq!(platform.began(), began);
    assert_eq!(platform.log().matches("database system is ready").count(), 1, "the server has restarted");
}

#[test]
fn a_worker_without_memory_fails_one_request_and_the_server_goes_on() {
    let platform = Platform::with(&[("howdah.max_body", "64MB"), ("howdah.max_executors", "2")]);
    let _faults = MemoryFaults::install(&platform);
    platform.sql(SCHEMA);
    let began = platform.began();
    let kind = "application/x-www-form-urlencoded";
    for length in [1 << 20, 4 << 20, 8 << 20] {
        let body = [b"a=".to_vec(), b"%3C".repeat(length)].concat();
        for more in [2, 10, 20, 30, 40, 50, 80] {
            let path = format!("{}?megabytes={more}", ["/field", "/fields"][more / 10 % 2]);
            let reply = platform.post(&path, kind, &body);
            assert!([200, 502, 503].contains(&reply.status), "{} {}", reply.status, reply.text());
            wait_for("requests are served", || platform.get("/pid").status == 200);
        }
    }
    assert_eq!(platform.began(), began);
    assert_eq!(platform.log().matches("database system is ready").count(), 1, "the server has restarted");
}
