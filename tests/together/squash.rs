//! `howdah squash`: one migration stands for many, on databases that have run them and on new ones.

use std::process::{Command, Output};

use howdah_tests::application::{Application, dump, text};

const MIGRATIONS: [(&str, &str); 5] = [
    (
        "migrations/001-item.sql",
        "create type mood as enum ('sad'); create table item (id int generated always as identity primary key, name text, m mood);
         grant select on item to howdah_web; comment on table item is 'It''s';\n",
    ),
    ("migrations/002-index.sql", "create index concurrently item_name on item (name);\n"),
    ("migrations/003-rows.sql", "insert into item (name) values ('chair'), (e'two\nlines');\n"),
    ("migrations/004-mood.sql", "alter type mood add value 'happy';\n"),
    ("migrations/005-half.sql", "alter table item add column half numeric not null default 0.5; create sequence own start 7;\n"),
];
const CODE: [(&str, &str); 2] = [
    (
        "functions/items.sql",
        "create function items() returns bigint language sql return (select count(*) from item);\n",
    ),
    ("routes.sql", "select http.route('GET', '/items', 'items');\n"),
];

fn shop() -> Application {
    Application::of(&[&MIGRATIONS[..], &CODE[..]].concat())
}

fn squash(shop: &Application, more: &[&str]) -> Output {
    let mut command = Command::new(howdah_tests::command());
    command.args(["squash", "--uncommitted", "--app"]).arg(shop.folder.path()).args(more).output().unwrap()
}

fn squashed(shop: &Application, more: &[&str]) -> String {
    let output = squash(shop, more);
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

#[test]
fn a_database_that_has_run_them_takes_it_as_done_and_a_new_one_is_the_same() {
    let shop = shop();
    shop.ok("deploy");
    assert!(squashed(&shop, &[]).contains("migrations/005-squashed.sql stands for 5 migrations"));
    let left: Vec<_> = std::fs::read_dir(shop.folder.path().join("migrations")).unwrap().collect();
    assert_eq!(left.len(), 1);
    assert!(shop.ok("plan").contains("migrations/005-squashed.sql  stands for 5 migrations that have run"));
    shop.ok("deploy");
    assert_eq!(
        shop.value("select string_agg(path, ' ') from deploy.migration"),
        "migrations/005-squashed.sql"
    );
    assert_eq!(shop.value("select count(*)::text from shop.item"), "2");
    assert!(shop.ok("deploy").contains("Nothing has changed"));

    let new = Application::of(&CODE);
    let file = "migrations/005-squashed.sql";
    new.write(file, &std::fs::read_to_string(shop.folder.path().join(file)).unwrap());
    assert!(new.ok("plan").contains("Nothing of it was kept"));
    new.ok("deploy");
    // A sequence that has given out 2 is one that gives out 3 next.
    let schema = |shop: &Application| {
        let lines = dump(&shop.platform, &["-n", "shop", "--inserts"]);
        lines.lines().filter(|line| !line.contains("pg_catalog.setval")).collect::<Vec<_>>().join("\n")
    };
    assert_eq!(schema(&new), schema(&shop));
    new.platform.sql("set role shop_owner; insert into shop.item (name, m) values ('lamp', 'happy')");
    assert_eq!(new.value("select max(id)::text from shop.item"), "3");

    // Again, with what has come since.
    for shop in [&shop, &new] {
        shop.write("migrations/006-more.sql", "alter table item add column more int;\n");
        shop.write("migrations/007-late.sql", "alter table item add column late int;\n");
        shop.ok("deploy");
    }
    squashed(&shop, &["--through", "6", "--name", "base"]);
    new.remove(file);
    new.remove("migrations/006-more.sql");
    new.write(
        "migrations/006-base.sql",
        &std::fs::read_to_string(shop.folder.path().join("migrations/006-base.sql")).unwrap(),
    );
    for shop in [&shop, &new] {
        assert!(shop.ok("deploy").contains("migrations/006-base.sql  stands for 2 migrations that have run"));
        assert_eq!(
            shop.value("select string_agg(path, ' ' order by path) from deploy.migration"),
            "migrations/006-base.sql migrations/007-late.sql"
        );
    }
}

#[test]
fn a_database_that_has_run_some_says_what_to_do() {
    let shop = shop();
    for (path, _) in &MIGRATIONS[3..] {
        shop.remove(path);
    }
    shop.ok("deploy");
    MIGRATIONS[3..].iter().for_each(|(path, text)| shop.write(path, text));
    squashed(&shop, &[]);
    let told = shop.fails("deploy");
    assert!(
        told.contains("migrations/005-squashed.sql: it stands for migrations of which some have run here")
            && told.contains("migrations/004-mood.sql has not"),
        "{told}"
    );
    // Nobody makes others believe that something stands for what has run.
    shop.remove("migrations/005-squashed.sql");
    MIGRATIONS.iter().for_each(|(path, text)| shop.write(path, text));
    shop.ok("deploy");
    squashed(&shop, &[]);
    let path = shop.folder.path().join("migrations/005-squashed.sql");
    let told = std::fs::read_to_string(&path).unwrap();
    let digest = told.lines().next().unwrap().rsplit(' ').next().unwrap().to_owned();
    std::fs::write(&path, told.replace(&digest, &"0".repeat(64))).unwrap();
    assert!(shop.fails("deploy").contains("migrations/001-item.sql has not, or not as it was"));
    shop.write("migrations/001-item.sql", MIGRATIONS[0].1);
    assert!(shop.fails("deploy").contains("it stands for migrations/001-item.sql, which is still there"));
}

#[test]
fn what_cannot_be_squashed_leaves_the_folder_as_it_was() {
    let shop = shop();
    let output = squash(&shop, &["--through", "9"]);
    assert!(text(&output.stderr).contains("--through 9: no migration has this number"));
    // What git does not have would be gone.
    let folder = shop.folder.path();
    let squash_safely =
        || Command::new(howdah_tests::command()).args(["squash", "--app"]).arg(folder).output().unwrap();
    let git = |arguments: &[&str]| {
        let mut git = Command::new("git");
        git.arg("-C").arg(folder).args(["-c", "user.name=a", "-c", "user.email=a@localhost"]);
        assert!(git.args(arguments).output().unwrap().status.success(), "{arguments:?}");
    };
    assert!(text(&squash_safely().stderr).contains("commit them first, or say --uncommitted"));
    git(&["init", "-q"]);
    git(&["add", "migrations/001-item.sql"]);
    git(&["commit", "-qm", "one"]);
    assert!(text(&squash_safely().stderr).contains("commit them first"));
    git(&["add", "."]);
    git(&["commit", "-qm", "all"]);
    shop.write("migrations/003-rows.sql", "insert into item (name) values ('other');\n");
    assert!(text(&squash_safely().stderr).contains("commit them first"));
    git(&["checkout", "-q", "."]);
    assert!(squash_safely().status.success());
    git(&["checkout", "-q", "."]);
    shop.remove("migrations/005-squashed.sql");
    let output = squash(&shop, &["--through", "1"]);
    assert!(text(&output.stderr).contains("there are no two migrations to squash"));
    shop.write("migrations/003-rows.sql", "insert into item (name) values (nothing());\n");
    let output = squash(&shop, &[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        text(&output.stderr).contains("migrations/003-rows.sql:1: function nothing() does not exist"),
        "{}",
        text(&output.stderr)
    );
    assert_eq!(std::fs::read_dir(shop.folder.path().join("migrations")).unwrap().count(), 5);
    // What differs each time is not the same made again.
    shop.write("migrations/003-rows.sql", "insert into item (name) values (clock_timestamp()::text);\n");
    squashed(&shop, &[]);
}

#[test]
fn a_migration_that_would_make_something_else_is_told_and_none_is_written() {
    for (statements, object, told) in [
        ("insert into item (name) values (e'two\\r\\nlines');", "a carriage return", "two\\r"),
        (
            "create cast (mood as int) with inout as assignment;",
            "CAST (shop.mood AS integer); Type: CAST",
            "wanted: CREATE CAST (shop.mood AS integer)",
        ),
        (
            "alter default privileges grant execute on functions to howdah_web;",
            "DEFAULT PRIVILEGES FOR FUNCTIONS; Type: DEFAULT ACL",
            "wanted: ALTER DEFAULT PRIVILEGES FOR ROLE shop_owner",
        ),
        ("select http.route('GET', '/now', 'pg_catalog.now');", "", "belongs to postgres"),
    ] {
        let shop = shop();
        shop.write("migrations/006.sql", &format!("{statements}\n"));
        let output = squash(&shop, &[]);
        let error = text(&output.stderr);
        assert!(!output.status.success(), "{statements}");
        assert!(error.contains(object) && error.contains(told), "{statements}: {error}");
        assert!(shop.folder.path().join("migrations/001-item.sql").exists());
        assert!(!shop.folder.path().join("migrations/006-squashed.sql").exists());
    }
}

#[test]
fn rows_and_sequences_are_the_same_whatever_they_look_like() {
    let shop = shop();
    shop.write(
        "migrations/006.sql",
        "insert into item (name) values (e'\\\\restrict me\\n\\\\unrestrict me'), (e'SELECT pg_catalog.setval(''shop.own'', 5, true);\\n--'), ('\\N'), (e'\\t ');
         create sequence tens increment 10; create sequence down increment -1; create sequence fresh increment 3 start 4;
         create sequence \"Odd's name\" increment 5;
         do $$ begin perform nextval('tens'), nextval('tens'), nextval('down'), nextval('\"Odd''s name\"'); end $$;\n",
    );
    shop.ok("deploy");
    squashed(&shop, &[]);
    let new = Application::of(&CODE);
    let file = "migrations/006-squashed.sql";
    new.write(file, &std::fs::read_to_string(shop.folder.path().join(file)).unwrap());
    new.ok("deploy");
    let seen = "select concat_ws('|', nextval('shop.tens'), nextval('shop.down'), nextval('shop.fresh'), nextval('shop.\"Odd''s name\"'),
      (select string_agg(name, '|' order by id) from shop.item))";
    let wanted = shop.value(seen);
    assert!(wanted.starts_with("21|-2|4|6|"), "{wanted}");
    assert_eq!(new.value(seen), wanted);
}
