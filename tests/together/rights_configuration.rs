//! Who may configure is the current user, wherever a call stands; and what is registered is looked at as whom it will run.

use cluster::postgres::Client;
use howdah_tests::queues::{Queues, error, number};
use howdah_tests::traps::{ran_as, set_up};
use howdah_tests::{Platform, wait_for};

fn queues() -> (Queues, Client) {
    let queues = Queues::empty(&[]);
    let mut session = queues.session();
    session.batch_execute("create extension howdah").unwrap();
    set_up(&mut session);
    (queues, session)
}

#[test]
fn a_handlers_statement_is_analysed_as_the_role_that_runs_it() {
    for (role, ran) in [("howdah_web", "howdah_web"), ("admin", "admin")] {
        let (_queues, mut session) = queues();
        session
            .batch_execute(&format!(
                "set session authorization mallory; create domain evil.d as integer check (evil.trap(value));
                 set session authorization admin;
                 select http.handle('select ''{{1}}''::evil.d[]::text from request', role => '{role}')"
            ))
            .unwrap();
        session.batch_execute("reset session authorization").unwrap();
        assert_eq!(ran_as(&mut session), [ran]);
        assert_eq!(number(&mut session, "select count(*) from http.handler"), 1);
    }
}

#[test]
fn a_handlers_statement_configures_nothing_while_it_is_analysed() {
    let (_queues, mut session) = queues();
    session
        .batch_execute(
            "set session authorization admin; create schema own;
             create function own.configure() returns boolean language plpgsql as $$
             begin perform http.listen(4321); return true; end $$;
             create function own.check(integer) returns boolean immutable language plpgsql as
               'begin return own.configure(); end';
             create domain own.d as integer check (own.check(value))",
        )
        .unwrap();
    let refused = error(
        &mut session,
        "select http.handle('select ''{1}''::own.d[]::text from request', role => 'admin')",
    );
    assert!(refused.starts_with("42501 nothing can be configured"), "{refused}");
}

/// Whatever configures, as `admin` might call it.
const CONFIGURING: [&str; 12] = [
    "http.route('GET', '/evil', 'evil.trap()', role => $superuser)",
    "http.route('GET', '/web', 'evil.trap()')",
    "http.unroute('GET', '/there')",
    "http.handle('select 1::text from request', role => $superuser)",
    "http.unhandle('there')",
    "http.listen(4322)",
    "http.unlisten(4323)",
    "queue.listen(4324, queue => 'mail', role => $superuser)",
    "queue.unlisten(4325)",
    "queue.create('made')",
    "queue.grant('mail', 'send', 'other')",
    "queue.drop_queue('mail')",
];

/// Maintenance of a table of `admin`, by whoever maintains.
const MAINTENANCE: [&str; 6] = [
    "analyze own.t",
    "reindex table own.t",
    "vacuum full own.t",
    "cluster own.t using t_pkey",
    "create index on own.t (own.trap(id))",
    "refresh materialized view own.m",
];

/// What the configuration is, as one text.
const CONFIGURED: &str = "select concat_ws(E'\\n',
    (select string_agg(r::text, ',' order by r::text) from http.route r),
    (select string_agg(r::text, ',' order by r::text) from http.handler r),
    (select string_agg(r::text, ',' order by r::text) from http.listener r),
    (select string_agg(r::text, ',' order by r::text) from queue.listener r),
    (select string_agg(r::text, ',' order by r::text) from queue.permission r),
    (select string_agg(r.name, ',' order by r.name) from queue.queue r))";

/// What `admin` attacks with: a table and a materialized view whose maintenance tries all that configures.
const ATTACK: &str = "
set role admin; create schema own; create table own.attack (call text);
select queue.create('mail'); select http.route('GET', '/there', 'evil.trap()'); reset role;
select http.handle('select 1::text from request', 'there'), http.listen(4323);
select queue.listen(4325, queue => 'mail');
set role admin;
create table own.t (id int primary key); insert into own.t select generate_series(1, 99);
create sequence own.attacks;
create function own.attack() returns integer language plpgsql as $$
declare call text;
begin
  perform nextval('own.attacks');
  for call in select a.call from own.attack a loop
    begin execute 'select ' || call; exception when others then null; end;
  end loop;
  return 1;
end $$;
create function own.trap(integer) returns integer immutable language plpgsql as
  'begin return own.attack(); end';
create index on own.t (own.trap(id));
create materialized view own.m as select own.attack();
reset role";

/// Sets the attack up. The configuration before it.
fn attack(session: &mut Client) -> String {
    let superuser: String =
        session.query_one("select rolname::text from pg_roles where oid = 10", &[]).unwrap().get(0);
    session.batch_execute(ATTACK).unwrap_or_else(|error| panic!("{error:?}"));
    let before = configured(session);
    for call in CONFIGURING {
        let call = call.replace("$superuser", &format!("'{superuser}'"));
        session.execute("insert into own.attack values ($1)", &[&call]).unwrap();
    }
    before
}

fn configured(session: &mut Client) -> String {
    session.query_one(CONFIGURED, &[]).unwrap().get(0)
}

#[test]
fn maintenance_configures_nothing() {
    let (_queues, mut session) = queues();
    let before = attack(&mut session);
    for maintenance in MAINTENANCE {
        session.batch_execute(maintenance).unwrap_or_else(|error| panic!("{maintenance}: {error:?}"));
        assert_eq!(configured(&mut session), before, "{maintenance}");
    }
}

#[test]
fn autovacuum_configures_nothing() {
    let queues = Queues::empty(&[
        ("autovacuum_naptime", "1s"),
        ("autovacuum_analyze_threshold", "1"),
        ("autovacuum_analyze_scale_factor", "0"),
    ]);
    let mut session = queues.session();
    session.batch_execute("create extension howdah").unwrap();
    set_up(&mut session);
    let before = attack(&mut session);
    let attacks = "select last_value from own.attacks";
    let tried = number(&mut session, attacks);
    // Whoever inserted would call the function, too; whoever deletes does not.
    session.batch_execute("delete from own.t where id > 50").unwrap();
    wait_for("autovacuum calls it", || number(&mut session, attacks) > tried);
    wait_for("autovacuum is done", || {
        number(
            &mut session,
            "select autoanalyze_count from pg_stat_user_tables where relid = 'own.t'::regclass",
        ) > 0
    });
    assert_eq!(configured(&mut session), before);
}

#[test]
fn a_function_of_somebody_registers_with_its_owners_rights() {
    let (_queues, mut session) = queues();
    let superuser: String =
        session.query_one("select rolname::text from pg_roles where oid = 10", &[]).unwrap().get(0);
    session
        .batch_execute(&format!(
            "create table lines (id int); select queue.create('mail');
             set role admin; create schema own; grant usage on schema own to public;
             create function own.route(role text) returns void language plpgsql security definer as
               $$ begin perform http.route('GET', '/x', 'evil.trap()', role => route.role); end $$;
             create function own.handle(role text) returns void language plpgsql security definer as
               $$ begin perform http.handle('select 1::text from request', role => handle.role); end $$;
             create function own.listen(role text) returns void language plpgsql security definer as
               $$ begin perform queue.listen(4326, into_table => 'public.lines', role => listen.role); end $$;
             reset role; select 1 as {superuser}"
        ))
        .unwrap();
    for function in ["route", "handle", "listen"] {
        let refused = error(&mut session, &format!("select own.{function}('{superuser}')"));
        assert!(refused.starts_with("42501 requests may run as"), "{function}: {refused}");
        let refused = error(&mut session, &format!("select own.{function}('other')"));
        assert!(refused.starts_with("42501 requests may run as"), "{function}: {refused}");
        session.batch_execute(&format!("select own.{function}('admin')")).unwrap();
    }
    // Nobody's rights but the owner's decide whom lines are written as; an administrator's rights never do by default.
    session
        .batch_execute(
            "grant usage on schema queue, http to other; grant execute on all functions in schema queue, http to other;
             create function own.listen_as_other() returns void language plpgsql security definer as
               $$ begin perform queue.listen(4326, into_table => 'public.lines'); end $$;
             alter function own.listen_as_other() owner to other",
        )
        .unwrap();
    for (call, default) in [("own.listen(null)", "howdah_web"), ("own.listen_as_other()", "other")] {
        session.batch_execute(&format!("select {call}")).unwrap();
        let role = session.query_one("select role::text from queue.listener", &[]).unwrap();
        assert_eq!(role.get::<_, &str>(0), default, "the default role of {call}");
    }
    // The other way round it helps whoever may not register.
    session.batch_execute("revoke execute on all functions in schema queue, http from other").unwrap();
    session.batch_execute("set session authorization other; select own.route('admin')").unwrap();
}

#[test]
fn listening_gives_nobody_a_right_to_the_queue_of_another() {
    let (_queues, mut session) = queues();
    session.batch_execute("select queue.create('mail'); grant howdah_admin to howdah_web").unwrap();
    session
        .batch_execute("set session authorization howdah_web; select queue.listen(4327, queue => 'mail')")
        .unwrap();
    assert!(error(&mut session, "select queue.send('mail', '{}')").starts_with("42501"));
    session.batch_execute("reset session authorization; select queue.listen(4327, queue => 'mail')").unwrap();
    session.batch_execute("set session authorization howdah_web; select queue.send('mail', '{}')").unwrap();
}

#[test]
fn deferred_triggers_and_policies_run_as_the_requests_role() {
    let platform = Platform::start();
    platform.sql(
        "create role app; create table seen (at text, who text); grant insert on seen to public;
         create function see() returns trigger language plpgsql as
           $$ begin insert into seen values (tg_name, current_user); return null; end $$;
         create function allow() returns boolean language plpgsql as
           $$ begin insert into seen values ('policy', current_user); return true; end $$;
         create table item (id int); grant insert, select on item to app;
         create trigger plain after insert on item for each row execute function see();
         create constraint trigger deferred after insert on item deferrable initially deferred
           for each row execute function see();
         alter table item enable row level security;
         create policy all_of_it on item with check (allow());
         create function add() returns void language sql as 'insert into item values (1)';
         select http.route('POST', '/item', 'add', role => 'app')",
    );
    assert_eq!(platform.post("/item", "text/plain", b"").status, 204);
    let seen = platform.value("select string_agg(at || ' ' || who, ', ' order by at) from seen");
    assert_eq!(seen.as_deref(), Some("deferred app, plain app, policy app"));
}

#[test]
fn an_owner_of_the_extension_that_is_no_superuser_any_more_suffices() {
    let queues = Queues::empty(&[]);
    let mut session = queues.session();
    session
        .batch_execute(
            "create role boss superuser; set session authorization boss; create extension howdah;
             reset session authorization; alter role boss nosuperuser; create role admin in role howdah_admin;
             grant create on database postgres to admin;
             set session authorization admin; create schema own; grant usage on schema own to boss;
             create type own.t as (id integer);
             create function own.hello() returns text language sql as 'select 1::text';
             select http.route('GET', '/', 'own.hello'), http.handle('select 1::text from request'), http.listen(4331);
             select queue.create('rows', 'own.t', max_reads => 1), queue.create('mail');
             select queue.grant('mail', 'send', 'howdah_web'), queue.listen(4332, queue => 'mail');
             select queue.put('rows', row(1)::own.t), queue.send('mail', '{}'), queue.archive('mail', 1);
             alter type own.t add attribute name text;
             create table own.kept (id integer);
             select queue.put_lines(into_table => 'own.kept', lines => 'bad', producer => 'p', sequence => 1);
             drop table own.kept;
             select queue.read('rows', 1, '0 s', null::own.t)",
        )
        .unwrap_or_else(|error| panic!("{error:?}"));
    assert_eq!(number(&mut session, "select count(*) from queue.read('rows', 1, '0 s', null::own.t)"), 0);
    session
        .batch_execute(
            "select queue.redrive('rows'), queue.purge_queue('rows');
             select http.unroute('GET', '/'), http.unhandle(), http.unlisten(4331), queue.unlisten(4332);
             select queue.drop_queue('rows'), queue.drop_queue('mail');
             reset session authorization; drop extension howdah",
        )
        .unwrap_or_else(|error| panic!("{error:?}"));
}
