\echo Use "alter extension howdah update" to load this file. \quit

-- Makes a database of 0.1.0 one of 0.2.0: each change of howdah/ has its statements here. together::upgrades compares both ways.

create function deploy.note_drop() returns event_trigger
language c
as 'MODULE_PATHNAME', 'deploy_note_drop';
comment on function deploy.note_drop() is 'Notes what a file of a deployment drops';
revoke all on function deploy.note_drop() from public;

create event trigger howdah_deploy_dropped on sql_drop -- noqa: PRS
execute function deploy.note_drop();
comment on event trigger howdah_deploy_dropped is 'Notes what a file of a deployment drops';
alter event trigger howdah_deploy_dropped enable always;

create or replace function deploy.hand_over(application text) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $body$
declare
  app deploy.application;
  given record;
begin
  select a.* into strict app from deploy.application a where a.name = hand_over.application;
  execute format('alter schema %I owner to %s', app.schema_name, app.owner);
  for given in
    select d.class, d.number from (
      select 'pg_class'::regclass::oid, c.oid from pg_class c
      where c.relnamespace = to_regnamespace(quote_ident(app.schema_name)) and c.relkind in ('r', 'p', 'v', 'm', 'f', 'S') and c.relowner <> app.owner
      union all
      select 'pg_proc'::regclass, p.oid from pg_proc p where p.pronamespace = to_regnamespace(quote_ident(app.schema_name)) and p.proowner <> app.owner
      union all
      select 'pg_type'::regclass, t.oid from pg_type t left join pg_class c on c.oid = t.typrelid
      where t.typnamespace = to_regnamespace(quote_ident(app.schema_name)) and t.typowner <> app.owner and coalesce(c.relkind, 'c') = 'c'
        and t.typtype <> 'm' and not exists (select from pg_type e where e.typarray = t.oid)
      union all
      select 'pg_operator'::regclass, o.oid from pg_operator o where o.oprnamespace = to_regnamespace(quote_ident(app.schema_name)) and o.oprowner <> app.owner
      union all
      select 'pg_collation'::regclass, l.oid from pg_collation l
      where l.collnamespace = to_regnamespace(quote_ident(app.schema_name)) and l.collowner <> app.owner
      union all
      select 'pg_statistic_ext'::regclass, s.oid from pg_statistic_ext s
      where s.stxnamespace = to_regnamespace(quote_ident(app.schema_name)) and s.stxowner <> app.owner
      union all
      select 'pg_ts_config'::regclass, t.oid from pg_ts_config t
      where t.cfgnamespace = to_regnamespace(quote_ident(app.schema_name)) and t.cfgowner <> app.owner
      union all
      select 'pg_ts_dict'::regclass, t.oid from pg_ts_dict t
      where t.dictnamespace = to_regnamespace(quote_ident(app.schema_name)) and t.dictowner <> app.owner
      union all
      select 'pg_opfamily'::regclass, f.oid from pg_opfamily f
      where f.opfnamespace = to_regnamespace(quote_ident(app.schema_name)) and f.opfowner <> app.owner
      union all
      select 'pg_opclass'::regclass, o.oid from pg_opclass o
      where o.opcnamespace = to_regnamespace(quote_ident(app.schema_name)) and o.opcowner <> app.owner
      union all
      select 'pg_conversion'::regclass, n.oid from pg_conversion n
      where n.connamespace = to_regnamespace(quote_ident(app.schema_name)) and n.conowner <> app.owner) d (class, number)
    where not exists (
      select from pg_depend e where e.classid = d.class and e.objid = d.number
        -- A partitioned table depends so on its own columns.
        and (e.refclassid, e.refobjid) <> (d.class, d.number)
        and (e.deptype in ('e', 'i') or e.deptype = 'a' and d.class = 'pg_class'::regclass and e.refclassid = 'pg_class'::regclass and e.refobjsubid > 0))
  loop
    execute (
      select format('alter %s %s owner to %s', case i.type when 'composite type' then 'type' when 'statistics object' then 'statistics' else i.type end,
        case when i.type = 'aggregate' and i.identity like '%()' then left(i.identity, -1) || '*)' else i.identity end, app.owner)
      from pg_identify_object(given.class, given.number, 0) i);
  end loop;
end
$body$;

create index object_by_name on deploy.object (application, type, names);

create or replace function deploy.unregister_gone(application text, path text, owner text) returns setof text
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
    order by array_position(array['route', 'handler', 'schedule', 'job'], g.type), g.names
  loop
    perform deploy.unregister(gone.type, gone.names, false);
    return next gone.label;
  end loop;
end
$body$;

create function deploy.note_test(path text, content text) returns void
language c volatile strict
as 'MODULE_PATHNAME', 'deploy_note_test_wrapper';
comment on function deploy.note_test(text, text) is 'Takes a test of the deployment as it is, without running it';

create function deploy.writers(application text, path text, of text default null) returns json
language c volatile
as 'MODULE_PATHNAME', 'deploy_writers_wrapper';
comment on function deploy.writers(text, text, text) is
  'Who has written the table of a step in batches and has not ended, of these transactions: rows of theirs are not seen yet';
