-- Where the files of applications answer. The files themselves come with deployments.

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
