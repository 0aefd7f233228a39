//! What a process keeps from one request to the next gives no role what another may do, and nobody what a role may do no more.

use howdah_tests::Platform;

/// One process of each kind, so that every request comes to what others have left.
fn one_process() -> Platform {
    Platform::with(&[
        ("howdah.gateways", "1"),
        ("howdah.min_executors", "1"),
        ("howdah.max_executors", "1"),
        ("howdah.inline_threshold", "100000"),
    ])
}

/// Functions that anybody may call, which call what `may` may and `other` may not: each is a way to keep a plan.
const WAYS: &str = "
create role may; create role other;
create schema closed; grant usage on schema closed to may;
create schema open; grant usage on schema open to public;
create function open.folded() returns text immutable language plpgsql as $$ begin return 'secret'; end $$;
create function open.inlined(integer) returns text stable language sql as $$ select 'secret' || left($1::text, 0) $$;
create function open.inlined_rows() returns setof text stable language sql as $$ select 'secret' $$;
revoke execute on function open.folded(), open.inlined(integer), open.inlined_rows() from public;
grant execute on function open.folded(), open.inlined(integer), open.inlined_rows() to may;
create function closed.called() returns text stable language plpgsql as $$ begin return 'secret'; end $$;
create table closed.things as select 'secret' as name; grant select on closed.things to public;
create function open.behind() returns text stable language sql as $$ select open.folded() $$;



create function open.way_folded() returns text stable language plpgsql as $$ begin return open.folded(); end $$;
create function open.way_inlined() returns text stable language plpgsql as $$ begin return open.inlined(1); end $$;
create function open.way_behind() returns text stable language plpgsql as $$ begin return open.behind(); end $$;
create function open.way_rows() returns text stable language plpgsql as $$
  declare found text; begin select * into found from open.inlined_rows(); return found; end $$;
create function open.way_schema() returns text stable language plpgsql as $$ begin return closed.called(); end $$;
create function open.way_table() returns text stable language plpgsql as $$
  begin return (select name from closed.things); end $$;
create function open.way_loop() returns text stable language plpgsql as $$
  declare one record; begin for one in select open.inlined(1) as name loop return one.name; end loop; end $$;
create function open.way_cursor() returns text language plpgsql as $$
  declare c cursor for select open.inlined(1); found text; begin open c; fetch c into found; close c; return found; end $$;
create function open.way_nested() returns text stable language sql as $$ select open.way_inlined() $$;
create function open.way_sql() returns text language sql as $$ select null; select open.inlined(1) $$;
create function open.way_atomic() returns text language sql begin atomic select null; select open.folded(); end;
select http.route(method, '/' || role || '/' || way, 'open.way_' || way, role)
from unnest(array['folded', 'inlined', 'behind', 'rows', 'schema', 'table', 'loop', 'cursor', 'nested', 'sql', 'atomic']) way,
  unnest(array['may', 'other']) role, unnest(array['GET', 'POST']) method;";

const NAMES: [&str; 11] =
    ["folded", "inlined", "behind", "rows", "schema", "table", "loop", "cursor", "nested", "sql", "atomic"];

#[test]
fn a_plan_of_one_role_is_not_the_next_ones() {
    let platform = one_process();
    platform.sql(WAYS);
    let mut connection = platform.connect();
    for method in ["POST", "GET"] {
        for way in NAMES {
            let mut ask = |role: &str| {
                let reply = connection.request(method, &format!("/{role}/{way}"), &[], b"");
                (reply.status, reply.text())
            };
            assert_eq!(ask("other").0, 403, "{method} {way} before anybody");
            // Enough of them to run in the gateway, too.
            for turn in 0..20 {
                assert_eq!(ask("may"), (200, "secret".into()), "{method} {way}, turn {turn}");
                assert_eq!(ask("other").0, 403, "{method} {way}, turn {turn}");
            }
        }
    }
    let inline = platform.value("select sum(inline) from http.stats where pattern like '/may/%'");
    assert_ne!(inline.as_deref(), Some("0"), "none ran in the gateway");
}

#[test]
fn a_plan_does_not_outlive_a_right_or_a_function() {
    let platform = one_process();
    platform.sql(WAYS);
    platform.sql(
        "select http.route('POST', '/body', 'open.behind', 'may');
         select http.handle($$ select open.folded() from request where path = '/handler' $$, role => 'may')",
    );
    let ask_all = || {
        let paths = ["/may/folded", "/may/atomic", "/may/behind", "/body", "/handler"];
        paths.map(|path| {
            let reply = platform.post(path, "text/plain", b"");
            (path, reply.status, reply.text())
        })
    };
    let are_all = |answers: &[(&str, u16, String)], text: &str| {
        answers.iter().all(|answer| answer.1 == 200 && answer.2 == text)
    };
    let answers = ask_all();
    assert!(are_all(&answers, "secret"), "{answers:?}");
    platform.sql(
        "create or replace function open.folded() returns text immutable language plpgsql as $$ begin return 'new'; end $$",
    );
    let answers = ask_all();
    assert!(are_all(&answers, "new"), "{answers:?}");
    platform.sql("revoke execute on function open.folded() from may");
    let answers = ask_all();
    assert!(answers.iter().all(|answer| answer.1 == 403), "{answers:?}");
}
