-- What is served. Ordinary tables, so that pg_dump carries them. A change takes effect for all processes at
-- its commit: the triggers invalidate, as DML on an ordinary table does not.

create table http.route (
  method text not null,
  pattern text not null,
  function text not null,
  role regrole not null,
  search_path text not null,
  owner text,
  validates boolean not null default false,
  vary text[] not null default '{}',
  max_entries integer check (max_entries operator(pg_catalog.>) 0),
  max_age integer check (max_age operator(pg_catalog.>) 0),
  check (max_age is null or max_entries is not null),
  takes_other_sites boolean not null default false,
  is_page boolean not null default false,
  form_page text,
  uncompressed boolean not null default false,
  takes_compressed boolean not null default false,
  primary key (method, pattern, is_page));
comment on table http.route is 'Routes and pages; change them by http.route() and http.unroute(), http.page() and http.unpage()';
comment on column http.route.method is 'GET, POST and so on, in upper case, or * for all others';
comment on column http.route.pattern is 'Path with {name} for a segment and {*rest} for all that is left';
comment on column http.route.function is 'The function with its argument types';
comment on column http.route.role is 'The role that requests run as';
comment on column http.route.search_path is 'search_path at registration, in which names resolve';
comment on column http.route.owner is
  'Who owned the function at registration, by name; null is anybody. Another''s function of the same name does not answer';

comment on column http.route.vary is 'What answers that are kept depend on beside path and arguments';
comment on column http.route.max_entries is 'How many answers each gateway keeps; null if it keeps none';
comment on column http.route.takes_other_sites is
  'Whether pages of other sites may send it requests other than GET and HEAD';
comment on column http.route.is_page is
  'Whether it answers those alone who prefer HTML, where a route has the same method and pattern; without one it answers everybody';
comment on column http.route.form_page is
  'The path of the page that is shown again where a form is refused, with parameters of the pattern; null if it is no form''s';
comment on column http.route.uncompressed is 'Whether its answers are sent as they are to those, too, who would take them compressed';
comment on column http.route.takes_compressed is 'Whether bodies of requests for it are unpacked that a Content-Encoding names';
comment on column http.route.max_age is 'Seconds for which an answer is kept that depends on the time; null if it is not kept';

create table http.handler (
  name text not null primary key,
  statement text not null,
  priority integer not null,
  role regrole not null,
  search_path text not null,
  owner text);
comment on table http.handler is 'Query handlers; change them by http.handle() and http.unhandle()';
comment on column http.handler.statement is 'One statement over the relation request; its first row is the response';
comment on column http.handler.priority is 'Higher ones are asked first; those of one priority by name';
comment on column http.handler.role is 'The role that requests run as';
comment on column http.handler.search_path is 'search_path at registration, in which names resolve';
comment on column http.handler.owner is
  'Who registered it, if that is no member of howdah_admin: an application. Null is howdah_admin';

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

create table http.listener (
  port integer not null check (port between 1 and 65535),
  address text not null,
  tls boolean not null default false,
  redirect text check (redirect operator(pg_catalog.=) 'https'),
  check (redirect is null or not tls),
  client_certificates text not null default 'off' check (client_certificates operator(pg_catalog.=) any (array['off', 'ask', 'require'])),
  check (tls or client_certificates operator(pg_catalog.=) 'off'),
  primary key (port, address));
comment on table http.listener is 'Listeners; change them by http.listen() and http.unlisten()';
comment on column http.listener.address is
  'Host name, address, * or folder of UNIX sockets; empty for all that howdah.listen_addresses allows';

comment on column http.listener.tls is 'Whether it speaks TLS, by the certificates of howdah.tls_certificates; UNIX sockets never do';
comment on column http.listener.client_certificates is
  'Whether clients are asked for certificates that howdah.tls_client_authorities have signed, or have to have one';
comment on column http.listener.redirect is 'https if it only sends clients there';

create function http.configuration_changed() returns trigger
language c
as 'MODULE_PATHNAME', 'howdah_configuration_changed';
comment on function http.configuration_changed() is 'Tells the processes, at commit, that a table of http has changed';

create trigger changed after insert or update or delete or truncate on http.route
for each statement execute function http.configuration_changed();
alter table http.route enable always trigger changed;
create trigger changed after insert or update or delete or truncate on http.handler
for each statement execute function http.configuration_changed();
alter table http.handler enable always trigger changed;
create trigger changed after insert or update or delete or truncate on http.guarded
for each statement execute function http.configuration_changed();
alter table http.guarded enable always trigger changed;
create trigger changed after insert or update or delete or truncate on http.listener
for each statement execute function http.configuration_changed();
alter table http.listener enable always trigger changed;

select pg_catalog.pg_extension_config_dump('http.route', '');
select pg_catalog.pg_extension_config_dump('http.handler', '');
select pg_catalog.pg_extension_config_dump('http.guarded', '');
select pg_catalog.pg_extension_config_dump('http.listener', '');

-- What configures. These functions run as their caller, and only their rows are written as the extension's owner, so that nobody
-- else can write the tables: docs/rights.md, "Whose code runs as whom".

create function http.registration_path() returns text
language c stable
as 'MODULE_PATHNAME', 'howdah_registration_path';
comment on function http.registration_path() is 'The schemas of the search_path without those for what is temporary, and pg_temp last';

create function http.route(
  method text, pattern text, function text, role text default 'howdah_web',
  search_path text default http.registration_path())
returns void
language c volatile
as 'MODULE_PATHNAME', 'howdah_route';
comment on function http.route(text, text, text, text, text) is
  'Lets a function answer a method and a path pattern; the same method and pattern replaces';

create function http.unroute(method text, pattern text) returns boolean
language c volatile
as 'MODULE_PATHNAME', 'howdah_unroute';
comment on function http.unroute(text, text) is 'Removes a route; false if there is none';

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

create function http.validate(method text, pattern text, validates boolean default true) returns void
language c volatile
as 'MODULE_PATHNAME', 'howdah_validate';
comment on function http.validate(text, text, boolean) is
  'Gives the answers of a route to GET an entity tag: who has the same already gets 304';

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

create function http.cache(
  method text, pattern text, vary text[] default '{}', max_entries integer default 10000, max_age interval default null)
returns void
language c volatile
as 'MODULE_PATHNAME', 'howdah_cache';
comment on function http.cache(text, text, text[], integer, interval) is
  'Keeps the answers of a route to GET until a commit changes what they have read; no entries take it back';

create function http.cache_clear(pattern text default null) returns bigint
language c volatile
as 'MODULE_PATHNAME', 'howdah_cache_clear';
comment on function http.cache_clear(text) is
  'Forgets the answers that are kept of the routes with a pattern, or of all; how many routes these are';

create function http.handle(
  statement text, name text default 'default', priority integer default 0,
  role text default 'howdah_web', search_path text default http.registration_path())
returns void
language c volatile
as 'MODULE_PATHNAME', 'howdah_handle';
comment on function http.handle(text, text, integer, text, text) is
  'Lets a statement over the relation request answer what no route does; the same name replaces';

create function http.unhandle(name text default 'default') returns boolean
language c volatile
as 'MODULE_PATHNAME', 'howdah_unhandle';
comment on function http.unhandle(text) is 'Removes a query handler; false if there is none';

create function http.listen(
  port integer, address text default '', tls boolean default false, redirect text default null,
  client_certificates text default 'off')
returns void
language c volatile
as 'MODULE_PATHNAME', 'howdah_listen';
comment on function http.listen(integer, text, boolean, text, text) is
  'Listens on a port: on one address, or on all that howdah.listen_addresses allows; with tls for https://, with redirect ''https'' to send clients there';

create function http.unlisten(port integer, address text default null) returns boolean
language c volatile
as 'MODULE_PATHNAME', 'howdah_unlisten';
comment on function http.unlisten(integer, text) is
  'Stops listening on a port: on one address, or on all; requests that run are finished. False if nothing listened';

revoke all on function
  http.route(text, text, text, text, text), http.unroute(text, text), http.page(text, text, text, text, text), http.unpage(text, text),
  http.validate(text, text, boolean),
  http.cross_site(text, text, boolean), http.uncompressed(text, text, boolean), http.compressed_body(text, text, boolean),
  http.form(text, text, text), http.guard(text, text, text, text), http.unguard(text),
  http.cache(text, text, text[], integer, interval), http.cache_clear(text),
  http.handle(text, text, integer, text, text), http.unhandle(text),
  http.listen(integer, text, boolean, text, text), http.unlisten(integer, text),
  http.registration_path(), http.configuration_changed()
from public;
grant execute on function
  http.route(text, text, text, text, text), http.unroute(text, text), http.page(text, text, text, text, text), http.unpage(text, text),
  http.validate(text, text, boolean),
  http.cross_site(text, text, boolean), http.uncompressed(text, text, boolean), http.compressed_body(text, text, boolean),
  http.form(text, text, text), http.guard(text, text, text, text), http.unguard(text),
  http.cache(text, text, text[], integer, interval), http.cache_clear(text),
  http.handle(text, text, integer, text, text), http.unhandle(text),
  http.listen(integer, text, boolean, text, text), http.unlisten(integer, text), http.registration_path()
to howdah_admin;

create function http.read_ports()
returns table (port integer, address text, gateway integer, error text, wanted_by text[])
language c volatile strict
as 'MODULE_PATHNAME', 'read_ports_wrapper';
comment on function http.read_ports() is 'What the gateways of this database have bound, or could not';

create view http.listeners as
select l.port, l.address, l.tls, l.redirect, l.client_certificates, p.address as bound, p.gateway, p.error
from http.listener l left join http.read_ports() p on p.port = l.port and l.address = any (p.wanted_by);
comment on view http.listeners is
  'The listeners of this database, and what became of each of their addresses in each gateway';
comment on column http.listeners.bound is 'The address that a gateway has bound, or tries to';
comment on column http.listeners.gateway is 'Process id of the gateway; null if none serves the listener';
comment on column http.listeners.error is 'Why the gateway could not bind it; it tries again every second';
create function http.read_certificates()
returns table (
  gateway integer, kind text, file text, key_file text, names text[], issuer text, key text, not_before bigint,
  not_after bigint, is_default boolean, in_force boolean, problem text)
language c volatile strict
as 'MODULE_PATHNAME', 'read_certificates_wrapper';
comment on function http.read_certificates() is 'What the view http.certificates shows';
revoke all on function http.read_certificates() from public;
grant execute on function http.read_certificates() to howdah_admin;

create view http.certificates as
select
  gateway, kind, file, key_file, names, issuer, key, pg_catalog.to_timestamp(not_before) as not_before,
  pg_catalog.to_timestamp(not_after) as not_after, is_default, in_force, problem
from http.read_certificates();
comment on view http.certificates is 'The certificates that the gateways of this database know, and what is wrong with them';
comment on column http.certificates.gateway is 'Process id of the gateway';
comment on column http.certificates.kind is
  'certificate, authority or revocation list; setting for one that cannot be read';
comment on column http.certificates.file is 'The file of the certificate';
comment on column http.certificates.key_file is 'The file of its key, if that is another';
comment on column http.certificates.names is 'Hosts and addresses that it is for; of an authority its name';
comment on column http.certificates.issuer is 'Who has signed it';
comment on column http.certificates.key is 'What kind of key it has';
comment on column http.certificates.not_before is 'When it becomes valid';
comment on column http.certificates.not_after is 'When it ends; of a revocation list, when the next one is due';
comment on column http.certificates.is_default is 'Whether clients get it that ask for no name, or for another';
comment on column http.certificates.in_force is 'Whether connections may use it';
comment on column http.certificates.problem is 'What is wrong with it, or why its file is not in force';
revoke all on function http.read_ports() from public;
grant execute on function http.read_ports() to howdah_admin;
