//! Extreme numbers and times from anybody: what PostgreSQL computes with, but cannot write as text, is stored nowhere. One such value would break
//! every dump of the database.

use std::process::{Command, Stdio};

use cluster::postgres::{Client, SimpleQueryMessage};
use howdah_tests::platform::{DATABASE, Platform, wait_for};

/// Functions that take a number or a time from somebody who is no superuser, with their arguments: the names, the types without an alias,
/// whether each is such a number or time, how many have a default.
const FUNCTIONS: &str = "
    select p.oid::regprocedure::text, p.pronamespace::regnamespace || '.' || p.proname,
           coalesce(p.proargnames[1:p.pronargs], array_fill(''::text, array[p.pronargs])),
           array(select format_type(a.type, null) from unnest(p.proargtypes) with ordinality a(type, place) order by place),
           array(select coalesce(e.typcategory, t.typcategory) in ('N', 'D', 'T') and a.type not in ('oid'::regtype, 'regclass'::regtype, 'regtype'::regtype, 'regrole'::regtype)
                 from unnest(p.proargtypes) with ordinality a(type, place)
                 join pg_type t on t.oid = a.type left join pg_type e on e.oid = t.typelem and t.typcategory = 'A'
                 order by place),
           p.pronargdefaults::int
    from pg_proc p
    join pg_depend d on d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e'
    join pg_extension x on x.oid = d.refobjid and x.extname = 'howdah'
    where d.refclassid = 'pg_extension'::regclass and p.prokind <> 'p' and has_function_privilege('keeper', p.oid, 'execute')
    order by 1";

/// What is not called, and why it can store nothing.
const UNCALLED: &[(&str, &str)] = &[
    ("http.drain", "stops the workers of the database, which the test needs, and writes to no table"),
    ("http.signed_text", "signs for the owner of what answers a request, and there is none here"),
    ("http.set_signed_cookie", "the same"),
    ("deploy.files", "reads files of a deployment, of which there is none here"),
];

/// Arguments that the others of a function go with: the function's name, the argument's, its value. Without a function: of all.
const OTHERS: &[(&str, &str, &str)] = &[
    ("", "queue_name", "'messages'"),
    ("", "queue", "'messages'"),
    ("", "kind", "'kind'"),
    ("", "row_type", "null::item"),
    ("", "msg", "'{}'"),
    ("", "msgs", "array['{}']::jsonb[]"),
    ("", "headers", "null"),
    ("", "lines", "'{}'"),
    ("", "into_table", "'target'"),
    ("", "body", "'{}'"),
    ("", "location", "'/'"),
    ("", "name", "'name'"),
    ("", "key", "gen_random_uuid()::text"),
    ("job.enqueue", "key", "gen_random_uuid()::text"),
    ("", "message", "'message'"),
    ("", "time_zone", "'Europe/Berlin'"),
    ("", "max_poll_seconds", "0"),
    ("", "max_poll", "'0'"),
    ("", "wait", "'0'"),
    ("", "port", "47011"),
    ("", "address", "'127.0.0.1'"),
    ("", "sequence", "1"),
    ("queue.create", "queue_name", "'created'"),
    ("queue.create", "row_type", "'item'"),
    ("queue.put", "queue_name", "'items'"),
    ("queue.put", "rows", "array[row(1)]::item[]"),
    ("queue.put", "producer", "'producer'"),
    ("queue.ack", "queue_name", "'items'"),
    ("queue.nack", "queue_name", "'items'"),
    ("queue.put_lines", "queue", "'items'"),
    ("queue.put_lines", "lines", "'{\"number\": 1}'"),
    ("queue.listen", "into_table", ""),
    ("queue.listen", "queue", "'items'"),
    ("queue.http_send", "queue", "'items'"),
    ("queue.http_send", "", "'{\"number\": 1}'"),
    ("queue.rows_as_json", "leased", "true"),
    ("queue.read_with_poll", "max_poll_seconds", "0"),
    ("http.cookie_text", "value", "'value'"),
    ("http.set_cookie", "value", "'value'"),
    ("http.flash", "message", "'message'"),
    ("http.flash_text", "message", "'message'"),
    ("http.flash_text", "kind", "'notice'"),
    ("http.flash_text", "secure", "false"),
    ("http.cookie_text", "path", "'/'"),
    ("http.cookie_text", "domain", "null"),
    ("http.cookie_text", "secure", "false"),
    ("http.cookie_text", "http_only", "false"),
    ("http.cookie_text", "same_site", "'Lax'"),
    ("http.cache", "method", "'GET'"),
    ("http.cache", "pattern", "'/cached'"),
    ("http.handle", "statement", "'select http.response(''text'', 200)'"),
    ("job.define", "kind", "'defined'"),
    ("job.define", "function", "'run'"),
    ("job.enqueue_many", "arguments", "array['{}']::jsonb[]"),
    ("job.schedule", "name", "'schedule'"),
    ("job.schedule", "every", "'1 hour'"),
    ("job.schedule", "kind", "'kind'"),
];

/// Functions of typed rows are told by a row type, and have another queue.
const OF_ITEMS: &[&str] = &["row_type"];

/// The extremes of a type.
fn extremes(of_type: &str) -> &'static [&'static str] {
    match of_type.strip_suffix("[]").unwrap_or(of_type) {
        "integer" => &["-2147483648", "-1", "0", "1", "2147483647"],
        "bigint" => &["-9223372036854775808", "-1", "0", "1", "9223372036854775807"],
        "double precision" => &["-Infinity", "-1e308", "-1", "0", "1e-308", "1e308", "Infinity", "NaN"],
        "interval" => &[
            "-178000000 years",
            "-8000 years",
            "-315576000000000000 microseconds",
            "-9223372036854775807 microseconds",
            "-2147483648 days",
            "-1 microsecond",
            "0",
            "1 microsecond",
            "2147483647 days",
            "9223372036854775807 microseconds",
            "300000 years",
            "178000000 years",
            "178000000 years 2147483647 days 9223372036854775807 microseconds",
            "infinity",
            "-infinity",
        ],
        "timestamp with time zone" => &[
            "-infinity",
            "4714-11-24 00:00:00+00 BC",
            "2000-01-01 00:00:00+00",
            "294276-12-31 23:59:59.999999+00",
            "infinity",
        ],
        other => panic!("the test knows no extremes of {other}"),
    }
}

fn platform() -> Platform {
    let platform = Platform::with(&[]);
    platform.sql(
        "create role keeper nologin; grant howdah_admin to keeper; grant create on schema public to keeper;
         grant create on database app to keeper;
         create type item as (number integer); alter type item owner to keeper;
         create table target (number integer); alter table target owner to keeper;
         set role keeper;
         create function run() returns void begin atomic end;
         create function retry(after interval) returns void language plpgsql as $$ begin perform job.retry(after); end $$;
         create function fail(detail text) returns void language plpgsql as $$
         begin raise exception using errcode = 'JB001', message = 'again', detail = fail.detail; end $$;
         select queue.create('messages'), queue.create('items', 'item', max_reads => 2);
         select http.route('GET', '/cached', 'run');
         select job.define('kind', 'run', role => 'keeper'), job.define('retry', 'retry', role => 'keeper'),
           job.define('fail', 'fail', role => 'keeper'), job.define('together', 'fail', role => 'keeper', batch => 10);
         select job.pause('kind')",
    );
    platform
}

/// A function with its arguments.
struct Function {
    signature: String,
    name: String,
    arguments: Vec<(String, String, bool)>,
    defaults: usize,
}

impl Function {
    fn all(session: &mut Client) -> Vec<Function> {
        let rows = session.query(FUNCTIONS, &[]).unwrap();
        let functions = rows.iter().map(|row| {
            let (names, types, are_numbers): (Vec<String>, Vec<String>, Vec<bool>) =
                (row.get(2), row.get(3), row.get(4));
            let arguments = names.into_iter().zip(types).zip(are_numbers);
            Function {
                signature: row.get(0),
                name: row.get(1),
                arguments: arguments.map(|((name, kind), is_number)| (name, kind, is_number)).collect(),
                defaults: row.get::<_, i32>(5) as usize,
            }
        });
        functions.filter(|function| function.arguments.iter().any(|(.., is_number)| *is_number)).collect()
    }

    /// What an argument is otherwise; none if it is left to its default.
    fn other(&self, place: usize) -> Option<String> {
        let (name, kind, is_number) = &self.arguments[place];
        let known = |function: &str| {
            OTHERS
                .iter()
                .find(|(of, argument, _)| of == &function && argument == name)
                .map(|(.., value)| *value)
        };
        let is_of_items = self.arguments.iter().any(|(name, ..)| OF_ITEMS.contains(&name.as_str()));
        if is_of_items && name == "queue_name" && self.name != "queue.create" {
            return Some("'items'".to_owned());
        }
        match known(&self.name) {
            Some("") => return None,
            Some(value) => return Some(value.to_owned()),
            None => {}
        }
        if place + self.defaults >= self.arguments.len() {
            return None;
        }
        let number = || is_number.then(|| harmless(kind));
        let value = known("").or_else(number);
        Some(
            value.unwrap_or_else(|| panic!("{} needs {name} {kind} to be called", self.signature)).to_owned(),
        )
    }

    /// A call with one argument as it is told; the others are harmless.
    fn call(&self, told: Option<(usize, &str)>) -> String {
        let value = |place: usize| match told {
            Some((told, value)) if told == place => {
                let kind = &self.arguments[place].1;
                let value = if kind.ends_with("[]") { format!("{{\"{value}\"}}") } else { value.to_owned() };
                Some(format!("'{value}'"))
            }
            _ => self.other(place),
        };
        let named = self.arguments.iter().rposition(|(name, ..)| name.is_empty()).map_or(0, |last| last + 1);
        let written = (0..self.arguments.len()).filter_map(|place| {
            let (name, kind, is_number) = &self.arguments[place];
            let value = value(place)?;
            let typed = if *is_number || ["jsonb", "bytea", "text"].contains(&kind.as_str()) {
                format!("{value}::{kind}")
            } else {
                value
            };
            Some(if place < named { typed } else { format!("\"{name}\" => {typed}") })
        });
        format!("select from {}({})", self.name, written.collect::<Vec<_>>().join(", "))
    }
}

/// Runs a call with something to be taken; its SQLSTATE and message if it fails.
fn run(session: &mut Client, call: &str) -> Result<(), String> {
    session
        .batch_execute(
            "select queue.send('messages', '{}'), queue.put('items', row(1)::item);
             select queue.drop_queue('created') from queue.queue q where q.name = 'created'",
        )
        .unwrap();
    session.batch_execute(call).map_err(|error| match error.as_db_error() {
        Some(error) => format!("{} {}", error.code().code(), error.message()),
        None => panic!("{call}: {error}"),
    })
}

/// Whether PostgreSQL's own reading of a value fails: older versions know no infinite interval.
fn is_value(session: &mut Client, kind: &str, value: &str) -> bool {
    kind.ends_with("[]") || session.simple_query(&format!("select '{value}'::{kind}")).is_ok()
}

/// Calls every function with the extremes of each of its numbers and times. How many calls that were, and what is wrong.
fn call_all(session: &mut Client) -> (usize, Vec<String>) {
    let (mut calls, mut wrong) = (0, Vec::new());
    for function in Function::all(session) {
        if UNCALLED.iter().any(|(name, _)| *name == function.name) {
            continue;
        }
        let harmless = function.call(None);
        // What ends a job so is called in one below.
        if let Err(error) = run(session, &harmless)
            && !error.starts_with("JB001")
        {
            wrong.push(format!("{harmless} fails anyway: {error}"));
        }
        for (place, (_, kind, is_number)) in function.arguments.iter().enumerate() {
            for value in extremes_of(kind, *is_number) {
                if !is_value(session, kind, value) {
                    continue;
                }
                let call = function.call(Some((place, value)));
                let error = run(session, &call).err().unwrap_or_default();
                // None of our errors is PostgreSQL's own: an internal one, or of what overflows within.
                if ["XX", "22003", "22008", "22015"].iter().any(|class| error.starts_with(class)) {
                    wrong.push(format!("{call}: {error}"));
                }
                calls += 1;
            }
        }
    }
    (calls, wrong)
}

/// A number or time of a type that harms nobody.
fn harmless(kind: &str) -> &'static str {
    match kind {
        "timestamp with time zone" => "'now'",
        array if array.ends_with("[]") => "'{1}'",
        _ => "'1'",
    }
}

fn extremes_of(kind: &str, is_number: bool) -> &'static [&'static str] {
    if is_number { extremes(kind) } else { &[] }
}

/// Jobs that ask to be run again, by the function and by its error, after extreme times.
fn retry_all(platform: &Platform) {
    let mut session = platform.session();
    let mut jobs = 0;
    let mut enqueue = |kind: &str, arguments: String| {
        session.execute("select job.enqueue($1, $2::text::jsonb)", &[&kind, &arguments]).unwrap();
        jobs += 1;
    };
    let mut other = platform.session();
    for after in extremes("interval") {
        if is_value(&mut other, "interval", after) {
            enqueue("retry", format!("{{\"after\": \"{after}\"}}"));
        }
    }
    for detail in extremes("bigint") {
        for detail in
            [format!("{detail} microseconds"), detail.to_string(), format!("{detail}0 microseconds")]
        {
            enqueue("fail", format!("{{\"detail\": \"{detail}\"}}"));
            enqueue("together", format!("{{\"detail\": \"{detail}\"}}"));
        }
    }
    wait_for("an attempt of each", || platform.count("(select distinct job from job.failures) f") == jobs);
}

/// Tables of ours with a row that cannot be written as text.
fn unwritable(session: &mut Client) -> Vec<String> {
    let tables = "select c.oid::regclass::text from pg_class c
        where c.relkind = 'r' and c.relnamespace::regnamespace::text in ('http', 'queue', 'job', 'deploy')";
    let tables: Vec<String> = session.query(tables, &[]).unwrap().iter().map(|row| row.get(0)).collect();
    assert!(tables.len() > 20, "the tables are elsewhere");
    let is_unwritable = |table: &String| {
        let rows = session.simple_query(&format!("select t::text from {table} t"));
        !matches!(rows, Ok(rows) if rows.iter().all(|row| matches!(row, SimpleQueryMessage::Row(_) | SimpleQueryMessage::CommandComplete(_) | SimpleQueryMessage::RowDescription(_))))
    };
    tables.into_iter().filter(is_unwritable).collect()
}

#[test]
fn no_number_or_time_that_anybody_gives_keeps_the_database_from_being_dumped_and_restored() {
    let platform = platform();
    let mut session = platform.session();
    session
        .batch_execute("set role keeper; set statement_timeout = '10 s'; set lock_timeout = '5 s'")
        .unwrap();
    let (calls, wrong) = call_all(&mut session);
    assert!(calls > 500, "only {calls} calls");
    retry_all(&platform);
    assert_eq!(unwritable(&mut platform.session()), [""; 0]);
    let program = |name: &str, database: &str| {
        let mut command = Command::new(platform.cluster.installation().program(name));
        command.args(["-d", &platform.cluster.connection_string(database).unwrap()]);
        command
    };
    let mut dump = program("pg_dump", DATABASE).arg("-Fc").stdout(Stdio::piped()).spawn().unwrap();
    platform.sql("create database copy");
    let restored =
        program("pg_restore", "copy").arg("--exit-on-error").stdin(dump.stdout.take().unwrap()).status();
    assert!(dump.wait().unwrap().success(), "the dump");
    assert!(restored.unwrap().success(), "the restore");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
