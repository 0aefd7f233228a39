//! What users have made runs as the role of the route, handler or listener, at each step: when a plan is made, arguments are
//! converted, rows are checked, and the transaction ends.

use std::collections::BTreeSet;

use howdah_tests::shippers::Intake;
use howdah_tests::{Platform, free_port, wait_for};

/// Functions of `mallory` that tell the log as whom they run, and what calls them.
const TELLTALES: &str = "
create role mallory; create role app;
create schema evil authorization mallory; grant all on schema evil to public;
set role mallory;
create function evil.tell(place text) returns boolean immutable language plpgsql as
  $$ begin raise log 'told: % as %', place, current_user; return true; end $$;
create function evil.equal(integer, integer) returns boolean immutable language plpgsql as
  $$ begin perform evil.tell('operator'); return $1 = $2; end $$;
create operator evil.=== (leftarg = integer, rightarg = integer, function = evil.equal, restrict = eqsel, join = eqjoinsel);
create domain evil.d as text check (evil.tell('domain'));
reset role;";

/// Where something was told, and as whom: `domain as app`.
fn told(platform: &Platform) -> BTreeSet<String> {
    let log = platform.log();
    log.lines().filter_map(|line| line.split_once("told: ")).map(|(_, what)| what.to_owned()).collect()
}

fn each_as(places: &[&str], role: &str) -> BTreeSet<String> {
    places.iter().map(|place| format!("{place} as {role}")).collect()
}

#[test]
fn plans_are_made_and_run_as_the_role_of_the_route() {
    let platform = Platform::start();
    platform.sql(TELLTALES);
    platform.sql(
        "create table things (id integer); insert into things select n % 5 from generate_series(1, 1000) n;
         analyze things; grant select on things to app;
         create function folded() returns text language sql stable as $$ select evil.tell('folded')::text $$;
         create function parsed() returns text language sql stable begin atomic select evil.tell('parsed')::text; end;
         create function called(a boolean default evil.tell('default')) returns text language plpgsql stable as
           $$ begin return evil.tell('body')::text; end $$;
         create function estimated() returns bigint language sql stable as
           $$ select count(*) from things where id operator(evil.===) 1 $$;
         create function typed(a evil.d) returns evil.d language sql stable as $$ select a $$;
         select http.route('GET', '/' || name, name, role => 'app')
         from unnest(array['folded', 'parsed', 'called', 'estimated', 'typed']) name;
         select http.handle($$ select evil.tell('handler')::text from request where path = '/handler' $$, role => 'app');",
    );
    let mut connection = platform.connect();
    let mut ask_all = || {
        for path in ["/folded", "/parsed", "/called", "/estimated", "/typed?a=x", "/handler"] {
            let reply = connection.request("GET", path, &[], b"");
            assert_eq!(reply.status, 200, "{path}: {}", reply.text());
        }
    };
    // Enough of them to run inline, too; then plans are made anew, in both kinds of processes.
    (0..30).for_each(|_| ask_all());
    platform.sql("create index on things (id); alter role app set work_mem = '5MB'; analyze things");
    (0..10).for_each(|_| ask_all());
    let places = ["folded", "parsed", "default", "body", "operator", "domain", "handler"];
    assert_eq!(told(&platform), each_as(&places, "app"));
}

#[test]
fn rows_of_a_listener_are_checked_and_followed_as_its_role() {
    for policies in [false, true] {
        let platform = Platform::start();
        platform.sql(TELLTALES);
        let lines = free_port();
        platform.sql(&format!(
            "set role mallory;
             create table evil.item (id integer default (case when evil.tell('default') then 1 end), name evil.d,
               twice integer generated always as (case when evil.tell('generated') then 2 end) stored,
               check (evil.tell('check')));
             create function evil.of_index(integer) returns boolean immutable language plpgsql as
               $$ begin return evil.tell('index'); end $$;
             create index on evil.item (evil.of_index(id));
             create function evil.see() returns trigger language plpgsql as
               $$ begin perform evil.tell(tg_name); return new; end $$;
             create trigger before before insert on evil.item for each row execute function evil.see();
             create constraint trigger deferred after insert on evil.item deferrable initially deferred
               for each row execute function evil.see();
             create policy p on evil.item with check (evil.tell('policy'));
             {}
             grant insert on evil.item to app; reset role;
             select queue.listen({lines}, into_table => 'evil.item', address => '127.0.0.1', role => 'app')",
            if policies { "alter table evil.item enable row level security;" } else { "" },
        ));
        let intake = Intake { platform, lines };
        intake.wait_until_bound();
        intake.pour(b"{\"name\": \"a\"}\n{\"name\": \"b\"}\n");
        wait_for("rows", || intake.platform.count("evil.item") == 2);
        let mut places = vec!["default", "domain", "generated", "check", "index", "before", "deferred"];
        if policies {
            places.push("policy");
        }
        let mut told = told(&intake.platform);
        // When the table was made.
        told.retain(|what| !what.ends_with("as mallory"));
        assert_eq!(told, each_as(&places, "app"), "policies: {policies}");
    }
}
