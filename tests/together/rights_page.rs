//! docs/rights.md says as whom everything of the extension runs. It is compared with the catalogs and the sources.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use cluster::postgres::Client;
use howdah_tests::queues::Queues;
use regex::Regex;

use super::documentation::markdown::{Document, project};

/// What a row of the table of functions says.
struct Family {
    execute: String,
    search_path: String,
}

fn families() -> BTreeMap<String, Family> {
    let mut families = BTreeMap::new();
    for row in Document::read("docs/rights.md").table("Functions, by who may call them") {
        for name in row[0].split(' ') {
            let family = Family { execute: row[1].clone(), search_path: row[2].clone() };
            assert!(families.insert(name.to_owned(), family).is_none(), "{name} is there twice");
        }
    }
    families
}

/// Functions of both schemas: name, whether SECURITY DEFINER, settings, whether the body is a text of SQL or PL/pgSQL, who may
/// execute it.
const FUNCTIONS: &str = "
select regexp_replace(pronamespace::regnamespace || '.' || proname, '(row_type_)\\d+$', '\\1N'), prosecdef,
       coalesce((select string_agg(setting, ';') from unnest(proconfig) setting where setting not like 'lock_timeout=%' and setting <> 'jit=off'), ''),
       lanname in ('sql', 'plpgsql') and prosqlbody is null and proname !~ '^row_type_',
       case when has_function_privilege('nobody', p.oid, 'execute') then 'everybody'
            when has_function_privilege('howdah_admin', p.oid, 'execute') then 'howdah_admin' else 'owner' end
from pg_proc p join pg_language l on l.oid = prolang
where pronamespace in ('http'::regnamespace, 'queue'::regnamespace, 'deploy'::regnamespace, 'job'::regnamespace)";

#[test]
fn every_function_runs_as_the_page_says() {
    let queues = Queues::start();
    queues.sql("create role nobody");
    let families = families();
    let mut unseen: BTreeSet<&String> = families.keys().collect();
    for row in queues.session().query(FUNCTIONS, &[]).unwrap() {
        let (name, definer, settings, is_text, execute): (String, bool, String, bool, String) =
            (row.get(0), row.get(1), row.get(2), row.get(3), row.get(4));
        let family = families.get(&name).unwrap_or_else(|| panic!("{name} is not on the page"));
        unseen.remove(&name);
        assert!(!definer, "{name} is SECURITY DEFINER");
        assert_eq!(execute, family.execute, "who may execute {name}");
        let path = match &*settings {
            "" => "caller's",
            "search_path=pg_catalog, pg_temp" => "safe",
            other => panic!("{name} has {other}"),
        };
        assert_eq!(path, family.search_path, "the search_path of {name}");
        assert!(!is_text || path == "safe", "the body of {name} is looked up in the caller's search_path");
    }
    assert!(unseen.is_empty(), "not in the catalog: {unseen:?}");
}

#[test]
fn every_trigger_and_view_runs_as_the_page_says() {
    let queues = Queues::start();
    let mut session = queues.session();
    let actual = list(
        &mut session,
        "select tgname || ' ' || tgrelid::regclass from pg_trigger join pg_class c on c.oid = tgrelid
         where not tgisinternal and relnamespace in ('http'::regnamespace, 'queue'::regnamespace, 'deploy'::regnamespace, 'job'::regnamespace)
         union all select evtname || ' ' || evtevent from pg_event_trigger",
    );
    let rows = Document::read("docs/rights.md").table("Triggers and views");
    let documented = rows.iter().flat_map(|row| row[1].split(' ').map(|on| format!("{} {on}", row[0])));
    assert_eq!(actual, documented.collect());

    // What is everybody's to read, and asks whose a row is.
    let filtering = list(
        &mut session,
        "select oid::regclass::text || ' ' || coalesce(array_to_string(reloptions, ','), '') from pg_class
         where relkind = 'v' and relnamespace in ('http'::regnamespace, 'queue'::regnamespace, 'deploy'::regnamespace, 'job'::regnamespace)
           and (relacl is null or exists (select from aclexplode(relacl) where grantee = 0))",
    );
    let views = [
        "queue.dead_letters",
        "deploy.applications",
        "deploy.steps",
        "job.kinds",
        "job.overview",
        "job.running",
        "job.failures",
        "job.dead_jobs",
        "job.schedules",
    ];
    assert_eq!(filtering, views.map(|view| format!("{view} security_barrier=true")).into());
    let policies = "select oid::regclass::text from pg_class where relkind = 'r' and relreplident = 'd'
        and relnamespace in ('http'::regnamespace, 'queue'::regnamespace, 'deploy'::regnamespace, 'job'::regnamespace)
        and not exists (select from pg_index where indrelid = pg_class.oid and indisprimary)";
    assert_eq!(list(&mut session, policies), BTreeSet::new(), "tables without replica identity");
}

fn list(session: &mut Client, query: &str) -> BTreeSet<String> {
    session.query(query, &[]).unwrap().iter().map(|row| row.get(0)).collect()
}

/// The files below a folder.
fn files(folder: &Path, found: &mut Vec<std::path::PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files(&path, found) } else { found.push(path) }
    }
}

#[test]
fn every_file_that_runs_sql_is_on_the_page_and_names_what_it_means() {
    let sources = project().join("extension");
    let mut paths = Vec::new();
    files(&sources, &mut paths);
    let runs_sql = Regex::new(
        r"\bSpi::|\bSPI_exec|\b(SpiClient|client)\b.*\b(select|update)\(|client\.(select|update)\(",
    )
    .unwrap();
    let rows = Document::read("docs/rights.md").table("SQL in the sources");
    let documented: BTreeMap<&str, &str> = rows.iter().map(|row| (&*row[0], &*row[2])).collect();
    let mut unseen: BTreeSet<&str> = documented.keys().copied().collect();
    for path in paths {
        if path.extension().is_none_or(|ending| ending != "rs") {
            continue;
        }
        let (name, text) = (path.strip_prefix(&sources).unwrap(), fs::read_to_string(&path).unwrap());
        let name = &*name.to_str().unwrap().replacen("/src/", "/", 1);
        // The declarations of what is called.
        if name == "pg/bindings.rs" || !runs_sql.is_match(&text) {
            continue;
        }
        let search_path =
            documented.get(name).unwrap_or_else(|| panic!("{name} runs SQL and is not on the page"));
        unseen.remove(name);
        match *search_path {
            // Whoever calls them has entered it.
            "safe" if ["workers/intake.rs", "workers/listener.rs", "jobs/kinds.rs"].contains(&name) => {}
            "safe" => assert!(
                ["SAFE_PATH", "enter_safe_path", "as_owner"].iter().any(|way| text.contains(way)),
                "{name} does not enter the safe search_path"
            ),
            "qualified" => check_qualified(name, &text),
            "its own" => {}
            other => panic!("{name}: {other} is no search_path"),
        }
    }
    assert!(unseen.is_empty(), "they run no SQL: {unseen:?}");
}

/// Texts of SQL name the schema of each table, and of each operator.
fn check_qualified(name: &str, source: &str) {
    let texts = Regex::new(r#""((?:select|insert|update|delete|with)\s[^"]*)""#).unwrap();
    let bare_operator = Regex::new(r"\s(=|<>|<|>|~|\|\|)\s").unwrap();
    let bare_table = Regex::new(r"\b(?:from|join|into|update)\s+([a-z_]+)\b(?:[^.a-z_(]|$)").unwrap();
    let mut count = 0;
    for text in texts.captures_iter(source).map(|found| found[1].to_owned()) {
        count += 1;
        assert!(!bare_operator.is_match(&text), "{name}: an operator without schema in {text}");
        assert!(!bare_table.is_match(&text), "{name}: a table without schema in {text}");
    }
    assert!(count > 0, "{name} has no text of SQL");
}
