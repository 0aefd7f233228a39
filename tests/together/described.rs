//! All that an owner may have in a schema is described: what somebody changes by hand is told, whatever it is.

pub(crate) mod cases;
mod catalogs;

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use cluster::postgres::Client;
use howdah_tests::application::{Application, dump, text};
use howdah_tests::platform::{DATABASE, Platform};

use cases::{BASE, BEFORE, CASES, Case};

/// An application to be, whose objects of superusers are there.
fn prepared(with_superusers: bool) -> Application {
    let shop = Application::of(&[("migrations/1-base.sql", BASE)]);
    shop.platform.sql("select deploy.create_application('shop')");
    shop.platform.sql(BEFORE);
    let theirs = CASES.iter().filter(|case| with_superusers && case.is_superusers);
    theirs.for_each(|case| shop.platform.sql(&format!("set search_path = shop; {}", case.made)));
    shop
}

/// Path, object and change of all that is told.
fn drift(session: &mut Client) -> Vec<(String, String)> {
    let rows = session.query("select path, object || ' ' || change from deploy.drift('shop')", &[]).unwrap();
    rows.iter().map(|row| (row.get(0), row.get(1))).collect()
}

/// Drift that a change makes, which is undone; or the error.
fn told_of(session: &mut Client, change: &str) -> Result<Vec<(String, String)>, String> {
    session.batch_execute("begin; set local search_path = shop").unwrap();
    let told = session
        .batch_execute(change)
        .map_err(|error| format!("{change}: {error:?}"))
        .map(|()| drift(session));
    session.batch_execute("rollback").unwrap();
    told
}

/// Expects that each change of each case is told, as `is_right` says.
fn expect_told(
    shop: &Application,
    cases: &[&Case],
    is_right: impl Fn(&Case, &str, &[(String, String)]) -> bool,
) {
    let mut session = shop.platform.session();
    assert_eq!(drift(&mut session), [], "before");
    let mut wrong = Vec::new();
    for case in cases {
        for change in case.changes {
            match told_of(&mut session, change) {
                Ok(told) if is_right(case, change, &told) => {}
                Ok(told) => wrong.push(format!("{}: {change}: {told:?}", case.name)),
                Err(error) => wrong.push(format!("{}: {error}", case.name)),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(drift(&mut session), [], "afterwards");
}

fn file_of(case: &Case) -> String {
    format!("functions/{}.sql", case.name.replace(' ', "-"))
}

#[test]
fn changes_of_what_migrations_have_made_are_told() {
    let shop = prepared(true);
    for (number, case) in CASES.iter().filter(|case| !case.is_superusers).enumerate() {
        shop.write(&format!("migrations/{}-{}.sql", number + 2, case.name.replace(' ', "-")), case.made);
    }
    shop.ok("deploy");
    expect_told(&shop, &CASES.iter().collect::<Vec<_>>(), |_, _, told| !told.is_empty());
    expect_archive_is_described(&shop);
}

#[test]
fn changes_of_what_code_has_made_are_told_with_its_file() {
    let shop = prepared(false);
    let cases: Vec<_> = CASES.iter().filter(|case| !case.is_superusers && !case.is_migrations).collect();
    for case in &cases {
        shop.write(&file_of(case), case.made);
    }
    shop.ok("deploy");
    expect_told(&shop, &cases, |case, change, told| {
        // A partition that nobody's file makes is nobody's.
        told.iter().any(|(path, _)| *path == file_of(case) || change.starts_with("create table"))
    });
}

#[test]
fn a_restored_database_is_what_it_was() {
    let shop = prepared(true);
    let of_files = CASES.iter().filter(|case| !case.is_superusers);
    for (number, case) in of_files.enumerate() {
        match case.is_migrations || number % 2 == 0 {
            true => shop.write(&format!("migrations/{}-case.sql", number + 2), case.made),
            false => shop.write(&file_of(case), case.made),
        }
    }
    shop.ok("deploy");
    let restored = Platform::start();
    restored.sql("drop extension howdah cascade; create role shop_owner; create role reader");
    let file = shop.folder.path().join("dump");
    fs::write(&file, dump(&shop.platform, &[])).unwrap();
    let to = restored.cluster.connection_string(DATABASE).unwrap();
    let psql = restored.cluster.installation().program("psql");
    let output = Command::new(psql)
        .args(["-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", &to, "-f"])
        .arg(&file)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(drift(&mut restored.session()), []);
}

#[test]
fn what_is_made_by_hand_is_told() {
    let shop = prepared(false);
    shop.ok("deploy");
    let mut session = shop.platform.session();
    let mut wrong = Vec::new();
    for case in CASES.iter().filter(|case| !case.made.is_empty()) {
        match told_of(&mut session, case.made) {
            Ok(told) if told.iter().any(|(_, told)| told.ends_with(" was made by hand")) => {}
            Ok(told) => wrong.push(format!("{}: {told:?}", case.name)),
            Err(error) => wrong.push(format!("{}: {error}", case.name)),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn an_application_of_code_alone_has_drift_too() {
    let shop =
        Application::of(&[("functions/f.sql", "create function f() returns int language sql return 1;\n")]);
    shop.ok("deploy");
    let mut session = shop.platform.session();
    assert_eq!(drift(&mut session), []);
    for (change, object) in [
        ("create table t (n int)", "table shop.t was made by hand"),
        ("create function g() returns int language sql return 1", "function shop.g() was made by hand"),
        ("grant create on schema shop to public", "schema shop was changed"),
    ] {
        let told = told_of(&mut session, change).unwrap();
        assert!(told.iter().any(|(_, told)| told == object), "{told:?}");
    }
}

/// Kinds of entries of the archive that have no number, as they say something of another entry; and defaults, which are of columns.
const OF_ANOTHER: [&str; 9] = [
    "ACL",
    "COMMENT",
    "DEFAULT",
    "INDEX ATTACH",
    "ROW SECURITY",
    "SEQUENCE OWNED BY",
    "SEQUENCE SET",
    "TABLE ATTACH",
    "SHELL TYPE",
];

/// Kinds that `pg_dump` writes of a schema.
const KINDS: [&str; 34] = [
    "ACL",
    "AGGREGATE",
    "CHECK CONSTRAINT",
    "COLLATION",
    "COMMENT",
    "CONSTRAINT",
    "CONVERSION",
    "DEFAULT",
    "DEFAULT ACL",
    "DOMAIN",
    "FK CONSTRAINT",
    "FOREIGN TABLE",
    "FUNCTION",
    "INDEX",
    "INDEX ATTACH",
    "MATERIALIZED VIEW",
    "OPERATOR",
    "OPERATOR CLASS",
    "OPERATOR FAMILY",
    "POLICY",
    "PROCEDURE",
    "RULE",
    "SCHEMA",
    "SEQUENCE",
    "SEQUENCE OWNED BY",
    "STATISTICS",
    "TABLE",
    "TABLE ATTACH",
    "TEXT SEARCH CONFIGURATION",
    "TEXT SEARCH DICTIONARY",
    "TEXT SEARCH PARSER",
    "TEXT SEARCH TEMPLATE",
    "TRIGGER",
    "TYPE",
];

/// Each entry of an archive of `pg_dump`'s is something that is described, and there are all kinds of them.
fn expect_archive_is_described(shop: &Application) {
    let programs = shop.platform.cluster.installation();
    let archive = shop.folder.path().join("archive");
    let to = shop.platform.cluster.connection_string(DATABASE).unwrap();
    let dumped = Command::new(programs.program("pg_dump"))
        .args(["-d", &to, "-s", "-n", "shop", "-Fc", "-f"])
        .arg(&archive)
        .status()
        .unwrap();
    assert!(dumped.success());
    let listed = Command::new(programs.program("pg_restore")).arg("-l").arg(&archive).output().unwrap();
    let listed = text(&listed.stdout);
    let described: BTreeSet<(u32, u32)> = shop
        .platform
        .session()
        .query("select d.class, d.number from deploy.describe('shop') d", &[])
        .unwrap()
        .iter()
        .map(|row| (row.get(0), row.get(1)))
        .collect();
    let mut kinds = BTreeSet::new();
    for line in listed.lines().filter(|line| !line.starts_with(';') && !line.is_empty()) {
        // 215; 1259 16390 TABLE shop item shop_owner
        let mut words = line.split(' ').skip(1);
        let mut number = || words.next().unwrap().parse::<u32>().unwrap();
        let address = (number(), number());
        let rest: Vec<&str> = words.collect();
        let is_capital = |word: &&&str| word.chars().all(|letter| letter.is_ascii_uppercase());
        let kind = rest.iter().take_while(is_capital).copied().collect::<Vec<_>>().join(" ");
        let is_described = described.contains(&address) || OF_ANOTHER.contains(&&*kind);
        assert!(is_described, "not described: {line}");
        kinds.insert(kind);
    }
    let missing: Vec<_> = KINDS.iter().filter(|kind| !kinds.contains(**kind)).collect();
    assert!(missing.is_empty(), "no case makes {missing:?}; there are {kinds:?}");
}
