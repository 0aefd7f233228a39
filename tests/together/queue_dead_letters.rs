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
        r#"{"number":1,"doc":{"x": 1e999999},"color":null} | {"number":2,"doc":{"x": "\u0000"},"color":null} | 3 | 4"#
    );
    let whys = "select count(*) from queue.dead_letters where sqlstate is not null and error like 'read 1 times; it is not JSON: %'";
    assert_eq!(queues.number(whys), 2);
    // They become rows again, whether JSON can hold them or not.
    assert_eq!(queues.number("select queue.redrive('parcels')"), 4);
    let again =
        "select string_agg(number::text, ' ' order by number) from queue.take('parcels', 10, null::parcel)";
    assert_eq!(queues.session().query_one(again, &[]).unwrap().get::<_, String>(0), "1 2 3 4 5");
    assert_eq!(queues.number("select count(*) from queue.dead_letters"), 0);
}

/// The one value of a query, as text.
fn text(queues: &Queues, query: &str) -> String {
    queues.session().query_one(query, &[]).unwrap_or_else(|error| panic!("{error:?}\n{query}")).get(0)
}

#[test]
fn a_message_is_buried_and_sent_again_as_it_is() {
    let queues = Queues::start();
    queues.sql(
        r#"select queue.create('messages', max_reads => 1);
        create table sent (message jsonb, headers jsonb);
        insert into sent values
          ('{"n": 1e400, "small": 1e-400}', '{"h": 98765432109876543210.5}'),
          ('{"id": 18446744073709551617, "amount": 12345678901234567890.25, "z": 1.50}', null),
          ((repeat('[', 250) || repeat(']', 250))::jsonb, '[]'), ('null', 'null'), ('"behind"', null);
        select queue.send('messages', message, headers) from sent;
        select queue.read('messages', 0, 5)"#,
    );
    let read = "select count(*) from queue.read('messages', 0, 5)";
    assert_eq!(queues.number(read), 0);
    assert_eq!(queues.number("select count(*) from queue.dead_letters"), 5);
    for _ in 0..2 {
        assert_eq!(queues.number("select queue.redrive('messages')"), 5);
        assert_eq!(queues.number("select count(*) from queue.dead_letters"), 0);
        assert_eq!(queues.number(read), 5);
        assert_eq!(queues.number(read), 0);
    }
    assert_eq!(queues.number("select queue.redrive('messages')"), 5);
    let differ = "with taken as (select message::text, headers::text from queue.pop('messages', 9))
        select count(*) from (
          (select message::text, headers::text from sent except all select * from taken)
          union all (select * from taken except all select message::text, headers::text from sent)) difference";
    assert_eq!(queues.number(differ), 0);
}

/// What a redrive reads, it uses when the query that has read it has ended: by then the memory of many letters, and of large ones,
/// has been given to others.
#[test]
fn letters_are_sent_again_as_they_are_however_many_and_large_they_are() {
    let queues = Queues::start();
    let began = queues.began();
    queues.sql(
        "create type note as (n integer, body text);
         select queue.create('messages', max_reads => 1), queue.create('rows', 'note', max_reads => 1);
         create table sent as select n, case when n % 2 = 0 then 'small ' || n
             else (select string_agg(md5(n || ' ' || part), '') from generate_series(1, 30 + n % 4 * 300) part) end as body
           from generate_series(1, 100) n;
         select queue.send('messages', to_jsonb(sent)) from sent;
         select queue.put('rows', row(n, body)::note) from sent",
    );
    for (queue, of_type, body) in [("messages", "", "message ->> 'body'"), ("rows", ", null::note", "body")] {
        let read = format!("select count(*) from queue.read('{queue}', 100, '0 s'{of_type})");
        let read = if of_type.is_empty() { read.replace("100, '0 s'", "0, 100") } else { read };
        assert_eq!((queues.number(&read), queues.number(&read)), (100, 0));
        assert_eq!(queues.number(&format!("select queue.redrive('{queue}')")), 100);
        let take = match of_type {
            "" => "queue.pop('messages', 200)".to_owned(),
            of_type => format!("queue.take('rows', 200{of_type})"),
        };
        let differ = format!(
            "with taken as (select {body} as body from {take})
             select count(*) from (
               (select body from sent except all table taken) union all (table taken except all select body from sent)) difference"
        );
        assert_eq!(queues.number(&differ), 0, "{queue}");
    }
    assert_eq!(queues.began(), began);
}

#[test]
fn a_row_is_buried_and_sent_again_as_it_is_whatever_the_settings() {
    let queues = Queues::start();
    queues.sql(
        r#"create type color as enum ('red', 'blue');
        create type point_of as (x float8, label text, colors color[]);
        create domain short as text check (length(value) < 5);
        create type event as (
          id bigint, amount numeric, list integer[], document jsonb, plain json, day daterange, wait interval, at timestamptz,
          ratio float8, point point_of, points point_of[], color color, name short, names short[], raw bytea, "Odd Name" char(5),
          bits bit varying, many int4multirange, money money);
        create table sent of event;
        insert into sent values
          (1, 12345678901234567890.25, '[0:1]={7,8}', 'null', E'{"a":\n 1, "a": 2}', '[2026-03-05,2026-03-07)', '-1 days -02:00:00',
           '2026-03-05 12:00+02', 0.1::float8 + 0.2::float8, row(-0.0, E'two\nlines, "quoted"', '{red,blue}'),
           array[row(1, null, '{}'), null]::point_of[], 'red', 'abc', '{x,null}', '\x00ff', 'x', '101', '{[1,3),[5,7)}', '1234.50'),
          (2, 'NaN', '{{1,2},{3,4}}', '{"n": 1e400}', '1', 'empty', '1 mon', 'infinity', 'NaN', null, null, null, null, null, '', '', '', '{}', null),
          (3, null, null, null, '{"x": 1e999999}', null, null, '0044-03-15 BC', '-Infinity', row(null, null, null), '{}', 'blue', '', '{}', null, null, null, null, '-1');
        select queue.create('events', 'event', max_reads => 1);
        select queue.put('events', s::event) from sent s;
        select queue.read('events', 9, '0 s', null::event)"#,
    );
    let mut other = queues.session();
    other
        .batch_execute(
            "set DateStyle = 'SQL, DMY'; set IntervalStyle = sql_standard; set extra_float_digits = 0; set TimeZone = 'Asia/Tokyo';
             set bytea_output = escape",
        )
        .unwrap();
    let read = "select count(*) from queue.read('events', 9, '0 s', null::event)";
    assert_eq!(number(&mut other, read), 0);
    assert_eq!(number(&mut other, "select count(*) from queue.dead_letters"), 3);
    // What users look at.
    let shown = "select message #>> '{point,colors,1}' || ' ' || (message #>> '{points,0,x}') || ' ' || (message ->> 'color') || ' '
        || (message ->> 'name') from queue.dead_letters where message ->> 'id' = '1'";
    assert_eq!(text(&queues, shown), "blue 1 red abc");
    other
        .batch_execute("set DateStyle = 'German'; set IntervalStyle = iso_8601; set search_path = pg_catalog")
        .unwrap();
    assert_eq!(number(&mut other, "select queue.redrive('events')"), 3);
    let differ = "with taken as (select t::text from queue.take('events', 9, null::event) t)
        select count(*) from (
          (select s::text from sent s except all select * from taken)
          union all (select * from taken except all select s::text from sent s)) difference";
    assert_eq!(queues.number(differ), 0);
}

#[test]
fn a_letter_that_is_no_row_of_its_type_any_more_stays_and_says_why() {
    let queues = Queues::start();
    queues.sql(
        "create type event as (id text, note text); select queue.create('events', 'event', max_reads => 1);
         select queue.put('events', array[row('1', null), row('x', null), row('3', 'note')]::event[]);
         select queue.read('events', 9, '0 s', null::event)",
    );
    assert_eq!(queues.number("select count(*) from queue.read('events', 9, '0 s', null::event)"), 0);
    queues.sql(
        "alter type event drop attribute note; alter type event alter attribute id type integer;
         alter type event add attribute extra boolean",
    );
    assert_eq!(queues.number("select queue.redrive('events')"), 1);
    let why = "select string_agg(coalesce(sqlstate, '') || ' ' || error, '; ' order by msg_id) from queue.dead_letters";
    assert_eq!(
        text(&queues, why),
        "22P02 invalid input syntax for type integer: \"x\"; 42703 its row type has no column note any more"
    );
    let taken = "select string_agg(t::text, ' ') from queue.take('events', 9, null::event) t";
    assert_eq!(text(&queues, taken), "(1,)");
    queues.sql("alter type event add attribute note text; alter type event alter attribute id type text");
    assert_eq!(queues.number("select queue.redrive('events')"), 2);
    assert_eq!(text(&queues, taken), "(x,,) (3,,note)");
}

#[test]
fn lines_that_are_refused_again_stay_whole_however_few_are_kept() {
    let queues = Queues::start();
    queues.sql(
        "create table visit (id int, note text);
         select queue.put_lines(into_table => 'visit', lines => string_agg('{\"id\": \"' || n || 'x\", \"note\": 1}', E'\\n'))
         from generate_series(1, 50) n",
    );
    queues.sql("alter system set howdah.queue_dead_letters = 10");
    queues.sql("select pg_reload_conf()");
    wait_for("the limit is in force", || text(&queues, "show howdah.queue_dead_letters") == "10");
    let before = text(&queues, "select string_agg(line::text, ' ' order by line) from queue.dead_letters");
    assert_eq!(queues.number("select queue.redrive('visit'::regclass)"), 0);
    assert_eq!(queues.number("select count(*) from queue.dead_letters"), 50);
    assert_eq!(
        text(&queues, "select string_agg(line::text, ' ' order by line) from queue.dead_letters"),
        before
    );
    queues.sql("alter table visit alter id type text");
    assert_eq!(queues.number("select queue.redrive('visit'::regclass, 7)"), 7);
    assert_eq!(queues.number("select queue.redrive('visit'::regclass)"), 43);
    assert_eq!(queues.number("select count(distinct id) from visit"), 50);
}
