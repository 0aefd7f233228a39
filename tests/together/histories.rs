//! A checker over real histories: nobody gets 304 for what has changed, or a body that was kept of it, in the eyes of anybody who was told so or has
//! seen it.
//!
//! A register is something that SQL can change, in one of many ways, and that a route shows. Each has one writer, who counts upwards, so that
//! a state is a number. What a writer was told, and what an observer or a reader has seen, is known from then on: whoever asks
//! afterwards gets a state that is not older, be it by a body or by 304 for the tag of a body. Of names only what a writer was told: PostgreSQL
//! shows a commit to new snapshots first, and then has other processes forget the names that they know, so a process that knew none may see a
//! new one before another hears of it (`CommitTransaction` calls `ProcArrayEndTransaction` before `AtEOXact_Inval`).

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::SeqCst;
use std::thread;
use std::time::{Duration, Instant};

use cluster::postgres::{Client, SimpleQueryMessage};
use howdah_tests::Connection;
use howdah_tests::pipeline::Pipeline;
use howdah_tests::platform::{DATABASE, Platform, wait_for};

/// How long it goes on.
const TIME: Duration = Duration::from_secs(if cfg!(feature = "long") { 600 } else { 14 });
/// Time between two kills of a process, each of which has all begin anew.
const BETWEEN_KILLS: Duration = Duration::from_secs(if cfg!(feature = "long") { 20 } else { 5 });
const READERS: usize = 8;
const WRITERS: usize = 8;
const OBSERVERS: usize = 2;

/// Something that is changed in one way.
struct Way {
    name: &'static str,
    /// What makes it, at state 0.
    make: &'static str,
    /// What brings it to state `$v`, each statement by itself; one that begins with `HTTP ` is a request, with `PIPE ` several in one pipeline.
    change: &'static [&'static str],
    /// Its state, as an expression.
    state: &'static str,
    /// Whether whoever looks by psql sees rows alone: of names each process hears in its own time.
    is_of_rows: bool,
}

/// Whether a register is changed at this time: those whose change has all that is remembered forgotten leave time to the others.
fn is_turn_of(way: &Way, begun: Instant) -> bool {
    let has_all_forgotten = !way.is_of_rows || way.name == "uncounted";
    has_all_forgotten == (begun.elapsed().as_millis() % 1500 > 1000)
}

const fn rows(
    name: &'static str,
    make: &'static str,
    change: &'static [&'static str],
    state: &'static str,
) -> Way {
    Way { name, make, change, state, is_of_rows: true }
}

const fn names(
    name: &'static str,
    make: &'static str,
    change: &'static [&'static str],
    state: &'static str,
) -> Way {
    Way { name, make, change, state, is_of_rows: false }
}

const WAYS: &[Way] = &[
    rows("updated", "create table updated (v bigint); insert into updated values (0)", &["update updated set v = $v"], "(select v from updated)"),
    rows(
        "by_http",
        "create table by_http (v bigint); insert into by_http values (0); grant all on by_http to howdah_web;
         create function set_by_http(v bigint) returns void language sql begin atomic update by_http set v = set_by_http.v; end;
         select http.route('PUT', '/by_http/{v}', 'set_by_http')",
        &["HTTP PUT /by_http/$v"],
        "(select v from by_http)",
    ),
    rows("inserted", "create table inserted (v bigint)", &["insert into inserted values ($v)"], "(select coalesce(max(v), 0) from inserted)"),
    rows(
        "replaced",
        "create table replaced (v bigint); insert into replaced values (0)",
        &["with old as (delete from replaced) insert into replaced values ($v)"],
        "(select v from replaced)",
    ),
    rows(
        "deleted",
        "create table deleted (v bigint primary key); insert into deleted select generate_series(1, 200000)",
        &["delete from deleted where v <= $v"],
        "(select coalesce(min(v), 1) - 1 from deleted)",
    ),
    rows(
        "merged",
        "create table merged (v bigint); insert into merged values (0)",
        &["merge into merged using (values (1)) x on true when matched then update set v = $v"],
        "(select v from merged)",
    ),
    rows(
        "truncated",
        "create table truncated (v bigint); insert into truncated values (0)",
        &["begin; truncate truncated; insert into truncated values ($v); commit"],
        // In a snapshot from before it is empty.
        "(select coalesce(max(v), 0) from truncated)",
    ),
    rows("copied", "create table copied (v bigint)", &["copy copied from program 'echo $v'"], "(select coalesce(max(v), 0) from copied)"),
    rows(
        "cascaded",
        "create table cascading (id bigint primary key); insert into cascading values (0);
         create table cascaded (v bigint references cascading on update cascade); insert into cascaded values (0)",
        &["update cascading set id = $v"],
        "(select v from cascaded)",
    ),
    rows(
        "triggered",
        "create table triggering (v bigint); create table triggered (v bigint); insert into triggered values (0);
         create function trigger_it() returns trigger language plpgsql as 'begin update triggered set v = new.v; return null; end';
         create trigger it before insert on triggering for each row execute function trigger_it()",
        &["insert into triggering values ($v)"],
        "(select v from triggered)",
    ),
    rows(
        "deferred",
        "create table deferring (v bigint); create table deferred (v bigint); insert into deferred values (0);
         create function defer_it() returns trigger language plpgsql as 'begin update deferred set v = new.v; return null; end';
         create constraint trigger it after insert on deferring deferrable initially deferred for each row execute function defer_it()",
        &["insert into deferring values ($v)"],
        "(select v from deferred)",
    ),
    rows(
        "moved",
        "create table moved (place bigint, v bigint) partition by list (place);
         create table moved_even partition of moved for values in (0); create table moved_odd partition of moved for values in (1);
         insert into moved values (0, 0)",
        &["update moved set place = $v % 2, v = $v"],
        "(select v from moved)",
    ),
    rows("child", "create table parent (v bigint); create table child () inherits (parent)", &["insert into child values ($v)"], "(select coalesce(max(v), 0) from parent)"),
    rows(
        "refreshed",
        "create table refreshing (v bigint); insert into refreshing values (0); create materialized view refreshed as select v from refreshing",
        &["update refreshing set v = $v", "refresh materialized view refreshed"],
        "(select v from refreshed)",
    ),
    rows(
        "refreshed_beside",
        "create table refreshing_beside (v bigint); insert into refreshing_beside values (0);
         create materialized view refreshed_beside as select v, 1 as one from refreshing_beside; create unique index on refreshed_beside (one)",
        &["update refreshing_beside set v = $v", "refresh materialized view concurrently refreshed_beside"],
        "(select v from refreshed_beside)",
    ),
    rows(
        "as_replica",
        "create table as_replica (v bigint); insert into as_replica values (0)",
        &["begin; set local session_replication_role = replica; update as_replica set v = $v; commit"],
        "(select v from as_replica)",
    ),
    rows(
        "uncounted",
        "create table uncounted (v bigint); insert into uncounted values (0)",
        &["begin; set local track_counts = off; update uncounted set v = $v; set local track_counts = on; commit"],
        "(select v from uncounted)",
    ),
    rows(
        "saved",
        "create table saved (v bigint); insert into saved values (0)",
        &["begin; savepoint a; update saved set v = -1; rollback to a; savepoint b; update saved set v = $v; release b; commit"],
        "(select v from saved)",
    ),
    rows(
        "prepared",
        "create table prepared (v bigint); insert into prepared values (0)",
        &["begin; update prepared set v = $v; prepare transaction 'prepared'", "commit prepared 'prepared'"],
        "(select v from prepared)",
    ),
    names("function", "create function of_function() returns bigint language sql stable return 0", &["create or replace function of_function() returns bigint language sql stable return $v"], "of_function()"),
    names("block", "create function of_block() returns bigint language plpgsql stable as 'begin return 0; end'", &["create or replace function of_block() returns bigint language plpgsql stable as 'begin return $v; end'"], "of_block()"),
    names("view", "create view of_view as select 0::bigint as v", &["create or replace view of_view as select $v::bigint as v"], "(select v from of_view)"),
    names(
        "policy",
        // A row for each bit, of which those are shown that the state has.
        "create table of_policy (v integer); insert into of_policy select generate_series(0, 31); alter table of_policy enable row level security;
         create policy it on of_policy using (false)",
        &["alter policy it on of_policy using ($v::bigint >> v & 1 = 1)"],
        "(select coalesce(sum(1::bigint << v), 0) from of_policy)",
    ),
    names("enum", "create type of_enum as enum ('v0'); create table of_enum_table (v of_enum); insert into of_enum_table values ('v0')", &["do $$ begin execute format('alter type of_enum rename value %L to %L', (select v from of_enum_table), 'v$v'); end $$"], "(select substr(v::text, 2) from of_enum_table)"),
    names(
        "attached",
        "create table of_parts (v bigint) partition by range (v); create table of_part (v bigint); insert into of_part values (0);
         alter table of_parts attach partition of_part for values from (0) to (1)",
        &["begin; lock table of_parts;
           do $$ declare old regclass; begin
             for old in select inhrelid::regclass from pg_inherits where inhparent = 'of_parts'::regclass loop execute format('drop table %s', old); end loop;
           end $$;
           create table of_part_$v (v bigint); insert into of_part_$v values ($v);
           alter table of_parts attach partition of_part_$v for values from ($v) to ($v + 1); commit"],
        "(select max(v) from of_parts)",
    ),
    names("piped", "create function of_pipe() returns bigint language sql stable return 0", &["PIPE analyze updated | create or replace function of_pipe() returns bigint language sql stable return $v"], "of_pipe()"),
    names(
        "piped_before",
        "create function of_pipe_before() returns bigint language sql stable return 0; create table reindexed (id bigint primary key)",
        &["PIPE create or replace function of_pipe_before() returns bigint language sql stable return $v | reindex table reindexed"],
        "of_pipe_before()",
    ),
    names(
        "indexed",
        "create table indexed (v bigint); insert into indexed values (0); create table next_of_index (v bigint); create function of_index() returns bigint language sql stable return 0;
         create function make_of_index() returns void language plpgsql as
           'begin execute format(''create or replace function public.of_index() returns bigint language sql stable return %s'', (select coalesce(max(v), 0) from public.next_of_index)); end';
         create function index_it(v bigint) returns bigint language plpgsql immutable as 'begin perform public.make_of_index(); return v; end';
         create index indexed_by on indexed (index_it(v))",
        &["insert into next_of_index values ($v)", "reindex index indexed_by"],
        "of_index()",
    ),
    names(
        "rewritten",
        "create table rewritten (v bigint); insert into rewritten values (0)",
        &["alter table rewritten alter column v type bigint using $v"],
        "(select v from rewritten)",
    ),
];

/// What the threads share.
struct World {
    platform: Platform,
    begun: Instant,
    /// The state of each register that somebody knows.
    known: Vec<AtomicU64>,
    is_over: AtomicBool,
    answers: [AtomicU64; 2],
    /// Somebody has got something older.
    violation: OnceLock<String>,
}

impl World {
    fn new(stage: Option<PathBuf>, faults: &str) -> World {
        let settings = [
            ("howdah.gateways", "2"),
            ("max_prepared_transactions", "4"),
            ("synchronous_commit", "on"),
            ("howdah.log_rate", "10"),
            ("faults.changes", faults),
        ];
        let platform = Platform::of_stage(stage, &settings);
        for (place, way) in WAYS.iter().enumerate() {
            platform.sql(way.make);
            let (name, state) = (way.name, way.state);
            // A function that is called takes no lock before its caller's snapshot, for which a table that is rewritten then is empty.
            let is_new_file = matches!(name, "truncated" | "rewritten");
            let body = if place % 2 == 0 || is_new_file {
                format!("language sql stable as $$ select '{name} ' || {state} $$")
            } else {
                format!("language plpgsql stable as $$ begin return '{name} ' || {state}; end $$")
            };
            platform.sql(&format!(
                "create function show_{name}() returns text {body};
                 select http.route('GET', '/{name}', 'show_{name}'), http.validate('GET', '/{name}'),
                   http.route('GET', '/kept/{name}', 'show_{name}'), http.cache('GET', '/kept/{name}');"
            ));
        }
        platform.sql("grant select on all tables in schema public to howdah_web");
        wait_for("the routes", || {
            platform.get(&format!("/kept/{}", WAYS[WAYS.len() - 1].name)).status == 200
        });
        World {
            platform,
            begun: Instant::now(),
            known: WAYS.iter().map(|_| AtomicU64::new(0)).collect(),
            is_over: AtomicBool::new(false),
            answers: [AtomicU64::new(0), AtomicU64::new(0)],
            violation: OnceLock::new(),
        }
    }

    fn goes_on(&self) -> bool {
        !self.is_over.load(SeqCst)
    }

    fn knows(&self, place: usize) -> u64 {
        self.known[place].load(SeqCst)
    }

    fn learn(&self, place: usize, state: u64) {
        self.known[place].fetch_max(state, SeqCst);
    }

    /// A session, as soon as there is one.
    fn session(&self) -> Option<Client> {
        while self.goes_on() {
            if let Ok(session) = self.platform.cluster.connect(DATABASE) {
                return Some(session);
            }
            thread::sleep(Duration::from_millis(20));
        }
        None
    }

    fn connection(&self) -> Option<Connection> {
        while self.goes_on() {
            if let Some(connection) = Connection::try_open(self.platform.port) {
                return Some(connection);
            }
            thread::sleep(Duration::from_millis(20));
        }
        None
    }

    /// Writes some of the registers in turn.
    fn write(&self, writer: usize) {
        let Some(mut session) = self.session() else { return };
        while self.goes_on() {
            thread::sleep(Duration::from_millis(fastrand::u64(..10)));
            for (place, way) in WAYS.iter().enumerate().filter(|(place, _)| place % WRITERS == writer) {
                if !self.goes_on() {
                    return;
                }
                if !is_turn_of(way, self.begun) {
                    continue;
                }
                let next = match self.settled(&mut session, way) {
                    Ok(state) => state.max(self.knows(place)) + 1,
                    // The server begins anew.
                    Err(_) => match self.session() {
                        Some(another) => {
                            session = another;
                            continue;
                        }
                        None => return,
                    },
                };
                if way
                    .change
                    .iter()
                    .all(|step| self.take(&mut session, &step.replace("$v", &next.to_string())))
                {
                    self.learn(place, next);
                }
                thread::sleep(Duration::from_millis(fastrand::u64(..6)));
            }
        }
    }

    /// Takes a step; whether it has succeeded for sure.
    fn take(&self, session: &mut Client, step: &str) -> bool {
        if let Some(statements) = step.strip_prefix("PIPE ") {
            let statements: Vec<&str> = statements.split(" | ").collect();
            return Pipeline::try_open(&self.platform, DATABASE)
                .is_some_and(|mut pipeline| pipeline.run(&statements).is_ok());
        }
        match step.strip_prefix("HTTP ").and_then(|request| request.split_once(' ')) {
            Some((method, path)) => {
                let reply = Connection::try_open(self.platform.port)
                    .and_then(|mut connection| connection.try_ask(method, path, &[]));
                reply.is_some_and(|reply| reply.status < 300)
            }
            None => match session.batch_execute(step) {
                Ok(()) => true,
                Err(error) => {
                    let code = error.as_db_error().map_or("", |error| error.code().code());
                    assert!(["", "40P01"].contains(&code) || code.starts_with("57"), "{step}: {error:?}");
                    let _ = session.batch_execute("rollback");
                    false
                }
            },
        }
    }

    /// The state, when what a crash has left prepared is committed.
    fn settled(&self, session: &mut Client, way: &Way) -> Result<u64, cluster::postgres::Error> {
        if way.name == "prepared" && session.query_opt("select 1 from pg_prepared_xacts", &[])?.is_some() {
            session.batch_execute("commit prepared 'prepared'")?;
        }
        self.state(session, way)
    }

    /// The state as SQL shows it.
    fn state(&self, session: &mut Client, way: &Way) -> Result<u64, cluster::postgres::Error> {
        let reset = if way.name == "policy" { "set role howdah_web; " } else { "" };
        let rows = session.simple_query(&format!("{reset}select {}; reset role", way.state))?;
        let state = rows.iter().find_map(|message| match message {
            SimpleQueryMessage::Row(row) => row.get(0).and_then(|state| state.parse().ok()),
            _ => None,
        });
        Ok(state.unwrap_or(0))
    }

    /// Looks at rows, and tells all what it has seen.
    fn observe(&self) {
        let Some(mut session) = self.session() else { return };
        while self.goes_on() {
            let place = fastrand::usize(..WAYS.len());
            if !WAYS[place].is_of_rows {
                continue;
            }
            match self.state(&mut session, &WAYS[place]) {
                Ok(state) => self.learn(place, state),
                Err(_) => match self.session() {
                    Some(another) => session = another,
                    None => return,
                },
            }
        }
    }

    /// Asks by the tag that it has, or without where answers are kept; how often it was answered by a body, and by 304.
    fn read(&self) {
        let Some(mut connection) = self.connection() else { return };
        // Of each register the tag that it has, and the state that this is of.
        let mut kept: HashMap<usize, (String, u64)> = HashMap::new();
        while self.goes_on() {
            let place = fastrand::usize(..WAYS.len());
            let is_kept = fastrand::bool();
            let path = format!("{}/{}", if is_kept { "/kept" } else { "" }, WAYS[place].name);
            let known = self.knows(place);
            let tag = kept.get(&place).map_or("\"none\"", |(tag, _)| tag).to_owned();
            let condition = [("If-None-Match", tag.as_str())];
            let headers: &[_] = if is_kept && fastrand::bool() { &[] } else { &condition };
            let reply = connection.try_ask("GET", &path, headers);
            let Some(reply) = reply.filter(|reply| reply.status < 500) else {
                // The server begins anew, or a request was run again too often under changes of names.
                match self.connection() {
                    Some(another) => connection = another,
                    None => return,
                }
                continue;
            };
            let state = match reply.status {
                304 => kept[&place].1,
                200 => reply
                    .text()
                    .split(' ')
                    .nth(1)
                    .and_then(|state| state.parse().ok())
                    .unwrap_or_else(|| panic!("{path}: {}", reply.text())),
                // While the policy is changed, or the partition attached.
                status => panic!("{path}: {status} {}", reply.text()),
            };
            if state < known {
                let told = format!("{path}: {} with state {state}, and {known} is known", reply.status);
                let _ = self.violation.set(told);
                self.is_over.store(true, SeqCst);
                return;
            }
            self.answers[usize::from(reply.status == 304)].fetch_add(1, SeqCst);
            if reply.status == 200 {
                // What is not kept has a tag where the route has validators alone.
                match reply.header("etag") {
                    Some(tag) => kept.insert(place, (tag.to_owned(), state)),
                    None => kept.remove(&place),
                };
            }
            if WAYS[place].is_of_rows {
                self.learn(place, state);
            }
        }
    }

    /// Kills a process now and then, so that the server begins anew.
    fn kill(&self) {
        let begun = Instant::now();
        let mut next = BETWEEN_KILLS;
        // None at the end, so that there is something to count.
        while self.goes_on() && begun.elapsed() + BETWEEN_KILLS / 2 < TIME {
            thread::sleep(Duration::from_millis(50));
            if begun.elapsed() > next {
                next += BETWEEN_KILLS;
                let Some(mut session) = self.session() else { return };
                let Ok(row) = session.query_one("select pid from pg_stat_activity where backend_type like 'howdah executor%' or backend_type = 'client backend' order by random() limit 1", &[]) else { continue };
                let pid: i32 = row.get(0);
                // SAFETY: a process of the server that this test has started.
                unsafe { libc::kill(pid, libc::SIGKILL) };
            }
        }
    }
}

/// Ends the work of all when one panics.
struct Ender<'w>(&'w World);

impl Drop for Ender<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.is_over.store(true, SeqCst);
        }
    }
}

impl World {
    /// Lets all work for so long, or until somebody gets something older; with kills meanwhile.
    fn run(&self, time: Duration, kills: bool) {
        thread::scope(|scope| {
            let spawn = |work: Box<dyn Fn(&World) + Send>| {
                scope.spawn(move || {
                    let _ender = Ender(self);
                    work(self);
                });
            };
            (0..WRITERS).for_each(|writer| spawn(Box::new(move |world| world.write(writer))));
            (0..READERS).for_each(|_| spawn(Box::new(World::read)));
            (0..OBSERVERS).for_each(|_| spawn(Box::new(World::observe)));
            if kills {
                spawn(Box::new(World::kill));
            }
            let begun = Instant::now();
            while begun.elapsed() < time && self.goes_on() {
                thread::sleep(Duration::from_millis(20));
            }
            self.is_over.store(true, SeqCst);
        });
    }

    /// An error unless all was changed, and enough was answered without a body.
    fn check(&self) {
        assert_eq!(self.violation.get(), None);
        let [bodies, unchanged] = self.answers.each_ref().map(|count| count.load(SeqCst));
        for (way, known) in WAYS.iter().zip(&self.known) {
            assert!(known.load(SeqCst) > 0, "{} was never changed", way.name);
        }
        let remembered = self.platform.value("select sum(remembered) from http.stats");
        let cached = self.platform.value("select sum(cached) from http.stats");
        println!(
            "{bodies} bodies and {unchanged} 304, without a run since the last kill: {remembered:?} and {cached:?} bodies"
        );
        assert_ne!(cached.as_deref(), Some("0"));
        assert!(unchanged > 100, "{unchanged}");
        assert_ne!(remembered.as_deref(), Some("0"));
    }
}

#[test]
fn nobody_gets_what_is_older_than_what_somebody_knows() {
    let world = World::new(None, "");
    world.run(TIME, true);
    world.check();
}

/// By a build that makes mistakes on demand, as `make test-long` has it.
#[cfg(feature = "long")]
mod mistakes {
    use super::*;

    fn world(faults: &str) -> World {
        let stage =
            std::env::var_os("HOWDAH_FAULTY_STAGE").expect("HOWDAH_FAULTY_STAGE, as make test-long sets it");
        World::new(Some(stage.into()), faults)
    }

    #[test]
    fn a_commit_that_is_counted_late_shows_nothing_old() {
        let world = world("held");
        world.run(Duration::from_secs(20), false);
        world.check();
    }

    #[test]
    fn each_mistake_is_found() {
        for faults in [
            "no-inserts",
            "no-updates",
            "no-deletes",
            "no-names",
            "no-prepared",
            "no-blindness",
            "early",
            "unmarked held",
        ] {
            let world = world(faults);
            let begun = Instant::now();
            world.run(Duration::from_secs(60), false);
            println!("{faults}: {:?} after {:?}", world.violation.get(), begun.elapsed());
            assert!(world.violation.get().is_some(), "{faults} was not found");
        }
    }
}
