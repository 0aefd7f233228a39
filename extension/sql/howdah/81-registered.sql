-- What is registered with this extension, and is no object of PostgreSQL's: routes, pages, query handlers, guards, kinds of jobs, schedules. The one place in
-- which deployments know of them.

create view deploy.registered as
select case when r.is_page then 'page' else 'route' end as type, array[r.method, r.pattern] as names, r.owner::text as owner, r.role::text as role from http.route r
union all
select 'handler', array[h.name], h.owner::text, h.role::text from http.handler h
union all
select 'guard', array[g.prefix], g.owner::text, g.role::text from http.guarded g
union all
select 'error pages', array[p.prefix], p.owner, null from http.error_prefix p
union all
select 'files', array[p.prefix], p.owner, null from http.file_prefix p where not p.is_default
union all
select 'schedule', array[s.name], pg_catalog.pg_get_userbyid(s.owner)::text, null from job.timetable s
union all
select 'job', array[k.name], pg_catalog.pg_get_userbyid(k.owner)::text, k.role::text from job.kind k;
comment on view deploy.registered is 'Routes, pages, query handlers, guards, schedules and kinds of jobs, with the roles that own them and that they run as';
revoke all on deploy.registered from public;

create function deploy.unready_routes(owner text) returns table (type text, names text[], error text, detail text, hint text)
language c volatile strict
as 'MODULE_PATHNAME', 'deploy_unready_routes';
comment on function deploy.unready_routes(text) is 'Routes to a role''s functions, pages and guards, that cannot be served as things are';
revoke all on function deploy.unready_routes(text) from public;

create view deploy.requested as
select s.kind as type, array_remove(array[s.method, s.pattern], null) as names, s.requests, s.server_errors from http.stats s;
comment on view deploy.requested is 'How often routes, pages and query handlers were asked, and have failed';
revoke all on deploy.requested from public;

create view deploy.forms as
select r.method, r.pattern, r.form_page as page, r.owner from http.route r where r.form_page is not null;
comment on view deploy.forms is 'Routes that are forms, the path of the page of each, and who owns them';
revoke all on deploy.forms from public;

create function deploy.answers(pattern text, url text) returns boolean
language c immutable strict parallel safe
as 'MODULE_PATHNAME', 'deploy_answers';
comment on function deploy.answers(text, text) is
  'Whether a route of one pattern answers all paths that http.url() makes of another'
;
revoke all on function deploy.answers(text, text) from public;

create function deploy.unregister(type text, names text[], with_jobs boolean) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $body$
declare
  kind integer;
begin
  case unregister.type
    when 'route', 'page' then
      delete from http.route r
      where r.method = unregister.names[1] and r.pattern = unregister.names[2] and r.is_page = (unregister.type = 'page');
    when 'handler' then
      delete from http.handler h where h.name = unregister.names[1];
    when 'guard' then
      delete from http.guarded g where g.prefix = unregister.names[1];
    when 'error pages' then
      delete from http.error_prefix p where p.prefix = unregister.names[1];
    when 'files' then
      delete from http.file_prefix p where p.prefix = unregister.names[1];
    when 'schedule' then
      delete from job.timetable s where s.name = unregister.names[1];
    when 'job' then
      select k.id into kind from job.kind k where k.name = unregister.names[1];
      if not found then
        return;
      end if;
      if not unregister.with_jobs and job.has_jobs(kind) then
        raise 'there are jobs of kind %, which is gone from the folder', unregister.names[1]
        using errcode = 'dependent_objects_still_exist',
          hint = format('Let them run before, or throw them away: select job.undefine(%L, with_jobs => true).', unregister.names[1]);
      end if;
      perform job.unmake(kind);
  end case;
end
$body$;
comment on function deploy.unregister(text, text[], boolean) is 'Takes back what was registered; of a kind with its jobs, or an error if there are some';

create function deploy.unregister_gone(application text, path text, owner text) returns setof text
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $body$
declare
  gone record;
begin
  for gone in
    with noted as materialized (
      select d.type, d.names, deploy.label(d) as label from deploy.object d
      where d.application = unregister_gone.application
        and (unregister_gone.path is null and d.is_stale or d.path = unregister_gone.path))
    select g.type, g.names, n.label
    from noted n join deploy.registered g on g.type = n.type and g.names = n.names and g.owner = unregister_gone.owner
    where unregister_gone.path is not null or not exists (
      select from deploy.object again
      where again.application = unregister_gone.application and again.type = n.type and again.names = n.names and not again.is_stale)
    -- A kind last: with it go its schedules.
    order by array_position(array['route', 'page', 'handler', 'guard', 'error pages', 'files', 'schedule', 'job'], g.type), g.names
  loop
    perform deploy.unregister(gone.type, gone.names, false);
    return next gone.label;
  end loop;
end
$body$;
comment on function deploy.unregister_gone(text, text, text) is
  'Takes back what a file of an application has registered, or what none registers any more, if it is the owner''s still';

create function deploy.unregister_all(application text) returns void
language sql volatile
set search_path = pg_catalog, pg_temp
as $body$
  delete from http.error_page e using deploy.application a
  where a.name = unregister_all.application and e.owner = pg_get_userbyid(a.owner);
  delete from http.file_prefix p using deploy.application a
  where a.name = unregister_all.application and p.owner = pg_get_userbyid(a.owner);
  select deploy.unregister(g.type, g.names, true)
  from (
    select r.type, r.names
    from deploy.registered r join deploy.application a on r.owner = pg_get_userbyid(a.owner)
    where a.name = unregister_all.application
    order by array_position(array['route', 'page', 'handler', 'guard', 'error pages', 'files', 'schedule', 'job'], r.type)) g
$body$;
comment on function deploy.unregister_all(text) is 'Takes back all that the owner of an application has registered, with its jobs';

create function deploy.keep_last(application text, note text) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $body$
begin
  delete from deploy.deployment d
  where d.application = keep_last.application and d.note = keep_last.note and d.number < (
    select max(l.number) from deploy.deployment l where l.application = keep_last.application);
  delete from deploy.content c
  where c.application = keep_last.application
    and not exists (select from deploy.file f where f.application = c.application and f.digest = c.digest)
    and not exists (select from deploy.migration m where m.application = c.application and m.digest = c.digest)
    and not exists (select from deploy.step s where s.application = c.application and s.digest = c.digest);
end
$body$;
comment on function deploy.keep_last(text, text) is 'Forgets earlier deployments of a note, and what none has any more';

revoke all on function
  deploy.unregister(text, text[], boolean), deploy.unregister_gone(text, text, text), deploy.unregister_all(text), deploy.keep_last(text, text)
from public;

create function deploy.keep_error_pages(owner text, pages json) returns table (prefix text, other text)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $body$
#variable_conflict use_column
declare
  prefixes text[] := array(select p.prefix from http.error_prefix p where p.owner = keep_error_pages.owner);
  wanted http.error_page[];
begin
  if prefixes = '{}' then
    prefixes := array['/'];
  end if;
  wanted := array(
    select row(r.prefix, p.number, keep_error_pages.owner, p.statuses, p.with_detail, p.pieces)::http.error_page
    from unnest(prefixes) r (prefix)
    cross join rows from (json_to_recordset(keep_error_pages.pages) as (statuses integer[], with_detail boolean, pieces text[]))
      with ordinality p (statuses, with_detail, pieces, number));
  return query
  select distinct e.prefix, e.owner from unnest(wanted) w join http.error_page e on e.prefix = w.prefix and e.owner <> keep_error_pages.owner;
  -- Gateways read all of them again after a change.
  if not found and exists (
    (select w.* from unnest(wanted) w except all select e.* from http.error_page e where e.owner = keep_error_pages.owner)
    union all
    (select e.* from http.error_page e where e.owner = keep_error_pages.owner except all select w.* from unnest(wanted) w)) then
    delete from http.error_page e where e.owner = keep_error_pages.owner;
    insert into http.error_page select w.* from unnest(wanted) w;
  end if;
end
$body$;
comment on function deploy.keep_error_pages(text, json) is
  'Keeps these as the error pages of an application''s owner. Paths whose pages are another''s are returned, and nothing is kept then'
;
revoke all on function deploy.keep_error_pages(text, json) from public;
