//! The configuration outlives a dump, an upgrade of the extension and one of the server.

use std::fs;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use cluster::postgres::Client;
use cluster::{Cluster, Options, Shutdown, TemporaryCluster};
use howdah_tests::{Connection, DATABASE, Platform, free_port, wait_for};

const ROUTES: &str = "
    create schema shop;
    create table shop.goods (name text);
    insert into shop.goods values ('tea');
    create role clerk nologin;
    grant usage on schema shop to clerk, howdah_web;
    grant select on shop.goods to clerk, howdah_web;
    set search_path = shop, public;
    create function shop.goods_list() returns text language sql stable
      as 'select string_agg(name, '','') from goods';
    select http.route('GET', '/goods', 'goods_list()', role => 'clerk'),
           http.handle('select http.response(name) from goods, request where path = ''/first''', 'first')";

/// Jobs that wait, one of them with a key, and one that is dead.
const JOBS: &str = "
    create table shop.ran (number integer);
    grant insert on shop.ran to howdah_web;
    create function shop.work(number integer) returns void language plpgsql as $$
    begin
      if number < 0 then raise exception 'no % here', number; end if;
      insert into shop.ran values (number);
    end $$;
    select job.define('work', 'shop.work', attempts => 2, backoff => '1 ms', alert => 'told') from (
      select job.define('told', 'shop.work')) told;
    select job.pause('told'), job.enqueue('work', '{\"number\": -1}')";

fn with_jobs(platform: &Platform) {
    platform.sql(JOBS);
    wait_for("one is dead", || platform.count("job.dead_jobs") == 1);
    platform.sql("select job.pause('work')");
    platform.sql(
        "select count(*) from job.enqueue_many('work', array(select jsonb_build_object('number', n) from generate_series(1, 500) n));
         select job.enqueue('work', '{\"number\": 501}', key => 'k');
         select job.schedule('yearly', '0 0 1 1 *', 'work')",
    );
}

/// Jobs, their history and their keys are as [`with_jobs`] has left them; then they run, each once.
fn expect_jobs(session: &mut Client) {
    let mut count = |rows: &str| {
        session.query_one(&format!("select count(*) from {rows}"), &[]).unwrap().get::<_, i64>(0)
    };
    assert_eq!(count("job.dead_jobs where kind = 'work' and attempts = 2 and message = 'no -1 here'"), 1);
    assert_eq!(count("job.failures where kind = 'work'"), 2);
    assert_eq!(count("job.kinds where paused_at is not null and (kind = 'told' or alert = 'told')"), 2);
    assert_eq!(count("job.enqueue_with_key('work', 'k', '{}') where has_met"), 1);
    assert_eq!(count("shop.ran"), 0);
    session.batch_execute("select job.resume('work'), job.resume()").unwrap();
    wait_for("they run", || {
        let row = session.query_one("select count(*), count(distinct number) from shop.ran", &[]).unwrap();
        (row.get::<_, i64>(0), row.get::<_, i64>(1)) == (501, 501)
    });
}

/// What the tables of the configuration hold.
fn configuration(platform: &TemporaryCluster, database: &str) -> String {
    let query = "select (select json_agg(r order by pattern) from http.route r)::text
                     || (select json_agg(h order by name) from http.handler h)::text
                     || (select json_agg(l order by port) from http.listener l)::text";
    platform.connect(database).unwrap().query_one(query, &[]).unwrap().get(0)
}

/// Runs one of PostgreSQL's programs on a database; its standard output.
fn program(cluster: &Cluster, name: &str, database: &str, input: Option<&[u8]>) -> Vec<u8> {
    let mut child = Command::new(cluster.installation().program(name))
        .arg(cluster.connection_string(database).unwrap())
        .args(if name == "psql" { &["-q", "-v", "ON_ERROR_STOP=1"][..] } else { &[] })
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.unwrap_or_default().to_vec();
    let writer = thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(output.status.success(), "{name} has failed");
    output.stdout
}

#[test]
fn a_dump_restores_beside_the_original_and_where_nothing_may_listen() {
    let platform = Platform::with(&[("howdah.databases", "app, copy")]);
    platform.sql(ROUTES);
    with_jobs(&platform);
    let dump = program(&platform.cluster, "pg_dump", DATABASE, None);
    platform.sql("create database copy");
    program(&platform.cluster, "psql", "copy", Some(&dump));
    let copied = configuration(&platform.cluster, "copy");
    assert_eq!(copied, configuration(&platform.cluster, DATABASE));
    assert!(
        copied.contains(r#""owner":"postgres""#),
        "whose the functions were is not in the dump: {copied}"
    );
    platform
        .cluster
        .connect("copy")
        .unwrap()
        .batch_execute("insert into shop.goods values ('copied')")
        .unwrap();
    wait_for("the copy says that it cannot listen", || {
        let query = "select count(*) from http.listeners where error like '%has it%'";
        platform.cluster.connect("copy").unwrap().query_one(query, &[]).unwrap().get::<_, i64>(0) == 1
    });
    for _ in 0..10 {
        assert_eq!(platform.get("/goods").text(), "tea", "the copy answers for the original");
    }
    let mut copy = platform.cluster.connect("copy").unwrap();
    let is_copy = copy.query_one("select job.is_copy(), count(*) from job.schedules", &[]).unwrap();
    assert_eq!((is_copy.get(0), is_copy.get(1)), (true, 1_i64), "it would run jobs beside the original");
    expect_jobs(&mut copy);
    assert_eq!(platform.count("shop.ran"), 0, "the original's are paused still");
    // Once the original lets go of the port, the copy takes it.
    platform.sql(&format!("select http.unlisten({})", platform.port));
    wait_for("the copy listens", || {
        Connection::try_open(platform.port)
            .and_then(|mut connection| connection.try_request("GET", "/goods", b""))
            .is_some_and(|reply| reply.text() == "tea,copied")
    });
    assert_eq!(platform.get("/first").text(), "tea");
    let port = platform.port;
    drop(platform);

    let silent = start(&[("howdah.databases", "copy"), ("howdah.listen_addresses", "")]);
    silent.execute("postgres", "create database copy").unwrap();
    silent.execute("postgres", "create role clerk nologin").unwrap();
    program(&silent, "psql", "copy", Some(&dump));
    wait_for("the copy is served", || {
        let query = "select count(*) from http.workers where kind = 'gateway' and state = 'running'";
        silent.connect("copy").unwrap().query_one(query, &[]).unwrap().get::<_, i64>(0) == 1
    });
    let listeners = "select count(*) from http.listeners where bound is null and error is null";
    assert_eq!(silent.connect("copy").unwrap().query_one(listeners, &[]).unwrap().get::<_, i64>(0), 1);
    assert!(Connection::try_open(port).is_none(), "something listens");
}

fn start(settings: &[(&str, &str)]) -> TemporaryCluster {
    let mut options = Options { preload: Some("howdah".into()), ..Options::default() };
    for (name, value) in settings {
        options = options.set(name, value);
    }
    TemporaryCluster::start(options).unwrap()
}

#[test]
fn pg_upgrade_finds_nothing_against_a_populated_cluster() {
    let mut platform = Platform::start();
    platform.sql(ROUTES);
    with_jobs(&platform);
    let mut new = start(&[]);
    platform.cluster.stop(Shutdown::Fast).unwrap();
    new.stop(Shutdown::Fast).unwrap();
    replace_links(&platform.cluster);
    replace_links(&new);
    let (old, new) = (&platform.cluster, &new);
    let bin = |cluster: &Cluster| cluster.installation().bindir.clone();
    let ports = (free_port(), free_port());
    let mut command = Command::new(bin(new).join("pg_upgrade"));
    command
        .args(["--check", "--username", "postgres"])
        .args(["--old-options", "-c shared_preload_libraries=howdah"])
        .args(["--new-options", "-c shared_preload_libraries=howdah"])
        .args(["--old-port", &ports.0.to_string(), "--new-port", &ports.1.to_string()])
        .arg("--old-bindir")
        .arg(bin(old))
        .arg("--new-bindir")
        .arg(bin(new))
        .arg("--old-datadir")
        .arg(old.data())
        .arg("--new-datadir")
        .arg(new.data())
        // The server's account may write there.
        .current_dir(new.socket().unwrap());
    if let Some(account) = new.account() {
        command.uid(account.uid).gid(account.gid);
    }
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("*Clusters are compatible*"), "{said}{errors}");
}

/// Puts scripts into place of the links to PostgreSQL's programs. A program looks for others beside the name that it
/// is called by, and would follow a link first; it may look for its libraries beside its file, so a copy would not do.
/// Another process writes them: a program that is open for writing cannot be run, and what is open here is open for a
/// moment in whatever another test starts meanwhile.
fn replace_links(cluster: &Cluster) {
    for entry in fs::read_dir(&cluster.installation().bindir).unwrap() {
        let path = entry.unwrap().path();
        if let Ok(target) = fs::read_link(&path) {
            let script = format!("#!/bin/bash\nexec -a \"$0\" '{}' \"$@\"\n", target.display());
            fs::remove_file(&path).unwrap();
            let mut install = Command::new("install");
            install.args(["--mode=755", "/dev/stdin"]).arg(&path).stdin(Stdio::piped());
            let mut install = install.spawn().unwrap();
            install.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
            assert!(install.wait().unwrap().success(), "{} is written", path.display());
        }
    }
}

#[test]
fn every_function_has_a_comment() {
    let platform = Platform::start();
    let bare = "select string_agg(oid::regprocedure::text, ', ') from pg_proc
                where pronamespace = 'http'::regnamespace and obj_description(oid, 'pg_proc') is null";
    assert_eq!(platform.value(bare), None);
    let bare = "select string_agg(oid::regclass::text, ', ') from pg_class
                where relnamespace = 'http'::regnamespace and relkind in ('r', 'v')
                  and obj_description(oid, 'pg_class') is null";
    assert_eq!(platform.value(bare), None);
}

/// The stage with scripts to and from versions that the library does not serve. Returns the served version.
fn stage_with_other_versions(into: &Path) -> String {
    let stage = PathBuf::from(std::env::var_os("HOWDAH_STAGE").expect("HOWDAH_STAGE names the stage"));
    for entry in fs::read_dir(stage).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, into.join(path.file_name().unwrap())).unwrap();
    }
    let control = fs::read_to_string(into.join("howdah.control")).unwrap();
    let line = control.lines().find(|line| line.starts_with("default_version")).unwrap();
    let version = line.split('\'').nth(1).unwrap().to_owned();
    let served = into.join(format!("howdah--{version}.sql"));
    fs::copy(served, into.join("howdah--0.0.1.sql")).unwrap();
    let script = |from: &str, to: &str| {
        let sql = format!("comment on schema http is 'updated from {from}';\n");
        fs::write(into.join(format!("howdah--{from}--{to}.sql")), sql).unwrap();
    };
    script("0.0.1", &version);
    script(&version, "99.0.0");
    script("99.0.0", &version);
    version
}

#[test]
fn a_populated_database_changes_versions_under_load() {
    // The templates of its clusters are beside it.
    let folder = tempfile::tempdir().unwrap();
    let stage = folder.path().join("stage");
    fs::create_dir(&stage).unwrap();
    let version = stage_with_other_versions(&stage);
    let platform = Platform::of_stage(Some(stage), &[("howdah.databases", "app, older")]);
    platform.sql(ROUTES);
    with_jobs(&platform);
    let (over, answered) = (AtomicBool::new(false), AtomicU64::new(0));
    let port = platform.port;
    thread::scope(|threads| {
        let _stop = StopAtEnd(&over);
        for _ in 0..2 {
            threads.spawn(|| load(port, &over, &answered));
        }
        let expect_served = |when: &str| {
            let before = answered.load(Ordering::Relaxed);
            wait_for(when, || answered.load(Ordering::Relaxed) > before + 20);
        };
        expect_served("requests are answered");
        let mut session = platform.session();
        session.batch_execute("begin; alter extension howdah update to '99.0.0'").unwrap();
        expect_served("served while the update has not been committed");
        session.batch_execute("rollback").unwrap();
        expect_served("served after a rollback");
        session.batch_execute("alter extension howdah update to '99.0.0'").unwrap();
        expect_state(&platform, DATABASE, "wrong version");
        wait_for("nobody listens", || Connection::try_open(port).is_none());
        wait_for("the log says why", || {
            let log = platform.log();
            log.contains("database \"app\" has a version") && log.contains("alter extension howdah update")
        });
        session.batch_execute("alter extension howdah update").unwrap();
        expect_served("served again, as it was configured");
        expect_jobs(&mut session);
    });
    an_older_version_is_served_after_its_update(&platform, &version);
}

fn expect_state(platform: &Platform, database: &str, state: &str) {
    let query = format!("select state from http.databases where name = '{database}'");
    wait_for(state, || platform.value(&query).as_deref() == Some(state));
}

fn an_older_version_is_served_after_its_update(platform: &Platform, version: &str) {
    platform.sql("create database older");
    let mut older = platform.cluster.connect("older").unwrap();
    older.batch_execute("create extension howdah version '0.0.1'").unwrap();
    older.batch_execute(&ROUTES.replace("create role clerk nologin;", "")).unwrap();
    let port = free_port();
    older.batch_execute(&format!("select http.listen({port}, '127.0.0.1')")).unwrap();
    expect_state(platform, "older", "wrong version");
    assert!(Connection::try_open(port).is_none(), "a version is served that nobody knows");
    older.batch_execute("alter extension howdah update").unwrap();
    wait_for("it is served", || Connection::try_open(port).is_some());
    assert_eq!(Connection::open(port).request("GET", "/goods", &[], b"").text(), "tea");
    let query =
        "select extversion, obj_description('http'::regnamespace) from pg_extension where extname = 'howdah'";
    let row = older.query_one(query, &[]).unwrap();
    assert_eq!((row.get::<_, &str>(0), row.get::<_, &str>(1)), (version, "updated from 0.0.1"));
}

/// Requests until told to stop; those that are answered with success are answered well.
fn load(port: u16, over: &AtomicBool, answered: &AtomicU64) {
    let mut connection = None;
    while !over.load(Ordering::Relaxed) {
        let Some(open) = connection.as_mut() else {
            connection = Connection::try_open(port);
            thread::yield_now();
            continue;
        };
        match open.try_request("GET", "/goods", b"") {
            Some(reply) if reply.status == 200 => {
                assert_eq!(reply.text(), "tea");
                answered.fetch_add(1, Ordering::Relaxed);
            }
            Some(reply) => assert!(matches!(reply.status, 502 | 503), "{} {}", reply.status, reply.text()),
            None => connection = None,
        }
    }
}

/// Stops the load, also when a check has failed.
struct StopAtEnd<'a>(&'a AtomicBool);

impl Drop for StopAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
