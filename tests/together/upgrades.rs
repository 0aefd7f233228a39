//! A database of each release, brought here by the scripts, is one that this version has made, and has what it had.
//!
//! `scripts/keep-release` keeps a release: `tests/upgrades/howdah--VERSION.sql` installs it, `dump-VERSION.sql` is of a database that
//! has some of everything.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use cluster::Cluster;
use cluster::postgres::Client;
use howdah_tests::{Connection, Platform, free_port, wait_for};

/// The kept release that there is always one of.
const FIRST: &str = "0.1.0";

fn kept() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("upgrades")
}

fn releases() -> Vec<String> {
    let names =
        fs::read_dir(kept()).unwrap().filter_map(|entry| entry.unwrap().file_name().into_string().ok());
    let mut releases: Vec<String> = names
        .filter_map(|name| Some(name.strip_prefix("howdah--")?.strip_suffix(".sql")?.to_owned()))
        .collect();
    releases.sort();
    assert!(releases.contains(&FIRST.to_owned()), "{releases:?}");
    releases
}

/// The name of the database of a release's dump.
fn database(release: &str) -> String {
    format!("of_{}", release.replace('.', "_"))
}

/// The stage, with the scripts that install the releases.
fn stage_with_releases(into: &Path) {
    let stage = PathBuf::from(std::env::var_os("HOWDAH_STAGE").expect("HOWDAH_STAGE names the stage"));
    for folder in [stage, kept()] {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            fs::copy(&path, into.join(path.file_name().unwrap())).unwrap();
        }
    }
}

fn run(cluster: &Cluster, name: &str, database: &str, arguments: &[&str], input: &str) -> String {
    let mut child = Command::new(cluster.installation().program(name))
        .args(["-d", &cluster.connection_string(database).unwrap()])
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_owned();
    let writer = thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(output.status.success(), "{name} has failed");
    String::from_utf8(output.stdout).unwrap()
}

/// Members of the extension as `pg_dump` describes them when it has to make each by itself: a text for each, without numbers that are
/// a database's own.
fn members(cluster: &Cluster, database: &str) -> BTreeSet<String> {
    let dump = run(cluster, "pg_dump", database, &["--binary-upgrade", "--schema-only"], "");
    let of_all = |line: &&str| {
        !line.is_empty()
            && !line.starts_with("--")
            && !["binary_upgrade_", "relfrozenxid", "WHERE oid = '", "restrict "]
                .iter()
                .any(|own| line.contains(own))
    };
    dump.split("\n--\n-- Name: ")
        .map(|entry| entry.lines().filter(of_all).collect::<Vec<_>>().join("\n"))
        .collect()
}

/// Facts of the members that `pg_dump` does not write.
const FACTS: &str = "
    with recursive member (class, object, part) as (
      select classid, objid, objsubid from pg_depend
      where refclassid = 'pg_extension'::regclass and refobjid = (select oid from pg_extension where extname = 'howdah') and deptype = 'e'
      union
      select d.classid, d.objid, d.objsubid
      from member m join pg_depend d on d.refclassid = m.class and d.refobjid = m.object and d.deptype in ('a', 'i')
    )
    select 'depends ' || concat_ws(' ', i.type, i.identity, d.deptype, o.type, o.identity)
    from pg_depend d join member m on (d.classid, d.objid) = (m.class, m.object)
    cross join lateral pg_identify_object(d.classid, d.objid, d.objsubid) i cross join lateral pg_identify_object(d.refclassid, d.refobjid, d.refobjsubid) o
    union
    select 'initially ' || concat_ws(' ', i.type, i.identity, p.privtype, a.grantor::regrole, a.grantee::regrole, a.privilege_type, a.is_grantable)
    from pg_init_privs p join member m on (p.classoid, p.objoid) = (m.class, m.object)
    cross join lateral aclexplode(p.initprivs) a cross join lateral pg_identify_object(p.classoid, p.objoid, p.objsubid) i
    union
    select 'dumped ' || concat_ws(' ', c.table_oid::regclass, c.rows)
    from pg_extension, unnest(extconfig, extcondition) c (table_oid, rows) where extname = 'howdah'
    union
    select concat_ws(' ', 'extension', extversion, extnamespace::regnamespace, extrelocatable, extowner::regrole) from pg_extension where extname = 'howdah'
    union
    select 'runs ' || p.oid::regprocedure || ' ' || p.prosrc || ' ' || coalesce(p.probin, '') from pg_proc p join member m on (m.class, m.object) = ('pg_proc'::regclass, p.oid)";

fn facts(session: &mut Client) -> BTreeSet<String> {
    // These names have a number in them that is the database's own.
    let query = format!(
        "select distinct regexp_replace(fact, '(RI_ConstraintTrigger_[ac]|pg_toast)_\\d+', '\\1', 'g') from ({FACTS}) f (fact)"
    );
    session.query(&query, &[]).unwrap().iter().map(|row| row.get(0)).collect()
}

/// Expects the same of an updated database as of a new one.
fn expect_equal(what: &str, updated: &BTreeSet<String>, new: &BTreeSet<String>) {
    assert!(updated.len() > 100, "{what}: there are {}", updated.len());
    let missing: Vec<_> = new.difference(updated).collect();
    let more: Vec<_> = updated.difference(new).collect();
    assert!(
        missing.is_empty() && more.is_empty(),
        "{what}: extension/sql/howdah--OLD--NEW.sql does not make what extension/sql/howdah makes.\nMissing: {missing:#?}\nThere is: {more:#?}"
    );
}

#[test]
fn a_database_of_each_release_becomes_one_of_this_version_and_keeps_what_it_has() {
    // The templates of its clusters are beside it.
    let folder = tempfile::tempdir().unwrap();
    let stage = folder.path().join("stage");
    fs::create_dir(&stage).unwrap();
    stage_with_releases(&stage);
    let releases = releases();
    let served: Vec<_> = releases.iter().map(|release| database(release)).collect();
    let served = format!("app, {}", served.join(", "));
    let platform = Platform::of_stage(Some(stage), &[("howdah.databases", &served)]);
    platform.sql("create role users_owner");
    let (new, new_facts) = (members(&platform.cluster, "app"), facts(&mut platform.session()));
    for release in &releases {
        let name = format!("catalog {release}");
        platform.sql(&format!("create database \"{name}\" template template0"));
        let mut session = platform.cluster.connect(&name).unwrap();
        session
            .batch_execute(&format!(
                "create extension howdah version '{release}'; alter extension howdah update"
            ))
            .unwrap();
        expect_equal(release, &members(&platform.cluster, &name), &new);
        expect_equal(release, &facts(&mut session), &new_facts);
        expect_all_is_there(&platform, release);
    }
}

/// Restores what the release has kept, updates it, and finds all of it.
fn expect_all_is_there(platform: &Platform, release: &str) {
    let name = database(release);
    platform.sql(&format!("create database {name} template template0"));
    let dump = fs::read_to_string(kept().join(format!("dump-{release}.sql"))).unwrap();
    let begin = "CREATE EXTENSION IF NOT EXISTS howdah WITH SCHEMA pg_catalog;";
    assert!(dump.contains(begin), "another kind of dump");
    let dump = dump.replace(begin, &begin.replace(';', &format!(" VERSION '{release}';")));
    run(&platform.cluster, "psql", &name, &["-X", "-q", "-o", "/dev/null", "-v", "ON_ERROR_STOP=1"], &dump);
    let mut session = platform.cluster.connect(&name).unwrap();
    let port = free_port();
    session
        .batch_execute(&format!("update http.listener set port = {port}; alter extension howdah update"))
        .unwrap();
    expect_requests(port);
    expect_rows(&mut session);
    expect_jobs(&mut session);
}

fn expect_requests(port: u16) {
    wait_for("it is served", || Connection::try_open(port).is_some());
    let mut connection = Connection::open(port);
    let mut get = |path: &str| connection.request("GET", path, &[], b"");
    assert_eq!(get("/goods").text(), "tea");
    assert_eq!(get("/users/maryjane/card").status, 200);
    assert!(get("/users/johndoe").text().contains("John"));
}

/// Queues, tables, routes and deployments have what `contents.sql` has left.
fn expect_rows(session: &mut Client) {
    let mut value = |query: &str| -> String {
        session.query_one(&format!("select coalesce(({query})::text, 'null')"), &[]).unwrap().get(0)
    };
    for (query, expected) in [
        (
            "select string_agg(sensor || value, ' ' order by sensor) from queue.take('readings', 10, null::shop.reading) where sensor <> 'c'",
            "b2.5 d4.5 e5.5",
        ),
        (
            "select array_agg((producer, epoch, sequence)::text) from queue.producers('readings')",
            r#"{"(station,1,2)"}"#,
        ),
        ("select role from queue.permission where permission = 'take'", "howdah_web"),
        ("select queue_length from queue.metrics('notes')", "3"),
        ("select message ->> 'note' from queue.a_notes", "archived"),
        ("select string_agg(message ->> 'note', ' ') from queue.read('notes', 3600, 10)", "waits"),
        ("select queue.redrive('notes')", "1"),
        ("select string_agg(message ->> 'note', ' ') from queue.read('notes', 3600, 10)", "dead"),
        ("select count(*) from queue.dead_letters", "1"),
        ("select (vary, max_entries)::text from http.route where pattern = '/goods'", "({cookie:who},7)"),
        ("select string_agg(application, ' ') from deploy.applications", "users"),
        ("select count(*) from deploy.drift('users')", "0"),
        ("select count(*) from deploy.history('users')", "1"),
    ] {
        assert_eq!(value(query), expected, "{query}");
    }
}

/// Jobs rest, as in each copy, and then run, each once; the one that sleeps sleeps on.
fn expect_jobs(session: &mut Client) {
    let mut value = |query: &str| -> String { session.query_one(query, &[]).unwrap().get(0) };
    let dead = "select string_agg(concat_ws(' ', kind, attempts, message), ', ') from job.dead_jobs";
    assert_eq!(value(dead), "work 2 no -1 here");
    assert_eq!(
        value("select string_agg(concat_ws(' ', schedule, cron, time_zone), ', ') from job.schedules"),
        "yearly 0 0 1 1 * Europe/Berlin"
    );
    assert_eq!(
        value("select string_agg(kind || ' ' || (paused_at is not null), ', ' order by kind) from job.kinds"),
        "told true, work true"
    );
    assert_eq!(value("select has_met::text from job.enqueue_with_key('work', 'k', '{}')"), "true");
    assert_eq!(value("select job.is_copy()::text"), "true");
    assert_eq!(value("select count(*)::text from shop.ran"), "0");
    session.batch_execute("select job.resume('work'), job.resume()").unwrap();
    wait_for("they run", || {
        let row = session.query_one("select count(*), count(distinct number) from shop.ran", &[]).unwrap();
        (row.get::<_, i64>(0), row.get::<_, i64>(1)) == (21, 21)
    });
    let sleeping = "select waiting from job.kinds where kind = 'work'";
    assert_eq!(session.query_one(sleeping, &[]).unwrap().get::<_, i64>(0), 1);
}
