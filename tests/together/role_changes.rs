//! What a role may see and call follows its memberships and attributes at once, whatever plans are kept.

use howdah_tests::{Connection, Platform, wait_for};

/// Rows that only staff may see, and a function that only staff may call and whose call is replaced by its body;
/// asked for in each way in which a plan is kept.
const SCHEMA: &str = "
    create role staff; grant staff to howdah_web;
    create table notes (line text); insert into notes values ('seen');
    grant select on notes to howdah_web;
    alter table notes enable row level security;
    create policy for_staff on notes to staff using (true);
    create policy for_owner on notes to pg_database_owner using (true);
    create function secret() returns text language sql stable return 'seen';
    revoke execute on function secret() from public; grant execute on function secret() to staff;

    create function notes_by_text() returns text language sql stable as
      $$ select coalesce(string_agg(line, ','), 'none') from notes $$;
    create function notes_by_tree() returns text language sql stable begin atomic
      select coalesce(string_agg(line, ','), 'none') from notes; end;
    create function notes_by_return() returns text language sql stable return
      (select coalesce(string_agg(line, ','), 'none') from notes);
    create function notes_by_call() returns text language plpgsql stable as
      $$ begin return coalesce(string_agg(line, ','), 'none') from notes; end $$;
    create function secret_by_text() returns text language sql stable as $$ select secret() $$;
    create function secret_by_return() returns text language sql stable return secret();
    create function secret_by_call() returns text language plpgsql stable as $$ begin return secret(); end $$;

    create schema hidden; grant usage on schema hidden to staff;
    create table hidden.place as select 'seen' as line; grant select on hidden.place to public;
    set check_function_bodies = off;
    create function hidden_by_text() returns text language sql stable as $$ select line from place $$;
    create function hidden_by_call() returns text language plpgsql stable as $$ begin return line from place; end $$;
    create function hidden_by_statement() returns text language plpgsql stable as
      $$ declare found text; begin execute 'select line from place' into found; return found; end $$;

    -- All have one search_path: with another it would be looked at anew.
    set search_path = public, hidden;
    select http.route('GET', '/notes/' || kind, 'notes_by_' || kind)
    from unnest(array['text', 'tree', 'return', 'call']) kind;
    select http.route('GET', '/secret/' || kind, 'secret_by_' || kind)
    from unnest(array['text', 'return', 'call']) kind;
    select http.handle($$select http.response((select coalesce(string_agg(line, ','), 'none') from notes))
      from request where path = '/notes/handler'$$, name => 'notes');
    select http.handle($$select http.response(secret()) from request where path = '/secret/handler'$$,
      name => 'secret');
    select http.route('GET', '/hidden/' || kind, 'hidden_by_' || kind)
    from unnest(array['text', 'call', 'statement']) kind;";

const NOTES: [&str; 5] = ["/notes/text", "/notes/tree", "/notes/return", "/notes/call", "/notes/handler"];
const SECRETS: [&str; 4] = ["/secret/text", "/secret/return", "/secret/call", "/secret/handler"];
/// What names a table in a schema of its search_path that only staff may use.
const HIDDEN: [&str; 3] = ["/hidden/text", "/hidden/call", "/hidden/statement"];

/// Changes of what the role is, and whether it may then see the rows and call the function.
const CHANGES: [(&str, bool, bool); 9] = [
    ("revoke staff from howdah_web", false, false),
    ("grant staff to howdah_web", true, true),
    ("revoke staff from howdah_web", false, false),
    ("alter role howdah_web bypassrls", true, false),
    ("alter role howdah_web nobypassrls", false, false),
    ("alter database app owner to howdah_web", true, false),
    ("alter database app owner to current_user", false, false),
    ("alter role howdah_web superuser", true, true),
    ("alter role howdah_web nosuperuser", false, false),
];

fn follows_its_memberships(platform: &Platform, connection: &mut Connection) {
    let mut check = |after: &str, sees: bool, calls: bool| {
        for path in NOTES {
            let reply = connection.request("GET", path, &[], b"");
            let expected = if sees { "seen" } else { "none" };
            assert_eq!((reply.status, reply.text().as_str()), (200, expected), "{path} after {after}");
        }
        for path in SECRETS {
            let reply = connection.request("GET", path, &[], b"");
            let expected = if calls { 200 } else { 403 };
            assert_eq!(reply.status, expected, "{path} after {after}: {}", reply.text());
        }
        for path in HIDDEN {
            let reply = connection.request("GET", path, &[], b"");
            let expected = if calls { 200 } else { 500 };
            assert_eq!(reply.status, expected, "{path} after {after}: {}", reply.text());
        }
    };
    check("the start", true, true);
    for (change, sees, calls) in CHANGES {
        platform.sql(change);
        for _ in 0..3 {
            check(change, sees, calls);
        }
    }
}

#[test]
fn an_executor_follows_what_its_role_is_member_of() {
    let platform = Platform::with(&[
        ("howdah.inline", "off"),
        ("howdah.min_executors", "1"),
        ("howdah.max_executors", "1"),
        ("plan_cache_mode", "force_generic_plan"),
    ]);
    platform.sql(SCHEMA);
    follows_its_memberships(&platform, &mut platform.connect());
}

#[test]
fn a_gateway_follows_what_its_role_is_member_of() {
    let platform = Platform::with(&[
        ("howdah.inline_deadline", "1s"),
        ("howdah.inline_threshold", "100000"),
        ("plan_cache_mode", "force_generic_plan"),
    ]);
    platform.sql(SCHEMA);
    let mut connection = platform.connect();
    let everything = (NOTES.len() + SECRETS.len() + HIDDEN.len()) as i64;
    wait_for("all run in the gateway", || {
        for path in NOTES.iter().chain(&SECRETS).chain(&HIDDEN) {
            assert_eq!(connection.request("GET", path, &[], b"").text(), "seen", "{path}");
        }
        platform.count("http.stats where inline > 0") == everything
    });
    follows_its_memberships(&platform, &mut connection);
}
