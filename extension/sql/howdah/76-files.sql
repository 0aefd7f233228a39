-- Files of applications: their bytes by digest, and which name has which.

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
