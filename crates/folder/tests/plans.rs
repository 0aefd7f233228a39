use std::collections::BTreeMap;

use folder::plan::Change;
use folder::{Deployed, File, Folder, Kind, Manifest, Plan};

fn folder(files: &[(&str, &str)]) -> Folder {
    let file = |(path, text): &(&str, &str)| {
        ((*path).to_owned(), File::new(Kind::of(path).unwrap(), (*text).to_owned()))
    };
    Folder {
        manifest: Manifest::parse("name = \"shop\"").unwrap(),
        files: files.iter().map(file).collect(),
        statics: Default::default(),
    }
}

/// What the database says once a folder is deployed.
fn deployed(folder: &Folder) -> Deployed {
    let digests = |is: fn(Kind) -> bool| -> BTreeMap<String, String> {
        let files = folder.files.iter().filter(|(_, file)| is(file.kind));
        files.map(|(path, file)| (path.clone(), file.digest.clone())).collect()
    };
    Deployed {
        number: 3,
        files: digests(|_| true),
        migrations: digests(|kind| kind == Kind::Migration),
        ..Deployed::default()
    }
}

fn faults(before: &[(&str, &str)], after: &[(&str, &str)]) -> Vec<String> {
    let faults = Plan::of(&folder(after), &deployed(&folder(before))).expect_err("faults");
    faults.iter().map(ToString::to_string).collect()
}

#[test]
fn a_first_deployment_runs_all_and_the_same_again_nothing() {
    let shop = folder(&[
        ("migrations/10-b.sql", "b"),
        ("migrations/9-a.sql", "a"),
        ("views/v.sql", "v"),
        ("routes.sql", "r"),
        ("tests/t.sql", "t"),
    ]);
    let plan = Plan::of(&shop, &Deployed::default()).unwrap();
    assert_eq!(plan.migrations, ["migrations/9-a.sql", "migrations/10-b.sql"]);
    assert_eq!(plan.code, [("routes.sql".into(), Change::New), ("views/v.sql".into(), Change::New)].into());
    assert_eq!((plan.tests, plan.is_same), (vec!["tests/t.sql".to_owned()], false));
    let again = Plan::of(&shop, &deployed(&shop)).unwrap();
    assert_eq!((again.migrations.len(), again.is_same), (0, true));
}

#[test]
fn what_has_changed_or_is_gone_is_known() {
    let before = folder(&[
        ("views/a.sql", "a"),
        ("views/b.sql", "b"),
        ("views/c.sql", "c"),
        ("migrations/1.sql", "1"),
    ]);
    let after = folder(&[
        ("views/a.sql", "a"),
        ("views/b.sql", "x"),
        ("views/d.sql", "d"),
        ("migrations/1.sql", "1"),
        ("migrations/2.sql", "2"),
    ]);
    let plan = Plan::of(&after, &deployed(&before)).unwrap();
    let changes: Vec<Change> = plan.code.into_values().collect();
    assert_eq!(changes, [Change::Unchanged, Change::Changed, Change::Gone, Change::New]);
    assert_eq!(plan.migrations, ["migrations/2.sql"]);
}

#[test]
fn migrations_that_are_not_as_they_were_are_named_with_the_way_out() {
    let before = [("migrations/1-a.sql", "a"), ("migrations/2-b.sql", "b")];
    for (after, told) in [
        (
            &[("migrations/1-a.sql", "x"), before[1]][..],
            "migrations/1-a.sql: it has run and was changed since",
        ),
        (&[before[1]], "migrations/1-a.sql: it has run and its file is gone"),
        (&[("migrations/1-c.sql", "a"), before[1]], "migrations/1-c.sql: it has run as migrations/1-a.sql"),
        (&[before[0], before[1], ("migrations/02-c.sql", "c")], "has the number 2, too"),
        (&[before[0], before[1], ("migrations/c.sql", "c")], "begins with its number"),
    ] {
        let faults = faults(&before, after);
        assert!(faults[0].contains(told), "{faults:?}");
    }
    let late = faults(&[before[1]], &before);
    assert_eq!(late.len(), 1);
    assert!(late[0].starts_with("migrations/1-a.sql: it comes late: migrations/2-b.sql has run"), "{late:?}");
}
