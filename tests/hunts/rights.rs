//! Rights of every kind come and go while routes are asked for: nobody sees after a revoke what it may not see.

use std::time::Duration;

use howdah_tests::{Platform, Reply};
use hunt::{Hunt, Rng};

use super::versions::{Question, Versions, compare_under};

const SHORT: Duration = Duration::from_secs(if cfg!(feature = "long") { 12 } else { 6 });
/// Changes of a round.
const CHANGES: u32 = 60;

/// What the role `reader` may do.
#[derive(Clone, Debug)]
struct State {
    selects: bool,
    /// Whether it has the right by way of `staff`.
    is_staff: bool,
    staff_selects: bool,
    executes: bool,
    uses_schema: bool,
    /// Whether row security is on, and whether its policy lets the rows be seen.
    is_secured: bool,
    policy: bool,
    bypasses: bool,
    /// Whether the view looks as whoever asks, and whether reader may select from it.
    view_as_invoker: bool,
    view_selects: bool,
    /// Whether the function `defined` runs as its owner.
    is_definer: bool,
    /// What it may do with a queue.
    sends: bool,
    takes: bool,
}

impl State {
    fn reads_table(&self) -> bool {
        self.selects || self.is_staff && self.staff_selects
    }

    fn sees_rows(&self) -> bool {
        !self.is_secured || self.policy || self.bypasses
    }

    /// What a query of the table answers.
    fn of_table(&self) -> Option<bool> {
        (self.uses_schema && self.reads_table()).then(|| self.sees_rows())
    }

    fn of_view(&self) -> Option<bool> {
        let may = self.uses_schema && self.view_selects && (!self.view_as_invoker || self.reads_table());
        may.then(|| !self.view_as_invoker || self.sees_rows())
    }

    /// What the route says: whether its rows are seen; none for a refusal.
    fn answer(&self, route: &str) -> Option<bool> {
        match route {
            "tree" | "text" | "plpgsql" | "handler" => self.of_table(),
            "view" => self.of_view(),
            "secret" => (self.uses_schema && self.executes).then_some(true),
            "peek" => self.takes.then_some(true),
            "allows" => Some(self.sends),
            "defined" if self.is_definer => Some(true),
            "defined" => self.of_table(),
            other => panic!("no route {other}"),
        }
    }
}

const ROUTES: [&str; 9] =
    ["tree", "text", "plpgsql", "handler", "view", "secret", "defined", "peek", "allows"];

/// Functions that are public's and outside of the schema ask for what is inside.
const SCHEMA: &str = "
    create role reader; create role staff; grant reader, staff to howdah_admin;
    create schema vault; grant usage on schema vault to reader;
    create table vault.note (line text); insert into vault.note values ('seen');
    create policy shown on vault.note to reader using (true);
    create view vault.shown as select * from vault.note;
    create function vault.secret() returns text language sql stable return 'seen';
    revoke execute on function vault.secret() from public;
    create function by_tree() returns text language sql stable begin atomic
      select coalesce(max(line), 'none') from vault.note; end;
    create function by_text() returns text language sql stable
      as $$ select coalesce(max(line), 'none') from vault.note $$;
    create function by_plpgsql() returns text language plpgsql stable
      as $$ begin return coalesce(max(line), 'none') from vault.note; end $$;
    create function by_view() returns text language plpgsql stable
      as $$ begin return coalesce(max(line), 'none') from vault.shown; end $$;
    create function by_secret() returns text language plpgsql stable as $$ begin return vault.secret(); end $$;
    create function by_defined() returns text language plpgsql stable
      as $$ begin return coalesce(max(line), 'none') from vault.note; end $$;
    select queue.create('vaulted'); select queue.send('vaulted', '\"seen\"');
    create function by_peek() returns text language sql as $$ select message #>> '{}' from queue.peek('vaulted') $$;
    create function by_allows() returns text language sql stable
      as $$ select case when queue.allows('vaulted', 'send') then 'seen' else 'none' end $$;
    select http.route('GET', '/' || kind, 'by_' || kind, role => 'reader')
    from unnest(array['tree', 'text', 'plpgsql', 'view', 'secret', 'defined', 'peek', 'allows']) kind;
    select http.handle($$select http.response((select coalesce(max(line), 'none') from vault.note))
      from request where path = '/handler'$$, role => 'reader');";

/// A change, with the statement that makes it. What a parsed body needs of a schema was asked when it was made.
fn change(random: &mut Rng, mut state: State) -> (State, String) {
    let turn = random.bool();
    let say = |on: &str, off: &str| if turn { on.to_owned() } else { off.to_owned() };
    let statement = match random.u8(..12) {
        0 => {
            state.selects = turn;
            say("grant select on vault.note to reader", "revoke select on vault.note from reader")
        }
        1 => {
            state.is_staff = turn;
            say("grant staff to reader", "revoke staff from reader")
        }
        2 => {
            state.staff_selects = turn;
            say("grant select on vault.note to staff", "revoke select on vault.note from staff")
        }
        3 => {
            state.executes = turn;
            say(
                "grant execute on function vault.secret() to reader",
                "revoke execute on function vault.secret() from reader",
            )
        }
        4 => {
            state.is_secured = turn;
            say(
                "alter table vault.note enable row level security",
                "alter table vault.note disable row level security",
            )
        }
        5 => {
            state.policy = turn;
            say(
                "alter policy shown on vault.note using (true)",
                "alter policy shown on vault.note using (false)",
            )
        }
        6 => {
            state.bypasses = turn;
            say("alter role reader bypassrls", "alter role reader nobypassrls")
        }
        7 => {
            state.view_as_invoker = turn;
            say(
                "alter view vault.shown set (security_invoker = true)",
                "alter view vault.shown set (security_invoker = false)",
            )
        }
        8 => {
            state.view_selects = turn;
            say("grant select on vault.shown to reader", "revoke select on vault.shown from reader")
        }
        9 => {
            state.sends = turn;
            say(
                "select queue.grant('vaulted', 'send', 'reader')",
                "select queue.revoke('vaulted', 'send', 'reader')",
            )
        }
        10 => {
            state.takes = turn;
            say(
                "select queue.grant('vaulted', 'take', 'reader')",
                "select queue.revoke('vaulted', 'take', 'reader')",
            )
        }
        _ => {
            state.is_definer = turn;
            say(
                "alter function by_defined() security definer",
                "alter function by_defined() security invoker",
            )
        }
    };
    (state, statement)
}

fn question(random: &mut Rng) -> Question<State> {
    let route = ROUTES[random.usize(..ROUTES.len())];
    let fault = move |state: &State, reply: &Reply| {
        let expected = match state.answer(route) {
            Some(true) => (200, "seen"),
            Some(false) => (200, "none"),
            None => (403, ""),
        };
        let text = if reply.status == 200 { reply.text() } else { String::new() };
        (expected != (reply.status, text.as_str())).then(|| format!("{expected:?} was expected in {state:?}"))
    };
    Question { method: "GET", target: format!("/{route}"), fault: Box::new(fault) }
}

#[test]
fn nobody_sees_after_a_revoke_what_it_may_not_see() {
    let mut hunt = Hunt::begin("rights", SHORT);
    let platform = Platform::with(&[("howdah.inline_threshold", "100000")]);
    platform.sql(SCHEMA);
    let mut asked = 0;
    while let Some(mut random) = hunt.next_round() {
        let mut session = platform.session();
        session
            .batch_execute(
                "revoke all on all tables in schema vault from reader, staff; revoke staff from reader;
                 revoke all on function vault.secret() from reader; grant usage on schema vault to reader;
                 alter table vault.note disable row level security; alter policy shown on vault.note using (true);
                 alter role reader nobypassrls; alter view vault.shown set (security_invoker = false);
                 alter function by_defined() security invoker;
                 select queue.revoke('vaulted', permission, 'reader') from unnest(array['send', 'take']) permission",
            )
            .expect("the first state");
        let versions = Versions::of(State {
            selects: false,
            is_staff: false,
            staff_selects: false,
            executes: false,
            uses_schema: true,
            is_secured: false,
            policy: true,
            bypasses: false,
            view_as_invoker: false,
            view_selects: false,
            is_definer: false,
            sends: false,
            takes: false,
        });
        let one = |_: u32, random: &mut Rng| {
            let (next, statement) = change(random, versions.last());
            versions.change(next, || {
                session.batch_execute(&statement).unwrap_or_else(|error| panic!("{error:?}\n{statement}"));
            });
        };
        asked += compare_under(&platform, &versions, &mut random, question, one, CHANGES);
    }
    assert!(asked > 0, "nothing was asked");
}
