//! A function in SQL answers as its call does, whatever it returns and however it is written: random functions beside a session that calls them, while
//! the types that they return change.

use cluster::postgres::{Client, SimpleQueryMessage};
use fastrand::Rng;
use howdah_tests::{Platform, wait_for};

const SCHEMA: &str = "
    create type colour as enum ('red', 'blue');
    create table item (id integer primary key, gone text, name text, price numeric(9, 2), made date, colour colour);
    alter table item drop column gone;
    insert into item select i, 'n' || i, i + 0.5, date '2026-01-01' + i, 'red' from generate_series(1, 5) i;
    insert into item (id) values (6);
    create type pair as (id integer, name text);
    create domain item_domain as item;
    create domain item_checked as item check ((value).id < 100);
    create domain tally as integer;
    create domain small as integer check (value < 5);
    create table held (id integer, whole item);
    insert into held select id, item from item;
    alter table held enable row level security;
    create policy visible on held using (id <> 2);
    grant select, update on item, held to howdah_web;
";

/// Results with the expressions or columns that bodies give for them: `*` stands for an item's columns, `$` for the number that is asked for.
const RESULTS: &[(&str, &[&str])] = &[
    (
        "item",
        &[
            "*",
            "item",
            "id, name, price, made, colour",
            "id, name, 1.234, made, colour",
            "id, name, price::numeric, made, colour",
            "row(id, name, price, made, colour)::item",
        ],
    ),
    ("item_domain", &["*", "item", "item::item_domain"]),
    ("item_checked", &["*", "item::item_checked", "item"]),
    ("setof item", &["*", "item", "id, name, price, made, colour", "id, name, price, made, 'blue'::colour"]),
    (
        "pair",
        &["id, name", "row(id, name)::pair", "id::smallint, name::varchar", "id, upper(name)", "name, id"],
    ),
    ("setof pair", &["id, name", "row(id, name)::pair", "id, 'x'"]),
    ("table (id integer, name text)", &["id, name", "id, name::varchar(3)", "$, name"]),
    (
        "table (name varchar(2), price numeric(4, 1))",
        &["name::varchar(2), price::numeric(4, 1)", "name, price"],
    ),
    ("table (whole item, n integer)", &["item, id"]),
    ("integer", &["id", "price::integer", "$", "count(*)::integer"]),
    ("bigint", &["id::bigint", "count(*)", "id"]),
    ("numeric", &["price", "sum(price)", "'NaN'::numeric"]),
    ("double precision", &["price::double precision", "'-infinity'::double precision"]),
    ("boolean", &["id > 2", "bool_or(price > 3)"]),
    ("date", &["made", "made + id"]),
    ("timestamptz", &["made::timestamptz"]),
    ("interval", &["id * interval '1 hour'"]),
    ("integer[]", &["array[id, $]", "array_agg(id order by id)"]),
    ("item[]", &["array[item]", "array_agg(item order by id)"]),
    ("colour", &["colour", "'blue'::colour"]),
    ("tally", &["id::tally", "id"]),
    ("small", &["id::small", "id"]),
    ("uuid", &["lpad(id::text, 32, '0')::uuid"]),
    ("bytea", &["name::bytea"]),
    ("json", &["to_json(item)", "json_agg(id order by id)"]),
    ("jsonb", &["to_jsonb(item)"]),
    ("text", &["name", "string_agg(name, ',' order by id)"]),
    ("varchar", &["name::varchar"]),
];

/// Statements around them: `@` is the expression.
const STATEMENTS: &[&str] = &[
    "select @ from item where id = $",
    "select @ from item where id > $ order by id limit 1",
    "select @ from item where id <= $",
    "select @ from item where false",
    "with item as materialized (select * from item where id >= $) select @ from item order by 1 limit 2",
    "select @ from item where id in (select held.id from held where held.id = $)",
    "select @ from item where id = $ union all select @ from item where id = $ + 1",
    "update item set name = name where id = $ returning @",
    "select @ from item where id = $ for update",
];

/// Changes of what they return; what fails is nothing.
const CHANGES: &[&str] = &[
    "alter type pair add attribute extra date",
    "alter type pair drop attribute if exists extra",
    "alter type pair rename attribute name to called",
    "alter type pair rename attribute called to name",
    "alter table item add column extra integer default 7",
    "alter table item drop column if exists extra",
    "alter table item rename column made to since",
    "alter table item rename column since to made",
    "alter table item alter column price type numeric(9, 1)",
    "alter table item alter column price type numeric(9, 2)",
    "alter domain tally add constraint few check (value < 3) not valid",
    "alter domain tally drop constraint if exists few",
    "alter type colour rename value 'red' to 'green'",
    "alter type colour rename value 'green' to 'red'",
    "revoke select on item from howdah_web",
    "grant select on item to howdah_web",
    "alter role howdah_web set datestyle = 'German'",
    "alter role howdah_web reset datestyle",
];

struct Function {
    name: String,
    /// A query whose text is the answer; nothing or null where there is none.
    call: String,
}

/// SQL that makes a random function, a route to it, and what asks it in a session.
fn function(number: usize, random: &mut Rng) -> (String, Function) {
    let name = format!("f{number}");
    let (result, expressions) = RESULTS[number % RESULTS.len()];
    let expression = expressions[random.usize(..expressions.len())];
    let statement = STATEMENTS[random.usize(..STATEMENTS.len())];
    let statement = statement.replace('@', expression).replace('$', "asked");
    let volatility = ["", "stable", "volatile", "immutable"][random.usize(..4)];
    let more = ["", "", "", "strict", "security definer", "set work_mem = '5MB'"][random.usize(..6)];
    let statement = if random.u8(..5) == 0 && statement.starts_with("select") && !statement.contains("update")
    {
        format!("select ({statement})")
    } else {
        statement
    };
    let arguments = ["asked integer", "asked integer", "asked integer default 2"][random.usize(..3)];
    let body = if random.bool() {
        format!("begin atomic {statement}; end")
    } else {
        format!("as $body$ {statement} $body$")
    };
    let make = format!(
        "create function {name}({arguments}) returns {result} language sql {volatility} {more} {body}"
    );
    let is_set = result.starts_with("setof") || result.starts_with("table");
    let is_row = is_set || ["item", "pair", "item_domain", "item_checked"].contains(&result);
    let call = if is_set {
        format!(
            "select coalesce('[' || string_agg(row_to_json(r)::text, ',') || ']', '[]') from {name}(ASKED) r"
        )
    } else if is_row {
        format!("select row_to_json(r)::text from {name}(ASKED) r where not r is null")
    } else if ["json", "jsonb", "text", "varchar"].contains(&result) {
        format!("select {name}(ASKED)::text")
    } else if result == "bytea" {
        format!("select convert_from({name}(ASKED), 'UTF8')")
    } else {
        format!("select to_json({name}(ASKED))::text")
    };
    (make, Function { name, call })
}

/// The answer of a session: the text, nothing, or the SQLSTATE of its error.
fn call(session: &mut Client, query: &str) -> Result<Option<String>, String> {
    session.batch_execute("begin; set local role howdah_web; set local timezone = 'UTC'").unwrap();
    let answer = session.simple_query(query);
    session.batch_execute("rollback").unwrap();
    match answer {
        Ok(messages) => Ok(messages.iter().find_map(|message| match message {
            SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
            _ => None,
        })),
        Err(error) => Err(error.code().map_or_else(String::new, |code| code.code().to_owned())),
    }
}

#[test]
fn every_form_of_a_function_answers_as_its_call() {
    let platform = Platform::start();
    platform.sql(SCHEMA);
    platform.sql("alter role howdah_web set timezone = 'UTC'");
    let mut random = Rng::with_seed(58);
    let mut session = platform.session();
    let mut functions = Vec::new();
    // PostgreSQL refuses some of them.
    for number in 0..20 * RESULTS.len() {
        let (make, function) = function(number, &mut random);
        if session.batch_execute(&make).is_ok() {
            let name = &function.name;
            session.batch_execute(&format!("select http.route('POST', '/{name}', '{name}')")).unwrap();
            functions.push((make, function));
        }
    }
    let mut client = platform.connect();
    let last = functions.last().unwrap().1.name.clone();
    wait_for("the routes", || client.request("POST", &format!("/{last}"), &[], b"").status != 404);
    let mut asked = 0;
    for round in 0..6 {
        for (make, function) in &functions {
            let number = random.i32(-1..8);
            let expected = call(&mut session, &function.call.replace("ASKED", &number.to_string()));
            let reply = client.request("POST", &format!("/{}?asked={number}", function.name), &[], b"");
            let answer = match reply.status {
                200 => Ok(Some(reply.text())),
                204 => Ok(None),
                _ => Err(reply.json()["sqlstate"].as_str().map_or_else(|| reply.text(), str::to_owned)),
            };
            assert_eq!(answer, expected, "round {round}, {number}: {make}");
            asked += usize::from(expected.is_ok());
        }
        for _ in 0..3 {
            let _ = session.batch_execute(random.choice(CHANGES).unwrap());
        }
    }
    assert!(asked > 600, "{asked}");
}

/// A call of a function that is VOLATILE, or of one that PostgreSQL cannot unfold, would run in an executor.
#[test]
fn a_function_that_only_reads_runs_in_the_gateway_whatever_it_returns() {
    let platform = Platform::start();
    platform.sql(SCHEMA);
    let mut client = platform.connect();
    let forms = [
        ("item", "*"),
        ("item", "item"),
        ("item_domain", "item"),
        ("setof item", "*"),
        ("setof item", "item"),
        ("pair", "id, name"),
        ("table (id integer, name text)", "id, name"),
        ("integer", "id"),
        ("integer[]", "array[id]"),
        ("json", "to_json(item)"),
        ("text", "name"),
    ];
    for (number, (result, expression)) in forms.iter().enumerate() {
        for (body, written) in [("as $$", "$$"), ("begin atomic", "; end")] {
            let name = format!("reads_{number}_{}", body.len());
            platform.sql(&format!(
                "create function {name}(asked integer) returns {result} language sql {body} select {expression} from item where id = asked {written};
                 select http.route('GET', '/{name}', '{name}')"
            ));
            let path = format!("/{name}?asked=1");
            wait_for("the route", || client.request("GET", &path, &[], b"").status == 200);
            wait_for(&format!("{result} {body} {expression} runs in the gateway"), || {
                let before = platform.inline_count(&format!("/{name}"));
                client.request("GET", &path, &[], b"");
                platform.inline_count(&format!("/{name}")) > before
            });
        }
    }
}
