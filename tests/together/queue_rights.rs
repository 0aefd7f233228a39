//! Who may do what with a queue.

use howdah_tests::queues::{Queues, error};
use howdah_tests::wait_for;

const ROLES: &str = "
    create role owner nologin; create role sender nologin; create role taker nologin; create role keeper nologin;
    grant howdah_admin to owner;
    set role owner;
    create schema if not exists mine";

fn queues() -> Queues {
    let queues = Queues::start();
    queues.sql("grant create on database postgres to public");
    queues.sql(&ROLES.replace("set role owner;", ""));
    queues.sql("set role owner; select queue.create('jobs'), queue.create('rows', 't_bip')");
    queues
}

#[test]
fn a_queue_is_its_owners_until_it_is_granted() {
    let queues = queues();
    let send = "select queue.send('jobs', '{}')";
    let pop = "select queue.pop('jobs')";
    let purge = "select queue.purge_queue('jobs')";
    let statements = [send, pop, purge];
    let allowed = |role: &str| -> Vec<bool> {
        let mut session = queues.session();
        session.batch_execute(&format!("set role {role}")).unwrap();
        statements
            .map(|statement| match session.batch_execute(statement) {
                Ok(()) => true,
                Err(error) => {
                    assert_eq!(error.code().map(|code| code.code()), Some("42501"), "{error}");
                    false
                }
            })
            .to_vec()
    };
    assert_eq!(allowed("owner"), [true, true, true]);
    assert_eq!(allowed("sender"), [false, false, false]);
    queues.sql(
        "set role owner;
         select queue.grant('jobs', 'send', 'sender'), queue.grant('jobs', 'take', 'taker'),
                queue.grant('jobs', 'manage', 'keeper')",
    );
    assert_eq!(allowed("sender"), [true, false, false]);
    assert_eq!(allowed("taker"), [false, true, false]);
    assert_eq!(allowed("keeper"), [true, true, true]);
    queues.sql("set role owner; select queue.revoke('jobs', 'send', 'sender')");
    assert_eq!(allowed("sender"), [false, false, false]);
    let mut session = queues.session();
    session.batch_execute("set role keeper").unwrap();
    assert!(error(&mut session, "select queue.drop_queue('jobs')").starts_with("42501"));
    session.batch_execute("set role owner; select queue.drop_queue('jobs')").unwrap();
}

/// What may be called with which right. `jobs` is a queue of messages, `rows` one of typed rows.
const NEEDS: &[(&str, &[&str])] = &[
    (
        "send",
        &[
            "send('jobs', '{}')",
            "send_batch('jobs', array['{}']::jsonb[])",
            "put('rows', row(null, 1, 1, 1, '', '')::t_bip)",
            "put('rows', array[row(null, 1, 1, 1, '', '')::t_bip])",
            "put('rows', array[row(null, 1, 1, 1, '', '')::t_bip], 'p', 1, 1)",
            "put_lines('jobs', '{}')",
            "http_send('rows', '{}')",
        ],
    ),
    (
        "take",
        &[
            "take('rows', 1, null::t_bip)",
            "take_with_poll('rows', 1, '1 ms', null::t_bip)",
            "read('rows', 1, '1 s', null::t_bip)",
            "read_with_poll('rows', 1, '1 s', '1 ms', null::t_bip)",
            "peek('rows', 1, null::t_bip)",
            "ack('rows', 1)",
            "nack('rows', 1)",
            "read('jobs', 1, 1)",
            "read_with_poll('jobs', 1, 1, 0)",
            "pop('jobs')",
            "peek('jobs')",
            "delete('jobs', 1)",
            "archive('jobs', 1)",
            "set_vt('jobs', 1, 1)",
            "arrivals('jobs')",
            "ack_batch('jobs', '1-1:1')",
            "http_ack('jobs', '1-1:1')",
            "answer_later('jobs', 0, 1)",
            "read_as_json('rows', 1, '1 s')",
            "rows_as_json('rows', 1, true, '1 s')",
            "http_read('jobs')",
            "http_take('rows')",
        ],
    ),
    (
        "manage",
        &[
            "purge_queue('jobs')",
            "maintain('jobs')",
            "redrive('jobs')",
            "discard_dead_letters('jobs')",
            "producers('jobs')",
            "forget_producer('jobs', 'p')",
            "grant('jobs', 'send', 'sender')",
            "revoke('jobs', 'send', 'sender')",
        ],
    ),
    ("own", &["drop_queue('jobs')"]),
];

#[test]
fn every_function_asks_for_its_right() {
    let queues = queues();
    queues.sql(
        "create role stranger nologin;
         select queue.grant(name, 'send', 'sender'), queue.grant(name, 'take', 'taker'),
                queue.grant(name, 'manage', 'keeper')
         from queue.queue",
    );
    let roles: [(&str, &[&str]); 5] = [
        ("stranger", &[]),
        ("sender", &["send"]),
        ("taker", &["take"]),
        ("keeper", &["send", "take", "manage"]),
        ("owner", &["send", "take", "manage", "own"]),
    ];
    for (role, rights) in roles {
        let mut session = queues.session();
        let mut may = |call: &str| {
            session.batch_execute(&format!("begin; set local role {role}")).unwrap();
            let called = session.batch_execute(&format!("select queue.{call}"));
            session.batch_execute("rollback").unwrap();
            called.map_err(|error| {
                let code = error.code().map(|code| code.code().to_owned());
                assert_eq!(code.as_deref(), Some("42501"), "{role}, {call}: {error:?}");
            })
        };
        for (right, calls) in NEEDS {
            for call in *calls {
                assert_eq!(may(call).is_ok(), rights.contains(right), "{role}, {call}");
            }
        }
        assert_eq!(may("metrics('jobs')").is_ok(), !rights.is_empty(), "{role}");
    }
}

/// Functions for which no right is asked, as they tell what everybody may know, or for which any right is enough.
const WITHOUT: &[&str] = &["allows", "check_owner", "list_queues", "metrics", "metrics_all"];

#[test]
fn every_function_that_anybody_may_call_is_in_the_list_of_rights() {
    let queues = queues();
    let mut session = queues.session();
    let query = "select distinct proname::text from pg_proc
                 where pronamespace = 'queue'::regnamespace and prokind <> 't' and has_function_privilege('howdah_web', oid, 'execute')
                   and prorettype not in ('trigger'::regtype, 'event_trigger'::regtype)";
    let functions: Vec<String> = session.query(query, &[]).unwrap().iter().map(|row| row.get(0)).collect();
    let listed: Vec<&str> =
        NEEDS.iter().flat_map(|(_, calls)| *calls).filter_map(|call| call.split('(').next()).collect();
    let missing: Vec<_> = functions
        .iter()
        .filter(|name| !listed.contains(&name.as_str()) && !WITHOUT.contains(&name.as_str()))
        .collect();
    assert!(missing.is_empty(), "in neither list: {missing:?}");
    let gone: Vec<_> = WITHOUT.iter().filter(|name| !functions.iter().any(|known| known == *name)).collect();
    assert!(gone.is_empty(), "they need not be in the list: {gone:?}");
}

#[test]
fn nobody_else_touches_the_tables() {
    let queues = queues();
    let mut session = queues.session();
    session.batch_execute("set role owner").unwrap();
    for statement in [
        "select * from queue.rows_1_1",
        "delete from queue.ledger_1_1",
        "truncate queue.rows_2_1",
        "insert into queue.queue (name, owner, is_unlogged) values ('x', 'owner', false)",
        "insert into queue.permission values (1, 'owner', 'manage')",
        "select * from queue.dead_letter",
        "select * from queue.progress",
        "select queue.make('x', null, 'owner', false, null)",
        "select queue.unmake(1)",
        "select queue.exhume(1, null, 1)",
        "drop table queue.rows_2_1",
    ] {
        let error = error(&mut session, statement);
        assert!(error.starts_with("42501"), "{statement}: {error}");
    }
}

#[test]
fn what_runs_as_the_owner_of_the_extension_is_nobody_elses_to_choose() {
    let queues = queues();
    let mut session = queues.session();
    session
        .batch_execute(
            "set role owner; create schema trap; grant usage on schema trap to public;
             create function trap.format_type(oid, integer) returns text language plpgsql as
               'begin raise exception ''caught as %'', current_user; end';
             create function trap.now() returns timestamptz language plpgsql as
               'begin raise exception ''caught as %'', current_user; end';
             set search_path = trap, pg_catalog, public",
        )
        .unwrap();
    session
        .batch_execute(
            "select queue.create('more', 'public.t_bip', max_reads => 1);
             select queue.grant('more', 'send', 'sender');
             select queue.put('more', row(null, 1, 1, 1, 'b', 'u')::public.t_bip);
             select queue.drop_queue('more')",
        )
        .unwrap();
    assert_eq!(
        session.query_one("show search_path", &[]).unwrap().get::<_, &str>(0),
        "trap, pg_catalog, public"
    );
    assert_eq!(session.query_one("select current_user::text", &[]).unwrap().get::<_, &str>(0), "owner");
}

#[test]
fn a_function_of_somebody_acts_with_its_owners_rights() {
    let queues = queues();
    queues.sql(
        "set role owner;
         create schema if not exists api; grant usage on schema api to public;
         create function api.enqueue(message jsonb) returns bigint language sql security definer
         as $$ select queue.send('jobs', message) $$",
    );
    queues.sql("set role sender; select api.enqueue('{}')");
    let mut session = queues.session();
    session.batch_execute("set role sender").unwrap();
    assert!(error(&mut session, "select queue.send('jobs', '{}')").starts_with("42501"));
}

#[test]
fn a_form_for_the_other_kind_of_queue_names_the_right_one() {
    let queues = queues();
    for (statement, names) in [
        ("select queue.send('rows', '{}')", "queue.put(name, row)"),
        ("select queue.pop('rows')", "queue.take(name, qty, null::row_type)"),
        ("select queue.read('rows', 1, 1)", "queue.read(name, qty, vt, null::row_type)"),
        ("select queue.send_batch('rows', array['{}']::jsonb[])", "queue.put(name, row)"),
        ("select queue.delete('rows', 1)", "queue.ack(name, msg_id, read_ct)"),
        ("select queue.delete('rows', array[1])", "queue.ack(name, msg_id, read_ct)"),
        ("select queue.archive('rows', 1)", "queue.ack(name, msg_id, read_ct)"),
        ("select queue.set_vt('rows', 1, 1)", "queue.nack(name, msg_id, delay, read_ct)"),
        ("select queue.ack('jobs', 1)", "queue.delete(name, msg_id, read_ct)"),
        ("select queue.ack('jobs', array[1])", "queue.delete(name, msg_id, read_ct)"),
        ("select queue.nack('jobs', 1)", "queue.set_vt(name, msg_id, vt, read_ct)"),
        ("select queue.put('jobs', row(null,1,1,1,'','')::t_bip)", "queue.send('jobs'"),
        ("select queue.take('jobs', 1, null::t_bip)", "queue.pop(name, qty)"),
        ("select queue.read('jobs', 1, '1 s', null::t_bip)", "queue.read(name, vt, qty)"),
        ("select queue.peek('jobs', 1, null::t_bip)", "queue.peek(name, qty)"),
        (
            "select queue.read_with_poll('rows', 30, 1)",
            "queue.read_with_poll(name, qty, vt, max_poll, null::row_type)",
        ),
        (
            "select queue.read_with_poll('jobs', 1, '1 s', '1 s', null::t_bip)",
            "queue.read_with_poll(name, vt, qty, max_poll_seconds)",
        ),
        (
            "select queue.take_with_poll('jobs', 1, '1 s', null::t_bip)",
            "queue.read_with_poll(name, vt, qty, max_poll_seconds) and queue.delete(name, msg_id, read_ct)",
        ),
        ("select queue.take('rows', 1, null::text)", "holds rows of type t_bip, not text"),
        ("select queue.put('rows', 1)", "holds rows of type t_bip, not integer"),
        ("select queue.send('nowhere', '{}')", "there is no queue \"nowhere\""),
        ("select queue.create('x', row_type => 'integer')", "composite type"),
        ("select queue.create('rows')", "another row type"),
        ("select queue.create('')", "1 to 61 bytes"),
        ("select queue.create(repeat('x', 62))", "1 to 61 bytes"),
        ("select queue.take('rows', -1, null::t_bip)", "must not be negative"),
        ("select queue.take(null, 1, null::t_bip)", "queue_name must not be null"),
        ("select queue.grant('rows', 'steal', 'sender')", "'send', 'take' or 'manage'"),
    ] {
        let error = queues.error(statement);
        assert!(error.contains(names), "{statement}: {error}");
    }
}

#[test]
fn a_role_that_owns_a_queue_is_not_dropped() {
    let queues = Queues::empty(&[]);
    queues.sql(
        "create extension howdah; create type t_row as (id int);
         create role keeper login in role howdah_admin;",
    );
    for create in ["queue.create('typed', row_type => 't_row')", "queue.create('mail')"] {
        queues.sql(&format!("set session authorization keeper; select {create}"));
        let error = queues.error("drop role keeper");
        assert!(error.starts_with("2BP01"), "{create}: {error}");
        queues.sql("select queue.drop_queue(queue_name) from queue.list_queues()");
    }
    queues.sql("drop role keeper");
}

#[test]
fn a_queues_tables_are_not_where_the_caller_may_not_have_any() {
    let queues = queues();
    let mut session = queues.session();
    session.batch_execute("set allow_in_place_tablespaces = on").unwrap();
    session.batch_execute("create tablespace elsewhere location ''").unwrap();
    queues.sql(
        "create access method other type table handler heap_tableam_handler;
         set role owner; set default_tablespace = elsewhere; set default_table_access_method = other;
         select queue.create('moved'), queue.create('moved_rows', 't_bip')",
    );
    let moved = "select count(*) from pg_class c left join pg_am a on a.oid = c.relam
                 where c.relnamespace = 'queue'::regnamespace and (c.reltablespace <> 0 or a.amname = 'other')";
    assert_eq!(queues.number(moved), 0);
}

#[test]
fn whoever_waits_and_is_forbidden_to_take_gets_nothing() {
    let queues = queues();
    queues.sql("grant usage on schema public to public");
    const PUT: &str = "queue.put('rows', row(null, 1, 1, 1, '', '')::t_bip)";
    let calls = [
        ("jobs", "select queue.read_with_poll('jobs', 30, 1, 20)", "queue.send('jobs', '{}')"),
        ("rows", "select queue.read_with_poll('rows', 1, '30 s', '20 s', null::t_bip)", PUT),
        ("rows", "select queue.take_with_poll('rows', 1, '20 s', null::t_bip)", PUT),
    ];
    for (queue, poll, send) in calls {
        queues.sql(&format!("set role owner; select queue.grant('{queue}', 'take', 'taker')"));
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| {
                let mut session = queues.session();
                session.batch_execute("set role taker").unwrap();
                error(&mut session, poll)
            });
            let waiting = "select count(*) from pg_stat_activity where wait_event_type = 'Extension' and state = 'active'";
            wait_for("the call waits", || queues.number(waiting) == 1);
            queues.sql(&format!("set role owner; select queue.revoke('{queue}', 'take', 'taker')"));
            queues.sql(&format!("select {send}"));
            let error = waits.join().expect("an error");
            assert!(error.starts_with("42501"), "{poll}: {error}");
        });
        queues.sql(&format!("select queue.purge_queue('{queue}')"));
    }
}

#[test]
fn lines_go_into_no_table_of_a_schema_that_the_caller_may_not_use() {
    let queues = queues();
    queues.sql(
        "create schema closed; create table closed.t (id integer); grant insert on closed.t to sender;
         create view closed.v as select * from closed.t; grant insert on closed.v to sender",
    );
    for table in ["t", "v"] {
        let number = queues.number(&format!("select 'closed.{table}'::regclass::oid::bigint"));
        let mut session = queues.session();
        session.batch_execute("set role sender").unwrap();
        let put = format!(
            "select * from queue.put_lines(lines => '{{\"id\": 1}}'::text, into_table => {number}::oid::regclass)"
        );
        let error = error(&mut session, &put);
        assert!(error.starts_with("42501") && error.contains("schema closed"), "{table}: {error}");
        queues.sql("grant usage on schema closed to sender");
        session.batch_execute(&put).unwrap();
        queues.sql("revoke usage on schema closed from sender");
    }
    assert_eq!(queues.number("select count(*) from closed.t"), 2);
}

#[test]
fn a_listener_without_a_role_writes_as_no_administrator() {
    let queues = queues();
    queues.sql(
        "create role member nologin; grant owner to member; alter role member noinherit; create role outsider nologin;
         grant execute on all functions in schema queue to outsider, member;
         grant execute on all functions in schema http to outsider, member;
         grant usage on schema queue, http to outsider, member;
         create table lines (id integer);
         set role owner; select queue.listen(4331, 'jobs'); select queue.listen(4332, 'jobs', role => 'owner'); reset role;
         set role member; select queue.listen(4333, into_table => 'lines'); reset role;
         set role outsider; select queue.listen(4334, into_table => 'lines')",
    );
    let mut session = queues.session();
    let rows = session.query("select port, role::text from queue.listener order by port", &[]).unwrap();
    let roles: Vec<(i32, String)> = rows.iter().map(|row| (row.get(0), row.get(1))).collect();
    let expected = [(4331, "howdah_web"), (4332, "owner"), (4333, "howdah_web"), (4334, "outsider")];
    assert_eq!(roles, expected.map(|(port, role)| (port, role.to_owned())));
    assert_eq!(
        queues.number("select count(*) from queue.permission where role = 'howdah_web'::regrole"),
        1,
        "who may manage the queue lets howdah_web send"
    );
}

#[test]
fn what_the_owner_of_the_extension_grants_by_default_opens_no_queue() {
    let queues = queues();
    queues.sql(
        "create role reader; create role \"Odd reader\"; grant usage on schema queue to reader;
         alter default privileges grant all on tables to reader, \"Odd reader\", public;
         set role owner; select queue.create('mail'), queue.create('typed', 't_bip')",
    );
    let open = "select count(*) from pg_class c, aclexplode(c.relacl) a
                where c.relnamespace = 'queue'::regnamespace and c.relname ~ '^(a_mail|rows_[34]_.|ledger_[34]_.)$'
                  and a.grantee not in (c.relowner, 'owner'::regrole)";
    assert_eq!(queues.number(open), 0);
    queues.sql(
        "set role owner; select queue.send('mail', '{}'), queue.archive('mail', 1); delete from queue.a_mail",
    );
    queues.sql("alter default privileges revoke all on tables from reader, \"Odd reader\", public");
    assert_eq!(
        queues.number("select count(*) from pg_class where relname ~ '^(a_mail|rows_4_1|ledger_3_3)$'"),
        3
    );
}

#[test]
fn a_queue_whose_owner_was_asked_for_is_not_another_when_its_rows_are_read() {
    let queues = queues();
    for queue in ["jobs", "rows"] {
        let mut reader = queues.session();
        reader.batch_execute(&format!("set role owner; begin; select queue.check_owner('{queue}')")).unwrap();
        let drop = format!("set lock_timeout = '100ms'; select queue.drop_queue('{queue}')");
        let refused = error(&mut queues.session(), &drop);
        assert!(refused.starts_with("55P03"), "{refused}");
        reader.batch_execute("commit").unwrap();
        queues.sql(&drop);
    }
}
