//! Tables, views and functions change in every way while routes of every form use them: each answer is one that was right
//! at some time while it was asked for.

use std::time::Duration;

use cluster::postgres::Client;
use howdah_tests::{Platform, Reply};
use hunt::{Hunt, Rng};
use serde_json::Value;

use super::versions::{Question, Versions, compare_under};

const SHORT: Duration = Duration::from_secs(if cfg!(feature = "long") { 15 } else { 6 });
/// Changes of a round.
const CHANGES: u32 = 40;
/// Rows of the table.
const ROWS: u32 = 50;

/// What the routes answer.
#[derive(Clone, Debug)]
struct State {
    /// What each function puts behind a name.
    marks: [u32; FUNCTIONS.len()],
    /// What the rows' names end with.
    name: u32,
    /// Columns that the table has besides.
    extra: Vec<String>,
    /// Whether the rows are being written anew, by TRUNCATE or ALTER TYPE: a snapshot from before sees none of them then, and
    /// a function that is called and not volatile has the snapshot of its caller. So it is in every session of PostgreSQL.
    rewrites: bool,
}

impl State {
    fn name(&self, id: u32) -> String {
        format!("item {id} {}", self.name)
    }
}

/// The functions: how each begins, and its body around a mark.
const FUNCTIONS: [(&str, &str); 5] = [
    (
        "by_tree(id int) returns text language sql stable",
        "begin atomic select item.name || ' MARK' from item where item.id = by_tree.id; end",
    ),
    (
        "by_text(id int) returns text language sql stable",
        "as $$ select item.name || ' MARK' from item where item.id = by_text.id $$",
    ),
    (
        "by_return(id int) returns text language sql stable",
        "return (select item.name || ' MARK' from item where item.id = by_return.id)",
    ),
    (
        "by_plpgsql(id int) returns text language plpgsql stable",
        "as $$ begin return item.name || ' MARK' from item where item.id = by_plpgsql.id; end $$",
    ),
    (
        "by_view(id int) returns text language sql stable",
        "as $$ select shown.name || ' MARK' from shown where shown.id = by_view.id $$",
    ),
];

fn name_of(function: usize) -> &'static str {
    FUNCTIONS[function].0.split('(').next().unwrap_or_default()
}

/// The statement that makes a function, under another word than `create` if need be.
fn make(function: usize, verb: &str, mark: u32) -> String {
    let (head, body) = FUNCTIONS[function];
    format!("{verb} function {head} {}", body.replace("MARK", &mark.to_string()))
}

fn schema() -> String {
    let mut script = format!(
        "drop schema if exists hunted cascade; create schema hunted; set search_path = hunted;
         grant usage on schema hunted to howdah_web;
         delete from http.route where pattern like '/hunted%';
         create table item (id int constraint item_key primary key, name text not null, price int not null default 7);
         insert into item select n, 'item ' || n || ' 0' from generate_series(1, {ROWS}) n;
         create view shown as select * from item;
         create function row_of(id int) returns item language sql stable
           as $$ select * from item where item.id = row_of.id $$;
         create function rows_from(id int) returns setof item language plpgsql stable
           as $$ begin return query select * from item where item.id between rows_from.id and rows_from.id + 2 order by 1; end $$;
         grant select on all tables in schema hunted to howdah_web;
         alter default privileges in schema hunted grant select on tables to howdah_web;"
    );
    for function in 0..FUNCTIONS.len() {
        script.push_str(&make(function, "create", 0));
        script.push_str(&format!("; select {};", routes(name_of(function))));
    }
    script.push_str(&format!("select {}; select {};", routes("row_of"), routes("rows_from")));
    script
}

fn routes(function: &str) -> String {
    format!(
        "http.route('GET', '/hunted/{function}/{{id}}', '{function}'),
         http.route('POST', '/hunted/{function}/{{id}}', '{function}')"
    )
}

fn question(random: &mut Rng) -> Question<State> {
    let id = random.u32(1..=ROWS - 2);
    let method = if random.u8(..4) == 0 { "POST" } else { "GET" };
    let kind = random.usize(..FUNCTIONS.len() + 2);
    let has_old_snapshot = matches!(kind, BY_PLPGSQL | ROW_OF | ROWS_FROM);
    let function = match kind.checked_sub(FUNCTIONS.len()) {
        None => name_of(kind),
        Some(0) => "row_of",
        Some(_) => "rows_from",
    };
    let fault = move |state: &State, reply: &Reply| match kind.checked_sub(FUNCTIONS.len()) {
        _ if state.rewrites && has_old_snapshot && sees_no_row(reply) => None,
        None => {
            let expected = format!("{} {}", state.name(id), state.marks[kind]);
            differs((200, expected.as_str()), (reply.status, reply.text().as_str()))
        }
        Some(0) => differs((200, row(state, id)), (reply.status, json(reply))),
        Some(_) => {
            let rows = (id..=id + 2).map(|id| row(state, id)).collect();
            differs((200, Value::Array(rows)), (reply.status, json(reply)))
        }
    };
    Question { method, target: format!("/hunted/{function}/{id}"), fault: Box::new(fault) }
}

/// The places of functions that are called among the questions.
const BY_PLPGSQL: usize = 3;
const ROW_OF: usize = FUNCTIONS.len();
const ROWS_FROM: usize = FUNCTIONS.len() + 1;

fn sees_no_row(reply: &Reply) -> bool {
    matches!(reply.status, 204 | 404) || reply.body == b"[]"
}

fn json(reply: &Reply) -> Value {
    serde_json::from_slice(&reply.body).unwrap_or(Value::Null)
}

fn row(state: &State, id: u32) -> Value {
    let mut row = serde_json::json!({ "id": id, "name": state.name(id), "price": 7 });
    for column in &state.extra {
        row[column] = Value::from(1);
    }
    row
}

fn differs<T: PartialEq + std::fmt::Debug>(expected: T, found: T) -> Option<String> {
    (expected != found).then(|| format!("{expected:?} was expected"))
}

/// One change of some kind: the state after it, and the statements, each sent by itself.
fn change(random: &mut Rng, number: u32, mut state: State) -> (State, Vec<String>) {
    state.rewrites = false;
    let function = random.usize(..FUNCTIONS.len());
    let name = name_of(function);
    let one = |text: &str| vec![text.to_owned()];
    let statements = match random.u8(..24) {
        0 | 1 => {
            state.marks[function] = number;
            vec![make(function, "create or replace", number)]
        }
        2 => {
            state.marks[function] = number;
            vec![format!("begin; drop function {name}; {}; commit", make(function, "create", number))]
        }
        3 => {
            state.extra.push(format!("extra_{number}"));
            vec![format!("alter table item add extra_{number} int not null default 1")]
        }
        4 if !state.extra.is_empty() => {
            let column = state.extra.swap_remove(random.usize(..state.extra.len()));
            // The view has the columns of its time.
            vec![format!(
                "begin; drop view shown; alter table item drop {column}; create view shown as select * from item; commit"
            )]
        }
        5 => {
            state.rewrites = true;
            let (from, to) = if random.bool() { ("int", "bigint") } else { ("bigint", "int") };
            vec![format!(
                "begin; drop view shown; alter table item alter price type {from}; alter table item alter price type {to};
                 create view shown as select * from item; commit"
            )]
        }
        6 => one("vacuum full item"),
        7 => one("cluster item using item_key"),
        8 => one("reindex table item"),
        9 => {
            state.rewrites = true;
            one("begin; create temp table kept on commit drop as select * from item; truncate item;
                 insert into item select * from kept; commit")
        }
        10 => {
            state.name = number;
            vec![format!("update item set name = 'item ' || id || ' {number}'")]
        }
        11 => one("begin; alter table item rename to other; alter table other rename to item; commit"),
        12 => one(
            "begin; alter table item set schema public; alter table public.item set schema hunted; commit",
        ),
        13 => vec![
            "create index concurrently item_name on item (name)".into(),
            "drop index concurrently item_name".into(),
        ],
        14 => vec![format!("alter function {name} cost {number}")],
        15 => vec![format!("alter function {name} volatile"), format!("alter function {name} stable")],
        16 => vec![
            format!("alter function {name} set work_mem = '{}kB'", 64 + number),
            format!("alter function {name} reset all"),
        ],
        17 => one(
            "begin; drop view shown; create view shown as select * from (select * from item) item; commit",
        ),
        18 => one("analyze item"),
        19 => vec![format!(
            "begin; {}; alter table item add gone int; rollback",
            make(function, "create or replace", 4_000_000)
        )],
        20 => vec![format!("alter table item set (fillfactor = {})", 50 + number % 50)],
        21 => one(
            "begin; alter table item drop constraint item_key; alter table item add constraint item_key primary key (id); commit",
        ),
        22 => vec![format!(
            "begin; alter function {name} rename to renamed; alter function renamed rename to {name}; commit"
        )],
        _ => {
            state.name = number;
            vec![format!(
                "begin; create table fresh (like item including all); insert into fresh select * from item;
                 update fresh set name = 'item ' || id || ' {number}'; delete from item; insert into item select * from fresh;
                 drop table fresh; commit"
            )]
        }
    };
    (state, statements)
}

/// Runs statements. A deadlock with a request is nobody's fault: what it has undone is done again.
fn run(session: &mut Client, statements: &[String]) {
    for statement in statements {
        loop {
            match session.batch_execute(statement) {
                Ok(()) => break,
                Err(error) => {
                    let deadlock = error.code().is_some_and(|code| code.code() == "40P01");
                    assert!(deadlock, "{error:?}\n{statement}");
                    session.batch_execute("rollback").expect("a session");
                }
            }
        }
    }
}

#[test]
fn every_answer_was_right_at_some_time_while_tables_and_functions_change() {
    let mut hunt = Hunt::begin("ddl", SHORT);
    let platform = Platform::with(&[("howdah.inline_threshold", "100000")]);
    let mut asked = 0;
    while let Some(mut random) = hunt.next_round() {
        let mut session = platform.session();
        session.batch_execute(&schema()).expect("a schema");
        let first = State { marks: [0; FUNCTIONS.len()], name: 0, extra: Vec::new(), rewrites: false };
        let versions = Versions::of(first);
        let one = |number: u32, random: &mut Rng| {
            let (next, statements) = change(random, number, versions.last());
            let after = State { rewrites: false, ..next.clone() };
            versions.change(next, || run(&mut session, &statements));
            versions.change(after, || ());
        };
        asked += compare_under(&platform, &versions, &mut random, question, one, CHANGES);
    }
    assert!(asked > 0, "nothing was asked");
}
