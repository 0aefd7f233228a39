//! What was changed by hand: what objects are is noted when they are deployed, and compared.

/// What an object `o` is now; null if it is gone.
macro_rules! definition {
    () => {
        "case o.type
           when 'route' then (
             select md5(concat_ws(' ', r.function, r.role, r.search_path)) from http.route r
             where r.method = o.names[1] and r.pattern = o.names[2])
           else (
             select deploy.definition(a.classid, a.objid) from deploy.address(o.type, o.names, o.arguments) a where a.objid is not null)
         end"
    };
}

/// Notes what the objects are, for [`DRIFT`]. What was changed by hand stays so until its file runs again.
pub(crate) const NOTE_DEFINITIONS: &str = concat!(
    "update deploy.object o set definition = ",
    definition!(),
    " where o.application = $1 and not o.is_drifted"
);

/// What is not as it was noted. Another major version of PostgreSQL may tell the same in other words: then nothing is compared.
macro_rules! drifted {
    ($application:literal) => {
        concat!(
            "deploy.object o cross join lateral (select ",
            definition!(),
            ") now (definition)
             where o.application = ",
            $application,
            " and not o.is_stale and o.definition is not null
               and (now.definition is null or now.definition <> o.definition
                 and (o.type = 'route' or split_part(now.definition, ':', 1) = split_part(o.definition, ':', 1)))"
        )
    };
}

/// Path, object, and what has become of it.
pub(crate) const DRIFT: &str = concat!(
    "select o.path, o.type || ' ' || array_to_string(o.names, case o.type when 'route' then ' ' else '.' end)
        || case when o.type in ('function', 'procedure', 'aggregate') then '(' || array_to_string(o.arguments, ',') || ')' else '' end,
      case when now.definition is null then 'is gone' else 'was changed' end
    from ",
    drifted!("$1"),
    " order by 1, 2"
);

/// Notes what was changed by hand before a deployment.
pub(crate) const NOTE_DRIFT: &str = concat!(
    "update deploy.object d set is_drifted = e.is_drifted
     from (select k.ctid as row, k.ctid in (select o.ctid from ",
    drifted!("$1"),
    ") as is_drifted from deploy.object k where k.application = $1) e
     where d.ctid = e.row and d.is_drifted <> e.is_drifted"
);

/// Applications with their last deployments; how many routes their files have made, and how much was changed by hand.
pub(crate) const APPLICATIONS: &str = concat!(
    "select a.name, a.schema_name, a.owner::regrole::text, last.number, last.kind, last.deployed_at, last.deployed_by, last.source, last.note,
       (select count(*) from deploy.object r where r.application = a.name and r.type = 'route'),
       (select count(*) from ",
    drifted!("a.name"),
    ")
     from deploy.application a
     left join lateral (select * from deploy.deployment d where d.application = a.name order by d.number desc limit 1) last on true
     where pg_has_role($1, a.owner::oid, 'member') order by a.name"
);
