//! What the settings that a user may set do, set by a handler, for a role, or for a database.

use std::collections::BTreeMap;

use cluster::postgres::Client;
use cluster::postgres::error::SqlState;
use howdah_tests::Platform;
use howdah_tests::bounds;
use howdah_tests::client::Connection;
use howdah_tests::platform::wait_for;

/// What becomes of a setting, by the words of docs/roles.md.
const CLASSES: [&str; 4] = ["in force", "of the request", "without effect", "fixed"];

/// The table of docs/roles.md: names and what becomes of them.
fn documented() -> BTreeMap<String, &'static str> {
    let text = include_str!("../../docs/roles.md");
    let start = "## Settings of a handler, a role, a database";
    let section = text.split(start).nth(1).and_then(|rest| rest.split("\n## ").next()).expect("the section");
    let mut known = BTreeMap::new();
    for line in section.lines().filter(|line| line.starts_with("| ")) {
        let mut cells = line.trim_matches('|').split('|').map(str::trim);
        let (class, names) = (cells.next().expect("a cell"), cells.next().expect("a cell"));
        let Some(class) = CLASSES.iter().find(|known| **known == class) else { continue };
        for name in names.split(", ").map(|name| name.trim_matches('`')) {
            assert_eq!(known.insert(name.to_lowercase(), *class), None, "{name} is there twice");
        }
    }
    assert!(known.len() > 200, "{}", known.len());
    known
}

/// A setting that a user may set, and a value that it does not have.
struct Setting {
    name: String,
    other: String,
}

/// Text settings, and those with whose other values a request or the test would not come to its end.
const VALUES: [(&str, &str); 34] = [
    ("application_name", "mine"),
    ("backtrace_functions", "nothing"),
    ("client_encoding", "LATIN1"),
    ("createrole_self_grant", "set"),
    ("datestyle", "German, DMY"),
    ("default_tablespace", "pg_default"),
    ("default_text_search_config", "pg_catalog.german"),
    ("dynamic_library_path", "$libdir:/tmp"),
    ("extension_control_path", "$system:/tmp"),
    ("extension_destdir", "/tmp"),
    ("idle_in_transaction_session_timeout", "77000"),
    ("idle_session_timeout", "77000"),
    ("lc_messages", "POSIX"),
    ("lc_monetary", "POSIX"),
    ("lc_numeric", "POSIX"),
    ("lc_time", "POSIX"),
    ("local_preload_libraries", "plpgsql"),
    ("lock_timeout", "77000"),
    ("log_min_error_statement", "fatal"),
    ("log_min_messages", "error"),
    // It cannot be on beside those of the parts.
    ("log_statement_stats", "off"),
    ("max_stack_depth", "200"),
    ("output_plugin_libraries", "pgoutput"),
    ("restrict_nonsystem_relation_kind", "foreign-table"),
    ("search_path", "pg_catalog"),
    ("session_preload_libraries", "plpgsql"),
    ("session_replication_role", "local"),
    ("statement_timeout", "77000"),
    ("temp_file_limit", "1000000"),
    ("temp_tablespaces", "pg_default"),
    ("timezone", "Asia/Tokyo"),
    ("timezone_abbreviations", "India"),
    ("transaction_timeout", "77000"),
    ("wal_consistency_checking", "heap"),
];

/// All that a superuser's session may set, but those that have one value alone.
fn settings(session: &mut Client) -> Vec<Setting> {
    let rows = session
        .query(
            "select lower(name), setting, vartype, min_val, max_val, enumvals from pg_settings
             where context in ('user', 'superuser') order by name",
            &[],
        )
        .expect("the settings");
    let other = |row: &cluster::postgres::Row| -> Option<Setting> {
        let (name, now): (String, String) = (row.get(0), row.get(1));
        let fixed = VALUES.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        let other = fixed.or_else(|| match row.get::<_, &str>(2) {
            "bool" => Some(if now == "on" { "off" } else { "on" }.to_owned()),
            "enum" => row.get::<_, Vec<String>>(5).into_iter().find(|value| *value != now),
            "integer" | "real" => {
                let number = |text: Option<&str>| text.and_then(|text| text.parse::<f64>().ok());
                let (low, high) = (number(row.get(3))?, number(row.get(4))?);
                let now: f64 = now.parse().ok()?;
                [now + 1.0, now - 1.0, low, high]
                    .into_iter()
                    .find(|value| *value != now && *value >= low && *value <= high)
                    .map(|value| value.to_string())
            }
            // There is but one.
            _ if name == "default_table_access_method" => None,
            _ => panic!("{name}: which value shall it be set to?"),
        });
        other.map(|other| Setting { name, other })
    };
    rows.iter().filter_map(other).collect()
}

/// What a request of the role sees of all settings.
fn look(platform: &Platform) -> BTreeMap<String, String> {
    let reply = platform.get("/look");
    assert_eq!(reply.status, 200, "{}", reply.text());
    let seen = reply.json();
    let object = seen.as_object().expect("an object");
    object.iter().map(|(name, value)| (name.clone(), value.as_str().unwrap_or_default().to_owned())).collect()
}

const FUNCTIONS: &str = "
    create role app; grant pg_read_all_settings to app; grant create on database app to app;
    create function look() returns jsonb language sql volatile as
      'select jsonb_object_agg(lower(name), setting) from pg_settings';
    create function try(name text, value text) returns text language plpgsql as $$
    begin
      perform set_config(name, value, false);
      return 'now ' || (select setting from pg_settings where lower(pg_settings.name) = try.name);
    exception when others then return sqlstate;
    end $$;
    select http.route('GET', '/look', 'look', role => 'app'), http.route('POST', '/try', 'try', role => 'app')";

/// What the stored value shows as, which PostgreSQL may write in another way.
fn shown(session: &mut Client, setting: &Setting) -> String {
    let mut transaction = session.transaction().expect("a transaction");
    let set = transaction.execute("select set_config($1, $2, true)", &[&setting.name, &setting.other]);
    set.unwrap_or_else(|error| panic!("{} = {}: {error:?}", setting.name, setting.other));
    let row =
        transaction.query_one("select setting from pg_settings where lower(name) = $1", &[&setting.name]);
    row.unwrap_or_else(|error| panic!("{} = {}: {error:?}", setting.name, setting.other)).get(0)
}

#[test]
fn each_setting_that_a_user_may_set_does_what_the_table_says() {
    let platform = Platform::with(&[("howdah.min_executors", "1"), ("howdah.max_executors", "1")]);
    platform.sql(FUNCTIONS);
    let mut session = platform.cluster.connect("postgres").expect("a session");
    let settings = settings(&mut session);
    let documented = documented();
    let class = |setting: &Setting| {
        *documented.get(&setting.name).unwrap_or_else(|| panic!("{} is not in docs/roles.md", setting.name))
    };
    // Loads PL/pgSQL, which brings settings.
    platform.post("/try", "application/json", br#"{"name": "work_mem", "value": "4MB"}"#);
    let before = look(&platform);
    let pids = platform.pids();
    for setting in &settings {
        let grant = format!("grant set on parameter {} to app", setting.name);
        session.batch_execute(&grant).unwrap_or_else(|error| panic!("{grant}: {error}"));
    }

    // By a handler.
    for setting in &settings {
        let body = serde_json::json!({"name": setting.name, "value": setting.other});
        let said = platform.post("/try", "application/json", body.to_string().as_bytes());
        assert_eq!(said.status, 200, "{}: {}", setting.name, said.text());
        match (class(setting), said.text().as_str()) {
            ("fixed", code) => assert_eq!(code, "55P02", "{}", setting.name),
            // PostgreSQL lets a transaction that has begun be made stricter alone.
            (_, "25001") => assert!(setting.name.starts_with("transaction_"), "{}", setting.name),
            (_, now) => assert_eq!(now, format!("now {}", shown(&mut session, setting)), "{}", setting.name),
        }
    }
    let unlike_before = || -> Vec<_> {
        let seen = look(&platform).into_iter();
        seen.filter(|(name, value)| before.get(name) != Some(value)).collect()
    };
    assert_eq!(unlike_before(), [], "what handlers have set is undone");

    // For a role, then for a database.
    for whose in ["role app", "database app", "role all"] {
        for setting in &settings {
            let literal = setting.other.replace('\'', "''");
            let list = matches!(setting.name.as_str(), "datestyle" | "search_path" | "temp_tablespaces");
            let value = if list { setting.other.clone() } else { format!("'{literal}'") };
            let statement = format!("alter {whose} set {} = {value}", setting.name);
            if let Err(error) = session.batch_execute(&statement) {
                // PostgreSQL does not let a transaction's own settings be stored.
                let refused = error.code() == Some(&SqlState::ACTIVE_SQL_TRANSACTION);
                assert!(refused && setting.name.starts_with("transaction_"), "{statement}: {error:?}");
            }
        }
        let seen = look(&platform);
        for setting in &settings {
            let name = &setting.name;
            // These follow the defaults that are stored with them.
            if documented[name] == "of the request" && name.starts_with("transaction_") {
                continue;
            }
            let expected = if class(setting) == "in force" {
                shown(&mut session, setting)
            } else {
                before[name].clone()
            };
            assert_eq!(seen[name], expected, "{whose}: {name}");
        }
        session.batch_execute(&format!("alter {whose} reset all")).expect("a reset");
        assert_eq!(unlike_before(), [], "{whose}: what was stored is forgotten");
    }
    assert!(platform.still_run(&pids), "{}", platform.log());
}

#[test]
fn who_a_request_is_cannot_be_stored() {
    let platform = Platform::with(&[("howdah.min_executors", "1"), ("howdah.max_executors", "1")]);
    let superuser = platform.value("select rolname from pg_roles where oid = 10").expect("a superuser");
    platform.sql(
        "create role app; create role other; grant other to app;
         create function who() returns text language sql volatile as
           $$ select concat_ws(' ', current_user, session_user, current_setting('is_superuser'),
                               current_setting('role'), current_setting('session_authorization')) $$;
         create function read() returns text language sql stable as 'select who()';
         select http.route('GET', '/who', 'who', role => 'app'), http.route('GET', '/read', 'read', role => 'app')",
    );
    let who = || [platform.get("/who").text(), platform.get("/read").text()];
    let before = who();
    assert_eq!(before[0], "app howdah_web off none howdah_web");
    let mut session = platform.cluster.connect("postgres").expect("a session");
    for (whose, setting, value) in [
        ("role app", "session_authorization", superuser.as_str()),
        ("role app", "role", "other"),
        ("role howdah_web", "session_authorization", superuser.as_str()),
        ("role all", "session_authorization", superuser.as_str()),
        ("role all", "role", "other"),
        ("database app", "session_authorization", superuser.as_str()),
        ("database app", "role", "other"),
    ] {
        let statement = format!("alter {whose} set {setting} = '{value}'");
        session.batch_execute(&statement).expect(&statement);
        assert_eq!(who(), before, "{statement}");
    }
    // A gateway that begins now meets all of them.
    let old = platform_pids(&mut session);
    for pid in &old {
        session.execute("select pg_terminate_backend($1)", &[pid]).expect("an end");
    }
    wait_for("other workers serve", || {
        let reply = Connection::try_open(platform.port)
            .and_then(|mut connection| connection.try_request("GET", "/who", b""));
        reply.is_some_and(|reply| reply.status == 200)
            && !platform_pids(&mut session).iter().any(|pid| old.contains(pid))
    });
    assert_eq!(who(), before);
}

fn platform_pids(session: &mut Client) -> Vec<i32> {
    let query =
        "select pid from pg_stat_activity where backend_type in ('howdah gateway', 'howdah executor')";
    session.query(query, &[]).expect("the workers").iter().map(|row| row.get(0)).collect()
}

#[test]
fn exit_on_error_ends_nothing() {
    for inline in ["off", "on"] {
        let platform = Platform::with(&[("howdah.inline", inline), ("howdah.inline_threshold", "100000")]);
        platform.sql(
            "create role app;
             create function fail() returns text language plpgsql stable as $$
             begin
               begin perform set_config('exit_on_error', 'on', false); exception when others then null; end;
               return 1 / 0;
             end $$;
             create function fail_by_clause() returns text language plpgsql stable set exit_on_error = on as
               $$ begin return 1 / 0; end $$;
             create function pid() returns int language sql stable return pg_backend_pid();
             select http.route('GET', '/fail', 'fail', role => 'app'), http.route('GET', '/pid', 'pid', role => 'app'),
               http.route('GET', '/clause', 'fail_by_clause', role => 'app')",
        );
        let kind = if inline == "off" { "executor" } else { "gateway" };
        wait_for("requests run where they shall", || {
            let pid = platform.get("/pid").text().parse().expect("a process");
            platform.get("/fail");
            platform.workers(kind).contains(&pid)
        });
        let pids = platform.pids();
        let fails = |what: &str| {
            for _ in 0..20 {
                for path in ["/fail", "/clause"] {
                    let reply = platform.get(path);
                    assert!([400, 500, 503].contains(&reply.status), "{what}: {path}: {}", reply.text());
                }
                assert_eq!(platform.get("/pid").status, 200);
            }
            assert!(platform.still_run(&pids), "inline {inline}, {what}: {}", platform.log());
        };
        fails("by a handler");
        let mut session = platform.cluster.connect("postgres").expect("a session");
        for whose in ["role app", "database app", "role all"] {
            session.batch_execute(&format!("alter {whose} set exit_on_error = on")).expect("a setting");
            fails(whose);
            session.batch_execute(&format!("alter {whose} reset exit_on_error")).expect("a reset");
        }
        session.batch_execute("alter system set exit_on_error = on").expect("a setting");
        session.batch_execute("select pg_reload_conf()").expect("a reload");
        let begin = std::time::Instant::now();
        while begin.elapsed() < std::time::Duration::from_secs(2) {
            fails("by the configuration");
        }
    }
}

#[test]
fn a_role_that_waits_for_safe_snapshots_delays_nobody_else() {
    let platform = Platform::start();
    platform.sql(
        "create role app;
         create function pid() returns int language sql stable return pg_backend_pid();
         select http.route('GET', '/app', 'pid', role => 'app'), http.route('GET', '/web', 'pid');
         alter role app set default_transaction_isolation = serializable;
         alter role app set default_transaction_deferrable = on;
         alter role app set default_transaction_read_only = on;
         alter role app set statement_timeout = '1s'",
    );
    let mut writer = platform.session();
    writer
        .batch_execute("create table t (i int)")
        .and_then(|()| writer.batch_execute("begin isolation level serializable"))
        .and_then(|()| writer.batch_execute("insert into t values (1)"))
        .expect("a transaction that makes no snapshot safe");
    for round in 0..20 {
        let begin = std::time::Instant::now();
        platform.sql(&format!("select http.route('GET', '/new{round}', 'pid')"));
        assert_eq!(platform.get("/web").status, 200);
        assert_eq!(platform.get(&format!("/new{round}")).status, 200);
        bounds::ROUTE_BESIDE_SERIALIZABLE.check(begin.elapsed());
        if round % 5 == 0 {
            // Its own request waits for a snapshot until its time is over.
            assert!([503, 504].contains(&platform.get("/app").status));
        }
    }
    writer.batch_execute("rollback").expect("the end");
}

/// PostgreSQL keeps the name of a setting that somebody has made up.
#[test]
fn a_setting_of_ones_own_is_null_or_empty_where_nobody_has_set_it() {
    let platform = Platform::with(&[("howdah.min_executors", "1"), ("howdah.max_executors", "1")]);
    platform.sql(
        "create function set_it() returns text language sql volatile return set_config('app.user', 'ada', false);
         create function get_it() returns text language sql volatile return coalesce(current_setting('app.user', true), 'null');
         create function get_it_well() returns text language sql volatile return
           coalesce(nullif(current_setting('app.user', true), ''), 'null');
         select http.route('GET', '/' || f, f) from unnest(array['set_it', 'get_it', 'get_it_well']) f",
    );
    let get = |path: &str| platform.get(path).text();
    assert_eq!((get("/get_it"), get("/get_it_well")), ("null".into(), "null".into()));
    assert_eq!(get("/set_it"), "ada");
    assert_eq!((get("/get_it"), get("/get_it_well")), (String::new(), "null".into()));
}
