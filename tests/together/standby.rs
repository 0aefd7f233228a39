//! A hot standby answers what only reads, and follows its primary.

use cluster::TemporaryCluster;
use howdah_tests::https::{Https, run};
use howdah_tests::standbys::{ADDRESS, standby_of};
use howdah_tests::{Connection, DATABASE, Platform, free_port, wait_for};

#[test]
fn a_standby_reads_and_follows_routes_and_settings_of_its_primary() {
    let platform = Platform::start();
    let port = free_port();
    platform.sql(&format!(
        "select http.listen({port});
         create table note (text text); grant select, insert on note to howdah_web;
         insert into note values ('first');
         create function notes() returns text language sql stable return (select string_agg(text, ',') from note);
         create function add(text text) returns void language sql begin atomic insert into note values (text); end;
         create function tenant() returns text language sql stable return current_setting('my.tenant', true);
         create function tenant_in_an_executor() returns text language plpgsql volatile as
           $$ begin return current_setting('my.tenant', true); end $$;
         alter role howdah_web set my.tenant = 'one';
         select http.route('GET', '/notes', 'notes'), http.route('POST', '/notes', 'add'),
           http.route('GET', '/tenant', 'tenant'), http.route('POST', '/tenant', 'tenant_in_an_executor')"
    ));
    let standby = standby_of(&platform);
    wait_for("the standby listens", || Connection::try_open_at(ADDRESS, port).is_some());
    let mut connection = Connection::try_open_at(ADDRESS, port).expect("a connection");
    let mut ask = |method: &str, path: &str| {
        let reply = connection.request(method, path, &[], b"");
        (reply.status, reply.text())
    };
    assert_eq!(ask("GET", "/notes"), (200, "first".into()));
    let (status, text) = ask("POST", "/notes?text=second");
    assert_eq!(status, 503, "another server can: {text}");

    // Enough requests for the gateway to run them itself.
    for _ in 0..20 {
        assert_eq!(ask("GET", "/tenant"), (200, "one".into()));
        assert_eq!(ask("POST", "/tenant"), (200, "one".into()));
    }
    for (change, tenant) in [
        ("alter role howdah_web set my.tenant = 'two'", "two"),
        ("alter role howdah_web in database app set my.tenant = 'three'", "three"),
    ] {
        platform.sql(change);
        for method in ["GET", "POST"] {
            wait_for(&format!("{change} is in force for {method}"), || {
                ask(method, "/tenant") == (200, tenant.into())
            });
        }
    }

    platform.sql("select http.unroute('GET', '/tenant')");
    wait_for("the route is gone", || ask("GET", "/tenant").0 == 405);
    platform.sql(
        "create function note_later(text text) returns void language sql begin atomic insert into note values (text); end;
         select job.define('fail', 'note_later', attempts => 1), job.enqueue('fail', '{}');
         select job.define('later', 'note_later'), job.enqueue('later', '{\"text\": \"fifth\"}', at => now() + interval '1 hour');
         select job.enqueue('later', '{\"text\": \"fourth\"}', at => now() + interval '1 hour', key => 'k')",
    );
    platform.sql(
        "create table beat (due_at timestamptz primary key);
         grant insert on beat to howdah_web;
         create function beat(due_at timestamptz) returns void language sql begin atomic insert into beat values (due_at); end;
         select job.define('beat', 'beat', attempts => 1), job.schedule('beat', every => '1 s', kind => 'beat', missed => 'each')",
    );
    wait_for("a schedule is due", || platform.count("beat") > 1);
    platform.sql(
        "create function nap() returns void language sql as 'select pg_sleep(3)';
         select job.define('nap', 'nap', at_once => 8), job.enqueue('nap') from generate_series(1, 8)",
    );
    wait_for("a job is dead", || platform.count("job.dead_jobs") == 1);
    platform.sql("insert into note values ('second')");
    wait_for("the row has come", || ask("GET", "/notes").1 == "first,second");

    standby
        .connect("postgres")
        .expect("a session")
        .batch_execute("select pg_promote()")
        .expect("it is promoted");
    wait_for("it writes", || ask("POST", "/notes?text=third").0 == 204);
    // The schedule goes on where it was, and each due time has its job once: the table has them as its keys.
    wait_for("it goes on", || {
        let query = "select max(due_at) > now() - interval '2 s' and max(due_at) - min(due_at) = (count(*) - 1) * interval '1 s' from beat";
        standby.connect(DATABASE).expect("a session").query_one(query, &[]).expect("a row").get(0)
    });
    standby.execute(DATABASE, "select job.unschedule('beat')").expect("it goes");
    let mut session = standby.connect(DATABASE).expect("a session");
    let query = "select count(*) from job.failures f where f.kind = 'beat'";
    assert_eq!(session.query_one(query, &[]).expect("a row").get::<_, i64>(0), 0);
    // The jobs have come along, and what is done here is done here alone.
    standby
        .execute(
            DATABASE,
            "select job.enqueue('later', '{\"text\": \"now\"}', key => 'k', meets => 'restart'),
               job.redrive('fail'), job.enqueue('later', '{\"text\": \"another\"}')",
        )
        .expect("jobs");
    wait_for("they run", || {
        let reply = ask("GET", "/notes").1;
        ["now", "another"].iter().all(|text| reply.contains(text))
            && !reply.contains("fourth")
            && !reply.contains("fifth")
    });
    wait_for("the dead one is dead again", || {
        let mut session = standby.connect(DATABASE).expect("a session");
        let query = "select count(*) from job.failures f join job.dead_jobs d on d.first_id = f.job and d.id <> f.job";
        session.query_one(query, &[]).expect("a row").get::<_, i64>(0) == 1
    });
    standby
        .execute(DATABASE, "alter role howdah_web in database app set my.tenant = 'four'")
        .expect("a change");
    assert_eq!(ask("POST", "/tenant"), (200, "four".into()));
}

#[test]
fn a_standby_serves_https_with_files_of_its_own_and_goes_on_once_promoted() {
    let https = Https::serving();
    let standby = standby_of(&https.platform);
    https.certify("standby", "standby.test");
    let mut session = standby.connect("postgres").expect("a session");
    let setting = format!("alter system set howdah.tls_certificates = '{}'", https.pair("standby"));
    session.batch_execute(&setting).expect("a setting of its own");
    session.batch_execute("select pg_reload_conf()").expect("a reload");
    https.platform.sql(&format!("select http.listen({}, tls => true)", https.port));
    let ask = || {
        let url = format!("https://standby.test:{}/hello", https.port);
        let resolve = format!("standby.test:{}:{ADDRESS}", https.port);
        let output = run(&https.folder, "curl", &["-sS", "--cacert", "ca.pem", "--resolve", &resolve, &url]);
        String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
    };
    wait_for("the standby serves it", || ask() == "hello");
    assert_eq!(https.curl(&[], "localhost"), "hello by 2", "the primary goes on with its own");
    session.batch_execute("select pg_promote()").expect("it is promoted");
    wait_for("it serves it still", || ask() == "hello");
    session.batch_execute("alter system reset howdah.tls_certificates").expect("it may be set");
    session.batch_execute("select pg_reload_conf()").expect("a reload");
    let shown = "select count(*) from http.listeners where tls and error like '%names no certificate%'";
    let mut session = standby.connect(DATABASE).expect("a session");
    wait_for("its own setting counts", || session.query_one(shown, &[]).expect("a row").get::<_, i64>(0) > 0);
}

/// A standby of a platform with routes over a table of notes, and a connection to it.
fn standby_with_notes() -> (Platform, TemporaryCluster, Connection) {
    let platform = Platform::with(&[("max_prepared_transactions", "5")]);
    let port = free_port();
    platform.sql(&format!(
        "select http.listen({port});
         create table note (text text); grant select on note to howdah_web; insert into note values ('first');
         create function notes() returns text language sql stable return (select string_agg(text, ',') from note);
         create function of_code() returns text language sql immutable return '0';
         create function numbers() returns text language plpgsql stable as
           'begin return (select count(*) from note) || '' '' || (select public.of_code()); end';
         select http.route('GET', '/notes', 'notes'), http.validate('GET', '/notes');
         select http.route('GET', '/count', 'numbers'), http.cache('GET', '/count');"
    ));
    let standby = standby_of(&platform);
    wait_for("the standby listens", || Connection::try_open_at(ADDRESS, port).is_some());
    let connection = Connection::try_open_at(ADDRESS, port).expect("a connection");
    (platform, standby, connection)
}

fn wait_for_replay(platform: &Platform, standby: &TemporaryCluster) {
    let lsn = platform.value("select pg_current_wal_lsn()").expect("a place");
    let mut session = standby.connect(DATABASE).expect("a session");
    wait_for("it has come", || {
        let query = "select pg_last_wal_replay_lsn() >= $1::text::pg_lsn";
        session.query_one(query, &[&lsn]).expect("a row").get(0)
    });
}

fn sum_of(cluster: &TemporaryCluster, column: &str) -> i64 {
    let mut session = cluster.connect(DATABASE).expect("a session");
    let query = format!("select coalesce(sum({column}), 0)::bigint from http.stats");
    session.query_one(&query, &[]).expect("a row").get(0)
}

#[test]
fn a_standby_remembers_until_something_is_replayed_and_goes_on_once_it_is_promoted() {
    let (platform, standby, mut connection) = standby_with_notes();
    let mut ask = |tag: &str| connection.request("GET", "/notes", &[("If-None-Match", tag)], b"");
    let tag = ask("\"none\"").header("etag").expect("a tag").to_owned();
    assert_eq!(platform.get("/notes").header("etag"), Some(&*tag), "the same on both");
    wait_for("it remembers", || {
        assert_eq!(ask(&tag).status, 304);
        sum_of(&standby, "remembered") > 5
    });
    platform.sql("insert into note values ('second')");
    wait_for_replay(&platform, &standby);
    assert_eq!(ask(&tag).text(), "first,second");
    platform.sql("begin; insert into note values ('third'); prepare transaction 'third'");
    wait_for_replay(&platform, &standby);
    standby.execute("postgres", "select pg_promote()").expect("it is promoted");
    let tag = ask(&tag).header("etag").expect("a tag").to_owned();
    let before = sum_of(&standby, "remembered");
    wait_for("it remembers", || {
        assert_eq!(ask(&tag).status, 304);
        sum_of(&standby, "remembered") > before + 5
    });
    // Whose mark was on the primary alone.
    standby.execute(DATABASE, "commit prepared 'third'").expect("it is there");
    let third = ask(&tag);
    assert_eq!((third.status, third.text()), (200, "first,second,third".into()));
}

#[test]
fn a_standby_keeps_answers_of_which_none_is_older_than_what_it_shows() {
    let (platform, standby, mut connection) = standby_with_notes();
    let mut session = standby.connect(DATABASE).expect("a session");
    // The count and the version that a session sees, and those of the answer to a request that comes afterwards.
    let mut ask = || {
        let seen = session.query_one("select numbers()", &[]).expect("a row").get::<_, String>(0);
        let reply = connection.request("GET", "/count", &[], b"");
        assert_eq!(reply.status, 200, "{}", reply.text());
        let numbers = |text: &str| -> Vec<i64> {
            text.split(' ').map(|number| number.parse().expect("a number")).collect()
        };
        let (seen, answered) = (numbers(&seen), numbers(&reply.text()));
        assert!(
            answered.iter().zip(&seen).all(|(answered, seen)| answered >= seen),
            "{answered:?} after {seen:?}"
        );
        answered
    };
    wait_for("it keeps", || {
        ask();
        sum_of(&standby, "cached") > 5
    });
    let change = |cluster: &TemporaryCluster, number: i64| {
        let change = match number % 3 {
            0 => format!(
                "create or replace function public.of_code() returns text language sql immutable return '{number}'"
            ),
            _ => "insert into note values ('more')".into(),
        };
        cluster.execute(DATABASE, &change).expect("it is changed");
    };
    for number in 1..=60 {
        change(&platform.cluster, number);
        (0..20).for_each(|_| _ = ask());
    }
    wait_for_replay(&platform, &standby);
    assert_eq!(ask(), [41, 60]);
    let before = sum_of(&standby, "cached");
    wait_for("it keeps", || {
        assert_eq!(ask(), [41, 60]);
        sum_of(&standby, "cached") > before + 5
    });
    standby.execute("postgres", "select pg_promote()").expect("it is promoted");
    for number in 61..=120 {
        change(&standby, number);
        let rows = 1 + number - number / 3;
        (0..5).for_each(|_| assert_eq!(ask(), [rows, number - number % 3]));
    }
}
