-- What was changed by hand since an application was deployed.

create function deploy.privileges(privileges aclitem[], kind "char", owner oid) returns text
language sql stable
set search_path = pg_catalog, pg_temp
as $body$
  select string_agg(format('%s %s %s', g.name, a.privilege_type, a.is_grantable), ', ' order by g.name, a.privilege_type)
  from aclexplode(coalesce(privileges, acldefault(kind, owner))) a
  cross join lateral (select case a.grantee when 0 then 'public' else pg_get_userbyid(a.grantee) end) g (name)
$body$;
comment on function deploy.privileges(aclitem[], "char", oid) is 'Rights as text, in an order that a restore keeps';

create function deploy.definition(class oid, object oid) returns text
language sql stable
set search_path = pg_catalog, pg_temp
as $body$
  select current_setting('server_version_num')::integer / 10000 || ':' || md5(coalesce(case class
    when 'pg_proc'::regclass then (
      -- Of a very long text the beginning and the length: this is computed for whoever looks.
      select concat_ws(E'\n', case when p.prokind = 'a' then null
          when octet_length(p.prosrc) > 1000000 then octet_length(p.prosrc)::text || substr(p.prosrc, 1, 10000)
          else pg_get_functiondef(p.oid) end, pg_get_userbyid(p.proowner),
        deploy.privileges(p.proacl, 'f', p.proowner))
      from pg_proc p where p.oid = object)
    when 'pg_class'::regclass then (
      select concat_ws(E'\n', pg_get_viewdef(c.oid), array_to_string(c.reloptions, ','), pg_get_userbyid(c.relowner),
        deploy.privileges(c.relacl, 'r', c.relowner),
        (select string_agg(t.attname || ' ' || deploy.privileges(t.attacl, 'c', c.relowner), ', ' order by t.attnum)
         from pg_attribute t where t.attrelid = c.oid and t.attacl is not null))
      from pg_class c where c.oid = object and c.relkind in ('v', 'm'))
    when 'pg_trigger'::regclass then (
      select pg_get_triggerdef(t.oid) || t.tgenabled::text from pg_trigger t where t.oid = object)
    when 'pg_rewrite'::regclass then (
      select pg_get_ruledef(r.oid) || r.ev_enabled::text from pg_rewrite r where r.oid = object)
    when 'pg_policy'::regclass then (
      select concat_ws(E'\n', p.polcmd, p.polpermissive, pg_get_expr(p.polqual, p.polrelid), pg_get_expr(p.polwithcheck, p.polrelid),
        (select string_agg(case r.role when 0 then 'public' else pg_get_userbyid(r.role) end, ', ' order by 1) from unnest(p.polroles) r (role)))
      from pg_policy p where p.oid = object)
    when 'pg_type'::regclass then (
      select concat_ws(E'\n', format_type(t.typbasetype, t.typtypmod), t.typnotnull, t.typdefault,
        (select string_agg(e.enumlabel, ', ' order by e.enumsortorder) from pg_enum e where e.enumtypid = t.oid),
        (select string_agg(a.attname || ' ' || format_type(a.atttypid, a.atttypmod), ', ' order by a.attnum)
         from pg_attribute a where a.attrelid = t.typrelid and not a.attisdropped),
        (select string_agg(pg_get_constraintdef(c.oid), ', ' order by c.conname) from pg_constraint c where c.contypid = t.oid))
      from pg_type t where t.oid = object)
    end, ''))
$body$;
comment on function deploy.definition(oid, oid) is 'PostgreSQL''s major version, and an MD5 of what an object is: text, owner, rights';

create function deploy.registration(type text, names text[]) returns text
language sql stable
set search_path = pg_catalog, pg_temp
as $body$
  select case registration.type
    when 'route' then (
      select md5(concat_ws(' ', r.function, r.role, r.search_path, r.validates, r.vary, r.max_entries, r.max_age)) from http.route r
      where r.method = registration.names[1] and r.pattern = registration.names[2])
    when 'handler' then (
      select md5(concat_ws(' ', h.statement, h.priority, h.role, h.search_path)) from http.handler h where h.name = registration.names[1])
    when 'job' then (
      select md5(concat_ws(
        ' ', k.function, k.role, k.search_path, k.attempts, k.backoff, k.longest_backoff, k.timeout is null, k.timeout,
        k.at_once is null, k.at_once, k.per_second is null, k.per_second, k.priority, k.batch,
        (select a.name from job.kind a where a.id = k.alert), k.keep_failures is null, k.keep_failures, k.keep_dead is null,
        k.keep_dead))
      from job.kind k where k.name = registration.names[1])
    when 'schedule' then (
      select md5(concat_ws(
        ' ', k.name, s.arguments, s.priority, s.cron, s.every, s.time_zone, s.missed, s.missed_within, s.missed_most, s.may_overlap))
      from job.timetable s left join job.kind k on k.id = s.kind where s.name = registration.names[1])
    end
$body$;
comment on function deploy.registration(text, text[]) is 'What a route, a query handler, a kind of jobs or a schedule is now; null if it is gone';

create function deploy.definition_of(object deploy.object) returns text
language sql stable
set search_path = pg_catalog, pg_temp
as $body$
  select case when (definition_of.object).type in ('route', 'handler', 'job', 'schedule')
    then deploy.registration((definition_of.object).type, (definition_of.object).names)
    else (
      select deploy.definition(a.classid, a.objid)
      from deploy.address((definition_of.object).type, (definition_of.object).names, (definition_of.object).arguments) a
      where a.objid is not null)
    end
$body$;
comment on function deploy.definition_of(deploy.object) is 'What an object is now; null if it is gone';

create function deploy.definitions(application text) returns table (object deploy.object, now text)
language sql stable
set search_path = pg_catalog, pg_temp
as $body$
  -- Not by definition_of(), in which the other functions would be planned again for each object.
  select o, case when o.type in ('route', 'handler', 'job', 'schedule') then deploy.registration(o.type, o.names)
    when a.objid is not null then deploy.definition(a.classid, a.objid) end
  from deploy.object o left join lateral deploy.address(o.type, o.names, o.arguments) a on true
  where o.application = definitions.application
$body$;
comment on function deploy.definitions(text) is 'What the objects of an application are now; null for those that are gone';

create function deploy.is_drifted(object deploy.object, now text) returns boolean
language sql immutable
set search_path = pg_catalog, pg_temp
as $body$
  select coalesce((object).definition is not null and not (object).is_stale and (now is null or now <> (object).definition
    and ((object).type in ('route', 'handler', 'job', 'schedule') or split_part(now, ':', 1) = split_part((object).definition, ':', 1))), false)
$body$;
comment on function deploy.is_drifted(deploy.object, text) is
  'Whether an object is not as it was noted; another major version may tell the same in other words, so that nothing is compared';

create function deploy.label(object deploy.object) returns text
language sql immutable
set search_path = pg_catalog, pg_temp
as $body$
  select (object).type || ' ' || array_to_string((object).names, case when (object).type in ('route', 'handler', 'job', 'schedule') then ' ' else '.' end)
    || case when (object).type in ('function', 'procedure', 'aggregate') then '(' || array_to_string((object).arguments, ',') || ')' else '' end
$body$;
comment on function deploy.label(deploy.object) is 'An object, for people';

create function deploy.is_there(kind text, name text) returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $body$
begin
  return case is_there.kind when 'routine' then to_regprocedure(is_there.name) is not null
    when 'type' then to_regtype(is_there.name) is not null when 'schema' then true else to_regclass(is_there.name) is not null end;
exception
  -- The type of an argument may be gone.
  when others then return false;
end
$body$;
comment on function deploy.is_there(text, text) is 'Whether there is an object, as GRANT names it';

create function deploy.describe(schema_name text) returns table (object text, definition text)
language sql stable
set search_path = pg_catalog, pg_temp
as $body$
  with relations as (
    select c.*, format('%s %s', case c.relkind when 'v' then 'view' when 'm' then 'materialized view' when 'S' then 'sequence'
      when 'f' then 'foreign table' else 'table' end, c.oid::regclass) as object
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = describe.schema_name and c.relkind in ('r', 'p', 'v', 'm', 'S', 'f')
      and not exists (select from pg_depend e where e.classid = 'pg_class'::regclass and e.objid = c.oid and e.deptype = 'e'))
  select r.object, concat_ws(' ', case r.relpersistence when 'u' then 'unlogged' end, 'partitioned by ' || pg_get_partkeydef(r.oid),
    pg_get_expr(r.relpartbound, r.oid), case when r.relrowsecurity then 'row security' end, case when r.relforcerowsecurity then 'forced' end)
  from relations r where r.relkind in ('r', 'p', 'f')
  union all
  select format('%s, column %I', r.object, a.attname), concat_ws(' ', format_type(a.atttypid, a.atttypmod),
    case when a.attcollation <> t.typcollation then 'collate ' || a.attcollation::regcollation end, case when a.attnotnull then 'not null' end,
    case a.attidentity when 'a' then 'generated always as identity' when 'd' then 'generated by default as identity' end,
    case when a.attgenerated = 's' then 'generated always as' when d.oid is not null then 'default' end, pg_get_expr(d.adbin, d.adrelid))
  from relations r
  join pg_attribute a on a.attrelid = r.oid and a.attnum > 0 and not a.attisdropped
  join pg_type t on t.oid = a.atttypid
  left join pg_attrdef d on d.adrelid = r.oid and d.adnum = a.attnum
  where r.relkind in ('r', 'p', 'f')
  union all
  select format('%s, constraint %I', r.object, c.conname), pg_get_constraintdef(c.oid)
  from relations r join pg_constraint c on c.conrelid = r.oid where r.relkind in ('r', 'p', 'f') and c.contype not in ('t', 'n')
  union all
  select format('%s, index %I', r.object, (select i.relname from pg_class i where i.oid = x.indexrelid)), pg_get_indexdef(x.indexrelid)
  from relations r join pg_index x on x.indrelid = r.oid
  where r.relkind in ('r', 'p') and not exists (select from pg_constraint c where c.conindid = x.indexrelid and c.conrelid = r.oid)
  union all
  select r.object, format('%s from %s by %s, %s to %s%s', format_type(s.seqtypid, null), s.seqstart, s.seqincrement, s.seqmin, s.seqmax,
    case when s.seqcycle then ', cycle' end)
  from relations r join pg_sequence s on s.seqrelid = r.oid
  union all
  select format('type %s', format_type(t.oid, null)), (select string_agg(e.enumlabel, ', ' order by e.enumsortorder) from pg_enum e where e.enumtypid = t.oid)
  from pg_type t join pg_namespace n on n.oid = t.typnamespace where n.nspname = describe.schema_name and t.typtype = 'e'
  union all
  select format('type %s', format_type(t.oid, null)), concat_ws(' ', format_type(t.typbasetype, t.typtypmod), case when t.typnotnull then 'not null' end,
    'default ' || t.typdefault,
    (select string_agg(pg_get_constraintdef(c.oid), ', ' order by c.conname) from pg_constraint c where c.contypid = t.oid))
  from pg_type t join pg_namespace n on n.oid = t.typnamespace where n.nspname = describe.schema_name and t.typtype = 'd'
  union all
  select format('%s %s.%I(%s)', case p.prokind when 'p' then 'procedure' when 'a' then 'aggregate' else 'function' end, quote_ident(n.nspname), p.proname,
    (select string_agg(format_type(t.type, null), ',' order by t.place) from unnest(p.proargtypes) with ordinality t (type, place))), ''
  from pg_proc p join pg_namespace n on n.oid = p.pronamespace
  where n.nspname = describe.schema_name
    and not exists (select from pg_depend e where e.classid = 'pg_proc'::regclass and e.objid = p.oid and e.deptype = 'e')
  union all
  select r.object, '' from relations r where r.relkind in ('v', 'm')
$body$;
comment on function deploy.describe(text) is
  'What migrations make of a schema: tables with their columns, constraints and indexes, sequences, enums, domains; names of functions and views';

create function deploy.shape_now(application text) returns table (object text, definition text)
language sql stable
set search_path = pg_catalog, pg_temp
as $body$
  with app as (select a.* from deploy.application a where a.name = shape_now.application),
  all_of_it (whole, object, definition) as (
    select split_part(d.object, ', ', 1), d.object, d.definition from app cross join lateral deploy.describe(app.schema_name) d
    union all
    select r.object, r.object || ', rights', concat_ws('; ', deploy.privileges(r.relacl, case r.relkind when 'S' then 's'::"char" else 'r' end, r.relowner),
      (select string_agg(t.attname || ': ' || deploy.privileges(t.attacl, 'c', r.relowner), '; ' order by t.attnum)
       from pg_attribute t where t.attrelid = r.oid and t.attacl is not null and not t.attisdropped))
    from app
    cross join lateral (
      select c.*, format('%s %s', case c.relkind when 'S' then 'sequence' when 'f' then 'foreign table' else 'table' end, c.oid::regclass) as object
      from pg_class c where c.relnamespace = to_regnamespace(quote_ident(app.schema_name)) and c.relkind in ('r', 'p', 'f', 'S')) r)
  select w.object, w.definition from all_of_it w
  where not exists (
    select from deploy.object o where o.application = shape_now.application and not o.is_stale and deploy.label(o) = w.whole)
$body$;
comment on function deploy.shape_now(text) is 'What deploy.shape keeps, as it is now';

create function deploy.note_shape(application text) returns void
language sql volatile
set search_path = pg_catalog, pg_temp
as $body$
  delete from deploy.shape s
  where s.application = note_shape.application and (
    s.seen is null
    or s.seen is distinct from coalesce((select n.definition from deploy.shape_now(note_shape.application) n where n.object = s.object), 'gone'));
  update deploy.shape s set seen = null where s.application = note_shape.application;
  insert into deploy.shape (application, object, definition, version)
  select note_shape.application, n.object, n.definition, current_setting('server_version_num')::integer / 10000
  from deploy.shape_now(note_shape.application) n
  on conflict do nothing
$body$;
comment on function deploy.note_shape(text) is 'Notes what migrations have made; what was changed by hand before stays noted as it was, unless a file has changed it';

create function deploy.note_drift(application text) returns void
language sql volatile
set search_path = pg_catalog, pg_temp
as $body$
  update deploy.object o set is_drifted = not o.is_drifted
  from deploy.definitions(note_drift.application) d
  where o.application = note_drift.application and (d.object).path = o.path and (d.object).type = o.type and (d.object).names = o.names
    and (d.object).arguments = o.arguments and o.is_drifted <> deploy.is_drifted(o, d.now);
  insert into deploy.shape (application, object, seen, version)
  select note_drift.application, n.object, n.definition, current_setting('server_version_num')::integer / 10000
  from deploy.shape_now(note_drift.application) n
  where exists (select from deploy.shape s where s.application = note_drift.application)
  on conflict (application, object) do update set seen = excluded.seen
  where deploy.shape.definition is distinct from excluded.seen and deploy.shape.version = excluded.version;
  update deploy.shape s set seen = 'gone'
  where s.application = note_drift.application and s.definition is not null
    and not exists (select from deploy.shape_now(note_drift.application) n where n.object = s.object)
$body$;
comment on function deploy.note_drift(text) is 'Notes, as a deployment begins, what was changed by hand';

create function deploy.drifted(application text) returns table (path text, object text, change text)
language sql stable
set search_path = pg_catalog, pg_temp
as $body$
  select (d.object).path, deploy.label(d.object), case when d.now is null then 'is gone' else 'was changed' end
  from deploy.definitions(drifted.application) d
  where deploy.is_drifted(d.object, d.now)
  union all
  select '', coalesce(s.object, n.object),
    case when n.object is null then 'is gone' when s.definition is null then 'was made by hand' else 'was changed' end
  from (select k.* from deploy.shape k where k.application = drifted.application) s
  full join deploy.shape_now(drifted.application) n on n.object = s.object
  where (s.definition is distinct from n.definition or s.object is null)
    and exists (
      select from deploy.shape k where k.application = drifted.application
      and k.version = current_setting('server_version_num')::integer / 10000)
  union all
  select '', format('route %s %s', r.method, r.pattern), 'was made by hand'
  from deploy.application a
  join http.route r on r.owner = pg_get_userbyid(a.owner::oid) or starts_with(r.function, quote_ident(a.schema_name) || '.')
  where a.name = drifted.application and not exists (
    select from deploy.object o where o.application = a.name and o.type = 'route' and o.names = array[r.method, r.pattern])
  union all
  select '', format('handler %s', h.name), 'was made by hand'
  from deploy.application a
  join http.handler h on h.owner = pg_get_userbyid(a.owner::oid)
  where a.name = drifted.application and not exists (
    select from deploy.object o where o.application = a.name and o.type = 'handler' and o.names = array[h.name])
  union all
  select '', format('job %s', k.name), 'was made by hand'
  from deploy.application a
  join job.kind k on k.owner = a.owner
  where a.name = drifted.application and not exists (
    select from deploy.object o where o.application = a.name and o.type = 'job' and o.names = array[k.name])
  union all
  select '', format('schedule %s', s.name), 'was made by hand'
  from deploy.application a
  join job.timetable s on s.owner = a.owner
  where a.name = drifted.application and not exists (
    select from deploy.object o where o.application = a.name and o.type = 'schedule' and o.names = array[s.name])
  order by 1, 2
$body$;
comment on function deploy.drifted(text) is 'What deploy.drift() returns';

create function deploy.count_drift(application text) returns bigint
language plpgsql stable
set search_path = pg_catalog, pg_temp
-- Who locks a table keeps nobody from looking at other applications.
set lock_timeout = '100ms'
as $body$
begin
  return (select count(*) from deploy.drifted(count_drift.application));
exception
  -- One application must not hide the others.
  when others then return null;
end
$body$;
comment on function deploy.count_drift(text) is 'How much was changed by hand; null if that cannot be told';

revoke all on function
  deploy.count_drift(text), deploy.privileges(aclitem[], "char", oid), deploy.definition(oid, oid), deploy.definition_of(deploy.object),
  deploy.definitions(text), deploy.registration(text, text[]), deploy.is_drifted(deploy.object, text), deploy.label(deploy.object), deploy.is_there(text, text), deploy.describe(text), deploy.shape_now(text),
  deploy.note_shape(text), deploy.note_drift(text), deploy.drifted(text)
from public;
