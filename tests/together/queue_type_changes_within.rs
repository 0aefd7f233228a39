//! Code that runs while values are made, such as a domain's check, alters what they are made for: nothing is stored or read under
//! another type than it was made for.

use howdah_tests::Platform;
use howdah_tests::queues::Queues;

/// A domain whose check runs the statement of `armed`, once; another domain.
const DOMAINS: &str = "
    create table armed (statement text);
    create function fire() returns boolean language plpgsql security definer as $$
    declare armed text;
    begin
      delete from public.armed returning statement into armed;
      if found then execute armed; end if;
      return true;
    end $$;
    create domain firing as text check (fire());
    create domain other as text";

/// What the type below becomes within.
const EVENT: &str = "create type event as (id bigint, fired firing, other other)";

const LINES: &str =
    r#"{"id": 81985529216486895, "fired": "x", "other": "one"}\n{"id": 7, "fired": "y", "other": "two"}\n"#;

fn queues() -> Queues {
    let queues = Queues::with(&[]);
    queues.sql(DOMAINS);
    queues
}

/// Arms the domain.
fn armed(statement: &str) -> String {
    format!("truncate armed; insert into armed values ($arm${statement}$arm$)")
}

#[test]
fn a_check_that_alters_the_row_type_of_its_queue_changes_no_value() {
    let queues = queues();
    let started = queues.began();
    let put = format!("select queue.put_lines('q', lines => E'{LINES}'::text)");
    for (statement, code) in [
        ("alter type public.event alter attribute id type text", "55006"),
        ("alter type event drop attribute id", "55006"),
        ("alter type event add attribute more text", "55006"),
        ("drop type event cascade", "55006"),
        ("drop domain other cascade", "55006"),
        ("drop domain firing cascade", "55006"),
        ("select queue.drop_queue('q')", "42704"),
        ("select queue.drop_queue('q'); select queue.create('q', row_type => 'event')", "42704"),
    ] {
        queues.sql(&format!("{EVENT}; select queue.create('q', row_type => 'event'); {}", armed(statement)));
        let error = queues.error(&put);
        assert!(error.starts_with(code), "{statement}: {error}");
        assert_eq!(queues.began(), started, "{statement}");
        assert_eq!(queues.number("select count(*) from queue.dead_letters"), 0, "{statement}");
        // All of it is undone.
        queues.sql(&format!("truncate armed; {put}"));
        let stored = "select count(*) from queue.take('q', 10, null::event)
                      where (id, other) in ((81985529216486895, 'one'), (7, 'two'))";
        assert_eq!(queues.number(stored), 2, "{statement}");
        queues.sql("select queue.drop_queue('q'); drop type event");
    }
}

#[test]
fn what_a_check_cannot_alter_it_may_pass_over() {
    let queues = queues();
    queues.sql(&format!("{EVENT}; select queue.create('q', row_type => 'event')"));
    queues.sql(&armed(
        "do $$ begin alter type event alter attribute id type text; exception when object_in_use then end $$",
    ));
    queues.sql(&format!("select queue.put_lines('q', lines => E'{LINES}'::text)"));
    assert_eq!(
        queues.number("select sum(id)::bigint from queue.take('q', 10, null::event)"),
        81985529216486902
    );
}

#[test]
fn a_check_that_alters_a_table_changes_no_value() {
    let queues = queues();
    let put = format!("select queue.put_lines(into_table => 'events', lines => E'{LINES}'::text)");
    let policies =
        "alter table events enable row level security; alter table events force row level security;
                    create policy everything on events using (true) with check (true)";
    for more in ["", policies] {
        for statement in [
            "alter table events alter column id type float8",
            "alter table events drop column id; alter table events add column id text",
            "truncate events",
            "drop table events",
            "drop domain other cascade",
        ] {
            queues.sql(&format!("create table events (id bigint, fired firing, other other); {more}"));
            queues.sql(&armed(statement));
            let error = queues.error(&put);
            assert!(error.starts_with("55006"), "{statement}: {error}");
            queues.sql(&format!("truncate armed; {put}"));
            assert_eq!(queues.number("select sum(id)::bigint from events"), 81985529216486902, "{statement}");
            queues.sql("drop table events");
        }
    }
}

#[test]
fn a_trigger_between_two_lines_that_drops_the_type_of_a_column_is_refused() {
    let queues = queues();
    queues.sql(
        "create table events (id bigint, fired firing, other other);
         create function drop_other() returns trigger language plpgsql as
         $$ begin execute 'drop domain if exists other cascade'; return null; end $$;
         create trigger drops after insert on events for each statement execute function drop_other()",
    );
    let lines = r#"{"id": 1}\n{"id": 2, "other": "two"}\n"#;
    let error =
        queues.error(&format!("select queue.put_lines(into_table => 'events', lines => E'{lines}'::text)"));
    assert!(error.starts_with("55006"), "{error}");
    assert_eq!(queues.number("select count(*) from events"), 0);
}

#[test]
fn a_check_that_alters_the_row_type_while_dead_letters_are_sent_again_changes_no_value() {
    let queues = queues();
    queues.sql(
        "create type event as (id bigint, fired firing[], other other);
         select queue.create('q', row_type => 'event', max_reads => 1);
         select queue.put('q', array[row(81985529216486895, '{x}', 'one'), row(7, '{y}', 'two')]::event[])",
    );
    let read = "select count(*) from queue.read('q', 10, '0 s', null::event)";
    assert_eq!((queues.number(read), queues.number(read)), (2, 0));
    let kept = queues.number("select count(*) from queue.dead_letters");
    assert_eq!(kept, 2);
    // The letters stay, and say why.
    queues.sql(&armed("alter type public.event alter attribute id type text"));
    assert_eq!(queues.number("select queue.redrive('q')"), 0);
    assert_eq!(queues.number("select count(*) from queue.dead_letters where sqlstate = '55006'"), 2);
    queues.sql(&armed("drop domain other cascade"));
    let error = queues.error("select queue.redrive('q')");
    assert!(error.starts_with("55006"), "{error}");
    queues.sql("truncate armed");
    assert_eq!(queues.number("select queue.redrive('q')"), 2);
    assert_eq!(
        queues.number("select sum(id)::bigint from queue.take('q', 10, null::event)"),
        81985529216486902
    );
}

#[test]
fn a_cast_to_json_does_not_alter_the_row_type_of_rows_that_become_json() {
    let queues = queues();
    queues.sql(
        "create type letter as enum ('x', 'y');
         create function as_json(letter) returns json language plpgsql as
         $$ begin perform public.fire(); return '\"j\"'; end $$;
         create cast (letter as json) with function as_json(letter);
         create type event as (id bigint, letter letter);
         select queue.create('q', row_type => 'event');
         select queue.put('q', array[row(81985529216486895, 'x'), row(7, 'y')]::event[])",
    );
    let is_as_before = "select count(*) from pg_attribute
                        where attrelid = 'event'::regclass and attname = 'id' and atttypid = 'bigint'::regtype";
    for vt in ["null", "'0 s'"] {
        let alter = "alter type public.event alter attribute id type text";
        for statement in [alter.to_owned(), format!("select queue.drop_queue('q'); {alter}")] {
            queues.sql(&armed(&statement));
            let mut session = queues.session();
            session.batch_execute("begin").unwrap();
            let read = format!("select count(*) from queue.read_as_json('q', 10, {vt})");
            let _ = session.simple_query(&read);
            let _ = session.batch_execute("commit");
            assert_eq!(queues.number(is_as_before), 1, "{statement}");
            queues.sql("truncate armed");
        }
        queues.sql("select queue.put('q', array[row(81985529216486895, 'x'), row(7, 'y')]::event[])");
    }
}

#[test]
fn a_check_that_alters_the_row_type_ends_no_worker() {
    let platform = Platform::start();
    platform.sql(DOMAINS);
    platform.sql(&format!(
        "{EVENT}; select queue.create('q', row_type => 'event'); select queue.grant('q', 'send', 'howdah_web');
         select queue.serve(); {}",
        armed("alter type public.event alter attribute id type text")
    ));
    let workers = platform.pids();
    let lines = LINES.replace(r"\n", "\n");
    let reply = platform.post("/queues/q", "application/x-ndjson", lines.as_bytes());
    assert!(platform.still_run(&workers), "{}", platform.log());
    assert!(reply.status >= 400, "{}", reply.text());
    platform.sql("truncate armed");
    let reply = platform.post("/queues/q", "application/x-ndjson", lines.as_bytes());
    assert_eq!((reply.status, reply.json()["stored"].as_i64()), (200, Some(2)), "{}", reply.text());
    let sum = "select sum(id)::text from queue.take('q', 10, null::event)";
    assert_eq!(platform.value(sum).as_deref(), Some("81985529216486902"));
}
