-- What there is in a schema, and what it is: for whoever asks what was changed by hand, and for howdah adopt.
--
-- Whatever pg_dump would write otherwise is told otherwise here. What tables, types and functions are is said in words; of what is rare, such as operators
-- and text search, all columns of the catalogs are, in which names stand for numbers. tests/together/described.rs compares with the catalogs.

create function deploy.privileges(privileges aclitem[], kind "char", owner oid) returns text
language sql stable
set search_path = pg_catalog, pg_temp
as $body$
  select string_agg(
    concat_ws(' ', g.name, a.privilege_type, case when a.is_grantable then 'with grant option' end,
      case when a.grantor <> privileges.owner then 'by ' || pg_get_userbyid(a.grantor) end), ', '
    order by g.name collate "C", a.privilege_type collate "C", a.grantor)
  from aclexplode(coalesce(privileges.privileges, acldefault(privileges.kind, privileges.owner))) a
  cross join lateral (
    select case a.grantee when 0 then 'public' when privileges.owner then 'the owner' else pg_get_userbyid(a.grantee) end) g (name)
$body$;
comment on function deploy.privileges(aclitem[], "char", oid) is 'Rights as text, in an order that a restore keeps';

create function deploy.describe_types(namespace oid)
returns table (class oid, number oid, part integer, upper oid, object text, definition text, owner oid, privileges aclitem[], kind "char")
language sql stable
set search_path = pg_catalog, pg_temp
as $body$
  select 'pg_type'::regclass::oid, t.oid, 0, nullif(t.typrelid, 0), 'type ' || format_type(t.oid, null), case t.typtype
    when 'e' then (select string_agg(e.enumlabel, ', ' order by e.enumsortorder) from pg_enum e where e.enumtypid = t.oid)
    when 'd' then concat_ws(' ', format_type(t.typbasetype, t.typtypmod),
      case when t.typcollation <> b.typcollation then 'collate ' || t.typcollation::regcollation end, case when t.typnotnull then 'not null' end,
      'default ' || t.typdefault,
      (select string_agg(concat_ws(' ', case when c.contype <> 'c' or c.conname <> t.typname || '_check' then 'constraint ' || quote_ident(c.conname) end,
          pg_get_constraintdef(c.oid), 'comment ' || (
            select quote_literal(d.description) from pg_description d where d.classoid = 'pg_constraint'::regclass and d.objoid = c.oid)),
        ', ' order by c.conname)
       from pg_constraint c where c.contypid = t.oid and c.contype <> 'n'))
    when 'c' then (
      select string_agg(concat_ws(' ', quote_ident(a.attname), format_type(a.atttypid, a.atttypmod),
        case when a.attcollation <> y.typcollation then 'collate ' || a.attcollation::regcollation end,
        'comment ' || (select quote_literal(d.description) from pg_description d
          where d.classoid = 'pg_class'::regclass and d.objoid = a.attrelid and d.objsubid = a.attnum)), ', ' order by a.attnum)
      from pg_attribute a join pg_type y on y.oid = a.atttypid where a.attrelid = t.typrelid and a.attnum > 0 and not a.attisdropped)
    when 'r' then (
      select concat_ws(' ', 'range of', format_type(r.rngsubtype, null), 'multirange ' || format_type(r.rngmultitypid, null),
        'collate ' || nullif(r.rngcollation, 0)::regcollation, 'by ' || (pg_identify_object('pg_opclass'::regclass, r.rngsubopc, 0)).identity,
        'canonical ' || nullif(r.rngcanonical::oid, 0)::regprocedure, 'difference ' || nullif(r.rngsubdiff::oid, 0)::regprocedure)
      from pg_range r where r.rngtypid = t.oid) end, t.typowner, t.typacl, 'T'::"char"
  from pg_type t
  left join pg_class c on c.oid = t.typrelid
  left join pg_type b on b.oid = t.typbasetype
  where t.typnamespace = describe_types.namespace and (t.typtype in ('e', 'd', 'r') or t.typtype = 'c' and c.relkind = 'c')
    and not exists (select from pg_depend e where e.classid = 'pg_type'::regclass and e.objid = t.oid and e.deptype = 'e')
$body$;
comment on function deploy.describe_types(oid) is 'Types of a schema, but those that functions in C make';

create function deploy.describe_functions(namespace oid)
returns table (class oid, number oid, part integer, upper oid, object text, definition text, owner oid, privileges aclitem[], kind "char")
language sql stable
set search_path = pg_catalog, pg_temp
as $body$
  select 'pg_proc'::regclass::oid, p.oid, 0, null::oid, case p.prokind when 'p' then 'procedure ' else 'function ' end || p.oid::regprocedure,
    -- Of a very long text the beginning and the length: this is computed for whoever looks.
    case when octet_length(p.prosrc) > 1000000 then octet_length(p.prosrc)::text || substr(p.prosrc, 1, 10000) else pg_get_functiondef(p.oid) end,
    p.proowner, p.proacl, 'f'::"char"
  from pg_proc p
  where p.pronamespace = describe_functions.namespace and p.prokind <> 'a'
    and not exists (select from pg_depend e where e.classid = 'pg_proc'::regclass and e.objid = p.oid and e.deptype = 'e')
$body$;
comment on function deploy.describe_functions(oid) is 'Functions and procedures of a schema';

create function deploy.describe_others(namespace oid)
returns table (class oid, number oid, part integer, upper oid, object text, definition text, owner oid, privileges aclitem[], kind "char")
language sql stable
set search_path = pg_catalog, pg_temp
as $body$
  -- What an object is may stand in several rows, of several catalogs.
  with entry (class, number, catalog, entry, owner, privileges, kind) as materialized (
    select 'pg_proc'::regclass::oid, p.oid, 'pg_aggregate'::regclass, to_jsonb(a) || jsonb_build_object('arguments', pg_get_function_arguments(p.oid),
      'result', pg_get_function_result(p.oid), 'proparallel', p.proparallel), p.proowner, p.proacl, 'f'::"char"
    from pg_proc p join pg_aggregate a on a.aggfnoid = p.oid where p.pronamespace = describe_others.namespace and p.prokind = 'a'
    union all
    select 'pg_type'::regclass, t.oid, 'pg_type'::regclass, to_jsonb(t), t.typowner, t.typacl, 'T'
    from pg_type t
    where t.typnamespace = describe_others.namespace and (t.typtype = 'p' or t.typtype = 'b' and t.typinput <> 'array_in'::regproc)
    union all
    select 'pg_operator'::regclass, o.oid, 'pg_operator'::regclass, to_jsonb(o), o.oprowner, null, null
    from pg_operator o where o.oprnamespace = describe_others.namespace
    union all
    select 'pg_opclass'::regclass, o.oid, 'pg_opclass'::regclass, to_jsonb(o), o.opcowner, null, null
    from pg_opclass o where o.opcnamespace = describe_others.namespace
    union all
    select 'pg_opfamily'::regclass, f.oid, 'pg_opfamily'::regclass, to_jsonb(f), f.opfowner, null, null
    from pg_opfamily f where f.opfnamespace = describe_others.namespace
    union all
    select 'pg_opfamily'::regclass, f.oid, 'pg_amop'::regclass, to_jsonb(o), f.opfowner, null, null
    from pg_opfamily f join pg_amop o on o.amopfamily = f.oid where f.opfnamespace = describe_others.namespace
    union all
    select 'pg_opfamily'::regclass, f.oid, 'pg_amproc'::regclass, to_jsonb(o), f.opfowner, null, null
    from pg_opfamily f join pg_amproc o on o.amprocfamily = f.oid where f.opfnamespace = describe_others.namespace
    union all
    select 'pg_collation'::regclass, l.oid, 'pg_collation'::regclass, to_jsonb(l), l.collowner, null, null
    from pg_collation l where l.collnamespace = describe_others.namespace
    union all
    select 'pg_conversion'::regclass, c.oid, 'pg_conversion'::regclass, to_jsonb(c), c.conowner, null, null
    from pg_conversion c where c.connamespace = describe_others.namespace
    union all
    select 'pg_ts_config'::regclass, c.oid, 'pg_ts_config'::regclass, to_jsonb(c), c.cfgowner, null, null
    from pg_ts_config c where c.cfgnamespace = describe_others.namespace
    union all
    select 'pg_ts_config'::regclass, c.oid, 'pg_ts_config_map'::regclass, to_jsonb(m), c.cfgowner, null, null
    from pg_ts_config c join pg_ts_config_map m on m.mapcfg = c.oid where c.cfgnamespace = describe_others.namespace
    union all
    select 'pg_ts_dict'::regclass, d.oid, 'pg_ts_dict'::regclass, to_jsonb(d), d.dictowner, null, null
    from pg_ts_dict d where d.dictnamespace = describe_others.namespace
    union all
    select 'pg_ts_parser'::regclass, p.oid, 'pg_ts_parser'::regclass, to_jsonb(p), null, null, null
    from pg_ts_parser p where p.prsnamespace = describe_others.namespace
    union all
    select 'pg_ts_template'::regclass, t.oid, 'pg_ts_template'::regclass, to_jsonb(t), null, null, null
    from pg_ts_template t where t.tmplnamespace = describe_others.namespace
    union all
    select 'pg_cast'::regclass, c.oid, 'pg_cast'::regclass, to_jsonb(c), null, null, null
    from pg_cast c where c.oid >= 16384 and describe_others.namespace in (
      (select t.typnamespace from pg_type t where t.oid = c.castsource), (select t.typnamespace from pg_type t where t.oid = c.casttarget),
      (select p.pronamespace from pg_proc p where p.oid = c.castfunc))
    union all
    select 'pg_transform'::regclass, f.oid, 'pg_transform'::regclass, to_jsonb(f), null, null, null
    from pg_transform f join pg_type t on t.oid = f.trftype where t.typnamespace = describe_others.namespace),
  reference as materialized (
    select k.fktable as catalog, k.fkcols[1] as key, k.pktable::oid as names from pg_get_catalog_foreign_keys() k
    where cardinality(k.fkcols) = 1 and exists (select from entry)),
  told as materialized (
    select e.class, e.number, e.catalog, e.owner, e.privileges, e.kind, (
      select string_agg(format('%s: %s', v.key, n.name), ', ' order by v.key)
      from jsonb_each(e.entry) v
      left join reference r on r.catalog = e.catalog and r.key = v.key
      cross join lateral (
        select string_agg(
          case when r.names is null or x.value !~ '^\d+$' then x.value else (pg_identify_object(r.names, x.value::oid, 0)).identity end, ' '
          order by x.place)
        from jsonb_array_elements_text(case jsonb_typeof(v.value) when 'array' then v.value else jsonb_build_array(v.value) end)
          with ordinality x (value, place)) n (name)
      -- What is told beside it, and what is a cluster's own.
      where v.key <> all (array['oid', 'oprowner', 'opcowner', 'opfowner', 'collowner', 'conowner', 'cfgowner', 'dictowner', 'typowner', 'typacl',
          'collversion', 'typarray', 'typdefaultbin'])
        -- What says nothing.
        and n.name not in ('0', '-', '', 'false')) as told
    from entry e
    where not exists (select from pg_depend x where x.classid = e.class and x.objid = e.number and x.deptype = 'e'))
  select t.class, t.number, 0, null::oid, i.type || ' ' || i.identity, concat_ws(E'\n', t.told, case when t.class in ('pg_opfamily'::regclass, 'pg_ts_config'::regclass) then (
      select string_agg(m.told, E'\n' order by m.told collate "C") from told m where m.class = t.class and m.number = t.number and m.catalog <> m.class) end),
    t.owner, t.privileges, t.kind
  from told t cross join lateral pg_identify_object(t.class, t.number, 0) i
  where t.catalog not in ('pg_amop'::regclass, 'pg_amproc'::regclass, 'pg_ts_config_map'::regclass)
$body$;
comment on function deploy.describe_others(oid) is
  'Aggregates, base types, operators and their classes, collations, conversions, text search, casts of a schema: the rows of the catalogs, with names for numbers';

create function deploy.describe(schema_name text)
returns table (class oid, number oid, upper oid, object text, definition text, owner text, rights text)
language sql stable
set search_path = pg_catalog, pg_temp
-- It has many parts, each of which is short.
set jit = off
as $body$
  with space as materialized (select n.* from pg_namespace n where n.nspname = describe.schema_name),
  described (class, number, part, upper, object, definition, owner, privileges, kind) as materialized (
    select 'pg_namespace'::regclass::oid, s.oid, 0, null::oid, format('schema %I', s.nspname), '', s.nspowner, s.nspacl, 'n'::"char" from space s
    union all
    select r.* from space s cross join lateral deploy.describe_relations(s.oid) r
    union all
    select t.* from space s cross join lateral deploy.describe_types(s.oid) t
    union all
    select f.* from space s cross join lateral deploy.describe_functions(s.oid) f
    union all
    select o.* from space s cross join lateral deploy.describe_others(s.oid) o
    union all
    -- Those that are no schema's are of all that its owner makes.
    select 'pg_default_acl'::regclass, d.oid, 0, null, format('default rights to %s that %s makes%s',
      case d.defaclobjtype when 'r' then 'tables' when 'S' then 'sequences' when 'f' then 'functions' when 'T' then 'types' when 'n' then 'schemas'
        else d.defaclobjtype::text end, pg_get_userbyid(d.defaclrole), case when d.defaclnamespace <> 0 then ' in ' || quote_ident(s.nspname) end),
      deploy.privileges(d.defaclacl, null, d.defaclrole), null, null, null
    from space s join pg_default_acl d on d.defaclnamespace = s.oid or d.defaclnamespace = 0 and d.defaclrole = s.nspowner),
  extended (class, number, names) as (
    select x.classid, x.objid, string_agg(quote_ident(e.extname), ', ' order by e.extname)
    from pg_depend x join pg_extension e on e.oid = x.refobjid where x.refclassid = 'pg_extension'::regclass and x.deptype = 'x'
    group by x.classid, x.objid)
  select d.class, d.number, d.upper, d.object, concat_ws(' ', nullif(d.definition, ''), 'comment ' || quote_literal(c.description),
      'labels ' || (select string_agg(l.provider || ' ' || l.label, ', ' order by l.provider)
        from pg_seclabel l where l.classoid = d.class and l.objoid = d.number and l.objsubid = d.part),
      case d.part when 0 then 'depends on extension ' || x.names end),
    pg_get_userbyid(d.owner),
    case
      -- As it is after a restore.
      when d.class <> 'pg_class'::regclass and (d.privileges is null or d.privileges @> acldefault(d.kind, d.owner)
        and d.privileges <@ acldefault(d.kind, d.owner)) then null
      when d.kind is not null then concat_ws('; ', deploy.privileges(d.privileges, d.kind, d.owner), case when d.class = 'pg_class'::regclass then (
        select string_agg(quote_ident(a.attname) || ': ' || deploy.privileges(a.attacl, 'c', d.owner), '; ' order by a.attnum)
        from pg_attribute a where a.attrelid = d.number and a.attacl is not null and not a.attisdropped) end) end
  from described d
  left join pg_description c on c.classoid = d.class and c.objoid = d.number and c.objsubid = d.part
  left join extended x on x.class = d.class and x.number = d.number
$body$;
comment on function deploy.describe(text) is
  'What there is in a schema and on it, and what it is: catalog and number of what it is said of, the relation that this is on, owner and rights';

revoke all on function
  deploy.privileges(aclitem[], "char", oid), deploy.describe_types(oid), deploy.describe_functions(oid), deploy.describe_others(oid), deploy.describe(text)
from public;
