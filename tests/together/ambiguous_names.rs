//! Names that PL/pgSQL finds ambiguous: what a deployment warns of, beside PostgreSQL itself, which refuses the statement when it runs.

use std::collections::BTreeSet;

use fastrand::Rng;
use howdah_tests::application::{Application, text};

const TABLES: (&str, &str) = (
    "migrations/001-tables.sql",
    "create table item (id text primary key, title text, note text);
     create table other (title text, author text, price text);
     create type pair as (title text, author text);
     grant select, insert, update, delete on item, other to howdah_web;\n",
);

/// Statements with places for names, `@`. Each is reached as a whole where PostgreSQL takes it: it parses what runs alone.
const STATEMENTS: &[&str] = &[
    "perform @ from item where @ = @;",
    "perform item.@, found.@, @ from item order by @;",
    "select @ into got from item where @ is not null limit 1;",
    "select @, @ into strict got, held.title from other;",
    "insert into item (id, title) values (@, @) on conflict do nothing;",
    "insert into item (id, title, note) values (random()::text, 'a', @) on conflict (id) do update set title = @;",
    "insert into item (id, title) select @, @ from other;",
    "update item set title = @, note = item.note where @ = @;",
    "update item i set title = i.@ from other o where o.@ = @;",
    "delete from item where @ = 'x' returning @ into got;",
    "got := @;",
    "got := (select @ from other where author = @);",
    "held.title := (select max(@) from item);",
    "if exists (select from item where @ = found.@) then null; end if;",
    "if @ = @ then null; end if;",
    "for held in select @, o.@ from other o group by @, o.@ loop null; end loop;",
    "for held in with named as (select @ as title, '' as author from other) select * from named where @ = @ loop null; end loop;",
    "execute 'select title from item where title = $1' into got using @;",
    "execute format('select %L', @);",
    "perform held.@, @ from other;",
    "perform held from item held;",
    "perform held.title from item held;",
    "perform (select @ from item), (select o.author from other o where @ = o.price);",
    "perform count(*) filter (where @ is null) over (partition by @) from item;",
    "perform $1, @ from item where $1 = id;",
    "perform * from item join other using (title) where @ = @;",
    "perform item.* from item, lateral (select @ as inner_name) l;",
    "begin perform @ from item; exception when no_data_found then null; end;",
    "declare @ text; begin perform note from item where title = inner_label.title; end;",
    "<<inner_label>> declare author text := (select @ from other limit 1); begin perform inner_label.author, author from item; end;",
    "case when (select true from item where @ = '' limit 1) then null; else null; end case;",
    "assert (select max(@) from item) is null;",
    "return query select @ from other;",
    "return next (select max(@) from other);",
    "raise notice '%', (select max(@) from other);",
    "open cursor_of('x'); close cursor_of;",
];

const NAMES: [&str; 9] = ["id", "title", "note", "author", "price", "got", "mine", "\"Title\"", "missing"];

/// A function with one statement of them.
fn function(number: usize, random: &mut Rng) -> String {
    let mut names: Vec<&str> = NAMES[..7].to_vec();
    random.shuffle(&mut names);
    let arguments: Vec<String> =
        names.iter().filter(|name| **name != "got").take(3).map(|name| format!("{name} text")).collect();
    let statement = STATEMENTS[number % STATEMENTS.len()];
    let statement: String = statement
        .split_inclusive('@')
        .map(|part| match part.strip_suffix('@') {
            Some(before) => format!("{before}{}", NAMES[random.usize(..NAMES.len())]),
            None => part.to_owned(),
        })
        .collect();
    let statement = statement.replace("found.", &format!("f_{number}."));
    let conflict =
        ["", "", "", "#variable_conflict use_column\n", "#variable_conflict error\n"][random.usize(..5)];
    let before = ["", "got := 'x'; ", "-- a line\n  "][random.usize(..3)];
    format!(
        "create function f_{number}({}) returns setof text language plpgsql as $$\n{conflict}declare\n  got text;\n  held pair;\n  cursor_of cursor (given text) for select note from item where title = given;\nbegin\n  {before}{statement}\nend $$;\n",
        arguments.join(", ")
    )
}

#[test]
fn a_deployment_warns_of_the_names_that_postgresql_refuses() {
    let mut random = Rng::with_seed(57);
    let count = 15 * STATEMENTS.len();
    let functions: String = (0..count).map(|number| function(number, &mut random)).collect();
    let shop = Application::of(&[TABLES, ("functions/all.sql", &functions)]);
    let output = shop.run("deploy", &["--json"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let told: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();

    let lines: Vec<&str> = functions.lines().collect();
    let mut warned = BTreeSet::new();
    for warning in told["warnings"].as_array().unwrap() {
        let field = |name: &str| warning[name].as_str().unwrap();
        let (message, line, column) =
            (field("message"), warning["line"].as_u64().unwrap(), warning["column"].as_u64().unwrap());
        assert_eq!(field("path"), "functions/all.sql");
        let rest = message.strip_prefix('"').unwrap();
        let (name, rest) = rest.split_once("\" is a variable of ").unwrap();
        let (function, _) = rest.split_once(' ').unwrap();
        let at: String = lines[line as usize - 1].chars().skip(column as usize - 1).collect();
        assert!(
            at.trim_start_matches('(').replace('"', "").starts_with(name),
            "{message} at {line}:{column}: {at}"
        );
        warned.insert(function.to_owned());
    }

    let mut session = shop.platform.session();
    session.batch_execute("set search_path = shop, public").unwrap();
    let mut refused = BTreeSet::new();
    for number in 0..count {
        let called = session.batch_execute(&format!("begin; select * from f_{number}(null, null, null)"));
        session.batch_execute("rollback").unwrap();
        let Err(error) = called else { continue };
        let error = error.as_db_error().unwrap();
        let is_of_both =
            error.detail() == Some("It could refer to either a PL/pgSQL variable or a table column.");
        if is_of_both {
            assert_eq!(error.code().code(), "42702");
            refused.insert(format!("f_{number}"));
        }
    }
    let source = |name: &String| {
        functions.split_once(&format!("function {name}(")).unwrap().1.split_once("$$;").unwrap().0.to_owned()
    };
    for name in refused.symmetric_difference(&warned) {
        println!(
            "{name}{} is {}",
            source(name),
            if warned.contains(name) {
                "warned of, and PostgreSQL takes it"
            } else {
                "refused, and nobody warned"
            }
        );
    }
    assert_eq!(refused, warned);
    assert!(refused.len() > count / 8 && refused.len() < count / 2, "{} of {count}", refused.len());
}

/// Whatever PL/pgSQL is for: triggers, procedures, bodies in quotes, other types, tables that the function makes.
#[test]
fn warnings_name_the_place_and_what_to_write() {
    let shop = Application::of(&[
        TABLES,
        (
            "functions/add.sql",
            "create function add(id text, title text) returns void language plpgsql as $$
begin
  insert into item (id, title) values (add.id, add.title)
  on conflict (id) do update set title = title;
end $$;
",
        ),
        (
            "functions/others.sql",
            "create function stamp() returns trigger language plpgsql as $body$
declare title text;
begin
  new.title := (select title from other where author = new.note);
  return new;
end $body$;
create trigger stamp before insert on item for each row execute function stamp();
create procedure tidy(author text) language plpgsql as 'begin
  delete from other where author = author;
end';
create function own(note text) returns void language plpgsql as $$
begin
  create temp table noted (note text);
  perform note from noted;
end $$;
create function whole(i item) returns text language plpgsql as $$ begin return (select title from item where item.id = i.id); end $$;
create function several(title anyelement, variadic others text[]) returns text language plpgsql as $$ begin return (select title from other limit 1); end $$;
",
        ),
        (
            "functions/sql.sql",
            "create function gone(author text) returns bigint language sql begin atomic with gone as (
  delete from other where author = author returning 1) select count(*) from gone; end;
create function correct(title text) returns bigint language sql as 'select count(*) from item where title = correct.title';
create function counted(title varchar) returns bigint language sql as 'select count(*) from item where title = title';
create function joined(note text) returns bigint language sql return (select count(*) from item i where i.note = note and i.note = joined.note);
create function sure(id text) returns bigint language sql as 'select count(*) from item a join item b using (id) where a.title = b.title';
",
        ),
    ]);
    let planned = shop.ok("plan");
    let told: Vec<&str> = planned.lines().filter_map(|line| line.trim().strip_prefix("warning: ")).collect();
    let refused = |place: &str, name: &str, function: &str| {
        format!(
            "{place}: \"{name}\" is a variable of {function} and a column here: PostgreSQL refuses the statement when it runs. "
        )
    };
    let by_table = |name: &str, function: &str| {
        format!(
            "Write the table's name or alias before the column. An argument is {function}.{name}; a declared variable gets another name."
        )
    };
    let compared = |place: &str, name: &str, function: &str| {
        format!(
            "{place}: \"{name}\" is an argument of {function} and a column here: SQL takes it for the column, which is compared with itself. The argument is {function}.{name}."
        )
    };
    let expected = [
        refused("functions/add.sql:4:15", "id", "add") + "Name the constraint: on conflict on constraint …",
        refused("functions/others.sql:4:24", "title", "stamp") + &by_table("title", "stamp"),
        refused("functions/others.sql:9:27", "author", "tidy") + &by_table("author", "tidy"),
        refused("functions/others.sql:17:124", "title", "several") + &by_table("title", "several"),
        compared("functions/sql.sql:2:27", "author", "gone"),
        compared("functions/sql.sql:4:104", "title", "counted"),
        compared("functions/sql.sql:5:107", "note", "joined"),
    ];
    assert_eq!(told, expected);
}
