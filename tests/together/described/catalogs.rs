//! Each catalog that has something of a schema, and each of its columns, is described or left out for a reason.

use std::collections::{BTreeMap, BTreeSet};

use cluster::postgres::Client;
use howdah_tests::queues::Queues;
use regex::Regex;

/// Catalogs that are left out.
const CATALOGS_LEFT_OUT: &[(&str, &str)] = &[
    ("pg_depend", "asked for what it says of extensions and sequences; the rest follows from definitions"),
    ("pg_shdepend", "follows from definitions"),
    ("pg_init_privs", "says what extensions have given"),
    ("pg_statistic", "rows of ANALYZE"),
    ("pg_statistic_ext_data", "rows of ANALYZE"),
    ("pg_extension", "belongs to the database; members are left out"),
    ("pg_largeobject_metadata", "data"),
    ("pg_attrdef", "described with its column"),
    ("pg_publication", "belongs to the database, and pg_dump leaves it out with a schema"),
    ("pg_publication_rel", "belongs to the publication"),
    ("pg_publication_namespace", "belongs to the publication"),
    ("pg_subscription", "belongs to the database"),
    ("pg_subscription_rel", "belongs to the subscription"),
    ("pg_event_trigger", "a superuser's, of the database"),
    ("pg_language", "a superuser's, of the database"),
    ("pg_am", "a superuser's, of the database"),
    ("pg_foreign_data_wrapper", "a superuser's, of the database"),
    ("pg_foreign_server", "belongs to the database"),
    ("pg_user_mapping", "belongs to a server"),
    ("pg_partitioned_table", "described by pg_get_partkeydef"),
    ("pg_db_role_setting", "a role's"),
    ("pg_database", "no schema's"),
    ("pg_tablespace", "no schema's"),
    ("pg_auth_members", "a role's"),
    ("pg_shdescription", "of what no schema has"),
    ("pg_shseclabel", "of what no schema has"),
    ("pg_authid", "a role"),
    ("pg_parameter_acl", "a role's"),
    ("pg_replication_origin", "a cluster's"),
    ("pg_largeobject", "data"),
];

/// Columns that are left out, by catalog.
const COLUMNS_LEFT_OUT: &[(&str, &str, &str)] = &[
    ("pg_class", "reltype", "its own row type"),
    ("pg_class", "relfilenode relpages reltuples relallvisible relallfrozen relfrozenxid relminmxid relrewrite", "storage"),
    ("pg_class", "relisshared relispopulated", "no property of a definition"),
    ("pg_class", "relhasindex relnatts relchecks relhasrules relhastriggers relhassubclass", "counts of what is described"),
    ("pg_attribute", "attlen attbyval attalign attndims attcacheoff", "follow from the type"),
    ("pg_attribute", "atthasdef atthasmissing attmissingval attinhcount", "follow from the default, the parents and rows"),
    ("pg_constraint", "connamespace contype condeferrable condeferred conenforced confupdtype confdeltype conkey confkey conpfeqop conppeqop conffeqop
       confdelsetcols confmatchtype conexclop conbin confrelid conparentid coninhcount conperiod", "by pg_get_constraintdef"),
    ("pg_index", "indnatts indnkeyatts indisunique indnullsnotdistinct indisprimary indisexclusion indimmediate indkey indcollation indclass indoption
       indexprs indpred", "by pg_get_indexdef and pg_get_constraintdef"),
    ("pg_index", "indcheckxmin", "passes"),
    ("pg_trigger", "tgfoid tgtype tgconstrrelid tgconstrindid tgdeferrable tginitdeferred tgnargs tgattr tgargs tgqual tgoldtable tgnewtable",
       "by pg_get_triggerdef"),
    ("pg_rewrite", "ev_type is_instead ev_qual ev_action", "by pg_get_ruledef and pg_get_viewdef"),
    ("pg_statistic_ext", "stxkeys stxkind stxexprs", "by pg_get_statisticsobjdef"),
    ("pg_type", "typlen typbyval typcategory typispreferred typisdefined typdelim typsubscript typelem typoutput typreceive typsend typmodin
       typmodout typanalyze typalign typstorage typndims", "of base types all is told, of others it follows"),
    ("pg_type", "typarray typdefaultbin", "its array; what typdefault says"),
    ("pg_proc", "prolang procost prorows provariadic prosupport prosecdef proleakproof proisstrict proretset provolatile pronargs pronargdefaults
       prorettype proargtypes proallargtypes proargmodes proargnames proargdefaults protrftypes probin prosqlbody proconfig proname",
       "by pg_get_functiondef"),
    ("pg_collation", "collversion", "what the system has"),
];

/// Functions that describe.
const TEXTS: &str = "select string_agg(prosrc, E'\n') from pg_proc where pronamespace = 'deploy'::regnamespace and proname ~ '^describe'";

/// Catalogs with their columns, and those whose rows stand for themselves or for something in a schema: they have a column that names a schema, or
/// what is one's, or any object.
fn catalogs(session: &mut Client) -> (BTreeMap<String, Vec<String>>, BTreeSet<String>) {
    let rows = session
        .query(
            "select c.relname::text, array_agg(a.attname::text order by a.attnum) from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0
             where c.relnamespace = 'pg_catalog'::regnamespace and c.relkind = 'r' group by c.relname",
            &[],
        )
        .unwrap();
    let all = rows.iter().map(|row| (row.get(0), row.get(1))).collect();
    let rows = session
        .query(
            "with recursive of (catalog) as (
               select 'pg_namespace'::regclass union select k.fktable::regclass from of join pg_get_catalog_foreign_keys() k on k.pktable = of.catalog)
             select o.catalog::text from of o
             union select a.attrelid::regclass::text from pg_attribute a where a.attname in ('classid', 'classoid') and a.attrelid < 16384
               and (select c.relkind from pg_class c where c.oid = a.attrelid) = 'r'",
            &[],
        )
        .unwrap();
    (all, rows.iter().map(|row| row.get(0)).collect())
}

#[test]
fn every_catalog_and_column_is_described_or_left_out_for_a_reason() {
    let queues = Queues::start();
    let mut session = queues.session();
    let texts: String = session.query_one(TEXTS, &[]).unwrap().get(0);
    let (all, of_schemas) = catalogs(&mut session);
    let is_in = |pattern: &str| Regex::new(pattern).unwrap().is_match(&texts);
    let mut wrong = Vec::new();
    for catalog in &of_schemas {
        let is_read = is_in(&format!(r"(from|join) {catalog}\b"));
        let is_left_out = CATALOGS_LEFT_OUT.iter().any(|(name, _)| name == catalog);
        if !is_read && !is_left_out {
            wrong.push(format!("{catalog} is neither described nor left out"));
        }
        if !is_read || is_left_out {
            continue;
        }
        // All columns of its rows are told.
        let is_whole = is_in(&format!(r"'{catalog}'::regclass, to_jsonb"));
        let left_out: Vec<&str> = COLUMNS_LEFT_OUT
            .iter()
            .filter(|(name, ..)| name == catalog)
            .flat_map(|(_, columns, _)| columns.split_whitespace())
            .collect();
        for column in &all[catalog] {
            if !is_whole && !left_out.contains(&&**column) && !is_in(&format!(r"\.{column}\b")) {
                wrong.push(format!("{catalog}.{column} is neither described nor left out"));
            }
        }
        // Columns that whole rows lack are in both lists.
        let skipped = all[catalog].iter().filter(|column| is_whole && is_in(&format!(r"'{column}'[,\]]")));
        for column in skipped.filter(|column| !left_out.contains(&&***column)) {
            if *column != "oid" && !column.ends_with("owner") && !column.ends_with("acl") {
                wrong.push(format!("{catalog}.{column} is left out without a reason"));
            }
        }
    }
    assert!(of_schemas.len() > 20 && wrong.is_empty(), "{}", wrong.join("\n"));
}
