//! Dead letters are sent again, or thrown away.

use howdah_tests::queues::{Queues, error, number};
use howdah_tests::shippers::Intake;
use howdah_tests::wait_for;

#[test]
fn letters_are_thrown_away_by_whoever_may_manage_the_queue_or_owns_the_table() {
    let queues = Queues::start();
    queues.sql(
        "create role keeper nologin; create role taker nologin; create role owner nologin;
         create table visit (userid bigint); alter table visit owner to owner;
         select queue.create('few', 't_bip', max_reads => 1);
         select queue.grant(name, 'manage', 'keeper') from unnest(array['bips', 'few']) name;
         select queue.grant('bips', 'take', 'taker');
         select queue.put('few', row(null, 1, 1, 1, 'b', 'u')::t_bip);
         select queue.put_lines('bips', E'{\"userid\": 1}\nold\n');
         update queue.dead_letter set buried_at = now() - interval '2 days' where line = 'old';
         select queue.put_lines('bips', E'new\nnew\n');
         select queue.put_lines(into_table => 'visit', lines => 'bad')",
    );
    (0..2).for_each(|_| queues.sql("select queue.read('few', 1, '0 s', null::t_bip)"));
    let mut session = queues.session();
    for (role, target) in [("taker", "'bips'"), ("keeper", "'visit'::regclass"), ("owner", "'bips'")] {
        session.batch_execute(&format!("set role {role}")).unwrap();
        let refused = error(&mut session, &format!("select queue.discard_dead_letters({target})"));
        assert!(refused.starts_with("42501"), "{role}: {refused}");
        let refused = error(&mut session, "select queue.discard(1, null, null)");
        assert!(refused.starts_with("42501"), "{role}: {refused}");
    }
    session.batch_execute("set role keeper").unwrap();
    let discard = "select queue.discard_dead_letters";
    let old = "'bips', before => now() - interval '1 day'";
    assert_eq!(number(&mut session, &format!("{discard}({old})")), 1);
    assert_eq!(number(&mut session, &format!("{discard}({old})")), 0);
    // Rows are another matter: they stay when letters go, and letters stay when they go.
    assert_eq!(number(&mut session, "select queue.purge_queue('bips')"), 1);
    assert_eq!(number(&mut session, &format!("{discard}('bips')")), 2);
    assert_eq!(number(&mut session, &format!("{discard}('few')")), 1);
    assert_eq!(number(&mut session, "select queue.redrive('few')"), 0);
    session.batch_execute("set role owner").unwrap();
    assert_eq!(number(&mut session, &format!("{discard}('visit'::regclass, before => '-infinity')")), 0);
    assert_eq!(number(&mut session, &format!("{discard}('visit'::regclass)")), 1);
    assert_eq!(queues.number("select count(*) from queue.dead_letter"), 0);
    session.batch_execute("reset role; begin read only").unwrap();
    assert!(error(&mut session, &format!("{discard}('bips')")).starts_with("25006"));
}

#[test]
fn a_line_that_is_refused_again_keeps_its_listener() {
    let intake = Intake::start();
    intake.pour(b"{\"userid\": 1, \"version\": 5000000000}\n{\"userid\": \"by wire\"}\n");
    intake.platform.sql("select queue.put_lines('bips', '{\"userid\": \"by hand\"}')");
    wait_for("they are dead letters", || intake.platform.count("queue.dead_letters") == 3);
    let listeners = || {
        intake.platform.value(
            "select string_agg((listener = 0)::text || convert_from(line, 'UTF8'), ' ' order by line)
             from queue.dead_letters where line like '%by%'",
        )
    };
    let before = listeners();
    assert_eq!(before.as_deref(), Some("true{\"userid\": \"by hand\"} false{\"userid\": \"by wire\"}"));
    intake.platform.sql("alter type t_bip alter attribute version type bigint");
    assert_eq!(intake.platform.value("select queue.redrive('bips')").as_deref(), Some("1"));
    assert_eq!(listeners(), before);
    assert_eq!(intake.take_all(), [1]);
}

#[test]
fn a_queues_lines_are_sent_again_with_the_columns_that_keep_them() {
    let queues = Queues::start();
    queues.sql(
        "create type t_event as (id int, whole jsonb, rest jsonb); select queue.create('events', 't_event')",
    );
    queues.sql(
        "select queue.put_lines('events', '{\"id\": 5000000000, \"page\": \"/\"}',
                                line_column => 'whole', rest_column => 'rest')",
    );
    queues.sql("alter type t_event alter attribute id type bigint");
    let redrive = "select queue.redrive('events', line_column => 'whole', rest_column => 'rest')";
    assert_eq!(queues.number(redrive), 1);
    let kept = "select count(*) from queue.take('events', 10, null::t_event)
        where id = 5000000000 and whole = '{\"id\": 5000000000, \"page\": \"/\"}' and rest = '{\"page\": \"/\"}'";
    assert_eq!(queues.number(kept), 1);
}

#[test]
fn a_row_that_is_no_json_is_buried_as_text_and_those_behind_it_are_read() {
    let queues = Queues::start();
    queues.sql(
        r#"create type color as enum ('red', 'blue');
        create function refuse(color) returns json language plpgsql as $$ begin raise exception 'no'; end $$;
        create cast (color as json) with function refuse(color);
        create type parcel as (number int, doc json, color color);
        select queue.create('parcels', 'parcel', max_reads => 1);
        select queue.put('parcels', array[
          row(1, '{"x": 1e999999}', null), row(2, '{"x": "\u0000"}', null), row(3, '{}', 'red'), row(4, '{}', null)]::parcel[])"#,
    );
    let read =
        "select coalesce(sum((r.\"row\").number), 0) from queue.read('parcels', 10, '0 s', null::parcel) r";
    assert_eq!(queues.number(read), 10);
    // One that comes later is read while the others are buried.
    queues.sql("select queue.put('parcels', row(5, '{}', null)::parcel)");
    assert_eq!(queues.number(read), 5);
    let kept =
        "select string_agg(coalesce(message ->> 'number', convert_from(line, 'UTF8')), ' | ' order by msg_id)
        from queue.dead_letters";
    assert_eq!(
        queues.session().query_one(kept, &[]).unwrap().get::<_, String>(0),
        r#"{"number":1,"doc":{"x": 1e999999},"color":null} | {"number":2,"doc":{"x": "\u0000"},"color":null} | (3,{},red) | 4"#
    );
    let whys = "select count(*) from queue.dead_letters where sqlstate is not null and error like 'read 1 times; it is not JSON: %'";
    assert_eq!(queues.number(whys), 3);
    // What is JSON becomes a row again; the rest stays a dead letter.
    assert_eq!(queues.number("select queue.redrive('parcels')"), 2);
    let again =
        "select string_agg(number::text, ' ' order by number) from queue.take('parcels', 10, null::parcel)";
    assert_eq!(queues.session().query_one(again, &[]).unwrap().get::<_, String>(0), "1 4 5");
    assert_eq!(queues.number("select count(*) from queue.dead_letters"), 2);
}
