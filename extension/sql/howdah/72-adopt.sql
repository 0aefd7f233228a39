-- What howdah adopt asks and does, which only a superuser runs.

create function deploy.hand_over(application text) returns void
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
comment on function deploy.hand_over(text) is 'Gives all that is in an application''s schema to its owner, but what extensions have brought';

create function deploy.adopt(application text, files json, objects json) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $body$
begin
  insert into deploy.migration (application, path, digest, number)
  select adopt.application, f.key, encode(sha256(convert_to(f.value, 'UTF8')), 'hex'), (
    select max(d.number) from deploy.deployment d where d.application = adopt.application)
  from json_each_text(adopt.files) f where f.key like 'migrations/%';
  insert into deploy.content (application, digest, content)
  select adopt.application, encode(sha256(convert_to(f.value, 'UTF8')), 'hex'), f.value from json_each_text(adopt.files) f
  where f.key like 'migrations/%' on conflict do nothing;
  insert into deploy.object (application, path, type, names, arguments)
  select adopt.application, o.path, o.type, o.names, o.arguments
  from json_to_recordset(adopt.objects) o (path text, type text, names text[], arguments text[])
  where o.type not in ('route', 'page', 'handler', 'guard', 'error pages', 'files', 'job', 'schedule') and (deploy.address(o.type, o.names, o.arguments)).objid is not null;
end
$body$;
comment on function deploy.adopt(text, json, json) is
  'Notes that migrations of a deployment have run, and what files of code have made, where that is there already';

revoke all on function deploy.hand_over(text), deploy.adopt(text, json, json) from public;
