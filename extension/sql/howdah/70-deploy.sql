-- Applications: what is deployed, when, by whom, and what each file has made.

create schema deploy;
comment on schema deploy is 'Applications, and their deployments';

create table deploy.application (
  id integer not null unique,
  name text not null primary key check (name operator(pg_catalog.~) '^[a-z][a-z0-9_-]{0,62}$'),
  schema_name text not null unique,
  owner regrole not null);
comment on table deploy.application is 'Applications; made by deploy.create_application()';
comment on column deploy.application.id is 'Its number, by which it is locked while it is deployed';
comment on column deploy.application.schema_name is 'The schema of its objects';
comment on column deploy.application.owner is 'The role that its files run as, and that owns its objects';

create table deploy.deployment (
  application text not null references deploy.application on delete cascade,
  number integer not null,
  kind text not null check (kind operator(pg_catalog.=) any (array['deploy', 'rollback'])),
  deployed_at timestamptz not null,
  deployed_by text not null,
  source text,
  note text,
  key text not null,
  fingerprint text not null,
  primary key (application, number));
comment on table deploy.deployment is 'Deployments of applications';
comment on column deploy.deployment.source is 'The commit that the folder was of';
comment on column deploy.deployment.key is 'What the client has chosen for it, to ask later whether it was committed';
comment on column deploy.deployment.fingerprint is 'SHA-256 of its paths and digests: two of the same files have the same';

create table deploy.content (
  application text not null references deploy.application on delete cascade,
  digest text not null,
  content text not null,
  primary key (application, digest));
comment on table deploy.content is 'Texts of files';
comment on column deploy.content.digest is 'SHA-256 of the text, in hexadecimal digits';

create table deploy.file (
  application text not null,
  number integer not null,
  path text not null,
  digest text not null,
  primary key (application, number, path),
  foreign key (application, number) references deploy.deployment on delete cascade);
comment on table deploy.file is 'The files of each deployment';

create table deploy.migration (
  application text not null references deploy.application on delete cascade,
  path text not null,
  digest text not null,
  number integer not null,
  primary key (application, path));
comment on table deploy.migration is 'Migrations that have run, with the deployment that ran them';

create table deploy.step (
  application text not null references deploy.application on delete cascade,
  path text not null,
  digest text not null,
  number integer,
  begun_at timestamptz,
  begun_by text,
  last_key text,
  keys bigint not null default 0,
  has_ended boolean not null default false,
  primary key (application, path));
comment on table deploy.step is 'Migrations that are no part of a transaction and are not done';
comment on column deploy.step.number is 'The deployment after which it runs; null if it runs before one';
comment on column deploy.step.last_key is 'The last key of the last batch';
comment on column deploy.step.keys is 'How many keys batches have had';
comment on column deploy.step.has_ended is 'Whether no key was left for a batch';

create table deploy.object (
  application text not null references deploy.application on delete cascade,
  path text not null,
  type text not null,
  names text[] not null,
  arguments text[] not null,
  is_stale boolean not null default false,
  is_drifted boolean not null default false,
  definition text,
  primary key (application, path, type, names, arguments));
create index object_by_name on deploy.object (application, type, names);
comment on table deploy.object is 'What each file has made, as pg_identify_object_as_address names it; of a route method and pattern, of a handler its name';
comment on column deploy.object.is_stale is 'Whether its file made it before and has not since; during a deployment';
comment on column deploy.object.is_drifted is 'Whether it was changed by hand since its file ran; during a deployment';
comment on column deploy.object.definition is
  'What it was when it was deployed: deploy.edition() and an MD5 of its description';

create table deploy.given (
  application text not null references deploy.application on delete cascade,
  path text not null,
  object text not null,
  part text not null,
  grantee text not null,
  privilege text not null,
  is_grantable boolean not null,
  is_taken boolean not null,
  primary key (application, path, object, part, grantee, privilege, is_taken));
comment on table deploy.given is 'Rights that each file has given, or taken from those that PostgreSQL gives; as GRANT names them';
comment on column deploy.given.part is 'The column; empty if it is the right to the whole object';
comment on column deploy.given.is_taken is 'Whether the file has taken it away';

create table deploy.shape (
  application text not null references deploy.application on delete cascade,
  object text not null,
  definition text,
  seen text,
  version integer not null,
  primary key (application, object));
comment on table deploy.shape is 'What there was of an application when it was last deployed, but what its files of code have made';
comment on column deploy.shape.definition is 'What it was; null if there was no such thing';
comment on column deploy.shape.seen is 'What it had become by hand before a deployment; during one';
comment on column deploy.shape.version is 'In which words: deploy.edition()';

create trigger changed after insert or update or delete or truncate on deploy.application
for each statement execute function http.configuration_changed();
alter table deploy.application enable always trigger changed;

select pg_catalog.pg_extension_config_dump('deploy.application', '');
select pg_catalog.pg_extension_config_dump('deploy.deployment', '');
select pg_catalog.pg_extension_config_dump('deploy.content', '');
select pg_catalog.pg_extension_config_dump('deploy.file', '');
select pg_catalog.pg_extension_config_dump('deploy.migration', '');
select pg_catalog.pg_extension_config_dump('deploy.step', '');
select pg_catalog.pg_extension_config_dump('deploy.object', '');
select pg_catalog.pg_extension_config_dump('deploy.given', '');
select pg_catalog.pg_extension_config_dump('deploy.shape', '');

-- Whoever calls it makes roles, and grants. So nobody may but a superuser.
create function deploy.create_application(
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
comment on function deploy.create_application(text, text, text, boolean) is
  'Makes an application: its schema, and the role without LOGIN that owns it. Whoever is to deploy it gets that role granted. With handlers it may answer whatever no route does';

create function deploy.drop_application(name text) returns void
language sql volatile
set search_path = pg_catalog, pg_temp
as $body$
  delete from deploy.application a where a.name = drop_application.name
$body$;
comment on function deploy.drop_application(text) is 'Forgets an application and its deployments. Its schema, role and routes stay';

create function deploy.address(
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
comment on function deploy.address(text, text[], text[]) is 'Where an object is in the catalogs; null if it is gone';

create function deploy.drift(application text) returns table (path text, object text, change text)
language c stable strict
as 'MODULE_PATHNAME', 'deploy_drift_wrapper';
comment on function deploy.drift(text) is 'What was changed by hand since an application was deployed; in a deployment of it as it was when that began';

create function deploy.state(application text) returns json
language c stable strict
as 'MODULE_PATHNAME', 'deploy_state_wrapper';
comment on function deploy.state(text) is 'An application, its last deployment, its files and migrations; null if there is no such application';

create function deploy.start(
  application text, files json, kind text default 'deploy', source text default null, note text default null, key text default '')
returns integer
language c volatile
as 'MODULE_PATHNAME', 'deploy_start_wrapper';
comment on function deploy.start(text, json, text, text, text, text) is
  'Begins a deployment, which lasts until the transaction ends: its number. The files by path, each with its SHA-256';

create function deploy.plan() returns void
language c volatile
as 'MODULE_PATHNAME', 'deploy_plan_wrapper';
comment on function deploy.plan() is 'The deployment is only tried: it cannot be committed, and setval() is refused';

create function deploy.run(path text, content text, replace boolean default true) returns json
language c volatile strict
as 'MODULE_PATHNAME', 'deploy_run_wrapper';
comment on function deploy.run(text, text, boolean) is
  'Runs a file as the application''s owner, and notes what it has made. What fails leaves nothing, and is returned';

create function deploy.take_away(path text default null) returns json
language c volatile
as 'MODULE_PATHNAME', 'deploy_take_away_wrapper';
comment on function deploy.take_away(text) is
  'Drops what a file has made, with what other files of the application have made of it; without a path what files made before and have not since';

create function deploy.test(path text, content text) returns json
language c volatile strict
as 'MODULE_PATHNAME', 'deploy_test_wrapper';
comment on function deploy.test(text, text) is
  'Runs a file as the application''s owner and undoes it. A statement that fails, or returns false or no row, is returned';

create function deploy.note_test(path text, content text) returns void
language c volatile strict
as 'MODULE_PATHNAME', 'deploy_note_test_wrapper';
comment on function deploy.note_test(text, text) is 'Takes a test of the deployment as it is, without running it';

create function deploy.try_test(application text, content text, test_function text default null) returns json
language c volatile
as 'MODULE_PATHNAME', 'deploy_try_test_wrapper';
comment on function deploy.try_test(text, text, text) is
  'Runs a file as the application''s owner, or its statements and one of its functions, and undoes it, outside of deployments'
;

create function deploy.finish() returns json
language c volatile strict
as 'MODULE_PATHNAME', 'deploy_finish_wrapper';
comment on function deploy.finish() is 'Checks that all of a deployment''s files have run, and what was made. What is wrong is returned';

create function deploy.accept(application text, path text, content text) returns void
language c volatile strict
as 'MODULE_PATHNAME', 'deploy_accept_wrapper';
comment on function deploy.accept(text, text, text) is
  'Takes another text for a migration that has run, if its statements are the same';

create function deploy.history(application text)
returns table (number integer, kind text, deployed_at timestamptz, deployed_by text, source text, note text, files bigint,
  fingerprint text, key text)
language c stable strict
as 'MODULE_PATHNAME', 'deploy_history_wrapper';
comment on function deploy.history(text) is 'Deployments of an application, the last first';

create function deploy.counts(application text) returns table (route text, requests bigint, server_errors bigint)
language c stable strict
as 'MODULE_PATHNAME', 'deploy_counts_wrapper';
comment on function deploy.counts(text) is 'Requests to an application''s routes since the server was started, and those of them that it has failed at';

create function deploy.read_applications()
returns table (application text, schema_name text, owner text, number integer, kind text, deployed_at timestamptz, deployed_by text,
  source text, note text, routes bigint, changed_by_hand bigint)
language c stable strict
as 'MODULE_PATHNAME', 'deploy_read_applications_wrapper';
comment on function deploy.read_applications() is 'What the view deploy.applications shows';

create view deploy.applications with (security_barrier = true) as
select * from deploy.read_applications();
comment on view deploy.applications is 'Applications that the current user may deploy, with their last deployments';

create function deploy.files(application text, number integer) returns table (path text, digest text, content text)
language c stable strict
as 'MODULE_PATHNAME', 'deploy_files_wrapper';
comment on function deploy.files(text, integer) is 'The files of a deployment';

create function deploy.note() returns event_trigger
language c
as 'MODULE_PATHNAME', 'deploy_note';
comment on function deploy.note() is 'Notes what a file of a deployment makes';

-- The linter knows no event triggers.
create event trigger howdah_deploy_made on ddl_command_end -- noqa: PRS
execute function deploy.note();
comment on event trigger howdah_deploy_made is 'Notes what a file of a deployment makes';
alter event trigger howdah_deploy_made enable always;

create function deploy.note_rewrite() returns event_trigger
language c
as 'MODULE_PATHNAME', 'deploy_note_rewrite';
comment on function deploy.note_rewrite() is 'Notes which tables a file of a deployment has rewritten';

create event trigger howdah_deploy_rewritten on table_rewrite -- noqa: PRS
execute function deploy.note_rewrite();
comment on event trigger howdah_deploy_rewritten is 'Notes which tables a file of a deployment has rewritten';
alter event trigger howdah_deploy_rewritten enable always;

create function deploy.note_drop() returns event_trigger
language c
as 'MODULE_PATHNAME', 'deploy_note_drop';
comment on function deploy.note_drop() is 'Notes what a file of a deployment drops';

create event trigger howdah_deploy_dropped on sql_drop -- noqa: PRS
execute function deploy.note_drop();
comment on event trigger howdah_deploy_dropped is 'Notes what a file of a deployment drops';
alter event trigger howdah_deploy_dropped enable always;

revoke all on function
  deploy.create_application(text, text, text, boolean), deploy.drop_application(text), deploy.address(text, text[], text[]),
  deploy.note(), deploy.note_rewrite(), deploy.note_drop()
from public;
