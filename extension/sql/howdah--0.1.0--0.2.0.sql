\echo Use "alter extension howdah update" to load this file. \quit

-- Makes a database of 0.1.0 one of 0.2.0: each change of howdah/ has its statements here. together::upgrades compares both ways.

alter table http.route add column takes_other_sites boolean not null default false;
comment on column http.route.takes_other_sites is
  'Whether pages of other sites may send it requests other than GET and HEAD';
alter table http.route add column is_page boolean not null default false;
comment on table http.route is 'Routes and pages; change them by http.route() and http.unroute(), http.page() and http.unpage()';
comment on column http.route.is_page is
  'Whether it answers those alone who prefer HTML, where a route has the same method and pattern; without one it answers everybody';
alter table http.route add column form_page text;
alter table http.route add column uncompressed boolean not null default false;
alter table http.route add column takes_compressed boolean not null default false;
comment on column http.route.uncompressed is 'Whether its answers are sent as they are to those, too, who would take them compressed';
comment on column http.route.takes_compressed is 'Whether bodies of requests for it are unpacked that a Content-Encoding names';
comment on column http.route.form_page is
  'The path of the page that is shown again where a form is refused, with parameters of the pattern; null if it is no form''s';
alter table http.route drop constraint route_pkey;
alter table http.route add primary key (method, pattern, is_page);

create table http.guarded (
  prefix text not null primary key,
  function text not null,
  role regrole not null,
  search_path text not null,
  owner text);
comment on table http.guarded is 'Guards of paths; change them by http.guard() and http.unguard()';
comment on column http.guarded.prefix is 'All that is at this path and below it is guarded';
comment on column http.guarded.function is 'The function with its argument types';
comment on column http.guarded.role is 'The role that it runs as';
comment on column http.guarded.search_path is 'search_path at registration, in which names resolve';
comment on column http.guarded.owner is
  'Who owned the function at registration, by name; null is anybody. Another''s function of the same name refuses everything';

create trigger changed after insert or update or delete or truncate on http.guarded
for each statement execute function http.configuration_changed();
alter table http.guarded enable always trigger changed;
select pg_catalog.pg_extension_config_dump('http.guarded', '');

create function http.page(
  method text, pattern text, function text, role text default 'howdah_web',
  search_path text default http.registration_path())
returns void
language c volatile
as 'MODULE_PATHNAME', 'howdah_page';
comment on function http.page(text, text, text, text, text) is
  'Lets a function answer who prefers HTML, browsers that is, where the route of the same method and pattern answers programs; without one it answers all';

create function http.unpage(method text, pattern text) returns boolean
language c volatile
as 'MODULE_PATHNAME', 'howdah_unpage';
comment on function http.unpage(text, text) is 'Removes a page; false if there is none';

create function http.cross_site(method text, pattern text, takes boolean default true) returns void
language c volatile
as 'MODULE_PATHNAME', 'howdah_cross_site';
comment on function http.cross_site(text, text, boolean) is
  'Lets a route take what pages of other sites send by another method than GET: a payment''s callback, a sign-in elsewhere';

create function http.uncompressed(method text, pattern text, uncompressed boolean default true) returns void
language c volatile
as 'MODULE_PATHNAME', 'howdah_uncompressed';
comment on function http.uncompressed(text, text, boolean) is
  'Has the answers of a route sent as they are: those with a secret beside what others can choose, whose length would tell the secret'
;

create function http.compressed_body(method text, pattern text, takes boolean default true) returns void
language c volatile
as 'MODULE_PATHNAME', 'howdah_compressed_body';
comment on function http.compressed_body(text, text, boolean) is
  'Lets a route take bodies by gzip, zstd or br, which it gets unpacked, up to howdah.max_inflated_body'
;

create function http.invalid(parameter text, message text) returns void
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'howdah_invalid';
comment on function http.invalid(text, text) is
  'Refuses a parameter of the current request, or without a name the whole, with a message for people. The function goes on; at its end nothing of it is kept'
;

create function http.same_site(location text, otherwise text default '/') returns text
language c immutable parallel safe
as 'MODULE_PATHNAME', 'howdah_same_site';
comment on function http.same_site(text, text) is
  'A location if it is a path of the same site, as browsers read it; otherwise the second'
;

create function http.form_sent(form text default null) returns boolean
language c stable parallel restricted
as 'MODULE_PATHNAME', 'howdah_form_sent';
comment on function http.form_sent(text) is 'Whether the page that runs is shown because its form was sent and refused';

create function http.typed(name text, otherwise text default null, form text default null) returns text
language c stable parallel restricted
as 'MODULE_PATHNAME', 'howdah_typed';
comment on function http.typed(text, text, text) is
  'The text that was typed in a field if its form was sent, also where it is empty; otherwise the second'
;
create function http.typed(name text, otherwise anyelement, form text default null) returns text
language c stable parallel restricted
as 'MODULE_PATHNAME', 'howdah_typed';
comment on function http.typed(text, anyelement, text) is 'The same for a value of any type, as text';

create function http.form_error(name text default null, form text default null) returns text
language c stable parallel restricted
as 'MODULE_PATHNAME', 'howdah_form_error';
comment on function http.form_error(text, text) is
  'The error of a field, or without a name those that no field shows, in words for people; null if there is none'
;
create function http.form_errors(form text default null) returns table (parameter text, message text)
language c stable parallel restricted
as 'MODULE_PATHNAME', 'howdah_form_errors';
comment on function http.form_errors(text) is 'All errors of a form that was sent, in order';

create function http.field(
  name text, label text default null, value text default null, type text default null, choices text[] default null,
  hint text default null, form text default null)
returns http.html
language c stable parallel restricted
as 'MODULE_PATHNAME', 'howdah_field';
comment on function http.field(text, text, text, text, text[], text, text) is
  'A field of a form as HTML: label, control, hint and error, with the text that was typed, and with the rules of the argument that it fills'
;
create function http.field(
  name text, label text, value anyelement, type text default null, choices text[] default null, hint text default null,
  form text default null)
returns http.html
language c stable parallel restricted
as 'MODULE_PATHNAME', 'howdah_field';
comment on function http.field(text, text, anyelement, text, text[], text, text) is 'The same with a value of any type';

create function http.form(method text, pattern text, page text default null) returns void
language c volatile
as 'MODULE_PATHNAME', 'howdah_form';
comment on function http.form(text, text, text) is
  'Has a route that refuses what was typed answer browsers with the page of its form, filled in as it was sent; without a page it no longer does'
;

create function http.guard(
  prefix text, function text, role text default 'howdah_web', search_path text default http.registration_path())
returns void
language c volatile
as 'MODULE_PATHNAME', 'howdah_guard';
comment on function http.guard(text, text, text, text) is
  'Has a function look at each request to a path and all below it before anything else answers: null lets it pass, a response is the answer';

create function http.unguard(prefix text) returns boolean
language c volatile
as 'MODULE_PATHNAME', 'howdah_unguard';
comment on function http.unguard(text) is 'Removes a guard; false if there is none';

revoke all on function
  http.page(text, text, text, text, text), http.unpage(text, text), http.cross_site(text, text, boolean), http.uncompressed(text, text, boolean), http.compressed_body(text, text, boolean), http.form(text, text, text),
  http.guard(text, text, text, text), http.unguard(text)
from public;
grant execute on function
  http.page(text, text, text, text, text), http.unpage(text, text), http.cross_site(text, text, boolean), http.uncompressed(text, text, boolean), http.compressed_body(text, text, boolean), http.form(text, text, text),
  http.guard(text, text, text, text), http.unguard(text)
to howdah_admin;
grant select on http.guarded to howdah_admin;
do $body$
declare
  app deploy.application;
begin
  for app in select a.* from deploy.application a loop
    execute pg_catalog.format(
      'grant execute on function http.page(text, text, text, text, text), http.unpage(text, text), http.cross_site(text, text, boolean), http.uncompressed(text, text, boolean), http.compressed_body(text, text, boolean), http.form(text, text, text), http.guard(text, text, text, text), http.unguard(text) to %s', app.owner);
  end loop;
end
$body$;

create table http.error_prefix (
  prefix text not null primary key,
  owner text not null);
comment on table http.error_prefix is 'Paths below which the error pages of an application answer; said by http.error_pages()';
comment on column http.error_prefix.owner is 'Who owns the application';

create table http.error_page (
  prefix text not null,
  number integer not null,
  owner text not null,
  statuses integer[] not null,
  with_detail boolean,
  pieces text[] not null,
  primary key (prefix, number));
comment on table http.error_page is 'Error pages, as they were made when their applications were deployed';
comment on column http.error_page.prefix is 'Errors at this path and below it get the page';
comment on column http.error_page.owner is 'Who owns the application';
comment on column http.error_page.statuses is 'The errors that it stands for';
comment on column http.error_page.with_detail is 'Whether it is for those whose detail is told, or for the others; null is for all';
comment on column http.error_page.pieces is 'HTML, and names of what each request puts in, in turns: detail, request_id, path';

create trigger changed after insert or update or delete or truncate on http.error_page
for each statement execute function http.configuration_changed();
alter table http.error_page enable always trigger changed;

select pg_catalog.pg_extension_config_dump('http.error_prefix', '');
select pg_catalog.pg_extension_config_dump('http.error_page', '');

create function http.error_pages(prefix text default '/') returns void
language c volatile
as 'MODULE_PATHNAME', 'howdah_error_pages';
comment on function http.error_pages(text) is
  'Lets the error pages of the application whose file says it answer at a path and below it, instead of at all paths'
;
revoke all on function http.error_pages(text) from public;
grant execute on function http.error_pages(text) to howdah_admin;
grant select on http.error_prefix, http.error_page to howdah_admin;
do $body$
declare
  app deploy.application;
begin
  for app in select a.* from deploy.application a loop
    execute pg_catalog.format('grant execute on function http.error_pages(text) to %s', app.owner);
  end loop;
end
$body$;

create function http.shown_type(body bytea, content_type text) returns text
language c immutable parallel safe
as 'MODULE_PATHNAME', 'howdah_shown_type';
comment on function http.shown_type(bytea, text) is
  'The type of bytes that a browser may show, by what they are; null if they could run as the site, or nobody knows them'
;

create function http.disposition(name text, shown boolean) returns text
language c immutable strict parallel safe
as 'MODULE_PATHNAME', 'howdah_disposition';
comment on function http.disposition(text, boolean) is
  'The value of Content-Disposition for a file of this name, which is shown or saved'
;

create function http.wanted_part(length bigint) returns bigint[]
language c stable strict parallel restricted
as 'MODULE_PATHNAME', 'howdah_wanted_part';
comment on function http.wanted_part(bigint) is
  'The status of an answer with so many bytes for the Range of the current request, where its bytes begin, and how many they are'
;

create function http.download(body bytea, name text, content_type text default null) returns http.response
language sql stable parallel restricted
begin atomic
  select row(
    part[1]::integer, coalesce(shown, download.content_type, 'application/octet-stream'),
    array[
      http.header('content-disposition', http.disposition(coalesce(name, ''), shown is not null)),
      http.header('accept-ranges', 'bytes')]
    operator(pg_catalog.||) case part[1]
      when 206 then array[http.header('content-range', pg_catalog.format('bytes %s-%s/%s', part[2], part[2] + part[3] - 1, length))]
      when 416 then array[http.header('content-range', pg_catalog.format('bytes */%s', length))]
      else array[]::http.header[] end,
    case part[1] when 200 then body when 206 then pg_catalog.substr(body, part[2]::integer + 1, part[3]::integer) end)::http.response
  from (select http.wanted_part(pg_catalog.octet_length(body)), pg_catalog.octet_length(body), http.shown_type(body, download.content_type)) w (part, length, shown)
  where body is not null;
end;
comment on function http.download(bytea, text, text) is
  'A file that somebody has sent, for others: shown if it is a picture, a film, music, a PDF or plain text by its bytes, and saved if not. Null if there is no body'
;

create table http.file_prefix (
  prefix text not null primary key,
  owner text not null,
  folder text not null,
  fallback text,
  is_default boolean not null default false);
comment on table http.file_prefix is 'Paths below which the files of an application answer; said by http.files()';
comment on column http.file_prefix.owner is 'Who owns the application';
comment on column http.file_prefix.folder is 'The folder in static/; empty for all of static/';
comment on column http.file_prefix.fallback is 'The file of the folder that a browser gets that goes to a page which is none; null is none';
comment on column http.file_prefix.is_default is 'Whether it is there because the application says of none';

create trigger changed after insert or update or delete or truncate on http.file_prefix
for each statement execute function http.configuration_changed();
alter table http.file_prefix enable always trigger changed;

select pg_catalog.pg_extension_config_dump('http.file_prefix', '');

create function http.files(prefix text, folder text default '', fallback text default null) returns void
language c volatile
as 'MODULE_PATHNAME', 'howdah_files';
comment on function http.files(text, text, text) is
  'Lets the files of static/, or of a folder in it, answer below a path; with a fallback, pages of a single-page application as well'
;
revoke all on function http.files(text, text, text) from public;
grant execute on function http.files(text, text, text) to howdah_admin;

-- It looks rows up as the owner, which nothing may do beside parallel workers.
create function http.asset(name text) returns text
language c stable strict parallel unsafe
as 'MODULE_PATHNAME', 'howdah_asset';
comment on function http.asset(text) is
  'The path of a file of static/ with the digest of its bytes, which clients may keep for ever; an error if there is no such file'
;
grant select on http.file_prefix to howdah_admin;
do $body$
declare
  app deploy.application;
begin
  for app in select a.* from deploy.application a loop
    execute pg_catalog.format('grant execute on function http.files(text, text, text) to %s', app.owner);
  end loop;
end
$body$;

create domain http.secret as text;
comment on domain http.secret is 'A password, a token, a key: as an argument of a function that requests or jobs call it appears in no message'
;

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

comment on function deploy.drift(text) is 'What was changed by hand since an application was deployed; in a deployment of it as it was when that began';

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
    order by array_position(array['route', 'page', 'handler', 'guard', 'error pages', 'files', 'schedule', 'job'], g.type), g.names
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

comment on column deploy.object.definition is
  'What it was when it was deployed: deploy.edition() and an MD5 of its description';
comment on table deploy.shape is 'What there was of an application when it was last deployed, but what its files of code have made';
comment on column deploy.shape.version is 'In which words: deploy.edition()';

drop function deploy.definition(oid, oid);
drop function deploy.definition_of(deploy.object);
drop function deploy.definitions(text);
drop function deploy.shape_now(text);
drop function deploy.note_shape(text);
drop function deploy.describe(text);

create function deploy.describe_relations(namespace oid)
returns table (class oid, number oid, part integer, upper oid, object text, definition text, owner oid, privileges aclitem[], kind "char")
language sql stable
set search_path = pg_catalog, pg_temp
as $body$
  with relation as materialized (
    select c.*, case c.relkind when 'v' then 'view ' when 'm' then 'materialized view ' when 'S' then 'sequence ' when 'f' then 'foreign table '
      else 'table ' end || c.oid::regclass as object, c.relkind in ('r', 'p', 'f') as is_table
    from pg_class c
    where c.relnamespace = describe_relations.namespace and c.relkind in ('r', 'p', 'v', 'm', 'S', 'f')
      and not exists (select from pg_depend e where e.classid = 'pg_class'::regclass and e.objid = c.oid and e.deptype = 'e'))
  select 'pg_class'::regclass::oid, r.oid, 0, u.refobjid, r.object, concat_ws(' ',
    case r.relpersistence when 'u' then 'unlogged' end, 'of ' || format_type(nullif(r.reloftype, 0), null), 'partitioned by ' || pg_get_partkeydef(r.oid),
    (select case when r.relispartition then 'partition of ' else 'inherits ' end
      || string_agg(i.inhparent::regclass || case when i.inhdetachpending then ', which is being detached' else '' end, ', ' order by i.inhseqno)
     from pg_inherits i where i.inhrelid = r.oid),
    pg_get_expr(r.relpartbound, r.oid), case when r.relrowsecurity then 'row security' end, case when r.relforcerowsecurity then 'forced' end,
    case when s.seqrelid is not null then format('%s from %s by %s, %s to %s%s%s', format_type(s.seqtypid, null), s.seqstart, s.seqincrement,
      s.seqmin, s.seqmax, case when s.seqcycle then ', cycle' end, case when s.seqcache <> 1 then ', cache ' || s.seqcache end) end,
    case u.deptype when 'i' then 'identity of ' when 'a' then 'owned by ' end || u.refobjid::regclass || '.' || (
      select quote_ident(a.attname) from pg_attribute a where a.attrelid = u.refobjid and a.attnum = u.refobjsubid),
    'of server ' || (select quote_ident(v.srvname) from pg_foreign_server v where v.oid = f.ftserver), 'options ' || f.ftoptions::text,
    case when r.relkind in ('v', 'm') then pg_get_viewdef(r.oid) end,
    'by ' || (select quote_ident(m.amname) from pg_am m where m.oid = r.relam and m.amname <> 'heap'),
    'tablespace ' || (select quote_ident(t.spcname) from pg_tablespace t where t.oid = r.reltablespace),
    'with ' || r.reloptions::text, 'toast with ' || (select t.reloptions::text from pg_class t where t.oid = r.reltoastrelid),
    case when r.relkind in ('r', 'p', 'm') then
      case r.relreplident when 'n' then 'replica identity nothing' when 'f' then 'replica identity full' when 'i' then 'replica identity index' end end),
    r.relowner, r.relacl, case r.relkind when 'S' then 's'::"char" else 'r' end
  from relation r
  left join pg_sequence s on s.seqrelid = r.oid
  left join pg_foreign_table f on f.ftrelid = r.oid
  left join pg_depend u on r.relkind = 'S' and u.classid = 'pg_class'::regclass and u.objid = r.oid and u.refclassid = 'pg_class'::regclass
    and u.refobjsubid > 0 and u.deptype in ('a', 'i')
  union all
  select 'pg_class'::regclass, r.oid, null, null, r.object || ', order of columns', string_agg(quote_ident(a.attname), ', ' order by a.attnum), null, null, null
  from relation r join pg_attribute a on a.attrelid = r.oid and a.attnum > 0 and not a.attisdropped
  where r.is_table group by r.oid, r.object
  union all
  select 'pg_class'::regclass, r.oid, a.attnum::integer, null, r.object || ', column ' || quote_ident(a.attname), concat_ws(' ', nullif(m.main, ''), nullif(m.more, '')), null, null, null
  from relation r
  join pg_attribute a on a.attrelid = r.oid and a.attnum > 0 and not a.attisdropped
  join pg_type t on t.oid = a.atttypid
  left join pg_attrdef d on d.adrelid = r.oid and d.adnum = a.attnum
  left join pg_constraint n on n.conrelid = r.oid and n.contype = 'n' and n.conkey = array[a.attnum]
  -- What the server itself notes there is no property of the column.
  cross join lateral (select string_agg(o.option, ', ') from unnest(a.attoptions) o (option) where not starts_with(o.option, 'pg_attver=')) o (options)
  cross join lateral (
    select case when r.is_table then concat_ws(' ', format_type(a.atttypid, a.atttypmod),
      case when a.attcollation <> t.typcollation then 'collate ' || a.attcollation::regcollation end, case when a.attnotnull then 'not null' end,
      -- Versions from 18 on give this a name, which a restore may choose.
      case when n.conname <> r.relname || '_' || a.attname || '_not_null' then 'named ' || quote_ident(n.conname) end,
      case when n.connoinherit then 'no inherit' end, case when not n.convalidated then 'not valid' end,
      case a.attidentity when 'a' then 'generated always as identity' when 'd' then 'generated by default as identity' end) end,
      concat_ws(' ', case when a.attgenerated <> '' then 'generated always as' when d.oid is not null then 'default' end, pg_get_expr(d.adbin, d.adrelid),
        case when a.attgenerated = 'v' then 'virtual' end,
        case when a.attstorage <> t.typstorage and r.relkind <> 'v' then 'storage ' || a.attstorage::text end, 'compression ' || nullif(a.attcompression::text, ''),
        'statistics ' || nullif(a.attstattarget, -1), 'with ' || o.options, 'options ' || a.attfdwoptions::text,
        case when not a.attislocal then 'inherited' end)) m (main, more)
  where r.is_table or m.more <> '' or exists (
    select from pg_description c where c.classoid = 'pg_class'::regclass and c.objoid = r.oid and c.objsubid = a.attnum)
  union all
  select 'pg_constraint'::regclass, c.oid, 0, r.oid, r.object || ', constraint ' || quote_ident(c.conname), concat_ws(' ', pg_get_constraintdef(c.oid),
    case when not c.conislocal then 'inherited' end,
    case when exists (select from pg_trigger t where t.tgconstraint = c.oid and t.tgisinternal and t.tgenabled <> 'O') then 'disabled' end), null, null, null
  from relation r join pg_constraint c on c.conrelid = r.oid where c.contype not in ('p', 'u', 'x', 't', 'n')
  union all
  select case when c.oid is null then 'pg_class'::regclass else 'pg_constraint'::regclass end, coalesce(c.oid, x.indexrelid), 0, r.oid,
    format('%s, %s %I', r.object, case when c.oid is null then 'index' else 'constraint' end, coalesce(c.conname, i.relname)),
    concat_ws(' ', coalesce(pg_get_constraintdef(c.oid), pg_get_indexdef(x.indexrelid)), case when not c.conislocal then 'inherited' end,
      case when c.oid is not null then 'with ' || i.reloptions::text end,
      'tablespace ' || (select quote_ident(t.spcname) from pg_tablespace t where t.oid = i.reltablespace),
      'part of ' || (select string_agg(h.inhparent::regclass::text, ', ') from pg_inherits h where h.inhrelid = x.indexrelid),
      case when x.indisclustered then 'clustered' end, case when x.indisreplident then 'replica identity' end,
      case when not (x.indisvalid and x.indisready and x.indislive) then 'invalid' end,
      'statistics ' || (select string_agg(a.attnum || ': ' || a.attstattarget, ', ' order by a.attnum)
        from pg_attribute a where a.attrelid = x.indexrelid and nullif(a.attstattarget, -1) is not null),
      'index ' || (select quote_literal(d.description) from pg_description d
        where c.oid is not null and d.classoid = 'pg_class'::regclass and d.objoid = x.indexrelid and d.objsubid = 0)), null, null, null
  from relation r
  join pg_index x on x.indrelid = r.oid
  join pg_class i on i.oid = x.indexrelid
  left join pg_constraint c on c.conrelid = r.oid and c.contype in ('p', 'u', 'x') and c.conindid = x.indexrelid
  union all
  -- Those of partitions come and go with what they are copies of.
  select 'pg_trigger'::regclass, coalesce(nullif(t.tgparentid, 0), t.oid), case t.tgparentid when 0 then 0 end, r.oid,
    r.object || ', trigger ' || quote_ident(t.tgname), pg_get_triggerdef(t.oid)
      || case t.tgenabled when 'O' then '' when 'D' then ' disabled' when 'A' then ' always' else ' of replicas' end, null, null, null
  from relation r join pg_trigger t on t.tgrelid = r.oid where not t.tgisinternal
  union all
  select 'pg_rewrite'::regclass, w.oid, 0, r.oid, r.object || ', rule ' || quote_ident(w.rulename), pg_get_ruledef(w.oid)
      || case w.ev_enabled when 'O' then '' when 'D' then ' disabled' when 'A' then ' always' else ' of replicas' end, null, null, null
  from relation r join pg_rewrite w on w.ev_class = r.oid where w.rulename <> '_RETURN'
  union all
  select 'pg_policy'::regclass, p.oid, 0, r.oid, r.object || ', policy ' || quote_ident(p.polname), concat_ws(' ',
    case when not p.polpermissive then 'restrictive' end,
    'for ' || case p.polcmd when 'r' then 'select' when 'a' then 'insert' when 'w' then 'update' when 'd' then 'delete' else 'all' end,
    'to ' || (
      select string_agg(case o.role when 0 then 'public' else pg_get_userbyid(o.role) end, ', ' order by o.role = 0, pg_get_userbyid(o.role))
      from unnest(p.polroles) o (role)),
    'using (' || pg_get_expr(p.polqual, p.polrelid) || ')', 'with check (' || pg_get_expr(p.polwithcheck, p.polrelid) || ')'), null, null, null
  from relation r join pg_policy p on p.polrelid = r.oid
  union all
  select 'pg_statistic_ext'::regclass, s.oid, 0, s.stxrelid, format('statistics %I.%I', n.nspname, s.stxname),
    pg_get_statisticsobjdef(s.oid) || coalesce(' statistics ' || nullif(s.stxstattarget, -1), ''), s.stxowner, null, null
  from pg_statistic_ext s join pg_namespace n on n.oid = s.stxnamespace where s.stxnamespace = describe_relations.namespace
$body$;
comment on function deploy.describe_relations(oid) is 'Tables, views and sequences of a schema, and what is on them';

create or replace function deploy.privileges(privileges aclitem[], kind "char", owner oid) returns text
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

create function deploy.edition() returns integer
language sql stable
set search_path = pg_catalog, pg_temp
as $body$
  select 2000 + current_setting('server_version_num')::integer / 10000
$body$;
comment on function deploy.edition() is
  'In which words things are described: in thousands those of this extension, and PostgreSQL''s major version. What was noted in others is not compared'
;

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

create or replace function deploy.is_drifted(object deploy.object, now text) returns boolean
language sql immutable
set search_path = pg_catalog, pg_temp
as $body$
  select coalesce((object).definition is not null and not (object).is_stale and (now is null or now <> (object).definition
    and ((object).type in ('route', 'page', 'handler', 'guard', 'error pages', 'files', 'job', 'schedule') or split_part(now, ':', 1) = split_part((object).definition, ':', 1))), false)
$body$;
comment on function deploy.is_drifted(deploy.object, text) is
  'Whether an object is not as it was noted; in other words the same may be told otherwise, so that nothing is compared';

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

drop function deploy.note_drift(text);
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

create or replace function deploy.drifted(application text) returns table (path text, object text, change text)
language sql stable
set search_path = pg_catalog, pg_temp
as $body$
  select d.path, d.object, d.change from deploy.differences(drifted.application) d where d.is_told order by 1, 2
$body$;
comment on function deploy.drifted(text) is 'What deploy.drift() returns';

revoke all on function
  deploy.describe_relations(oid), deploy.differences(text), deploy.note_drift(text), deploy.describe_types(oid), deploy.describe_functions(oid), deploy.describe_others(oid), deploy.describe(text),
  deploy.edition(), deploy.described(text), deploy.note_shape(text, boolean)
from public;

create or replace function http.registration_path() returns text
language c stable
as 'MODULE_PATHNAME', 'howdah_registration_path';

create or replace view deploy.registered as
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


create or replace function deploy.unregister(type text, names text[], with_jobs boolean) returns void
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

create or replace function deploy.unregister_all(application text) returns void
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

create or replace function deploy.create_application(
  name text, schema_name text default null, owner text default null, handlers boolean default false)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $body$
declare
  schema_of text := coalesce(create_application.schema_name, create_application.name);
  owner_of text := coalesce(create_application.owner, create_application.name || '_owner');
begin
  if octet_length(owner_of) > 63 or octet_length(schema_of) > 63 then
    raise 'a name is longer than 63 bytes' using errcode = 'name_too_long', hint = 'Name the schema and the owner in howdah.toml.';
  end if;
  if exists (select from deploy.application a where a.owner = to_regrole(quote_ident(owner_of))) then
    raise 'role % owns another application', owner_of
    using errcode = 'invalid_parameter_value', hint = 'Name another owner: whoever deploys the one would deploy the other.';
  end if;
  if to_regrole(quote_ident(owner_of)) is null then
    execute format('create role %I nologin noinherit', owner_of);
  end if;
  if current_setting('server_version_num')::integer < 160000 and (select rolinherit from pg_roles where rolname = owner_of) then
    raise 'role % inherits, and would have all rights of howdah_web', owner_of
    using errcode = 'invalid_parameter_value', hint = format('alter role %I noinherit', owner_of);
  end if;
  if (select rolcreaterole or rolcreatedb or rolreplication or rolbypassrls from pg_roles where rolname = owner_of) or exists (
    select from pg_auth_members m join pg_roles r on r.oid = m.member
    where r.rolname = owner_of and m.roleid <> 'howdah_web'::regrole) then
    raise 'role % may do more than own an application', owner_of
    using errcode = 'invalid_parameter_value',
      hint = 'Files run as the owner. Name a role without attributes that is no member of others, or leave it to be made.';
  end if;
  if (select rolsuper or rolcanlogin from pg_roles where rolname = owner_of) then
    raise 'role % cannot own an application', owner_of
    using errcode = 'invalid_parameter_value', hint = 'The owner is a role without LOGIN that is no superuser. Name another, or leave it to be made.';
  end if;
  -- What everybody looks things up in, and what a role of that name does, would be the application's to say.
  if schema_of in ('http', 'queue', 'deploy', 'job', 'information_schema', 'public') or starts_with(schema_of, 'pg_')
    or starts_with(schema_of, 'howdah_') or to_regrole(quote_ident(schema_of)) is not null then
    raise 'schema % is no application''s', schema_of
    using errcode = 'invalid_parameter_value', hint = 'Name another, that no role has. What is in public can be moved: alter table … set schema.';
  end if;
  if starts_with(owner_of, 'pg_') or starts_with(owner_of, 'howdah_') then
    raise 'role % cannot own an application', owner_of using errcode = 'invalid_parameter_value', hint = 'Name another owner.';
  end if;
  if exists (select from deploy.application a where a.schema_name = schema_of) then
    raise 'schema % is another application''s', schema_of using errcode = 'invalid_parameter_value', hint = 'Name another.';
  end if;
  if to_regnamespace(quote_ident(schema_of)) is null then
    execute format('create schema %I authorization %I', schema_of, owner_of);
  elsif (select nspowner from pg_namespace where nspname = schema_of) <> to_regrole(quote_ident(owner_of)) then
    raise 'schema % is not %''s', schema_of, owner_of
    using errcode = 'invalid_parameter_value', hint = format('alter schema %I owner to %I, or name another schema', schema_of, owner_of);
  end if;
  execute format('grant usage on schema %I to howdah_web', schema_of);
  -- The owner may have requests run as howdah_web. What that may do with other applications' tables is not the owner's.
  execute format('grant howdah_web to %I%s', owner_of,
    case when current_setting('server_version_num')::integer >= 160000 then ' with inherit false, set true' end);
  execute format(
    'grant execute on function http.route(text, text, text, text, text), http.unroute(text, text), http.validate(text, text, boolean),
     http.page(text, text, text, text, text), http.unpage(text, text), http.cross_site(text, text, boolean), http.uncompressed(text, text, boolean), http.compressed_body(text, text, boolean), http.form(text, text, text), http.guard(text, text, text, text), http.unguard(text), http.error_pages(text), http.files(text, text, text), http.cache(text, text, text[], integer, interval), http.cache_clear(text), http.registration_path(),
     http.call(text, text, http.header[], bytea, text),
     job.define(text, text, text, integer, interval, interval, interval, integer, double precision, text, integer, text, interval, interval, text),
     job.schedule(text, text, text, jsonb, interval, timestamptz, text, text, interval, integer, boolean, text) to %I', owner_of);
  if handlers then
    execute format('grant execute on function http.handle(text, text, integer, text, text), http.unhandle(text) to %I', owner_of);
  end if;
  -- Not a sequence: what is planned is undone, and a sequence is not.
  lock table deploy.application in share row exclusive mode;
  insert into deploy.application (id, name, schema_name, owner)
  select coalesce(max(a.id), 0) + 1, create_application.name, schema_of, to_regrole(quote_ident(owner_of))
  from deploy.application a;
end
$body$;

create or replace function deploy.address(
  type text, names text[], arguments text[], out classid oid, out objid oid, out objsubid integer)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $body$
begin
  if address.type not in ('route', 'page', 'handler', 'guard', 'error pages', 'files', 'job', 'schedule') then
    select a.classid, a.objid, a.objsubid into classid, objid, objsubid
    from pg_get_object_address(address.type, address.names, address.arguments) a;
  end if;
exception
  when others then null;
end
$body$;

create or replace function deploy.registration(type text, names text[]) returns text
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

create or replace function deploy.label(object deploy.object) returns text
language sql immutable
set search_path = pg_catalog, pg_temp
as $body$
  select (object).type || ' ' || array_to_string((object).names, case when (object).type in ('route', 'page', 'handler', 'guard', 'error pages', 'files', 'job', 'schedule') then ' ' else '.' end)
    || case when (object).type in ('function', 'procedure', 'aggregate') then '(' || array_to_string((object).arguments, ',') || ')' else '' end
$body$;

create or replace function deploy.adopt(application text, files json, objects json) returns void
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

drop function deploy.unready_routes(text);
create function deploy.unready_routes(owner text) returns table (type text, names text[], error text, detail text, hint text)
language c volatile strict
as 'MODULE_PATHNAME', 'deploy_unready_routes';
comment on function deploy.unready_routes(text) is 'Routes to a role''s functions, pages and guards, that cannot be served as things are';
revoke all on function deploy.unready_routes(text) from public;
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
comment on view deploy.requested is 'How often routes, pages and query handlers were asked, and have failed';
comment on column http.stats.kind is 'route, page or handler';

-- HTML of values. The type of an argument, as its expression has it, says whether it is HTML.

create function http.html_of(variadic pieces "any") returns http.html
language c stable parallel safe
as 'MODULE_PATHNAME', 'howdah_html_of';
comment on function http.html_of("any") is
  'Its arguments one after the other: HTML as it is, all else as text that is escaped, null as nothing. Pages are made of it'
;
create function http.text_of(variadic pieces "any") returns text
language c stable parallel safe
as 'MODULE_PATHNAME', 'howdah_text_of';
comment on function http.text_of("any") is 'Its arguments one after the other as text, null as nothing: the same for what is no HTML';
create function http.attribute(value "any") returns http.html
language c stable parallel safe
as 'MODULE_PATHNAME', 'howdah_attribute';
comment on function http.attribute("any") is 'A value for an attribute between quotes: HTML is escaped there, too';
create function http.format(template http.html, variadic pieces "any") returns http.html
language c stable parallel safe
as 'MODULE_PATHNAME', 'howdah_format';
comment on function http.format(http.html, "any") is
  'HTML with values in the places %s, or %1$s, as format() has them: escaped, unless they are HTML'
;
create function http.raw(value text) returns http.html
language sql immutable strict parallel safe
return value::http.html;
comment on function http.raw(text) is 'A text that is HTML: it is not escaped. Never one that a client has sent';
create function http.safe_url(value text) returns text
language c immutable strict parallel safe
as 'MODULE_PATHNAME', 'howdah_safe_url';
comment on function http.safe_url(text) is
  'A URL that browsers do not run: of http, https, mailto or tel, or without a scheme; about:invalid for all else'
;
create function http.script_json(value json) returns http.html
language c immutable parallel safe
as 'MODULE_PATHNAME', 'howdah_script_json';
comment on function http.script_json(json) is 'JSON for a <script type="application/json">: nothing in it ends the script';
create function http.url(pattern text) returns text
language c stable parallel safe
as 'MODULE_PATHNAME', 'howdah_url';
comment on function http.url(text) is 'The URL of a route without parameters';
create function http.url(pattern text, variadic arguments "any") returns text
language c stable parallel safe
as 'MODULE_PATHNAME', 'howdah_url';
comment on function http.url(text, "any") is
  'The URL of a route: values for the parameters of its pattern, then names and values of the query, of which those that are null are left out'
;
create function http.url_with(variadic pairs "any") returns text
language c stable parallel restricted
as 'MODULE_PATHNAME', 'howdah_url_with';
comment on function http.url_with("any") is
  'The query of the request that runs with changes, as a URL of the same path: names and values, null takes one out'
;

create or replace function http.html_concat(one http.html, other http.html) returns http.html
language c immutable strict parallel safe
as 'MODULE_PATHNAME', 'howdah_html_concat';
create or replace function http.html_agg_add(state internal, part http.html, delimiter http.html) returns internal
language c immutable parallel safe
as 'MODULE_PATHNAME', 'howdah_html_agg_add';
create or replace function http.html_agg_end(state internal) returns http.html
language c immutable parallel safe
as 'MODULE_PATHNAME', 'howdah_html_agg_end';

create function http.html_agg_put(state internal, part http.html) returns internal
language c immutable parallel safe
as 'MODULE_PATHNAME', 'howdah_html_agg_put';
comment on function http.html_agg_put(internal, http.html) is 'Adds a part to what http.html_agg() makes';
create aggregate http.html_agg(part http.html) (
  sfunc = http.html_agg_put, stype = internal, finalfunc = http.html_agg_end, parallel = safe);
comment on aggregate http.html_agg(http.html) is 'The parts of all rows, one after the other';

create function http.single_put(state internal, part http.html, place text) returns internal
language c immutable parallel safe
as 'MODULE_PATHNAME', 'howdah_single_put';
comment on function http.single_put(internal, http.html, text) is 'Takes the row of http.single()';
create function http.single_put(state internal, part text, place text) returns internal
language c immutable parallel safe
as 'MODULE_PATHNAME', 'howdah_single_put';
comment on function http.single_put(internal, text, text) is 'Takes the row of http.single()';
create function http.single_end(state internal, part http.html, place text) returns http.html
language c immutable parallel safe
as 'MODULE_PATHNAME', 'howdah_single_end';
comment on function http.single_end(internal, http.html, text) is 'Ends what http.single() makes';
create function http.single_end(state internal, part text, place text) returns text
language c immutable parallel safe
as 'MODULE_PATHNAME', 'howdah_single_end';
comment on function http.single_end(internal, text, text) is 'Ends what http.single() makes';
create aggregate http.single(part http.html, place text) (
  sfunc = http.single_put, stype = internal, finalfunc = http.single_end, finalfunc_extra, parallel = safe);
comment on aggregate http.single(http.html, text) is 'The part of the only row; null without a row, an error that names the place with two';
create aggregate http.single(part text, place text) (
  sfunc = http.single_put, stype = internal, finalfunc = http.single_end, finalfunc_extra, parallel = safe);
comment on aggregate http.single(text, text) is 'The text of the only row; null without a row, an error that names the place with two';

comment on function deploy.registration(text, text[]) is 'What a route, a page, a query handler, a guard, a kind of jobs or a schedule is now; null if it is gone';

create function deploy.note_page(path text, content text) returns void
language c volatile strict
as 'MODULE_PATHNAME', 'deploy_note_page_wrapper';
comment on function deploy.note_page(text, text) is 'Takes a page of the deployment as it is, so that others which call it are compiled with it';

create table http.static_content (
  application text not null references deploy.application on delete cascade,
  digest text not null,
  bytes bytea not null,
  brotli bytea,
  zstd bytea,
  gzip bytea,
  is_packed boolean not null,
  sent_at timestamptz not null,
  primary key (application, digest));
comment on table http.static_content is 'Bytes of files, as clients get them';
comment on column http.static_content.digest is 'SHA-256 of the bytes, in hexadecimal digits';
comment on column http.static_content.brotli is 'The bytes by this content coding, where that makes them fewer';
comment on column http.static_content.zstd is 'The bytes by this content coding, where that makes them fewer';
comment on column http.static_content.gzip is 'The bytes by this content coding, where that makes them fewer';
comment on column http.static_content.is_packed is 'Whether it was tried to make them fewer';
comment on column http.static_content.sent_at is 'When they were sent: what no deployment has used since is thrown away';
-- They are packed, or cannot be; and a part of them is read without the rest.
alter table http.static_content
  alter column bytes set storage external, alter column brotli set storage external, alter column zstd set storage external,
  alter column gzip set storage external;

create table http.static_file (
  application text not null references deploy.application on delete cascade,
  name text not null,
  digest text not null,
  size bigint not null,
  is_fixed boolean not null,
  since timestamptz not null,
  until timestamptz,
  primary key (application, name, digest));
comment on table http.static_file is 'Which bytes the name of a file has, and had until a month ago';
comment on column http.static_file.name is 'The path in static/';
comment on column http.static_file.is_fixed is 'Whether the name says what is in the file: it never has other bytes';
comment on column http.static_file.since is 'Since when the name has them';
comment on column http.static_file.until is 'When it got others, or went; null if it has them now';

create table http.static_tree (
  application text not null primary key references deploy.application on delete cascade,
  version bigint not null);
comment on table http.static_tree is 'How often the files of an application have become others: gateways read them again then';

create trigger changed after insert or update or delete or truncate on http.static_tree
for each statement execute function http.configuration_changed();
alter table http.static_tree enable always trigger changed;

select pg_catalog.pg_extension_config_dump('http.static_content', '');
select pg_catalog.pg_extension_config_dump('http.static_file', '');
select pg_catalog.pg_extension_config_dump('http.static_tree', '');

create function deploy.missing_files(application text, digests text[], packed boolean) returns text[]
language c stable strict
as 'MODULE_PATHNAME', 'deploy_missing_files_wrapper';
comment on function deploy.missing_files(text, text[], boolean) is
  'Those of the digests of which an application has no bytes yet, or only plain ones where packed ones are wanted'
;

create function deploy.send_file(application text, digest text, bytes bytea, packed boolean, brotli bytea, zstd bytea, gzip bytea) returns void
language c volatile
as 'MODULE_PATHNAME', 'deploy_send_file_wrapper';
comment on function deploy.send_file(text, text, bytea, boolean, bytea, bytea, bytea) is
  'Keeps bytes of an application''s, plain and by content codings, for a deployment that comes'
;

create function deploy.set_files(content text) returns json
language c volatile
as 'MODULE_PATHNAME', 'deploy_set_files_wrapper';
comment on function deploy.set_files(text) is
  'Gives the files of the deployment their bytes, by a text with a line for each: digest, length, name. Null is none'
;

create function deploy.put_files(
  application text, names text[], digests text[], sizes bigint[], fixed boolean[], out added bigint, out changed bigint, out gone bigint)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $body$
#variable_conflict use_column
declare
  taken text[];
begin
  with others as (
    update http.static_file f set until = now()
    where f.application = put_files.application and f.until is null
      and (f.name, f.digest) not in (select w.name, w.digest from unnest(names, digests) w (name, digest))
    returning f.name)
  select coalesce(array_agg(o.name), '{}') into taken from others o;
  with put as (
    insert into http.static_file as f (application, name, digest, size, is_fixed, since)
    select put_files.application, w.name, w.digest, w.size, w.is_fixed, now()
    from unnest(names, digests, sizes, fixed) w (name, digest, size, is_fixed)
    on conflict (application, name, digest) do update set since = excluded.since, until = null, is_fixed = excluded.is_fixed
    where f.until is not null or f.is_fixed <> excluded.is_fixed
    returning f.name)
  select count(*) filter (where p.name <> all (taken)), count(*) filter (where p.name = any (taken)) into added, changed from put p;
  gone := cardinality(taken) - changed;
  delete from http.static_file f where f.application = put_files.application and f.until < now() - interval '30 days';
  if found or added + changed + gone > 0 then
    insert into http.static_tree as t (application, version) values (put_files.application, 1)
    on conflict (application) do update set version = t.version + 1;
  end if;
  -- What was sent just now may be of a deployment that has yet to begin.
  delete from http.static_content c
  where c.application = put_files.application and c.sent_at < now() - interval '1 day'
    and not exists (select from http.static_file f where f.application = c.application and f.digest = c.digest);
end
$body$;
comment on function deploy.put_files(text, text[], text[], bigint[], boolean[]) is
  'Gives names their bytes; those of before answer by hashed names for 30 days'
;

create function deploy.default_files(application text, owner text) returns table (prefix text, other text)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $body$
#variable_conflict use_column
declare
  wanted text[] := '{}';
  folder_of jsonb := '{"/static": "", "/": "root"}';
begin
  if not exists (select from http.file_prefix p where p.owner = default_files.owner and not p.is_default) then
    wanted := array(
      select w.prefix from jsonb_each_text(folder_of) w (prefix, folder)
      where exists (
        select from http.static_file f
        where f.application = default_files.application and f.until is null and (w.folder = '' or starts_with(f.name, w.folder || '/'))));
  end if;
  delete from http.file_prefix p where p.owner = default_files.owner and p.is_default and p.prefix <> all (wanted);
  return query
  select p.prefix, p.owner from http.file_prefix p where p.prefix = any (wanted) and p.owner <> default_files.owner;
  insert into http.file_prefix (prefix, owner, folder, is_default)
  select w.prefix, default_files.owner, folder_of ->> w.prefix, true from unnest(wanted) w (prefix)
  where not exists (select from http.file_prefix p where p.prefix = w.prefix);
end
$body$;
comment on function deploy.default_files(text, text) is
  'Lets files answer at /static, and those of static/root at /, where an application says of none where they do. Paths that are another''s are returned'
;

create function deploy.lacking_files(application text, digests text[], packed boolean) returns setof text
language sql stable
set search_path = pg_catalog, pg_temp
as $body$
  select d.digest from unnest(lacking_files.digests) d (digest)
  where not exists (
    select from http.static_content c
    where c.application = lacking_files.application and c.digest = d.digest and c.is_packed >= lacking_files.packed)
$body$;
comment on function deploy.lacking_files(text, text[], boolean) is 'What deploy.missing_files() returns';

create function deploy.keep_bytes(application text, digest text, bytes bytea, packed boolean, brotli bytea, zstd bytea, gzip bytea) returns void
language sql volatile
set search_path = pg_catalog, pg_temp
as $body$
  insert into http.static_content as c (application, digest, bytes, is_packed, brotli, zstd, gzip, sent_at)
  values ($1, $2, $3, $4, $5, $6, $7, now())
  on conflict (application, digest) do update
  set is_packed = true, brotli = excluded.brotli, zstd = excluded.zstd, gzip = excluded.gzip, sent_at = excluded.sent_at
  where excluded.is_packed
$body$;
comment on function deploy.keep_bytes(text, text, bytea, boolean, bytea, bytea, bytea) is 'Keeps bytes of an application, which have been checked';

create function deploy.unsent_file(application text, names text[], digests text[], sizes bigint[]) returns text
language sql stable
set search_path = pg_catalog, pg_temp
as $body$
  select w.name from unnest(unsent_file.names, unsent_file.digests, unsent_file.sizes) w (name, digest, size)
  where not exists (
    select from http.static_content c
    where c.application = unsent_file.application and c.digest = w.digest and octet_length(c.bytes) = w.size)
  order by 1 limit 1
$body$;
comment on function deploy.unsent_file(text, text[], text[], bigint[]) is 'A name whose bytes are not there, or are others; null if there is none';

create function deploy.changed_fixed_file(application text, names text[], digests text[], fixed boolean[]) returns text
language sql stable
set search_path = pg_catalog, pg_temp
as $body$
  select w.name from unnest(changed_fixed_file.names, changed_fixed_file.digests, changed_fixed_file.fixed) w (name, digest, is_fixed)
  join http.static_file f on f.application = changed_fixed_file.application and f.name = w.name and f.digest <> w.digest
  where w.is_fixed and f.is_fixed
  order by 1 limit 1
$body$;
comment on function deploy.changed_fixed_file(text, text[], text[], boolean[]) is
  'A name that never has other bytes, and is to have others than it had; null if there is none'
;

create function deploy.file_names(application text) returns setof text
language sql stable
set search_path = pg_catalog, pg_temp
as $body$
  select f.name from http.static_file f where f.application = file_names.application and f.until is null
$body$;
comment on function deploy.file_names(text) is 'The names of the files of an application';

create function deploy.misplaced_files(application text, owner text) returns table (prefix text, name text)
language sql stable
set search_path = pg_catalog, pg_temp
as $body$
  select p.prefix, w.name
  from http.file_prefix p
  cross join lateral (
    values (p.folder || '/', true), (concat_ws('/', nullif(p.folder, ''), p.fallback), false)) w (name, is_folder)
  where p.owner = misplaced_files.owner and w.name <> '/' and (w.is_folder or p.fallback is not null) and not exists (
    select from http.static_file f
    where f.application = misplaced_files.application and f.until is null
      and case when w.is_folder then starts_with(f.name, w.name) else f.name = w.name end)
  order by 1, 2
$body$;
comment on function deploy.misplaced_files(text, text) is 'Places of files, each with a folder or a file that is not there';

revoke all on function
  deploy.put_files(text, text[], text[], bigint[], boolean[]), deploy.changed_fixed_file(text, text[], text[], boolean[]), deploy.default_files(text, text), deploy.lacking_files(text, text[], boolean),
  deploy.keep_bytes(text, text, bytea, boolean, bytea, bytea, bytea), deploy.unsent_file(text, text[], text[], bigint[]), deploy.file_names(text),
  deploy.misplaced_files(text, text)
from public;
grant select on http.static_file, http.static_tree to howdah_admin;

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

create table http.cookie_key (
  is_there boolean primary key default true check (is_there),
  key bytea not null check (length(key) >= 32));
comment on table http.cookie_key is
  'What cookies are signed by. It is in no dump: whoever has a copy of the data signs in nowhere else';

create trigger changed after insert or update or delete or truncate on http.cookie_key
for each statement execute function http.configuration_changed();
alter table http.cookie_key enable always trigger changed;

create function http.renew_cookie_key() returns void
language sql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
begin atomic
  insert into http.cookie_key (key)
  values (pg_catalog.sha256(pg_catalog.convert_to(
    pg_catalog.concat(pg_catalog.gen_random_uuid(), pg_catalog.gen_random_uuid(), pg_catalog.gen_random_uuid()), 'UTF8')))
  on conflict (is_there) do update set key = excluded.key;
end;
comment on function http.renew_cookie_key() is
  'Makes a new key for signed cookies: those that were signed before count no more';
revoke all on function http.renew_cookie_key() from public;

select http.renew_cookie_key();

create function http.signed_text(name text, value text, max_age integer) returns text
language c stable parallel restricted
as 'MODULE_PATHNAME', 'howdah_signed_text';
comment on function http.signed_text(text, text, integer) is 'The value of a signed cookie; see http.set_signed_cookie()';

create function http.set_signed_cookie(
  name text, value text, path text default '/', domain text default null, max_age integer default null,
  secure boolean default null, http_only boolean default true, same_site text default 'Lax')
returns http.header
language sql stable parallel restricted
return http.set_cookie(
  name, http.signed_text(name, value, max_age), path, domain, max_age, secure, http_only, same_site);
comment on function http.set_signed_cookie(text, text, text, text, integer, boolean, boolean, text) is
  'A Set-Cookie header whose value http.signed_cookie() reads: nobody else can make one, or change it. It counts for max_age, whatever the browser does';

create function http.signed_cookie(name text) returns text
language c stable strict parallel restricted
as 'MODULE_PATHNAME', 'howdah_signed_cookie';
comment on function http.signed_cookie(text) is
  'The value of a cookie of the current request that http.set_signed_cookie() has set; null if it was not, or counts no more';

create function http.flash_text(message text, kind text, secure boolean) returns text
language c immutable parallel safe
as 'MODULE_PATHNAME', 'howdah_flash_text';
comment on function http.flash_text(text, text, boolean) is 'The value of a Set-Cookie header; see http.flash()';

create function http.flash(message text, kind text default 'notice') returns http.header
language sql stable parallel restricted
return case when message is not null then
  row('set-cookie', http.flash_text(message, kind, coalesce(http.is_https(), false)))::http.header
end;
comment on function http.flash(text, text) is
  'A header of a redirect: the page that it leads to shows a message, once. Null without a message';

create function http.flash_message() returns text
language c stable parallel restricted
as 'MODULE_PATHNAME', 'howdah_flash_message';
comment on function http.flash_message() is
  'The message of http.flash() for the page that runs; null if there is none. The page that shows it is the last to have it';

create function http.flash_kind() returns text
language c stable parallel restricted
as 'MODULE_PATHNAME', 'howdah_flash_kind';
comment on function http.flash_kind() is 'The kind of the message of http.flash_message()';
