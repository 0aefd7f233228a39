-- What was changed by hand since an application was deployed: what there is is described, noted, and compared.

create function deploy.edition() returns integer
language sql stable
set search_path = pg_catalog, pg_temp
as $body$
  select 2000 + current_setting('server_version_num')::integer / 10000
$body$;
comment on function deploy.edition() is
  'In which words things are described: in thousands those of this extension, and PostgreSQL''s major version. What was noted in others is not compared'
;

create function deploy.registration(type text, names text[]) returns text
language sql stable
set search_path = pg_catalog, pg_temp
as $body$
  -- A page is a row among the routes.
  select case when registration.type in ('route', 'page') then (
      select md5(concat_ws(' ', r.function, r.role, r.search_path, r.validates, r.vary, r.max_entries, r.max_age, case when r.takes_other_sites then 'other sites' end, r.form_page,
        case when r.uncompressed then 'uncompressed' end, case when r.takes_compressed then 'takes compressed' end)) from http.route r
      where r.method = registration.names[1] and r.pattern = registration.names[2] and r.is_page = (registration.type = 'page'))
    when registration.type = 'handler' then (
      select md5(concat_ws(' ', h.statement, h.priority, h.role, h.search_path)) from http.handler h where h.name = registration.names[1])
    when registration.type = 'guard' then (
      select md5(concat_ws(' ', g.function, g.role, g.search_path)) from http.guarded g where g.prefix = registration.names[1])
    when registration.type = 'error pages' then (
      select md5(p.owner) from http.error_prefix p where p.prefix = registration.names[1])
    when registration.type = 'files' then (
      select md5(concat_ws(' ', p.owner, p.folder, p.fallback is null, p.fallback)) from http.file_prefix p where p.prefix = registration.names[1])
    when registration.type = 'job' then (
      select md5(concat_ws(
        ' ', k.function, k.role, k.search_path, k.attempts, k.backoff, k.longest_backoff, k.timeout is null, k.timeout,
        k.at_once is null, k.at_once, k.per_second is null, k.per_second, k.priority, k.batch,
        (select a.name from job.kind a where a.id = k.alert), k.keep_failures is null, k.keep_failures, k.keep_dead is null,
        k.keep_dead))
      from job.kind k where k.name = registration.names[1])
    when registration.type = 'schedule' then (
      select md5(concat_ws(
        ' ', k.name, s.arguments, s.priority, s.cron, s.every, s.time_zone, s.missed, s.missed_within, s.missed_most, s.may_overlap))
      from job.timetable s left join job.kind k on k.id = s.kind where s.name = registration.names[1])
    end
$body$;
comment on function deploy.registration(text, text[]) is 'What a route, a page, a query handler, a guard, a kind of jobs or a schedule is now; null if it is gone';

create function deploy.described(application text) returns table (noted deploy.object, object text, definition text)
language sql stable
set search_path = pg_catalog, pg_temp
set jit = off
as $body$
  with app as materialized (select a.* from deploy.application a where a.name = described.application),
  code as materialized (
    select row_number() over () as id, o as noted, o.is_stale, a.classid as class, a.objid as number, o.names[1] as schema_name
    from deploy.object o cross join lateral deploy.address(o.type, o.names, o.arguments) a
    where o.application = described.application and o.type not in ('route', 'page', 'handler', 'guard', 'error pages', 'files', 'job', 'schedule')),
  now as materialized (
    select d.*, true as is_own from app cross join lateral deploy.describe(app.schema_name) d
    union all
    -- Of other schemas only what code has made there.
    select d.*, false from app, (
      select n.nspname::text as schema_name from pg_namespace n
      where n.nspname <> 'pg_catalog' and n.nspname in (select c.schema_name from code c where c.class is not null)) s
    cross join lateral deploy.describe(s.schema_name) d
    where s.schema_name <> app.schema_name),
  -- What is on a relation that a file has made is the file's, too, unless another has made it.
  part (id, object, definition) as (
    select c.id, n.object, concat_ws(E'\n', n.object, n.definition, n.owner, n.rights)
    from now n join code c on c.class = n.class and c.number = n.number
    union all
    select c.id, n.object, concat_ws(E'\n', n.object, n.definition, n.owner, n.rights)
    from now n join code c on c.class = 'pg_class'::regclass and c.number = n.upper
    where not exists (select from code k where k.class = n.class and k.number = n.number)),
  digest (id, digest) as (
    select p.id, md5(string_agg(p.definition, E'\n' order by p.object collate "C")) from part p group by p.id),
  shape as materialized (
    select n.*, n.class = 'pg_class'::regclass and n.owner is not null and n.object !~ '^(materialized )?view ' as is_table from now n
    where n.is_own and not exists (select from code k where not k.is_stale and k.class = n.class and k.number = n.number)
      and not exists (select from code k where not k.is_stale and k.class = 'pg_class'::regclass and k.number = n.upper))
  select c.noted, null, case when c.number is not null then (select deploy.edition()) || ':' || coalesce(d.digest, '') end
  from code c left join digest d on d.id = c.id
  union all
  select o, null, deploy.registration(o.type, o.names)
  from deploy.object o where o.application = described.application and o.type in ('route', 'page', 'handler', 'guard', 'error pages', 'files', 'job', 'schedule')
  union all
  select null, s.object, case when length(t.definition) < 200 then t.definition else md5(t.definition) end
  from shape s
  cross join lateral (
    select concat_ws('; ', s.definition, case when not s.is_table then 'of ' || s.owner end, case when not s.is_table then s.rights end)) t (definition)
  union all
  select null, s.object || ', rights', concat_ws('; ', s.rights, 'of ' || s.owner) from shape s where s.is_table
$body$;
comment on function deploy.described(text) is
  'What there is of an application: what its files of code have made, as it is noted and what it is now, null if it is gone; and all else in its schema'
;

create function deploy.is_drifted(object deploy.object, now text) returns boolean
language sql immutable
set search_path = pg_catalog, pg_temp
as $body$
  select coalesce((object).definition is not null and not (object).is_stale and (now is null or now <> (object).definition
    and ((object).type in ('route', 'page', 'handler', 'guard', 'error pages', 'files', 'job', 'schedule') or split_part(now, ':', 1) = split_part((object).definition, ':', 1))), false)
$body$;
comment on function deploy.is_drifted(deploy.object, text) is
  'Whether an object is not as it was noted; in other words the same may be told otherwise, so that nothing is compared';

create function deploy.label(object deploy.object) returns text
language sql immutable
set search_path = pg_catalog, pg_temp
as $body$
  select (object).type || ' ' || array_to_string((object).names, case when (object).type in ('route', 'page', 'handler', 'guard', 'error pages', 'files', 'job', 'schedule') then ' ' else '.' end)
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

create function deploy.note_shape(application text, with_code boolean) returns void
language sql volatile
set search_path = pg_catalog, pg_temp
set jit = off
as $body$
  with now as materialized (select d.* from deploy.described(note_shape.application) d),
  code as (
    update deploy.object o set definition = n.definition from now n
    where note_shape.with_code and o.application = note_shape.application and not o.is_drifted and (n.noted).path = o.path
      and (n.noted).type = o.type and (n.noted).names = o.names and (n.noted).arguments = o.arguments
      and o.definition is distinct from n.definition),
  left_by_hand as (
    update deploy.shape s set seen = null
    from (
      select k.object from deploy.shape k left join now n on n.object = k.object
      where k.application = note_shape.application and k.seen = coalesce(n.definition, 'gone')) l
    where s.application = note_shape.application and s.object = l.object
    returning s.object),
  gone as (
    delete from deploy.shape s
    where s.application = note_shape.application and s.object in (
      select k.object from deploy.shape k where k.application = note_shape.application
      except
      select n.object from now n
      except
      select l.object from left_by_hand l))
  insert into deploy.shape (application, object, definition, version)
  select note_shape.application, n.object, n.definition, (select deploy.edition())
  from now n where n.object is not null and not exists (select from left_by_hand l where l.object = n.object)
  on conflict (application, object) do update set definition = excluded.definition, seen = null, version = excluded.version
  where (deploy.shape.definition, deploy.shape.version) is distinct from (excluded.definition, excluded.version) or deploy.shape.seen is not null
$body$;
comment on function deploy.note_shape(text, boolean) is
  'Notes what there is, with what code has made or without; what was changed by hand before stays noted as it was, unless a file has changed it';

create function deploy.differences(application text)
returns table (noted deploy.object, path text, object text, change text, is_told boolean, is_shape boolean, now text)
language sql stable
set search_path = pg_catalog, pg_temp
set jit = off
as $body$
  with now as materialized (select d.* from deploy.described(differences.application) d),
  app as (select a.* from deploy.application a where a.name = differences.application),
  changed as materialized (
    select coalesce(s.object, n.object) as object, n.definition,
      case when n.object is null then 'is gone' when s.definition is null then 'was made by hand' else 'was changed' end as change
    from (select k.* from deploy.shape k where k.application = differences.application) s
    full join (select w.* from now w where w.object is not null) n on n.object = s.object
    where (s.definition is distinct from n.definition or s.object is null)
      and exists (select from deploy.shape k where k.application = differences.application and k.version = (select deploy.edition())))
  select n.noted, (n.noted).path, deploy.label(n.noted), case when n.definition is null then 'is gone' else 'was changed' end, true, false, n.definition
  from now n where n.object is null and deploy.is_drifted(n.noted, n.definition)
  union all
  -- Columns that have come or gone are told themselves.
  select null, '', c.object, c.change, c.object !~ ', order of columns$' or c.change = 'was changed' and not exists (
    select from changed o where o.change <> 'was changed' and starts_with(o.object, left(c.object, -length('order of columns')) || 'column ')), true, c.definition
  from changed c
  union all
  select null, '', h.type || ' ' || array_to_string(h.names, ' '), 'was made by hand', true, false, null
  from (
    -- By EXCEPT: NOT EXISTS would look for each of thousands among thousands, as tables without statistics seem to be small.
    select i.type, i.names from app cross join lateral (
      select case when r.is_page then 'page' else 'route' end, array[r.method, r.pattern] from http.route r
      where r.owner = pg_get_userbyid(app.owner::oid) or starts_with(r.function, quote_ident(app.schema_name) || '.')
      union all
      select 'handler', array[h.name] from http.handler h where h.owner = pg_get_userbyid(app.owner::oid)
      union all
      select 'guard', array[g.prefix] from http.guarded g
      where g.owner = pg_get_userbyid(app.owner::oid) or starts_with(g.function, quote_ident(app.schema_name) || '.')
      union all
      select 'error pages', array[p.prefix] from http.error_prefix p where p.owner = pg_get_userbyid(app.owner::oid)
      union all
      select 'files', array[p.prefix] from http.file_prefix p where p.owner = pg_get_userbyid(app.owner::oid) and not p.is_default
      union all
      select 'job', array[k.name] from job.kind k where k.owner = app.owner
      union all
      select 'schedule', array[s.name] from job.timetable s where s.owner = app.owner) i (type, names)
    except
    select o.type, o.names from deploy.object o where o.application = differences.application) h
$body$;
comment on function deploy.differences(text) is
  'What is not as it was noted: an object of a file of code, or something of the shape and what it is now; and whether people are told'
;

create function deploy.note_drift(application text) returns table (path text, object text, change text)
language sql volatile
set search_path = pg_catalog, pg_temp
set jit = off
as $body$
  with found as materialized (select d.* from deploy.differences(note_drift.application) d),
  code as (
    update deploy.object o set is_drifted = not o.is_drifted
    where o.application = note_drift.application and o.is_drifted <> ((o.path, o.type, o.names, o.arguments) in (
      select (f.noted).path, (f.noted).type, (f.noted).names, (f.noted).arguments from found f where (f.noted).path is not null))),
  shape as (
    insert into deploy.shape (application, object, seen, version)
    select note_drift.application, f.object, coalesce(f.now, 'gone'), (select deploy.edition()) from found f where f.is_shape
    on conflict (application, object) do update set seen = excluded.seen)
  select f.path, f.object, f.change from found f where f.is_told order by 1, 2
$body$;
comment on function deploy.note_drift(text) is 'Notes, as a deployment begins, what was changed by hand, and returns it';

create function deploy.drifted(application text) returns table (path text, object text, change text)
language sql stable
set search_path = pg_catalog, pg_temp
as $body$
  select d.path, d.object, d.change from deploy.differences(drifted.application) d where d.is_told order by 1, 2
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
  deploy.edition(), deploy.registration(text, text[]), deploy.described(text), deploy.is_drifted(deploy.object, text),
  deploy.label(deploy.object), deploy.is_there(text, text), deploy.note_shape(text, boolean), deploy.differences(text), deploy.note_drift(text),
  deploy.drifted(text), deploy.count_drift(text)
from public;
