-- Who may use the schemas and read the tables and views. What a function asks of its caller stands beside the function.

-- What the owner of the extension grants by default on what it makes is not meant for these.
do $privileges$
declare
  given record;
begin
  for given in
    select distinct
      d.kind, d.name,
      case a.grantee when 0 then 'public' else pg_catalog.quote_ident(pg_catalog.pg_get_userbyid(a.grantee)) end as role
    from (
      select 'schema', n.oid::pg_catalog.regnamespace::text, n.nspacl, n.nspowner
      from pg_catalog.pg_namespace n where n.nspname in ('http', 'queue', 'deploy', 'job')
      union all
      select 'table', c.oid::pg_catalog.regclass::text, c.relacl, c.relowner
      from pg_catalog.pg_class c
      where c.relnamespace in ('http'::pg_catalog.regnamespace, 'queue'::pg_catalog.regnamespace, 'deploy'::pg_catalog.regnamespace,
        'job'::pg_catalog.regnamespace)
      union all
      select 'routine', p.oid::pg_catalog.regprocedure::text, p.proacl, p.proowner
      from pg_catalog.pg_proc p
      where p.pronamespace in ('http'::pg_catalog.regnamespace, 'queue'::pg_catalog.regnamespace, 'deploy'::pg_catalog.regnamespace,
        'job'::pg_catalog.regnamespace)
      union all
      select 'type', t.oid::pg_catalog.regtype::text, t.typacl, t.typowner
      from pg_catalog.pg_type t
      where t.typnamespace in ('http'::pg_catalog.regnamespace, 'queue'::pg_catalog.regnamespace, 'deploy'::pg_catalog.regnamespace,
        'job'::pg_catalog.regnamespace)
    ) d (kind, name, privileges, owner)
    cross join lateral pg_catalog.aclexplode(d.privileges) a
    where a.grantee <> d.owner
      -- Routines and types are everybody's, or have been given above to whom they are meant for.
      and (d.kind in ('schema', 'table') or a.grantee not in (0, 'howdah_admin'::pg_catalog.regrole))
  loop
    execute pg_catalog.format('revoke all on %s %s from %s', given.kind, given.name, given.role);
  end loop;
end
$privileges$;

grant usage on schema http, queue, deploy, job to public;
grant select on queue.queue, queue.permission, queue.dead_letters, deploy.applications, deploy.steps, job.kinds, job.overview, job.running,
  job.failures, job.dead_jobs, job.schedules
to public;
grant select on
  http.route, http.handler, http.guarded, http.error_prefix, http.error_page, http.file_prefix, http.static_file, http.static_tree, http.listener, http.listeners, http.certificates,
  http.workers, http.refusals, http.log, http.databases, http.stats, http.sizes,
  queue.listener, queue.listeners, queue.connections,
  deploy.application, deploy.deployment, deploy.file, deploy.migration, deploy.object, deploy.shape,
  deploy.given, deploy.step, job.kind, job.kind_queue, job.permission, job.timetable, job.home
to howdah_admin;
