\echo Use "create extension howdah" to load this file. \quit

-- The schema of the http door, and the roles. Roles belong to the whole server: they are made if
-- missing and stay when the extension goes.

do $roles$
begin
  begin
    create role howdah_web nologin;
  exception
    when duplicate_object or unique_violation then null;
  end;
  begin
    create role howdah_admin nologin;
  exception
    when duplicate_object or unique_violation then null;
  end;
  begin
    create role howdah_nobody nologin;
  exception
    when duplicate_object or unique_violation then null;
  end;
end
$roles$;

comment on role howdah_web is 'Runs the requests of Howdah whose route names no other role';
comment on role howdah_admin is 'May configure Howdah and see its state';
comment on role howdah_nobody is 'Runs checks of types for whom their authors are strangers; grant it nothing';

create schema http;
comment on schema http is 'HTTP answered by SQL: listeners, routes, handlers, and what they need';

-- What handlers get and give.

create type http.header as (name text, value text);
comment on type http.header is 'A header; names of a request are in lower case';

create type http.request as (
  id text,
  method text,
  path text,
  query_string text,
  headers http.header[],
  body bytea,
  remote_address inet,
  parameters jsonb,
  scheme text,
  client_certificate jsonb);
comment on type http.request is 'A request; the path is percent-decoded, the query string as sent and without its ?';
comment on column http.request.id is 'X-Request-Id, or one that was made';
comment on column http.request.remote_address is
  'The client, behind the proxies of howdah.trusted_proxies; null on a UNIX socket';
comment on column http.request.parameters is 'Parameters of the route''s path';
comment on column http.request.client_certificate is
  'Who the client is, by a certificate that an authority of howdah.tls_client_authorities has signed; null if it has shown none';
comment on column http.request.scheme is 'https or http, as the client reached the outermost proxy of howdah.trusted_proxies';

create type http.response as (status integer, content_type text, headers http.header[], body bytea);
comment on type http.response is
  'A response; without a status 200, or 204 if there is no body; a content-type among the headers wins';

create type http.file as (name text, content_type text, body bytea);
comment on type http.file is 'An uploaded file; name and type are the client''s claims';

-- A function that returns one of these answers with this content type. So does a domain of your own whose
-- name is a media type: create domain "image/png" as bytea.
create domain http.css as text;
comment on domain http.css is 'text/css; charset=utf-8';
create domain http.csv as text;
comment on domain http.csv is 'text/csv; charset=utf-8';
create domain http.javascript as text;
comment on domain http.javascript is 'text/javascript; charset=utf-8';
create domain http.markdown as text;
comment on domain http.markdown is 'text/markdown; charset=utf-8';
create domain http.ndjson as text;
comment on domain http.ndjson is 'application/x-ndjson';
create domain http.svg as text;
comment on domain http.svg is 'image/svg+xml';
create domain http.xml as text;
comment on domain http.xml is 'application/xml';

-- HTML.

-- A type of its own, no domain: text is taken for a domain over text unasked, and what has come from a client would be HTML by that. Text
-- becomes HTML, and HTML text, where it is assigned or cast. The functions are those of text.
create type http.html;
create function http.html_in(text cstring) returns http.html
language internal immutable strict parallel safe as 'textin';
comment on function http.html_in(cstring) is 'Reads HTML, as it is';
create function http.html_out(value http.html) returns cstring
language internal immutable strict parallel safe as 'textout';
comment on function http.html_out(http.html) is 'Writes HTML, as it is';
create function http.html_receive(message internal) returns http.html
language internal stable strict parallel safe as 'textrecv';
comment on function http.html_receive(internal) is 'Reads HTML in the binary format';
create function http.html_send(value http.html) returns bytea
language internal stable strict parallel safe as 'textsend';
comment on function http.html_send(http.html) is 'Writes HTML in the binary format';
create type http.html (
  input = http.html_in, output = http.html_out, receive = http.html_receive, send = http.html_send,
  like = text, category = 'S', collatable = true);
comment on type http.html is 'text/html; charset=utf-8';
create cast (text as http.html) without function as assignment;
comment on cast (text as http.html) is 'Text that is HTML already: it is not escaped';
create cast (http.html as text) without function as assignment;
comment on cast (http.html as text) is 'HTML as text';

create function http.html_concat(one http.html, other http.html) returns http.html
language internal immutable strict parallel safe as 'textcat';
comment on function http.html_concat(http.html, http.html) is 'HTML behind HTML: the operator ||';
-- In pg_catalog, as whoever writes an expression has no schema http in search_path.
-- The linter knows no operators.
create operator pg_catalog.|| ( -- noqa: PRS
  leftarg = http.html, rightarg = http.html, function = http.html_concat);
comment on operator pg_catalog.|| (http.html, http.html) is 'HTML behind HTML';

create function http.html_agg_add(state internal, part http.html, delimiter http.html) returns internal
language internal immutable parallel safe as 'string_agg_transfn';
comment on function http.html_agg_add(internal, http.html, http.html) is 'Adds a part to what http.html_agg() makes';
create function http.html_agg_end(state internal) returns http.html
language internal immutable parallel safe as 'string_agg_finalfn';
comment on function http.html_agg_end(internal) is 'Ends what http.html_agg() makes';
create aggregate http.html_agg(part http.html, delimiter http.html) (
  sfunc = http.html_agg_add, stype = internal, finalfunc = http.html_agg_end, parallel = safe);
comment on aggregate http.html_agg(http.html, http.html) is 'The parts of all rows with a delimiter between them, as string_agg()';

create function http.html_eq(one http.html, other http.html) returns boolean
language internal immutable strict leakproof parallel safe as 'texteq';
comment on function http.html_eq(http.html, http.html) is 'The operator =';
create function http.html_ne(one http.html, other http.html) returns boolean
language internal immutable strict leakproof parallel safe as 'textne';
comment on function http.html_ne(http.html, http.html) is 'The operator <>';
create function http.html_lt(one http.html, other http.html) returns boolean
language internal immutable strict leakproof parallel safe as 'text_lt';
comment on function http.html_lt(http.html, http.html) is 'The operator <';
create function http.html_le(one http.html, other http.html) returns boolean
language internal immutable strict leakproof parallel safe as 'text_le';
comment on function http.html_le(http.html, http.html) is 'The operator <=';
create function http.html_gt(one http.html, other http.html) returns boolean
language internal immutable strict leakproof parallel safe as 'text_gt';
comment on function http.html_gt(http.html, http.html) is 'The operator >';
create function http.html_ge(one http.html, other http.html) returns boolean
language internal immutable strict leakproof parallel safe as 'text_ge';
comment on function http.html_ge(http.html, http.html) is 'The operator >=';
create function http.html_cmp(one http.html, other http.html) returns integer
language internal immutable strict leakproof parallel safe as 'bttextcmp';
comment on function http.html_cmp(http.html, http.html) is 'Compares HTML, as text';
create function http.html_like(value http.html, pattern text) returns boolean
language internal immutable strict parallel safe as 'textlike';
comment on function http.html_like(http.html, text) is 'LIKE';
create function http.html_unlike(value http.html, pattern text) returns boolean
language internal immutable strict parallel safe as 'textnlike';
comment on function http.html_unlike(http.html, text) is 'NOT LIKE';
create operator pg_catalog.= (
  leftarg = http.html, rightarg = http.html, function = http.html_eq, commutator = operator(pg_catalog.=), negator = operator(pg_catalog.<>),
  restrict = eqsel, join = eqjoinsel, merges);
comment on operator pg_catalog.= (http.html, http.html) is 'The same HTML';
create operator pg_catalog.<> (
  leftarg = http.html, rightarg = http.html, function = http.html_ne, commutator = operator(pg_catalog.<>), negator = operator(pg_catalog.=),
  restrict = neqsel, join = neqjoinsel);
comment on operator pg_catalog.<> (http.html, http.html) is 'Other HTML';
create operator pg_catalog.< (
  leftarg = http.html, rightarg = http.html, function = http.html_lt, commutator = operator(pg_catalog.>), negator = operator(pg_catalog.>=),
  restrict = scalarltsel, join = scalarltjoinsel);
comment on operator pg_catalog.< (http.html, http.html) is 'Before, as text';
create operator pg_catalog.<= (
  leftarg = http.html, rightarg = http.html, function = http.html_le, commutator = operator(pg_catalog.>=), negator = operator(pg_catalog.>),
  restrict = scalarlesel, join = scalarlejoinsel);
comment on operator pg_catalog.<= (http.html, http.html) is 'Before or the same, as text';
create operator pg_catalog.> (
  leftarg = http.html, rightarg = http.html, function = http.html_gt, commutator = operator(pg_catalog.<), negator = operator(pg_catalog.<=),
  restrict = scalargtsel, join = scalargtjoinsel);
comment on operator pg_catalog.> (http.html, http.html) is 'Behind, as text';
create operator pg_catalog.>= (
  leftarg = http.html, rightarg = http.html, function = http.html_ge, commutator = operator(pg_catalog.<=), negator = operator(pg_catalog.<),
  restrict = scalargesel, join = scalargejoinsel);
comment on operator pg_catalog.>= (http.html, http.html) is 'Behind or the same, as text';
create operator pg_catalog.~~ (
  leftarg = http.html, rightarg = text, function = http.html_like, negator = operator(pg_catalog.!~~),
  restrict = likesel, join = likejoinsel);
comment on operator pg_catalog.~~ (http.html, text) is 'LIKE';
create operator pg_catalog.!~~ (
  leftarg = http.html, rightarg = text, function = http.html_unlike, negator = operator(pg_catalog.~~),
  restrict = nlikesel, join = nlikejoinsel);
comment on operator pg_catalog.!~~ (http.html, text) is 'NOT LIKE';
create operator class http.html_ops default for type http.html using btree as
  operator 1 pg_catalog.<, operator 2 pg_catalog.<=, operator 3 pg_catalog.=, operator 4 pg_catalog.>=, operator 5 pg_catalog.>,
  function 1 http.html_cmp(http.html, http.html);

-- Making responses. Written as expressions, so that the planner puts them into the handler's own plan.

create function http.as_bytes(value text) returns bytea
language c immutable strict parallel safe
as 'MODULE_PATHNAME', 'howdah_as_bytes';
comment on function http.as_bytes(text) is 'The bytes of a text';

create function http.header(name text, value text) returns http.header
language sql immutable parallel safe
return row(name, value)::http.header;
comment on function http.header(text, text) is 'A header of a response';

create function http.response(body text, status integer default null, headers http.header[] default null)
returns http.response
language sql immutable parallel safe
return row(status, 'text/plain; charset=utf-8', headers, http.as_bytes(body))::http.response;
comment on function http.response(text, integer, http.header[]) is 'A response whose body is text, as text/plain';

create function http.response(body http.html, status integer default null, headers http.header[] default null)
returns http.response
language sql immutable parallel safe
return row(status, 'text/html; charset=utf-8', headers, http.as_bytes(body::text))::http.response;
comment on function http.response(http.html, integer, http.header[]) is 'A response whose body is HTML';

create function http.response(body json, status integer default null, headers http.header[] default null)
returns http.response
language sql immutable parallel safe
return row(status, 'application/json', headers, http.as_bytes(body::text))::http.response;
comment on function http.response(json, integer, http.header[]) is 'A response whose body is JSON';

create function http.response(body jsonb, status integer default null, headers http.header[] default null)
returns http.response
language sql immutable parallel safe
return row(status, 'application/json', headers, http.as_bytes(body::text))::http.response;
comment on function http.response(jsonb, integer, http.header[]) is 'A response whose body is JSON';

create function http.response(body bytea, status integer default null, headers http.header[] default null)
returns http.response
language sql immutable parallel safe
return row(status, 'application/octet-stream', headers, body)::http.response;
comment on function http.response(bytea, integer, http.header[]) is 'A response whose body is bytes';

create function http.response(status integer default null, headers http.header[] default null)
returns http.response
language sql immutable parallel safe
return row(status, null, headers, null)::http.response;
comment on function http.response(integer, http.header[]) is 'A response without a body; without a status 204';

create function http.as_location(value text) returns text
language c immutable strict parallel safe
as 'MODULE_PATHNAME', 'as_location_wrapper';
comment on function http.as_location(text) is
  'A URL: blanks, and what is not ASCII, are percent-encoded; see http.redirect()';

create function http.redirect(location text, status integer default 303, headers http.header[] default null)
returns http.response
language sql immutable parallel safe
return row(
  status, null,
  array[http.header('location', http.as_location(location))] operator(pg_catalog.||) headers, null)::http.response;
comment on function http.redirect(text, integer, http.header[]) is
  'Sends the client elsewhere: 303 after a form, 307 to repeat the request, 301 or 308 for good';

create function http.cookie_text(
  name text, value text, path text, domain text, max_age integer, secure boolean, http_only boolean,
  same_site text)
returns text
language c immutable parallel safe
as 'MODULE_PATHNAME', 'cookie_text_wrapper';
comment on function http.cookie_text(text, text, text, text, integer, boolean, boolean, text) is
  'The value of a Set-Cookie header; see http.set_cookie()';

create function http.is_https() returns boolean
language c stable parallel restricted
as 'MODULE_PATHNAME', 'is_https_wrapper';
comment on function http.is_https() is
  'Whether the request that is being answered came by https, or by http to a proxy of howdah.trusted_proxies that was reached by https; null outside of one';

create function http.set_cookie(
  name text, value text, path text default '/', domain text default null, max_age integer default null,
  secure boolean default null, http_only boolean default true, same_site text default 'Lax')
returns http.header
language sql stable parallel restricted
return row(
  'set-cookie',
  http.cookie_text(
    name, value, path, domain, max_age, coalesce(secure, http.is_https(), false), http_only, same_site))::http.header;
comment on function http.set_cookie(text, text, text, text, integer, boolean, boolean, text) is
  'A Set-Cookie header; a response may have several. max_age in seconds; 0 deletes the cookie. Secure, unless it says otherwise, where the request came by https';

create function http.escape(value text) returns text
language c immutable strict parallel safe
as 'MODULE_PATHNAME', 'escape_wrapper';
comment on function http.escape(text) is 'Text for HTML: &, <, >, " and '' are escaped';

create function http.url_encode(value text) returns text
language c immutable strict parallel safe
as 'MODULE_PATHNAME', 'url_encode_wrapper';
comment on function http.url_encode(text) is
  'Text for a part of a URL: all but letters, digits, -, ., _ and ~ is percent-encoded';

-- Reading the request, anywhere below a handler: in nested functions, policies, triggers.

create function http.current_request() returns http.request
language c stable parallel restricted
as 'MODULE_PATHNAME', 'howdah_current_request';
comment on function http.current_request() is 'The request that is being answered; null outside of one';

create function http.header_value(headers http.header[], name text) returns text
language sql immutable strict parallel safe
return (select h.value from pg_catalog.unnest(headers) h where h.name = pg_catalog.lower(header_value.name) limit 1);
comment on function http.header_value(http.header[], text) is 'The value of a header, by its name in any case';

create function http.header_value(name text) returns text
language c stable strict parallel restricted
as 'MODULE_PATHNAME', 'header_value_wrapper';
comment on function http.header_value(text) is 'The value of a header of the current request';

create function http.cookie(name text) returns text
language c stable strict parallel restricted
as 'MODULE_PATHNAME', 'cookie_wrapper';
comment on function http.cookie(text) is 'The value of a cookie of the current request';

create function http.query_value(name text) returns text
language c stable strict parallel restricted
as 'MODULE_PATHNAME', 'query_value_wrapper';
comment on function http.query_value(text) is 'The first value of a parameter of the current request''s query string';

create function http.query_values(name text) returns text[]
language c stable strict parallel restricted
as 'MODULE_PATHNAME', 'query_values_wrapper';
comment on function http.query_values(text) is 'All values of a parameter of the current request''s query string';

create function http.form_value(name text) returns text
language c stable strict parallel restricted
as 'MODULE_PATHNAME', 'form_value_wrapper';
comment on function http.form_value(text) is
  'The first value of a field of the form that the current request carries, urlencoded or multipart';

create function http.form_values(name text) returns text[]
language c stable strict parallel restricted
as 'MODULE_PATHNAME', 'form_values_wrapper';
comment on function http.form_values(text) is 'All values of a field of the form that the current request carries';

create function http.form_file(name text) returns http.file
language c stable strict parallel restricted
as 'MODULE_PATHNAME', 'howdah_form_file';
comment on function http.form_file(text) is 'A file of the multipart form that the current request carries';

create function http.is_given(name text) returns boolean
language c stable strict parallel restricted
as 'MODULE_PATHNAME', 'is_given_wrapper';
comment on function http.is_given(text) is
  'Whether the current request''s query string, form or JSON body has this name, be it with an empty field or null';

create function http.path_value(name text) returns text
language c stable strict parallel restricted
as 'MODULE_PATHNAME', 'path_value_wrapper';
comment on function http.path_value(text) is 'A parameter of the path of the current request''s route';

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
  primary key (method, pattern));
comment on table http.route is 'Routes; change them by http.route() and http.unroute()';
comment on column http.route.method is 'GET, POST and so on, in upper case, or * for all others';
comment on column http.route.pattern is 'Path with {name} for a segment and {*rest} for all that is left';
comment on column http.route.function is 'The function with its argument types';
comment on column http.route.role is 'The role that requests run as';
comment on column http.route.search_path is 'search_path at registration, in which names resolve';
comment on column http.route.owner is
  'Who owned the function at registration, by name; null is anybody. Another''s function of the same name does not answer';

comment on column http.route.vary is 'What answers that are kept depend on beside path and arguments';
comment on column http.route.max_entries is 'How many answers each gateway keeps; null if it keeps none';
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
create trigger changed after insert or update or delete or truncate on http.listener
for each statement execute function http.configuration_changed();
alter table http.listener enable always trigger changed;

select pg_catalog.pg_extension_config_dump('http.route', '');
select pg_catalog.pg_extension_config_dump('http.handler', '');
select pg_catalog.pg_extension_config_dump('http.listener', '');

-- What configures. These functions run as their caller, and only their rows are written as the extension's owner, so that nobody
-- else can write the tables: ARCHITECTURE.md, "Whose code runs as whom".

create function http.registration_path() returns text
language sql stable
return (
  select pg_catalog.string_agg(pg_catalog.quote_ident(name), ', ' order by place) operator(pg_catalog.||) ', pg_temp'
  from pg_catalog.unnest(pg_catalog.current_schemas(false)) with ordinality as path (name, place)
  -- A session's own has a number, by which it is another session's next.
  where not pg_catalog.starts_with(name::pg_catalog.text, 'pg_temp'));
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

create function http.validate(method text, pattern text, validates boolean default true) returns void
language c volatile
as 'MODULE_PATHNAME', 'howdah_validate';
comment on function http.validate(text, text, boolean) is
  'Gives the answers of a route to GET an entity tag: who has the same already gets 304';

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
  http.route(text, text, text, text, text), http.unroute(text, text), http.validate(text, text, boolean),
  http.cache(text, text, text[], integer, interval), http.cache_clear(text),
  http.handle(text, text, integer, text, text), http.unhandle(text),
  http.listen(integer, text, boolean, text, text), http.unlisten(integer, text),
  http.registration_path(), http.configuration_changed()
from public;
grant execute on function
  http.route(text, text, text, text, text), http.unroute(text, text), http.validate(text, text, boolean),
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

-- A request in the caller's transaction. Nobody may call it but whom an administrator lets: what it runs has the rights of the route's
-- role, which the caller must be allowed to become.

create function http.call(
  method text, target text, headers http.header[] default null, body bytea default null, scheme text default 'http')
returns http.response
language c volatile
as 'MODULE_PATHNAME', 'howdah_call';
comment on function http.call(text, text, http.header[], bytea, text) is
  'Runs a request in this transaction, as a worker would, under a savepoint; an error is its answer. For tests and deployments';
revoke all on function http.call(text, text, http.header[], bytea, text) from public;

create function http.explain(method text, target text, headers http.header[] default null)
returns table (what text, name text, last_change bigint)
language c volatile
as 'MODULE_PATHNAME', 'howdah_explain';
comment on function http.explain(text, text, http.header[]) is
  'Runs a GET as http.call does, and shows what its answer has read, and why it cannot be remembered';
revoke all on function http.explain(text, text, http.header[]) from public;

-- The queues and who may do what with them. Ordinary tables, so that pg_dump carries them, as it carries the tables
-- of rows and ledgers, which are made for each queue. extension/queue/README.md has the storage.

create schema queue;
comment on schema queue is 'Queues: rows in at one end, out at the other, whatever the backlog';

create table queue.queue (
  id integer generated by default as identity primary key,
  name text not null unique,
  row_type regtype,
  owner regrole not null,
  max_reads integer check (max_reads > 0),
  is_unlogged boolean not null,
  created_at timestamptz not null default now());
comment on table queue.queue is 'Queues; change them by queue.create() and queue.drop_queue()';
comment on column queue.queue.id is 'Its number, in the names of its tables';
comment on column queue.queue.name is 'Its name';
comment on column queue.queue.row_type is 'The composite type of its rows; null for a queue of messages';
comment on column queue.queue.owner is 'The role that owns it';
comment on column queue.queue.max_reads is
  'How often a row is read before it becomes a dead letter; null for any number';
comment on column queue.queue.is_unlogged is 'Whether its rows are lost in a crash';
comment on column queue.queue.created_at is 'When it was created';

create table queue.permission (
  queue integer not null,
  role regrole not null,
  permission text not null check (permission in ('send', 'take', 'manage')),
  primary key (queue, role, permission));
comment on table queue.permission is 'What roles other than owners may do; change it by queue.grant() and queue.revoke()';

create table queue.dead_letter (
  queue integer,
  into_table regclass,
  listener integer,
  msg_id bigint,
  read_ct integer,
  enqueued_at timestamptz not null default now(),
  buried_at timestamptz not null default now(),
  sqlstate text,
  error text not null,
  message jsonb,
  headers jsonb,
  line bytea,
  line_length integer,
  column_names text[],
  column_values text[],
  check ((queue is null) <> (into_table is null)));
comment on table queue.dead_letter is
  'Rows that were read too often, and lines that were refused; queue.dead_letters shows them';
comment on column queue.dead_letter.column_values is
  'A row as its types write it, column by column: what queue.redrive() sends again';
create index on queue.dead_letter (listener, queue, into_table) where line is not null;
-- A row that unfolds is compressed while whoever reads the queue waits: lz4 does in milliseconds what takes pglz a quarter of a
-- second for 50 MB. A server that was built without it stays with pglz.
do $compression$
begin
  alter table queue.dead_letter
    alter message set compression lz4, alter headers set compression lz4, alter line set compression lz4,
    alter column_values set compression lz4;
exception
  when feature_not_supported then null;
end $compression$;
-- So that a publication of all tables does not forbid removing letters.
alter table queue.dead_letter replica identity full;

create trigger changed after insert or update or delete or truncate on queue.queue
for each statement execute function http.configuration_changed();
alter table queue.queue enable always trigger changed;
create trigger changed after insert or update or delete or truncate on queue.permission
for each statement execute function http.configuration_changed();
alter table queue.permission enable always trigger changed;

select pg_catalog.pg_extension_config_dump('queue.queue', '');
select pg_catalog.pg_extension_config_dump('queue.queue_id_seq', '');
select pg_catalog.pg_extension_config_dump('queue.permission', '');
-- The number of a table that is gone may be another's where a dump is restored.
select pg_catalog.pg_extension_config_dump(
  'queue.dead_letter',
  'where into_table is null or exists (select from pg_catalog.pg_class c where c.oid operator(pg_catalog.=) into_table)');

-- What the functions below have done as the owner of the extension, after they have checked who calls.

-- A table of rows has the base type in the place of a domain: a domain's values are checked where they are sent, as
-- whoever sends them. In a table its constraints and default would run in commands of the extension's owner. It has no
-- statistics: ANALYZE calls functions of somebody's range types, as the owner of the table.
create function queue.columns(relation regclass) returns table (number integer, name name, definition text)
language sql stable set search_path = pg_catalog, pg_temp
begin atomic
  with recursive attribute as (
    select attnum, attname, attcollation, atttypid as type, atttypmod as modifier
    from pg_attribute
    where attrelid = columns.relation and attnum > 0 and not attisdropped
    union all
    select attnum, attname, attcollation, typbasetype, typtypmod
    from attribute join pg_type on oid = type
    where typtype = 'd')
  select
    attnum, attname,
    quote_ident(attname) || ' ' || format_type(type, modifier)
      || case when attcollation <> 0 and attcollation <> typcollation
           then ' collate ' || attcollation::regcollation else '' end
  from attribute join pg_type on oid = type
  where typtype <> 'd'
  order by attnum;
end;
comment on function queue.columns(regclass) is
  'The columns of a relation as a table of rows has them: of base types in the place of domains';

create function queue.make(
  name text, row_type regtype, owner regrole, is_unlogged boolean, max_reads integer)
returns void
language plpgsql set search_path = pg_catalog, pg_temp
as $body$
declare
  number integer;
  kind text := case when make.is_unlogged then 'unlogged' else '' end;
  columns text;
  without_statistics text := '';
  granted record;
  stray record;
  has_rows boolean;
begin
  -- Not where the caller wants its own tables: the owner's rights to a tablespace are not the caller's. What runs as the owner is
  -- followed by the caller's settings.
  set local default_tablespace = '';
  set local default_table_access_method = 'heap';
  insert into queue.queue (name, row_type, owner, is_unlogged, max_reads)
  values (make.name, make.row_type, make.owner, make.is_unlogged, make.max_reads)
  on conflict on constraint queue_name_key do nothing
  returning id into number;
  if number is null then
    -- Another has made it meanwhile.
    return;
  end if;
  -- What a dump of the schema alone has left behind belongs to no queue, and is empty.
  for stray in
    select c.oid::regclass as relation
    from pg_class c
    where c.relnamespace = 'queue'::regnamespace and c.relkind = 'r'
      and (c.relname ~ format('^(rows|ledger)_%s_[1-3]$', number) or make.row_type is null and c.relname = 'a_' || make.name)
      -- Nobody else's of the same name.
      and c.relowner = current_user::regrole
      and exists (
        select from pg_attribute a
        where a.attrelid = c.oid and a.attnum = 1 and a.atttypid = 'bigint'::regtype and a.attname in ('@position', 'first', 'msg_id'))
      and not exists (
        select from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'e')
  loop
    execute format('select exists (select from %s)', stray.relation) into has_rows;
    if has_rows then
      raise exception using errcode = '55000', message = format('table %s belongs to no queue, and has rows', stray.relation),
        hint = 'Move them elsewhere, or drop the table.';
    end if;
    execute format('drop table %s', stray.relation);
  end loop;
  if to_regprocedure(format('queue.row_type_%s()', number)) is not null then
    execute format('drop function queue.row_type_%s()', number);
  end if;
  if make.row_type is null then
    columns := ', message jsonb, headers jsonb';
    execute format(
      'create table queue.%I (
         msg_id bigint primary key, read_ct integer not null, enqueued_at timestamptz not null,
         last_read_at timestamptz, archived_at timestamptz not null default now(), vt timestamptz not null,
         message jsonb, headers jsonb)', 'a_' || make.name);
  else
    select string_agg(', ' || c.definition, ''), string_agg(format(', alter %I set statistics 0', c.name), '')
    into columns, without_statistics
    from pg_type t cross join lateral queue.columns(t.typrelid) c where t.oid = make.row_type;
    -- Keeps the type from being dropped while the queue needs it, and lets it be altered; dumps carry it.
    execute format(
      'create function queue.row_type_%s() returns %s language plpgsql as %L',
      number, make.row_type, 'begin return null; end');
    execute format('comment on function queue.row_type_%s() is %L', number, 'The row type of queue ' || make.name);
    execute format('revoke all on function queue.row_type_%s() from public', number);
  end if;
  for segment in 1..3 loop
    execute format(
      'create %s table queue.rows_%s_%s ("@position" bigint not null %s)
       with (autovacuum_enabled = false, toast.autovacuum_enabled = false)', kind, number, segment, columns);
    execute format(
      'create %s table queue.ledger_%s_%s (
         first bigint not null, at timestamptz not null, until timestamptz not null, read_at timestamptz not null,
         count integer not null, reads integer not null, low integer not null, high integer not null,
         producer text collate "C", epoch integer, sequence bigint)
       with (autovacuum_enabled = false)', kind, number, segment);
    execute format('create index on queue.ledger_%s_%s (first, count, at desc)', number, segment);
    execute format(
      'create index on queue.ledger_%s_%s (producer, epoch, sequence) where producer is not null',
      number, segment);
    -- So that a publication of all tables does not forbid what updates or deletes here.
    execute format('alter table queue.rows_%s_%s replica identity full %s', number, segment, without_statistics);
    execute format('alter table queue.ledger_%s_%s replica identity full', number, segment);
  end loop;
  -- What the extension's owner grants by default on its tables is not meant for others' rows.
  for granted in
    select distinct c.oid::regclass as relation, case a.grantee when 0 then 'public' else a.grantee::regrole::text end as role
    from pg_class c cross join lateral aclexplode(c.relacl) a
    where c.relnamespace = 'queue'::regnamespace and a.grantee <> c.relowner
      and (c.relname ~ format('^(rows|ledger)_%s_[0-9]+$', number)
        or make.row_type is null and c.relname = 'a_' || make.name)
  loop
    execute format('revoke all on %s from %s', granted.relation, granted.role);
  end loop;
  if make.row_type is null then
    execute format('grant select, delete on queue.%I to %s', 'a_' || make.name, make.owner);
  end if;
end
$body$;
comment on function queue.make(text, regtype, regrole, boolean, integer) is
  'Makes a queue and its tables; queue.create() calls it';

create function queue.unmake(id integer) returns void
language plpgsql set search_path = pg_catalog, pg_temp
as $body$
declare
  name text;
  row_type regtype;
begin
  for segment in 1..3 loop
    execute format('drop table if exists queue.rows_%s_%s, queue.ledger_%s_%s', id, segment, id, segment);
  end loop;
  delete from queue.queue q where q.id = unmake.id returning q.name, q.row_type into name, row_type;
  if row_type is null then
    execute format('drop table if exists queue.%I', 'a_' || name);
  else
    execute format('drop function if exists queue.row_type_%s()', id);
  end if;
  delete from queue.permission p where p.queue = unmake.id;
  delete from queue.dead_letter d where d.queue = unmake.id;
end
$body$;
comment on function queue.unmake(integer) is 'Removes a queue and its tables; queue.drop_queue() calls it';

create function queue.allow(queue integer, role regrole, permission text) returns void
language sql set search_path = pg_catalog, pg_temp
begin atomic
  insert into queue.permission values (allow.queue, allow.role, allow.permission) on conflict do nothing;
end;
comment on function queue.allow(integer, regrole, text) is 'Notes a right; queue.grant() calls it';

create function queue.disallow(queue integer, role regrole, permission text) returns void
language sql set search_path = pg_catalog, pg_temp
as $body$
  delete from queue.permission p
  where p.queue = disallow.queue and p.role = disallow.role and p.permission = disallow.permission
$body$;
comment on function queue.disallow(integer, regrole, text) is 'Forgets a right; queue.revoke() calls it';

create function queue.forget(queue integer, producer text) returns void
language plpgsql set search_path = pg_catalog, pg_temp
as $body$
begin
  for segment in 1..3 loop
    execute format(
      'update queue.ledger_%s_%s set producer = null, epoch = null, sequence = null where producer = $1',
      forget.queue, segment) using forget.producer;
  end loop;
end
$body$;
comment on function queue.forget(integer, text) is
  'Takes a producer''s name from the ledgers, which are locked; queue.forget_producer() calls it';

-- What users call. Rights are checked inside: against the owner, and what queue.grant() has allowed.

create function queue.create(
  queue_name text, row_type regtype default null, unlogged boolean default false, max_reads integer default null)
returns void
language c volatile
as 'MODULE_PATHNAME', 'howdah_queue_create';
comment on function queue.create(text, regtype, boolean, integer) is
  'Creates a queue of rows of a composite type, or of messages; the same again changes nothing';

create function queue.drop_queue(queue_name text) returns boolean
language c volatile
as 'MODULE_PATHNAME', 'howdah_queue_drop';
comment on function queue.drop_queue(text) is 'Removes a queue with all its rows; false if there is none';

create function queue.purge_queue(queue_name text) returns bigint
language c volatile
as 'MODULE_PATHNAME', 'howdah_queue_purge';
comment on function queue.purge_queue(text) is 'Removes all rows of a queue; returns how many there were';

create function queue.grant(queue_name text, "right" text, role text) returns void
language c volatile
as 'MODULE_PATHNAME', 'howdah_queue_grant';
comment on function queue.grant(text, text, text) is 'Lets a role send, take or manage';

create function queue.revoke(queue_name text, "right" text, role text) returns void
language c volatile
as 'MODULE_PATHNAME', 'howdah_queue_revoke';
comment on function queue.revoke(text, text, text) is 'Takes a right back that queue.grant() has given';

create function queue.allows(queue_name text, "right" text) returns boolean
language c stable
as 'MODULE_PATHNAME', 'howdah_queue_allows';
comment on function queue.allows(text, text) is 'Whether the current user may send to, take from or manage a queue';

create function queue.maintain(queue_name text) returns integer
language c volatile
as 'MODULE_PATHNAME', 'howdah_queue_maintain';
comment on function queue.maintain(text) is
  'Truncates segments that are drained and that nobody uses now; returns how many. If much stays in one, a part of it is moved and the next calls go on. Takers do this by the way, too';

create type queue.queue_record as (
  queue_name varchar, is_partitioned boolean, is_unlogged boolean, created_at timestamptz);
comment on type queue.queue_record is 'A queue, as queue.list_queues() shows it';

create function queue.list_queues() returns setof queue.queue_record
language sql stable
begin atomic
  select name::varchar, false, is_unlogged, created_at from queue.queue;
end;
comment on function queue.list_queues() is 'All queues; the table queue.queue says more';

create type queue.metrics_result as (
  queue_name text, queue_length bigint, newest_msg_age_sec integer, oldest_msg_age_sec integer,
  total_messages bigint, scrape_time timestamptz, queue_visible_length bigint, default_partition_length bigint);
comment on type queue.metrics_result is 'What queue.metrics() returns';

create function queue.metrics(queue_name text) returns setof queue.metrics_result
language c volatile rows 1
as 'MODULE_PATHNAME', 'howdah_queue_metrics';
comment on function queue.metrics(text) is
  'How many rows a queue holds, how many may be taken now, and how old they are, without reading them';

create function queue.metrics_all() returns setof queue.metrics_result
language sql volatile
begin atomic
  select m.* from queue.queue q cross join lateral queue.metrics(q.name) m
  where queue.allows(q.name, 'take') or queue.allows(q.name, 'send');
end;
comment on function queue.metrics_all() is 'queue.metrics() of all queues that the current user may use';

-- A queue's tables follow its row type.

create function queue.has_no_rows(queue integer) returns boolean
language c volatile
as 'MODULE_PATHNAME', 'howdah_queue_is_drained';
comment on function queue.has_no_rows(integer) is 'Whether all rows of a queue are consumed';

create function queue.reshape(queue integer) returns void
language plpgsql set search_path = pg_catalog, pg_temp
as $body$
declare
  row_type regclass;
  queue_name text;
  change record;
begin
  select t.typrelid, q.name into row_type, queue_name
  from queue.queue q join pg_type t on t.oid = q.row_type
  where q.id = reshape.queue;
  if not found then
    return;
  end if;
  for change in
    select segment, a.name as old, c.name as new, c.definition
    from (
      select s as segment, t.name, t.definition
      from generate_series(1, 3) s
      cross join lateral queue.columns(format('queue.rows_%s_%s', reshape.queue, s)::regclass) t
      where t.number > 1) a
    full join (
      select s as segment, t.name, t.definition
      from generate_series(1, 3) s cross join queue.columns(row_type) t) c
      using (segment, definition)
    where a.name is null or c.name is null
    order by segment, a.name is null
  loop
    if change.old is not null then
      execute format('lock queue.rows_%s_%s', reshape.queue, change.segment);
      if not queue.has_no_rows(reshape.queue) then
        raise exception 'column % cannot be changed while queue % has rows of it', change.old, queue_name
          using errcode = 'dependent_objects_still_exist', hint = 'Take the rows first, or purge the queue.';
      end if;
      execute format('alter table queue.rows_%s_%s drop column %I', reshape.queue, change.segment, change.old);
    else
      execute format(
        'alter table queue.rows_%s_%s add column %s, alter %I set statistics 0',
        reshape.queue, change.segment, change.definition, change.new);
    end if;
  end loop;
end
$body$;
comment on function queue.reshape(integer) is 'Gives the tables of a queue the columns of its row type';

create function queue.follow_types() returns event_trigger
language c
as 'MODULE_PATHNAME', 'howdah_queue_follow_types';
comment on function queue.follow_types() is 'Lets the tables of queues follow when a type is altered';

-- A command may alter a relation under the name of another kind. The linter knows no event triggers.
create event trigger howdah_queue_types on ddl_command_end -- noqa: PRS
when tag in (
  'ALTER TYPE', 'ALTER TABLE', 'CREATE VIEW', 'ALTER VIEW', 'ALTER MATERIALIZED VIEW', 'ALTER FOREIGN TABLE', 'ALTER INDEX',
  'ALTER SEQUENCE')
execute function queue.follow_types();
comment on event trigger howdah_queue_types is 'Lets the tables of queues follow when a row type is altered';
create event trigger howdah_queue_columns on sql_drop -- noqa: PRS
execute function queue.follow_types();
comment on event trigger howdah_queue_columns is 'Lets the tables of queues follow when a column goes with something else';

revoke all on function
  queue.columns(regclass), queue.make(text, regtype, regrole, boolean, integer), queue.unmake(integer),
  queue.allow(integer, regrole, text), queue.disallow(integer, regrole, text), queue.has_no_rows(integer),
  queue.reshape(integer), queue.follow_types(), queue.forget(integer, text), queue.create(text, regtype, boolean, integer)
from public;
grant execute on function queue.create(text, regtype, boolean, integer) to howdah_admin;

-- Queues of typed rows. The row type comes last: null::the_type.

create function queue.put(queue_name text, "row" anynonarray) returns bigint
language c volatile
as 'MODULE_PATHNAME', 'howdah_queue_put';
comment on function queue.put(text, anynonarray) is 'Sends a row; returns its number. Visible when the transaction commits';

create function queue.put(queue_name text, "rows" anyarray) returns bigint
language c volatile
as 'MODULE_PATHNAME', 'howdah_queue_put_all';
comment on function queue.put(text, anyarray) is 'Sends rows; returns how many. Visible when the transaction commits';

create function queue.put(queue_name text, "rows" anyarray, producer text, epoch integer, sequence bigint)
returns bigint
language c volatile
as 'MODULE_PATHNAME', 'howdah_queue_put_from';
comment on function queue.put(text, anyarray, text, integer, bigint) is
  'Sends rows of a producer that numbers them, the last being number sequence; those that are there already are left out, an epoch that is over is refused. Returns how many were new';

create function queue.take(queue_name text, qty integer, row_type anyelement) returns setof anyelement
language c volatile rows 1000
as 'MODULE_PATHNAME', 'howdah_queue_take';
comment on function queue.take(text, integer, anyelement) is
  'Takes rows out: they are gone when the transaction commits, and back when it does not';

create function queue.take_with_poll(queue_name text, qty integer, max_poll interval, row_type anyelement)
returns setof anyelement
language c volatile rows 1000
as 'MODULE_PATHNAME', 'howdah_queue_take_with_poll';
comment on function queue.take_with_poll(text, integer, interval, anyelement) is
  'Takes rows out, and waits for some if there are none; commits wake it';

create function queue.peek(queue_name text, qty integer, row_type anyelement) returns setof anyelement
language c volatile rows 1000
as 'MODULE_PATHNAME', 'howdah_queue_peek';
comment on function queue.peek(text, integer, anyelement) is 'Shows rows that could be taken now, and takes none';

create function queue.read(queue_name text, qty integer, vt interval, row_type anyelement)
returns table (msg_id bigint, read_ct integer, "row" anyelement)
language c volatile rows 1000
as 'MODULE_PATHNAME', 'howdah_queue_read_rows';
comment on function queue.read(text, integer, interval, anyelement) is
  'Leases rows: until the time is over nobody else gets them; queue.ack() removes them';

create function queue.read_with_poll(
  queue_name text, qty integer, vt interval, max_poll interval, row_type anyelement)
returns table (msg_id bigint, read_ct integer, "row" anyelement)
language c volatile rows 1000
as 'MODULE_PATHNAME', 'howdah_queue_read_rows_with_poll';
comment on function queue.read_with_poll(text, integer, interval, interval, anyelement) is
  'Leases rows, and waits for some if there are none; commits wake it';

create function queue.ack(queue_name text, msg_id bigint, read_ct integer default null) returns boolean
language c volatile
as 'MODULE_PATHNAME', 'howdah_queue_ack';
comment on function queue.ack(text, bigint, integer) is
  'Removes a row, with the read_ct of its reading as the receipt; false if it is gone, or was read again since';

create function queue.ack(queue_name text, msg_ids bigint[], read_cts integer[] default null) returns setof bigint
language c volatile
as 'MODULE_PATHNAME', 'howdah_queue_ack';
comment on function queue.ack(text, bigint[], integer[]) is
  'Removes rows, with a receipt for each; returns the numbers of those that were there and not read again since';

create function queue.nack(queue_name text, msg_id bigint, delay integer default 0, read_ct integer default null)
returns boolean
language c volatile
as 'MODULE_PATHNAME', 'howdah_queue_nack';
comment on function queue.nack(text, bigint, integer, integer) is
  'Gives a leased row back, to be read again after so many seconds; false if it is gone, or was read again since its receipt';

create function queue.nack(
  queue_name text, msg_ids bigint[], delay integer default 0, read_cts integer[] default null)
returns setof bigint
language c volatile
as 'MODULE_PATHNAME', 'howdah_queue_nack';
comment on function queue.nack(text, bigint[], integer, integer[]) is
  'Gives leased rows back, to be read again after so many seconds; returns the numbers of those that were there and not read again since their receipts';

-- Queues of messages: pgmq's names, parameter names and meaning.

create type queue.message_record as (
  msg_id bigint, read_ct integer, enqueued_at timestamptz, last_read_at timestamptz, vt timestamptz,
  message jsonb, headers jsonb);
comment on type queue.message_record is 'A message, as it is read';

create function queue.send(queue_name text, msg jsonb) returns bigint
language c volatile
as 'MODULE_PATHNAME', 'howdah_queue_send';
comment on function queue.send(text, jsonb) is
  'Sends a message; returns its number. Visible when the transaction commits';

create function queue.send(queue_name text, msg jsonb, headers jsonb) returns bigint
language c volatile
as 'MODULE_PATHNAME', 'howdah_queue_send';
comment on function queue.send(text, jsonb, jsonb) is
  'Sends a message; returns its number, with headers';

create function queue.send(queue_name text, msg jsonb, delay integer) returns bigint
language c volatile
as 'MODULE_PATHNAME', 'howdah_queue_send';
comment on function queue.send(text, jsonb, integer) is
  'Sends a message; returns its number, to be read after so many seconds';

create function queue.send(queue_name text, msg jsonb, headers jsonb, delay integer) returns bigint
language c volatile
as 'MODULE_PATHNAME', 'howdah_queue_send';
comment on function queue.send(text, jsonb, jsonb, integer) is
  'Sends a message; returns its number, with headers, to be read after so many seconds';

create function queue.send(queue_name text, msg jsonb, delay timestamptz) returns bigint
language c volatile
as 'MODULE_PATHNAME', 'howdah_queue_send';
comment on function queue.send(text, jsonb, timestamptz) is
  'Sends a message; returns its number, to be read from then on';

create function queue.send(queue_name text, msg jsonb, headers jsonb, delay timestamptz) returns bigint
language c volatile
as 'MODULE_PATHNAME', 'howdah_queue_send';
comment on function queue.send(text, jsonb, jsonb, timestamptz) is
  'Sends a message; returns its number, with headers, to be read from then on';

create function queue.send_batch(queue_name text, msgs jsonb[]) returns setof bigint
language c volatile
as 'MODULE_PATHNAME', 'howdah_queue_send_batch';
comment on function queue.send_batch(text, jsonb[]) is
  'Sends messages; returns their numbers. Visible when the transaction commits';

create function queue.send_batch(queue_name text, msgs jsonb[], headers jsonb[]) returns setof bigint
language c volatile
as 'MODULE_PATHNAME', 'howdah_queue_send_batch';
comment on function queue.send_batch(text, jsonb[], jsonb[]) is
  'Sends messages; returns their numbers, with headers';

create function queue.send_batch(queue_name text, msgs jsonb[], delay integer) returns setof bigint
language c volatile
as 'MODULE_PATHNAME', 'howdah_queue_send_batch';
comment on function queue.send_batch(text, jsonb[], integer) is
  'Sends messages; returns their numbers, to be read after so many seconds';

create function queue.send_batch(queue_name text, msgs jsonb[], headers jsonb[], delay integer) returns setof bigint
language c volatile
as 'MODULE_PATHNAME', 'howdah_queue_send_batch';
comment on function queue.send_batch(text, jsonb[], jsonb[], integer) is
  'Sends messages; returns their numbers, with headers, to be read after so many seconds';

create function queue.send_batch(queue_name text, msgs jsonb[], delay timestamptz) returns setof bigint
language c volatile
as 'MODULE_PATHNAME', 'howdah_queue_send_batch';
comment on function queue.send_batch(text, jsonb[], timestamptz) is
  'Sends messages; returns their numbers, to be read from then on';

create function queue.send_batch(queue_name text, msgs jsonb[], headers jsonb[], delay timestamptz) returns setof bigint
language c volatile
as 'MODULE_PATHNAME', 'howdah_queue_send_batch';
comment on function queue.send_batch(text, jsonb[], jsonb[], timestamptz) is
  'Sends messages; returns their numbers, with headers, to be read from then on';

create function queue.read(queue_name text, vt integer, qty integer, conditional jsonb default '{}') returns setof queue.message_record
language c volatile
as 'MODULE_PATHNAME', 'howdah_queue_read';
comment on function queue.read(text, integer, integer, jsonb) is
  'Leases messages for vt seconds; those that contain the condition, if it is not empty';

create function queue.read_with_poll(
  queue_name text, vt integer, qty integer, max_poll_seconds integer default 5,
  poll_interval_ms integer default 100, conditional jsonb default '{}') returns setof queue.message_record
language c volatile
as 'MODULE_PATHNAME', 'howdah_queue_read_with_poll';
comment on function queue.read_with_poll(text, integer, integer, integer, integer, jsonb) is
  'Leases messages, and waits for some if there are none; commits wake it, and poll_interval_ms is not needed';

create function queue.pop(queue_name text, qty integer default 1) returns setof queue.message_record
language c volatile
as 'MODULE_PATHNAME', 'howdah_queue_pop';
comment on function queue.pop(text, integer) is
  'Takes messages out: they are gone when the transaction commits';

create function queue.peek(queue_name text, qty integer default 1) returns setof queue.message_record
language c volatile
as 'MODULE_PATHNAME', 'howdah_queue_peek_messages';
comment on function queue.peek(text, integer) is
  'Shows messages that could be read now';

create function queue.delete(queue_name text, msg_id bigint) returns boolean
language c volatile
as 'MODULE_PATHNAME', 'howdah_queue_delete';
comment on function queue.delete(text, bigint) is
  'Removes a message; false if it is gone already';

create function queue.delete(queue_name text, msg_id bigint, read_ct integer) returns boolean
language c volatile
as 'MODULE_PATHNAME', 'howdah_queue_delete';
comment on function queue.delete(text, bigint, integer) is
  'Removes a message, with the read_ct of its reading as the receipt; false if it is gone, or was read again since';

create function queue.delete(queue_name text, msg_ids bigint[]) returns setof bigint
language c volatile
as 'MODULE_PATHNAME', 'howdah_queue_delete';
comment on function queue.delete(text, bigint[]) is
  'Removes messages; returns the numbers of those that were there';

create function queue.delete(queue_name text, msg_ids bigint[], read_cts integer[]) returns setof bigint
language c volatile
as 'MODULE_PATHNAME', 'howdah_queue_delete';
comment on function queue.delete(text, bigint[], integer[]) is
  'Removes messages, with a receipt for each; returns the numbers of those that were there and not read again since';

create function queue.archive(queue_name text, msg_id bigint) returns boolean
language c volatile
as 'MODULE_PATHNAME', 'howdah_queue_archive';
comment on function queue.archive(text, bigint) is
  'Moves to the archive a message; false if it is gone already';

create function queue.archive(queue_name text, msg_id bigint, read_ct integer) returns boolean
language c volatile
as 'MODULE_PATHNAME', 'howdah_queue_archive';
comment on function queue.archive(text, bigint, integer) is
  'Moves to the archive a message, with the read_ct of its reading as the receipt; false if it is gone, or was read again since';

create function queue.archive(queue_name text, msg_ids bigint[]) returns setof bigint
language c volatile
as 'MODULE_PATHNAME', 'howdah_queue_archive';
comment on function queue.archive(text, bigint[]) is
  'Moves to the archive messages; returns the numbers of those that were there';

create function queue.archive(queue_name text, msg_ids bigint[], read_cts integer[]) returns setof bigint
language c volatile
as 'MODULE_PATHNAME', 'howdah_queue_archive';
comment on function queue.archive(text, bigint[], integer[]) is
  'Moves to the archive messages, with a receipt for each; returns the numbers of those that were there and not read again since';

create function queue.set_vt(queue_name text, msg_id bigint, vt integer) returns setof queue.message_record
language c volatile
as 'MODULE_PATHNAME', 'howdah_queue_set_vt';
comment on function queue.set_vt(text, bigint, integer) is
  'Sets how long a message is hidden: for so many seconds from now';

create function queue.set_vt(queue_name text, msg_id bigint, vt integer, read_ct integer)
returns setof queue.message_record
language c volatile
as 'MODULE_PATHNAME', 'howdah_queue_set_vt';
comment on function queue.set_vt(text, bigint, integer, integer) is
  'Sets how long a message is hidden: for so many seconds from now; nothing if it was read again since its receipt';

create function queue.set_vt(queue_name text, msg_id bigint, vt timestamptz) returns setof queue.message_record
language c volatile
as 'MODULE_PATHNAME', 'howdah_queue_set_vt';
comment on function queue.set_vt(text, bigint, timestamptz) is
  'Sets how long a message is hidden: until then';

create function queue.set_vt(queue_name text, msg_id bigint, vt timestamptz, read_ct integer)
returns setof queue.message_record
language c volatile
as 'MODULE_PATHNAME', 'howdah_queue_set_vt';
comment on function queue.set_vt(text, bigint, timestamptz, integer) is
  'Sets how long a message is hidden: until then; nothing if it was read again since its receipt';

create function queue.set_vt(queue_name text, msg_ids bigint[], vt integer) returns setof queue.message_record
language c volatile
as 'MODULE_PATHNAME', 'howdah_queue_set_vt';
comment on function queue.set_vt(text, bigint[], integer) is
  'Sets how long messages are hidden: for so many seconds from now';

create function queue.set_vt(queue_name text, msg_ids bigint[], vt integer, read_cts integer[])
returns setof queue.message_record
language c volatile
as 'MODULE_PATHNAME', 'howdah_queue_set_vt';
comment on function queue.set_vt(text, bigint[], integer, integer[]) is
  'Sets how long messages are hidden: for so many seconds from now; not those that were read again since their receipts';

create function queue.set_vt(queue_name text, msg_ids bigint[], vt timestamptz) returns setof queue.message_record
language c volatile
as 'MODULE_PATHNAME', 'howdah_queue_set_vt';
comment on function queue.set_vt(text, bigint[], timestamptz) is
  'Sets how long messages are hidden: until then';

create function queue.set_vt(queue_name text, msg_ids bigint[], vt timestamptz, read_cts integer[])
returns setof queue.message_record
language c volatile
as 'MODULE_PATHNAME', 'howdah_queue_set_vt';
comment on function queue.set_vt(text, bigint[], timestamptz, integer[]) is
  'Sets how long messages are hidden: until then; not those that were read again since their receipts';

-- Dead letters: rows that were read too often without being removed, and lines that were refused.

-- A barrier: a cheap function in somebody's query would see all letters before it is asked whose they are.
create view queue.dead_letters with (security_barrier = true) as
select
  q.name as queue_name, d.into_table, d.listener, d.msg_id, d.read_ct, d.enqueued_at, d.buried_at,
  d.sqlstate, d.error, d.message, d.headers, d.line, d.line_length
from queue.dead_letter d left join queue.queue q on q.id = d.queue
where
  case
    when d.queue is not null then queue.allows(q.name, 'manage')
    else pg_has_role('howdah_admin', 'usage')
      or exists (select from pg_class c where c.oid = d.into_table and pg_has_role(c.relowner, 'usage'))
  end;
comment on view queue.dead_letters is
  'Dead letters of the queues that the current user may manage, and of the tables that it owns';
comment on column queue.dead_letters.queue_name is 'The queue of the row, or for which the line was';
comment on column queue.dead_letters.into_table is 'The table for which the line was';
comment on column queue.dead_letters.listener is
  'The port of the listener where the line arrived; 0 for queue.put_lines() and HTTP, null for a row that was read too often';
comment on column queue.dead_letters.msg_id is 'The number that the row had in its queue';
comment on column queue.dead_letters.read_ct is 'How often it was read';
comment on column queue.dead_letters.sqlstate is 'The SQLSTATE of the error that refused the line';
comment on column queue.dead_letters.error is 'Why it is here';
comment on column queue.dead_letters.message is 'The message, or the row as JSON';
comment on column queue.dead_letters.line is 'The line as it arrived, 8 KiB of it at most';
comment on column queue.dead_letters.line_length is 'Bytes that the line had';
create function queue.exhume(queue integer, into_table oid, qty integer)
returns table (
  place text, message jsonb, headers jsonb, line bytea, listener integer, column_names text[], column_values text[])
language sql volatile set search_path = pg_catalog, pg_temp
as $body$
  select d.ctid::text, d.message, d.headers, d.line, d.listener, d.column_names, d.column_values
  from queue.dead_letter d
  where (d.queue = exhume.queue or d.into_table = exhume.into_table)
    and (d.line is null or d.column_names is not null or d.msg_id is null and octet_length(d.line) = d.line_length)
    -- What a policy has refused to who sent it stays refused: policies do not bind a table's owner.
    and (d.into_table is null or d.sqlstate is distinct from '42501')
  order by d.buried_at, d.msg_id, d.ctid limit exhume.qty for update skip locked
$body$;
comment on function queue.exhume(integer, oid, integer) is
  'Locks dead letters and returns them, but for lines that were cut or that a policy has refused; queue.redrive() calls it';

create function queue.settle(sent text[], kept text[], sqlstates text[], errors text[]) returns void
language sql volatile set search_path = pg_catalog, pg_temp
as $body$
  delete from queue.dead_letter d where d.ctid = any (settle.sent::tid[]);
  update queue.dead_letter d set sqlstate = k.sqlstate, error = k.error, buried_at = now()
  from unnest(settle.kept::tid[], settle.sqlstates, settle.errors) k (place, sqlstate, error)
  where d.ctid = k.place
$body$;
comment on function queue.settle(text[], text[], text[], text[]) is
  'Removes letters that were sent again, and says of the others why they were not; queue.redrive() calls it';

create function queue.redrive(
  queue_name text, qty integer default null, line_column text default null, rest_column text default null)
returns bigint
language c volatile
as 'MODULE_PATHNAME', 'howdah_queue_redrive';
comment on function queue.redrive(text, integer, text, text) is
  'Sends dead letters of a queue to it again, all or the oldest; returns how many. What cannot be sent stays as it is, and says why';

create function queue.redrive(
  into_table regclass, qty integer default null, line_column text default null, rest_column text default null)
returns bigint
language c volatile
as 'MODULE_PATHNAME', 'howdah_queue_redrive_into_table';
comment on function queue.redrive(regclass, integer, text, text) is
  'Inserts lines that were refused into their table again, as its owner, all or the oldest, but for those that a policy has refused; returns how many are rows now. What cannot be inserted stays as it is, and says why';

create function queue.discard(queue integer, into_table oid, before timestamptz) returns bigint
language sql volatile set search_path = pg_catalog, pg_temp
as $body$
  with discarded as (
    delete from queue.dead_letter d
    where (d.queue = discard.queue or d.into_table = discard.into_table)
      and (discard.before is null or d.buried_at < discard.before)
    returning 1)
  select count(*) from discarded
$body$;
comment on function queue.discard(integer, oid, timestamptz) is
  'Removes dead letters; queue.discard_dead_letters() calls it';

create function queue.discard_dead_letters(queue_name text, before timestamptz default null) returns bigint
language c volatile
as 'MODULE_PATHNAME', 'howdah_queue_discard_dead_letters';
comment on function queue.discard_dead_letters(text, timestamptz) is
  'Throws dead letters of a queue away, all or those that were buried before a time; returns how many';

create function queue.discard_dead_letters(into_table regclass, before timestamptz default null) returns bigint
language c volatile
as 'MODULE_PATHNAME', 'howdah_queue_discard_dead_letters_of_table';
comment on function queue.discard_dead_letters(regclass, timestamptz) is
  'Throws lines away that were refused by a table, all or those that were buried before a time; returns how many';

revoke all on function
  queue.exhume(integer, oid, integer), queue.settle(text[], text[], text[], text[]), queue.discard(integer, oid, timestamptz)
from public;

-- Lines of JSON into queues and tables.

-- How far producers are whose lines go into tables; queues keep it in their ledgers.
create table queue.progress (
  into_table regclass not null,
  producer text collate "C" not null,
  epoch integer not null,
  sequence bigint not null,
  primary key (into_table, producer))
with (fillfactor = 50);
comment on table queue.progress is 'The last line of each producer that is in a table';
select pg_catalog.pg_extension_config_dump(
  'queue.progress',
  'where exists (select from pg_catalog.pg_class c where c.oid operator(pg_catalog.=) into_table)');

create function queue.forget_tables() returns event_trigger
language c
as 'MODULE_PATHNAME', 'howdah_queue_forget_tables';
comment on function queue.forget_tables() is 'Forgets producers and dead letters of tables that are dropped: oids come again';
revoke all on function queue.forget_tables() from public;

-- The linter knows no event triggers.
create event trigger howdah_queue_tables on sql_drop -- noqa: PRS
execute function queue.forget_tables();
comment on event trigger howdah_queue_tables is 'Forgets producers and dead letters of tables that are dropped';

create type queue.lines_result as (
  received bigint, stored bigint, repeated bigint, rejected bigint, sequence bigint, dropped bigint);
comment on type queue.lines_result is 'What queue.put_lines() returns';

-- The target by name comes last: a table's is written into_table => 'name', as INTO is a reserved word.
create function queue.put_lines(
  queue text default null, lines text default null, producer text default null, epoch integer default 1,
  sequence bigint default null, line_column text default null, rest_column text default null,
  into_table regclass default null)
returns setof queue.lines_result
language c volatile rows 1
as 'MODULE_PATHNAME', 'howdah_queue_put_lines';
comment on function queue.put_lines(text, text, text, integer, bigint, text, text, regclass) is
  'Stores lines of JSON in a queue or table; bad ones become dead letters. A producer numbers its lines, the first here being number sequence; line_column gets the whole line, rest_column the keys that have no column';

create function queue.put_lines(
  queue text default null, lines bytea default null, producer text default null, epoch integer default 1,
  sequence bigint default null, line_column text default null, rest_column text default null,
  into_table regclass default null)
returns setof queue.lines_result
language c volatile rows 1
as 'MODULE_PATHNAME', 'howdah_queue_put_lines';
comment on function queue.put_lines(text, bytea, text, integer, bigint, text, text, regclass) is
  'Stores lines of JSON in a queue or table; bad ones become dead letters. A producer numbers its lines, the first here being number sequence; line_column gets the whole line, rest_column the keys that have no column';

create function queue.forget_producer(queue_name text, producer text) returns boolean
language c volatile
as 'MODULE_PATHNAME', 'howdah_queue_forget_producer';
comment on function queue.forget_producer(text, text) is
  'Forgets how far a producer of a queue is, for one that will not come back: what it sends again doubles. False if it is not known';

create function queue.forget_producer(into_table regclass, producer text) returns boolean
language c volatile
as 'MODULE_PATHNAME', 'howdah_queue_forget_producer_of_table';
comment on function queue.forget_producer(regclass, text) is
  'Forgets how far a producer of a table is, for one that will not come back: what it sends again doubles. False if it is not known';

create function queue.producers(queue_name text) returns table (producer text, epoch integer, sequence bigint)
language c volatile
as 'MODULE_PATHNAME', 'howdah_queue_producers';
comment on function queue.producers(text) is
  'How far each producer of a queue is: its epoch and the number of its last row';

create function queue.producers(into_table regclass) returns table (producer text, epoch integer, sequence bigint)
language c volatile
as 'MODULE_PATHNAME', 'howdah_queue_producers_of_table';
comment on function queue.producers(regclass) is
  'How far each producer of a table is: its epoch and the number of its last line';

-- Listeners that take lines of JSON into queues and tables. An ordinary table, so that pg_dump carries it.

create table queue.listener (
  port integer primary key check (port between 1 and 65535),
  address text not null,
  queue text,
  queue_owner text,
  into_table regclass,
  role regrole not null,
  search_path text not null,
  token bytea,
  durability text not null check (durability in ('commit', 'remote_apply', 'memory')),
  bucket_rows integer not null check (bucket_rows between 1 and 1000000),
  bucket_bytes integer not null check (bucket_bytes between 1 and 67108864),
  bucket_milliseconds integer not null check (bucket_milliseconds between 0 and 60000),
  longest_line integer check (longest_line between 64 and 67108864),
  line_column text,
  rest_column text,
  allow cidr[] not null check (array_position(allow, null) is null),
  tls boolean not null default false,
  check (num_nonnulls(queue, into_table) = 1));
comment on table queue.listener is 'Listeners for lines; change them by queue.listen() and queue.unlisten()';
comment on column queue.listener.address is
  'Host name, address, * or folder of UNIX sockets; empty for all that howdah.listen_addresses allows';
comment on column queue.listener.queue is 'The queue that lines go into';
comment on column queue.listener.queue_owner is
  'Who owned the queue at registration, by name; null is anybody. Another''s queue of the same name gets no lines';
comment on column queue.listener.into_table is 'The table that lines go into';
comment on column queue.listener.role is 'The role that lines are written as';
comment on column queue.listener.search_path is 'search_path at registration, in which triggers and the like resolve names';
comment on column queue.listener.token is 'SHA-256 of the token that clients must bring';
comment on column queue.listener.durability is 'When a line counts as committed: commit, remote_apply or memory';
comment on column queue.listener.bucket_rows is 'Lines of a transaction at most';
comment on column queue.listener.bucket_bytes is 'Bytes of a transaction''s lines, after which it takes no more';
comment on column queue.listener.bucket_milliseconds is 'How long a line waits at most for others to join it';
comment on column queue.listener.longest_line is 'Bytes of a line, null for howdah.queue_longest_line; a longer one becomes a dead letter';
comment on column queue.listener.line_column is 'The column that gets the whole line';
comment on column queue.listener.rest_column is 'The column that gets the keys that have no column';
comment on column queue.listener.allow is 'Networks that may connect; all if there is none';
comment on column queue.listener.tls is 'Whether it speaks TLS, by the certificates of howdah.tls_certificates; UNIX sockets never do';

create trigger changed after insert or update or delete or truncate on queue.listener
for each statement execute function http.configuration_changed();
alter table queue.listener enable always trigger changed;

select pg_catalog.pg_extension_config_dump(
  'queue.listener',
  'where into_table is null or exists (select from pg_catalog.pg_class c where c.oid operator(pg_catalog.=) into_table)');

create function queue.listen(
  port integer, queue text default null, into_table regclass default null, address text default '',
  role text default null, token text default null, durability text default 'commit',
  bucket_rows integer default 10000, bucket_bytes integer default null, bucket_milliseconds integer default 5,
  longest_line integer default null, line_column text default null, rest_column text default null,
  allow cidr[] default '{}', search_path text default http.registration_path(), tls boolean default false)
returns void
language c volatile
as 'MODULE_PATHNAME', 'howdah_queue_listen';
comment on function queue.listen(
  integer, text, regclass, text, text, text, text, integer, integer, integer, integer, text, text, cidr[], text, boolean) is
  'Takes lines of JSON on a port into a queue or a table; the same port replaces';

create function queue.unlisten(port integer) returns boolean
language c volatile
as 'MODULE_PATHNAME', 'howdah_queue_unlisten';
comment on function queue.unlisten(integer) is
  'Stops taking lines on a port; what has been read is stored first. False if nothing listened';

create function queue.read_listeners()
returns table (
  port integer, gateway integer, way text, connections integer, received bigint, stored bigint, repeated bigint,
  rejected bigint, dropped bigint, refused bigint, failing boolean, code text, error text, error_at timestamptz)
language c volatile strict
as 'MODULE_PATHNAME', 'read_listeners_wrapper';
comment on function queue.read_listeners() is 'What the view queue.listeners shows of each gateway';

create function queue.read_connections()
returns table (
  port integer, gateway integer, remote text, producer text, epoch integer, sequence bigint, since timestamptz,
  received bigint, stored bigint, repeated bigint, rejected bigint, lag bigint)
language c volatile strict
as 'MODULE_PATHNAME', 'read_connections_wrapper';
comment on function queue.read_connections() is 'What the view queue.connections shows';

create view queue.listeners as
select
  l.port, l.queue, l.into_table, l.role, l.durability, p.bound, p.gateway, r.way, coalesce(r.connections, 0) as connections,
  coalesce(r.received, 0) as received, coalesce(r.stored, 0) as stored, coalesce(r.repeated, 0) as repeated,
  coalesce(r.rejected, 0) as rejected, coalesce(r.dropped, 0) as dropped, coalesce(r.refused, 0) as refused, coalesce(r.failing, false) as failing,
  coalesce(p.error, r.error) as error, r.code, r.error_at
from queue.listener l
left join (
  select b.port, b.gateway, b.wanted_by, string_agg(b.address, ', ') filter (where b.error is null) as bound,
    string_agg(b.error, ', ') as error
  from http.read_ports() b group by b.port, b.gateway, b.wanted_by) p
  on p.port = l.port and l.address = any (p.wanted_by)
left join queue.read_listeners() r on r.port = l.port and r.gateway = p.gateway;
comment on view queue.listeners is 'The listeners for lines of this database, and what became of them in each gateway';
comment on column queue.listeners.bound is 'The addresses that a gateway has bound';
comment on column queue.listeners.gateway is 'Process id of the gateway; null if none serves the listener';
comment on column queue.listeners.way is 'How rows are written, and why; null until the first bucket';
comment on column queue.listeners.received is 'Lines that came since the gateway began to listen, empty ones included';
comment on column queue.listeners.stored is 'Lines whose rows are committed';
comment on column queue.listeners.repeated is 'Lines that were left out because their producer had sent them before';
comment on column queue.listeners.rejected is
  'Lines that were refused, and have become dead letters but for those that were dropped';
comment on column queue.listeners.dropped is
  'Lines that were refused and not kept, as there were howdah.queue_dead_letters already';
comment on column queue.listeners.refused is 'Connections that were turned away';
comment on column queue.listeners.failing is 'Whether nothing can be written now; lines wait, and it is tried again';
comment on column queue.listeners.error is 'The last error: of binding, of writing, or why a connection was turned away';
comment on column queue.listeners.error_at is 'When it occurred';

create view queue.connections as
select * from queue.read_connections();
comment on view queue.connections is 'The connections that bring lines into this database now';
comment on column queue.connections.remote is 'Where it comes from; null for a UNIX socket';
comment on column queue.connections.producer is 'Who sends; null if the connection is plain';
comment on column queue.connections.sequence is 'The last line that was acknowledged; null if the connection is plain';
comment on column queue.connections.lag is 'Lines that have come and are not committed yet';

revoke all on function
  queue.listen(
    integer, text, regclass, text, text, text, text, integer, integer, integer, integer, text, text, cidr[], text, boolean),
  queue.unlisten(integer), queue.read_listeners(), queue.read_connections()
from public;
grant execute on function
  queue.listen(
    integer, text, regclass, text, text, text, text, integer, integer, integer, integer, text, text, cidr[], text, boolean),
  queue.unlisten(integer), queue.read_listeners(), queue.read_connections()
to howdah_admin;

-- The HTTP door of queues: functions for routes, which queue.serve() registers. They run as the route's role, which
-- needs its rights on the queue as anybody does.

create function queue.http_send(
  queue text, bytea, producer text default null, epoch integer default 1, sequence bigint default null)
returns json
language c volatile
as 'MODULE_PATHNAME', 'howdah_queue_http_send';
comment on function queue.http_send(text, bytea, text, integer, bigint) is
  'Route: stores the lines of JSON of the body, inflated if need be; answers counts and the lines that were refused';

create function queue.arrivals(queue_name text) returns bigint
language c volatile strict
as 'MODULE_PATHNAME', 'howdah_queue_arrivals';
comment on function queue.arrivals(text) is 'How many rows may have become free since the server started';

create function queue.check_owner(queue_name text) returns void
language c volatile strict
as 'MODULE_PATHNAME', 'howdah_queue_check_owner';
comment on function queue.check_owner(text) is
  'For routes whose client names the queue: in a request an error unless its owner may become the current user, or that is howdah_web';

create function queue.answer_later(
  queue_name text, arrivals bigint, milliseconds integer, any_row boolean default false)
returns void
language c volatile strict
as 'MODULE_PATHNAME', 'howdah_queue_answer_later';
comment on function queue.answer_later(text, bigint, integer, boolean) is
  'Has a request that found nothing run again when rows may be free; its answer is sent when the time is over, after a minute at the latest. Requests to which any row is as good take turns';

create function queue.read_as_json(queue_name text, qty integer, vt interval)
returns table (msg_id bigint, read_ct integer, "row" json)
language c volatile rows 100 set search_path = pg_catalog, pg_temp
as 'MODULE_PATHNAME', 'howdah_queue_read_as_json';
comment on function queue.read_as_json(text, integer, interval) is
  'Rows or messages as JSON, as many as one response has room for: leased, or taken out if vt is null. What cannot be JSON, or is too large for any response, is null';

create function queue.rows_as_json(queue_name text, qty integer, leased boolean, vt interval)
returns table (msg_id bigint, read_ct integer, "row" json)
language plpgsql volatile set search_path = pg_catalog, pg_temp
as $body$
declare
  are_messages boolean;
  ids bigint[];
  counts integer[];
  taken json[];
  refused boolean;
begin
  if qty is null or qty not between 0 and 10000 then
    raise exception using errcode = '22023', message = format('qty must be from 0 to 10000, and is %s', coalesce(qty::text, 'null'));
  end if;
  select q.row_type is null into are_messages from queue.queue q where q.name = rows_as_json.queue_name;
  if leased then
    return query select r.msg_id, r.read_ct,
      case
        when are_messages or r."row" is null then r."row"
        else json_build_object('msg_id', r.msg_id, 'read_ct', r.read_ct, 'row', r."row")
      end
    from queue.read_as_json(queue_name, qty, vt) r;
    return;
  end if;
  begin
    select array_agg(r."row"), bool_or(r."row" is null) into taken, refused
    from queue.read_as_json(queue_name, qty, null) r;
    if refused then
      raise exception using errcode = 'HQ001', message = 'a row cannot be answered';
    end if;
  exception when sqlstate 'HQ001' then
    -- Rows that cannot be answered are leased, which counts, and stay; those behind them are handed out.
    select array_agg(r.msg_id), array_agg(r.read_ct), array_agg(r."row") into ids, counts, taken
    from queue.read_as_json(queue_name, qty, '30 seconds') r where r."row" is not null;
    if are_messages then
      perform queue.delete(queue_name, ids, counts);
    else
      perform queue.ack(queue_name, ids, counts);
    end if;
  end;
  return query select null::bigint, null::integer, t from unnest(taken) t;
end
$body$;
comment on function queue.rows_as_json(text, integer, boolean, interval) is
  'Rows or messages as JSON: leased for a time, or taken out. A leased row that cannot be answered is null';

create function queue.ack_batch(queue_name text, batch text) returns bigint
language plpgsql volatile set search_path = pg_catalog, pg_temp
as $body$
declare
  acknowledged bigint;
  starts bigint[];
  ends bigint[];
  readings integer[];
  ids bigint[];
  counts integer[];
begin
  -- Before the batch is unpacked: it fails without the right to take.
  perform queue.arrivals(queue_name);
  if batch is null or batch !~ '^\d{1,18}-\d{1,18}:\d{1,9}(,\d{1,18}-\d{1,18}:\d{1,9})*$' or length(batch) > 500000 then
    raise exception using errcode = '22023', message = format('"%s" is no batch id', left(batch, 100)),
      hint = 'Give back the "batch" that a read has answered.';
  end if;
  select array_agg(p.fields[1]::bigint), array_agg(p.fields[2]::bigint), array_agg(p.fields[3]::integer)
  into starts, ends, readings
  from (select regexp_split_to_array(part, '[-:]') as fields from regexp_split_to_table(batch, ',') part) p;
  if exists (select from unnest(starts, ends) part (s, e) where e < s)
    or (select sum(e - s + 1) from unnest(starts, ends) part (s, e)) > 10000 then
    raise exception using errcode = '22023', message = 'a batch goes upwards, and has at most 10000 rows';
  end if;
  select array_agg(n), array_agg(reading) into ids, counts
  from unnest(starts, ends, readings) part (s, e, reading) cross join generate_series(s, e) n;
  if exists (select from queue.queue q where q.name = ack_batch.queue_name and q.row_type is null) then
    select count(*) into acknowledged from queue.delete(queue_name, ids, counts);
  else
    select count(*) into acknowledged from queue.ack(queue_name, ids, counts);
  end if;
  return acknowledged;
end
$body$;
comment on function queue.ack_batch(text, text) is
  'Removes the leased rows of a batch that was read over HTTP; returns how many were there and not read again since';

create function queue.http_read(
  queue text, qty integer default 100, vt interval default '30 seconds', wait interval default '0 seconds',
  ack text default null)
returns json
language plpgsql volatile set search_path = pg_catalog, pg_temp
as $body$
declare
  arrivals bigint := queue.arrivals(http_read.queue);
  answer json;
begin
  perform queue.check_owner(http_read.queue);
  if vt is null or vt < '1 second' or vt > '1 day' then
    raise exception using errcode = '22023', message = format('vt must be from a second to a day, and is %s', coalesce(vt::text, 'null'));
  end if;
  if ack is not null then
    perform queue.ack_batch(http_read.queue, ack);
  end if;
  with rows as materialized (
    select r.msg_id, r.read_ct, r."row" from queue.rows_as_json(http_read.queue, qty, true, vt) r
    where r."row" is not null),
  ids as (select read_ct, range_agg(int8range(msg_id, msg_id, '[]')) as ranges from rows group by read_ct)
  select json_build_object(
    'batch', (
      select string_agg(lower(part) || '-' || upper(part) - 1 || ':' || ids.read_ct, ',')
      from ids, unnest(ids.ranges) part),
    'rows', coalesce((select json_agg(rows."row") from rows), '[]'))
  into answer;
  if wait > '0 seconds' and qty > 0 and answer ->> 'batch' is null then
    perform queue.answer_later(
      http_read.queue, arrivals, (1000 * extract(epoch from least(wait, interval '1 minute')))::integer,
      any_row => true);
  end if;
  return answer;
end
$body$;
comment on function queue.http_read(text, integer, interval, interval, text) is
  'Route: leases rows and answers them with a batch id, after removing those of the batch that ack names; waits for rows if there are none';

create function queue.http_ack(queue text, batch text) returns json
language plpgsql volatile set search_path = pg_catalog, pg_temp
as $body$
begin
  perform queue.check_owner(http_ack.queue);
  return json_build_object('acknowledged', queue.ack_batch(http_ack.queue, batch));
end
$body$;
comment on function queue.http_ack(text, text) is 'Route: removes the leased rows of a batch';

create function queue.http_take(queue text, qty integer default 100) returns json
language plpgsql volatile set search_path = pg_catalog, pg_temp
as $body$
begin
  -- An unknown queue is the client's mistake.
  perform queue.arrivals(http_take.queue);
  perform queue.check_owner(http_take.queue);
  return json_build_object(
    'rows', coalesce(
      (select json_agg(r."row") from queue.rows_as_json(http_take.queue, qty, false, null) r), '[]'));
end
$body$;
comment on function queue.http_take(text, integer) is
  'Route: takes rows out, at most once: rows of an answer that does not arrive are lost';

create function queue.serve(path text default '/queues', role text default 'howdah_web') returns void
language plpgsql volatile set search_path = pg_catalog, pg_temp
as $body$
begin
  perform http.route('POST', path || '/{queue}', 'queue.http_send', role);
  perform http.route('POST', path || '/{queue}/read', 'queue.http_read', role);
  perform http.route('POST', path || '/{queue}/ack', 'queue.http_ack', role);
  perform http.route('POST', path || '/{queue}/take', 'queue.http_take', role);
end
$body$;
comment on function queue.serve(text, text) is
  'Opens the HTTP door of queues under a path: routes that run as a role, which needs its rights on each queue';
revoke all on function queue.serve(text, text) from public;
grant execute on function queue.serve(text, text) to howdah_admin;

-- Jobs: enqueued in the transaction that causes them, run exactly once. Their rows are those of queues, one for each kind and
-- priority; what failed, and what is dead, is in tables.

create schema job;
comment on schema job is 'Jobs: enqueued in the transaction that causes them, run exactly once';

create type job.entry as (arguments jsonb, key text, root bigint, holds text);
comment on type job.entry is 'A job as its queue has it';
comment on column job.entry.holds is 'For how long it holds its key: waiting, running or time';
comment on column job.entry.root is 'The id of the job as which it was enqueued first, if it was sent again as this one';

create table job.kind (
  id integer generated by default as identity primary key,
  name text not null unique,
  owner regrole not null,
  priority text not null check (priority in ('high', 'normal', 'low')),
  alert integer,
  function text not null,
  function_owner regrole not null,
  function_oid oid,
  role regrole not null,
  search_path text not null,
  attempts integer not null check (attempts > 0),
  backoff interval not null check (backoff >= '0'),
  longest_backoff interval not null,
  timeout interval check (timeout > '0'),
  at_once integer check (at_once > 0),
  per_second double precision check (per_second > 0),
  batch integer not null check (batch > 0),
  keep_failures interval,
  keep_dead interval,
  paused_at timestamptz,
  defined_at timestamptz not null default now());
comment on table job.kind is 'Kinds of jobs; change them by job.define() and job.undefine()';
comment on column job.kind.id is 'Its number, in the names of its queues';
comment on column job.kind.name is 'Its name';
comment on column job.kind.owner is 'The role that has defined it';
comment on column job.kind.priority is 'The priority of jobs that are enqueued without one: high, normal or low';
comment on column job.kind.alert is
  'The kind, by its number, of which a job is enqueued for each job that dies by itself; null for none';
comment on column job.kind.function is 'The function with its argument types';
comment on column job.kind.function_owner is
  'Who owned the function when the kind was defined. Another''s function of the same name does not run';
comment on column job.kind.function_oid is
  'The function''s oid, by which a new name of it is found. After a restore it is another''s, until an executor has looked';
comment on column job.kind.role is 'The role that its jobs run as';
comment on column job.kind.search_path is 'search_path at definition, in which names resolve';
comment on column job.kind.attempts is 'How often a job is tried before it is dead';
comment on column job.kind.backoff is 'How long a job waits after its first attempt; after each further one twice as long';
comment on column job.kind.longest_backoff is 'How long it waits at most';
comment on column job.kind.timeout is 'How long an attempt may take; null for any time';
comment on column job.kind.at_once is 'How many may run at the same time; null for the share of howdah.job_share';
comment on column job.kind.per_second is 'How many may begin within a second; null for any number';
comment on column job.kind.batch is 'How many jobs one transaction may run, each in a subtransaction';
comment on column job.kind.keep_failures is 'How long attempts that have failed are kept; null for any time';
comment on column job.kind.keep_dead is 'How long dead jobs are kept; null for any time';
comment on column job.kind.paused_at is 'Since when none begins, by job.pause(); null while they do';
comment on column job.kind.defined_at is 'When it was defined, or last changed';

-- Whoever enqueues the first job of a priority writes here, and keeps nobody from changing the kind.
create table job.kind_queue (
  kind integer not null,
  priority text not null check (priority in ('high', 'normal', 'low')),
  queue integer not null,
  primary key (kind, priority));
comment on table job.kind_queue is 'The queues of kinds, one for each priority of which there was a job';
comment on column job.kind_queue.queue is 'The queue, by its number';

create table job.permission (
  kind integer not null,
  role regrole not null,
  permission text not null check (permission in ('enqueue', 'cancel', 'redrive')),
  primary key (kind, role, permission));
comment on table job.permission is
  'What roles other than owners may do; change it by job.grant() and job.revoke()';

create table job.failure (
  job bigint not null,
  place integer not null,
  kind integer not null,
  attempt integer not null,
  began_at timestamptz not null,
  ended_at timestamptz not null,
  sqlstate text not null,
  message text not null,
  detail text,
  hint text,
  context text,
  primary key (job, place))
with (fillfactor = 50);
comment on table job.failure is 'Attempts that have failed, the last ones of each job; job.failures shows them';
comment on column job.failure.job is 'The job, by the id as which it was enqueued first';
comment on column job.failure.place is 'The attempt modulo the number that is kept';

create table job.dead (
  id bigint primary key,
  kind integer not null,
  priority text not null,
  arguments jsonb not null,
  key text,
  holds text,
  root bigint,
  attempts integer not null,
  enqueued_at timestamptz not null,
  died_at timestamptz not null,
  reason text not null check (reason in ('failed', 'given up', 'cancelled', 'crashed')),
  sqlstate text,
  message text);
comment on table job.dead is 'Jobs that are not tried any more; job.dead_jobs shows them';
create index on job.dead (kind, died_at);

create table job.key (
  kind integer not null,
  key text not null,
  job bigint not null,
  holds text not null check (holds in ('waiting', 'running', 'time')),
  until timestamptz,
  primary key (kind, key))
with (fillfactor = 70, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0.5, autovacuum_vacuum_cost_delay = 0);
comment on table job.key is 'Keys, and the jobs that hold them';
comment on column job.key.holds is 'For how long: while the job waits, while it waits or runs, or for a time';
comment on column job.key.until is 'Until when, of one that is held for a time';

-- So that a publication of all tables does not forbid what updates or deletes here.
alter table job.failure replica identity full;
alter table job.dead replica identity full;

create trigger changed after insert or update or delete or truncate on job.kind
for each statement execute function http.configuration_changed();
alter table job.kind enable always trigger changed;
create trigger changed after insert or update or delete or truncate on job.kind_queue
for each statement execute function http.configuration_changed();
alter table job.kind_queue enable always trigger changed;
create trigger changed after insert or update or delete or truncate on job.permission
for each statement execute function http.configuration_changed();
alter table job.permission enable always trigger changed;

select pg_catalog.pg_extension_config_dump('job.kind', '');
select pg_catalog.pg_extension_config_dump('job.kind_id_seq', '');
select pg_catalog.pg_extension_config_dump('job.kind_queue', '');
select pg_catalog.pg_extension_config_dump('job.permission', '');
select pg_catalog.pg_extension_config_dump('job.failure', '');
select pg_catalog.pg_extension_config_dump('job.dead', '');
select pg_catalog.pg_extension_config_dump('job.key', '');

-- What the functions below have done as the owner of the extension, after they have checked who calls.

create function job.make_queue(kind integer, priority text) returns integer
language plpgsql set search_path = pg_catalog, pg_temp
as $body$
declare
  queue_name text := format('job_%s_%s', make_queue.kind, make_queue.priority);
  number integer;
begin
  -- It is not removed meanwhile, but may be changed.
  perform from job.kind k where k.id = make_queue.kind for key share;
  if not found then
    raise 'the kind of this job has been removed meanwhile' using errcode = 'undefined_object';
  end if;
  -- Whoever is first makes the queue; the others wait here, and find it.
  insert into job.kind_queue (kind, priority, queue) values (make_queue.kind, make_queue.priority, 0) on conflict do nothing;
  if not found then
    select q.queue into number
    from job.kind_queue q where q.kind = make_queue.kind and q.priority = make_queue.priority;
  else
    perform queue.make(queue_name, 'job.entry'::regtype, current_user::regrole, false, null);
    -- Never another's: who owns a queue puts into it what is run as the kind's role.
    select q.id into number
    from queue.queue q
    where q.name = queue_name and q.owner = current_user::regrole and q.row_type = 'job.entry'::regtype;
    if not found then
      raise exception using errcode = '42710', message = format('queue %s exists, and is none of jobs', queue_name),
        hint = 'queue.drop_queue removes it and its rows.';
    end if;
    update job.kind_queue q set queue = number where q.kind = make_queue.kind and q.priority = make_queue.priority;
  end if;
  return number;
end
$body$;
comment on function job.make_queue(integer, text) is 'The queue of a kind''s jobs of a priority, which is made if need be';

create function job.unmake(kind integer) returns void
language plpgsql set search_path = pg_catalog, pg_temp
as $body$
declare
  number integer;
begin
  -- First what executors lock first when schedules are due.
  delete from job.timetable s where s.kind = unmake.kind;
  -- Whoever makes a queue of it meanwhile is waited for, or waits and finds no kind.
  perform from job.kind k where k.id = unmake.kind for update;
  for number in
    select q.id from job.kind_queue k join queue.queue q on q.id = k.queue where k.kind = unmake.kind
  loop
    perform queue.unmake(number);
  end loop;
  delete from job.kind_queue k where k.kind = unmake.kind;
  delete from job.kind k where k.id = unmake.kind;
  update job.kind k set alert = null where k.alert = unmake.kind;
  delete from job.permission p where p.kind = unmake.kind;
  delete from job.key k where k.kind = unmake.kind;
  -- Failures and dead jobs, which may be many, are nobody's now: job.purge() takes them away.
end
$body$;
comment on function job.unmake(integer) is 'Removes a kind with all its jobs; job.undefine() calls it';

create function job.follow(kind integer, owner_name text) returns void
language plpgsql set search_path = pg_catalog, pg_temp
as $body$
declare
  new_name text;
  owner_is_renamed boolean;
begin
  select p.oid::regprocedure::text, pg_get_userbyid(k.function_owner::oid) <> follow.owner_name
  into new_name, owner_is_renamed
  from job.kind k
  left join pg_proc p
    on p.oid = k.function_oid and p.proowner = k.function_owner::oid and p.oid::regprocedure::text <> k.function
  where k.id = follow.kind;
  if new_name is not null or owner_is_renamed then
    update job.kind k set function = coalesce(new_name, k.function) where k.id = follow.kind;
  end if;
end
$body$;
comment on function job.follow(integer, text) is
  'Finds the function of a kind under its new name, or has executors read that of its owner';

create function job.note_oids() returns void
language sql set search_path = pg_catalog, pg_temp
as $body$
  update job.kind k set function_oid = p.oid
  from pg_proc p
  where p.proowner = k.function_owner::oid and p.oid::regprocedure::text = k.function and k.function_oid is distinct from p.oid
$body$;
comment on function job.note_oids() is 'Notes the oids of the functions of kinds, after a restore, say; another''s function of the same name is none of them';

create function job.has_jobs(kind integer) returns boolean
language c volatile strict
as 'MODULE_PATHNAME', 'howdah_job_has_jobs';
comment on function job.has_jobs(integer) is
  'Whether jobs of a kind wait or run; nobody enqueues any until the transaction ends';

create function job.note_failure(
  job bigint, place integer, kind integer, attempt integer, began_at timestamptz, sqlstate text, message text,
  detail text, hint text, context text)
returns void
language sql set search_path = pg_catalog, pg_temp
as $body$
  insert into job.failure
    (job, place, kind, attempt, began_at, ended_at, sqlstate, message, detail, hint, context)
  values (
    note_failure.job, note_failure.place, note_failure.kind, note_failure.attempt, note_failure.began_at,
    clock_timestamp(), note_failure.sqlstate, note_failure.message, note_failure.detail, note_failure.hint,
    note_failure.context)
  on conflict (job, place) do update
  set
    attempt = excluded.attempt, began_at = excluded.began_at, ended_at = excluded.ended_at,
    sqlstate = excluded.sqlstate, message = excluded.message, detail = excluded.detail, hint = excluded.hint,
    context = excluded.context
$body$;
comment on function job.note_failure(
  bigint, integer, integer, integer, timestamptz, text, text, text, text, text) is 'Notes an attempt that has failed';

create function job.purge(page integer) returns integer
language plpgsql set search_path = pg_catalog, pg_temp
as $body$
declare
  from_here tid := format('(%s,0)', purge.page);
  upto constant bigint := purge.page + 1000;
  to_there tid := format('(%s,0)', least(upto, 4294967295));
  pages constant bigint :=
    greatest(pg_relation_size('job.failure'), pg_relation_size('job.dead'), pg_relation_size('job.key'))
      / current_setting('block_size')::integer;
begin
  delete from job.failure d
  where d.ctid = any (array(
    select f.ctid from job.failure f
    where f.ctid >= from_here and f.ctid < to_there and not exists (
      select from job.kind k
      where k.id = f.kind and (k.keep_failures is null or f.ended_at >= clock_timestamp() - k.keep_failures))
    for update skip locked));
  delete from job.dead d
  where d.ctid = any (array(
    select g.ctid from job.dead g
    where g.ctid >= from_here and g.ctid < to_there and not exists (
      select from job.kind k
      where k.id = g.kind and (k.keep_dead is null or g.died_at >= clock_timestamp() - k.keep_dead))
    for update skip locked));
  delete from job.key d
  where d.ctid = any (array(
    select h.ctid from job.key h
    where h.ctid >= from_here and h.ctid < to_there and h.holds = 'time' and h.until <= clock_timestamp()
    for update skip locked));
  return case when upto < pages then upto end;
end
$body$;
comment on function job.purge(integer) is
  'Removes old failures, dead jobs and keys whose time is over from a thousand pages of their tables; the page to go on with, or null';

-- What users call of jobs.

create function job.define(
  kind text, function text, role text default null, attempts integer default 20, backoff interval default '1 s',
  longest_backoff interval default '1 h', timeout interval default '5 min', at_once integer default null,
  per_second double precision default null, priority text default 'normal', batch integer default 1,
  alert text default null, keep_failures interval default '30 days', keep_dead interval default null,
  search_path text default http.registration_path())
returns void
language c volatile
as 'MODULE_PATHNAME', 'howdah_job_define';
comment on function job.define(
  text, text, text, integer, interval, interval, interval, integer, double precision, text, integer, text, interval, interval, text) is
  'Defines a kind of jobs: the function that runs them, as which role and within what limits. The same kind replaces';

create function job.undefine(kind text, with_jobs boolean default false) returns boolean
language c volatile
as 'MODULE_PATHNAME', 'howdah_job_undefine';
comment on function job.undefine(text, boolean) is
  'Removes a kind of jobs; false if there is none. One that has jobs is removed only with them';

create function job.grant(kind text, "right" text, role text) returns void
language c volatile
as 'MODULE_PATHNAME', 'howdah_job_grant';
comment on function job.grant(text, text, text) is 'Lets a role enqueue, cancel or redrive jobs of a kind';

create function job.revoke(kind text, "right" text, role text) returns void
language c volatile
as 'MODULE_PATHNAME', 'howdah_job_revoke';
comment on function job.revoke(text, text, text) is 'Takes a right back that job.grant() has given';

create function job.enqueue(
  kind text, arguments jsonb default '{}', at timestamptz default null, priority text default null,
  key text default null, holds text default 'waiting', holds_for interval default null, meets text default 'keep')
returns bigint
language c volatile
as 'MODULE_PATHNAME', 'howdah_job_enqueue';
comment on function job.enqueue(text, jsonb, timestamptz, text, text, text, interval, text) is
  'Enqueues a job, which begins after this transaction''s commit, and not before a time. Returns its id, or that of the job that holds its key';

create function job.enqueue_with_key(
  kind text, key text, arguments jsonb default '{}', at timestamptz default null, priority text default null,
  holds text default 'waiting', holds_for interval default null, meets text default 'keep')
returns table (id bigint, has_met boolean)
language c volatile rows 1
as 'MODULE_PATHNAME', 'howdah_job_enqueue_with_key';
comment on function job.enqueue_with_key(text, text, jsonb, timestamptz, text, text, interval, text) is
  'The same for a job with a key, and whether it has met one that holds it';

create function job.enqueue_many(
  kind text, arguments jsonb[], at timestamptz default null, priority text default null)
returns setof bigint
language c volatile rows 1000
as 'MODULE_PATHNAME', 'howdah_job_enqueue_many';
comment on function job.enqueue_many(text, jsonb[], timestamptz, text) is
  'Enqueues many jobs at once, one for each element of an array, for a fraction of the time. Returns their ids, in that order';

create function job.sees(kind text) returns boolean
language c stable
as 'MODULE_PATHNAME', 'howdah_job_sees';
comment on function job.sees(text) is
  'Whether the current user may see jobs of a kind: its owner, whoever has a right to it, and howdah_admin';

create function job.cancel(id bigint) returns boolean
language c volatile
as 'MODULE_PATHNAME', 'howdah_job_cancel';
comment on function job.cancel(bigint) is
  'Makes a job that waits a dead one, or interrupts the attempt that runs, which is undone; false if it is gone, or done before that';

create function job.redrive(id bigint) returns bigint
language c volatile
as 'MODULE_PATHNAME', 'howdah_job_redrive';
comment on function job.redrive(bigint) is
  'Sends a dead job again, with all its attempts, under a new id, which it returns; null if there is none';

create function job.redrive(kind text, qty integer default null) returns bigint
language c volatile
as 'MODULE_PATHNAME', 'howdah_job_redrive_all';
comment on function job.redrive(text, integer) is 'Sends all dead jobs of a kind again, or the oldest; returns how many';

create function job.discard(id bigint) returns boolean
language c volatile
as 'MODULE_PATHNAME', 'howdah_job_discard';
comment on function job.discard(bigint) is 'Throws a dead job away; false if there is none';

create function job.discard(kind text, before timestamptz default null) returns bigint
language c volatile
as 'MODULE_PATHNAME', 'howdah_job_discard_all';
comment on function job.discard(text, timestamptz) is
  'Throws all dead jobs of a kind away, or those that died before a time; returns how many';

create function job.pause(kind text) returns boolean
language c volatile
as 'MODULE_PATHNAME', 'howdah_job_pause';
comment on function job.pause(text) is
  'No job of the kind begins any more, also after a restart; those that run go on. False if it was paused';

create function job.resume(kind text) returns boolean
language c volatile
as 'MODULE_PATHNAME', 'howdah_job_resume';
comment on function job.resume(text) is 'Jobs of the kind begin again; false if it was not paused';

create function job.find(id bigint)
returns table (
  job bigint, kind text, state text, priority text, arguments jsonb, key text,
  failed_attempts integer, enqueued_at timestamptz, due_at timestamptz, first_id bigint)
language c volatile rows 1
as 'MODULE_PATHNAME', 'howdah_job_find';
comment on function job.find(bigint) is
  'A job that waits or runs; no row for one that is done, dead or not known. job.failures has its attempts';

create function job.progress(fraction double precision, remark text default null) returns void
language c volatile
as 'MODULE_PATHNAME', 'howdah_job_progress';
comment on function job.progress(double precision, text) is
  'Says how far the job that runs is, from 0 to 1; job.running shows it at once';

create function job.current()
returns table (
  id bigint, kind text, attempt integer, attempts integer, enqueued_at timestamptz,
  first_id bigint)
language c stable rows 1
as 'MODULE_PATHNAME', 'howdah_job_current';
comment on function job.current() is
  'The job that runs, which attempt of how many it is, and the id as which it was enqueued first; no row outside of jobs';

create function job.retry(after interval, message text default null) returns void
language c volatile
as 'MODULE_PATHNAME', 'howdah_job_retry';
comment on function job.retry(interval, text) is
  'Ends the attempt by an error: all that it has done is undone, and the job comes again after a time';

create function job.give_up(message text) returns void
language c volatile
as 'MODULE_PATHNAME', 'howdah_job_give_up';
comment on function job.give_up(text) is
  'Ends the attempt by an error, as the last: all that it has done is undone, and the job is dead';

revoke all on function
  job.make_queue(integer, text), job.unmake(integer), job.has_jobs(integer), job.purge(integer),
  job.follow(integer, text), job.note_oids(),
  job.note_failure(bigint, integer, integer, integer, timestamptz, text, text, text, text, text),
  job.define(text, text, text, integer, interval, interval, interval, integer, double precision, text, integer, text, interval, interval, text)
from public;
grant execute on function
  job.define(text, text, text, integer, interval, interval, interval, integer, double precision, text, integer, text, interval, interval, text)
to howdah_admin;

-- Schedules: jobs that are enqueued at times.

create table job.timetable (
  id integer generated by default as identity primary key,
  name text not null unique,
  owner regrole not null,
  kind integer not null,
  arguments jsonb not null,
  priority text check (priority in ('high', 'normal', 'low')),
  cron text,
  every interval,
  anchor timestamptz,
  time_zone text not null,
  missed text not null check (missed in ('none', 'once', 'each')),
  missed_within interval not null,
  missed_most integer not null,
  may_overlap boolean not null,
  defined_at timestamptz not null,
  paused_at timestamptz,
  stopped text,
  next_at timestamptz,
  looked_at timestamptz not null,
  last_at timestamptz,
  last_job bigint,
  skipped bigint not null default 0,
  missed_for_good bigint not null default 0,
  check ((cron is null) = (every is not null) and (every is null) = (anchor is null)))
with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.5, autovacuum_vacuum_cost_delay = 0);
comment on table job.timetable is
  'Schedules; change them by job.schedule() and job.unschedule(). job.schedules shows them';
comment on column job.timetable.owner is 'The role that has made it; its jobs are enqueued with that role''s right';
comment on column job.timetable.kind is 'The kind of its jobs, by its number';
comment on column job.timetable.time_zone is 'The zone whose clock the expression means';
comment on column job.timetable.defined_at is 'When it was made, or last changed';
comment on column job.timetable.stopped is 'Why no job was enqueued when one was last due; null if one was';
comment on column job.timetable.next_at is 'When it is due next; null for never';
comment on column job.timetable.looked_at is
  'When it was last changed, or an executor looked at it. If that lies in a far future the clock was wrong, and next_at is, too';
comment on column job.timetable.last_at is 'The last due time for which a job was enqueued';
comment on column job.timetable.last_job is 'That job';
comment on column job.timetable.skipped is
  'Due times without a job, because that of the last one waited or ran, or none could be enqueued';
comment on column job.timetable.missed_for_good is
  'Due times without a job, because the server, or the schedule, was not there';

alter table job.timetable replica identity full;

create table job.home (
  one boolean primary key default true check (one),
  cluster text not null,
  database oid not null);
comment on table job.home is
  'The database in which jobs run: in a copy of it none does until somebody has called job.resume() there';
comment on column job.home.cluster is 'The system identifier of its cluster';

alter table job.home replica identity full;
create trigger changed after insert or update or delete or truncate on job.home
for each statement execute function http.configuration_changed();
alter table job.home enable always trigger changed;

select pg_catalog.pg_extension_config_dump('job.timetable', '');
select pg_catalog.pg_extension_config_dump('job.timetable_id_seq', '');
select pg_catalog.pg_extension_config_dump('job.home', '');

create function job.schedule(
  name text, cron text default null, kind text default null, arguments jsonb default '{}',
  every interval default null, anchor timestamptz default null,
  time_zone text default null, missed text default 'once',
  missed_within interval default '1 day', missed_most integer default 100,
  may_overlap boolean default false, priority text default null)
returns timestamptz
language c volatile
as 'MODULE_PATHNAME', 'howdah_job_schedule';
comment on function job.schedule(
  text, text, text, jsonb, interval, timestamptz, text, text, interval, integer, boolean, text) is
  'Has jobs of a kind enqueued at the times of a cron expression, or every so often. The same name replaces. Returns when it is due next';

create function job.unschedule(name text) returns boolean
language c volatile
as 'MODULE_PATHNAME', 'howdah_job_unschedule';
comment on function job.unschedule(text) is 'Removes a schedule; jobs that it has enqueued stay. False if there is none';

create function job.pause_schedule(name text) returns boolean
language c volatile
as 'MODULE_PATHNAME', 'howdah_job_pause_schedule';
comment on function job.pause_schedule(text) is
  'A schedule enqueues no job any more, also after a restart. False if it was paused';

create function job.resume_schedule(name text) returns boolean
language c volatile
as 'MODULE_PATHNAME', 'howdah_job_resume_schedule';
comment on function job.resume_schedule(text) is
  'A schedule goes on; what was due meanwhile was missed. False if it was not paused';

create function job.run_schedule(name text) returns bigint
language c volatile
as 'MODULE_PATHNAME', 'howdah_job_run_schedule';
comment on function job.run_schedule(text) is
  'Enqueues a job of a schedule now, whatever else waits or runs, and returns its id. The next due time stays as it is';

create function job.upcoming(count integer default 10)
returns table (due_at timestamptz, schedule text, kind text, local_time timestamp, time_zone text)
language c volatile rows 10
as 'MODULE_PATHNAME', 'howdah_job_upcoming';
comment on function job.upcoming(integer) is
  'The next due times of all schedules together that are not paused, with the clock of their zones';

create function job.local_time(at timestamptz, time_zone text) returns timestamp
language c volatile strict
as 'MODULE_PATHNAME', 'howdah_job_local_time';
comment on function job.local_time(timestamptz, text) is
  'A moment by the clock of a zone; null where the zone is not known any more';

create function job.is_copy() returns boolean
language c volatile
as 'MODULE_PATHNAME', 'howdah_job_is_copy';
comment on function job.is_copy() is
  'Whether this database is a copy of the one in which jobs run, so that none runs here until job.resume()';

create function job.resume() returns boolean
language c volatile
as 'MODULE_PATHNAME', 'howdah_job_resume_all';
comment on function job.resume() is
  'Jobs run and schedules go on in this database, which is a copy of another. False if they did already';

revoke all on function
  job.schedule(text, text, text, jsonb, interval, timestamptz, text, text, interval, integer, boolean, text)
from public;
grant execute on function
  job.schedule(text, text, text, jsonb, interval, timestamptz, text, text, interval, integer, boolean, text)
to howdah_admin;

-- What there is to see of jobs.

create function job.read_kinds()
returns table (
  kind integer, waiting bigint, running integer, begun bigint, done bigint, failed bigint,
  mean_ms double precision, mean_wait_ms double precision, longest_wait_ms double precision, stopped text)
language c volatile rows 10
as 'MODULE_PATHNAME', 'howdah_job_read_kinds';
comment on function job.read_kinds() is 'What is known of kinds since the server started; job.kinds shows it';

create function job.read_running()
returns table (
  id bigint, queue integer, attempt integer, began_at timestamptz, pid integer,
  progress double precision, remark text)
language c volatile rows 10
as 'MODULE_PATHNAME', 'howdah_job_read_running';
comment on function job.read_running() is 'The jobs that run now; job.running shows them';

create view job.kinds with (security_barrier) as
select
  k.name as kind, k.owner, k.function, k.role, k.attempts, k.backoff, k.longest_backoff, k.timeout, k.at_once, k.per_second,
  k.batch, k.priority, (select a.name from job.kind a where a.id = k.alert) as alert, k.keep_failures, k.keep_dead, k.paused_at,
  r.waiting, coalesce(r.running, 0) as running, coalesce(r.begun, 0) as begun, coalesce(r.done, 0) as done,
  coalesce(r.failed, 0) as failed, (select count(*) from job.dead d where d.kind = k.id) as dead,
  r.mean_ms, r.mean_wait_ms, r.longest_wait_ms, r.stopped
from job.kind k left join job.read_kinds() r on r.kind = k.id
where job.sees(k.name);
comment on view job.kinds is
  'The kinds of jobs, with what they have done since the server started, and why one runs none';

create view job.overview with (security_barrier) as
select
  k.kind, k.waiting, k.running,
  date_trunc('milliseconds', (
    select max(clock_timestamp() - r.began_at)
    from job.read_running() r
    join job.kind_queue q on q.queue = r.queue
    join job.kind d on d.id = q.kind and d.name = k.kind)) as running_for,
  k.done, k.failed, k.dead, round(k.mean_ms::numeric, 3) as mean_ms, round(k.mean_wait_ms::numeric, 3) as mean_wait_ms,
  case when (select job.is_copy()) then 'this database is a copy: select job.resume()'
    when not current_setting('howdah.jobs')::boolean then 'howdah.jobs is off'
    else coalesce('stopped: ' || k.stopped, 'paused since ' || date_trunc('seconds', k.paused_at)) end as remark
from job.kinds k;
comment on view job.overview is 'The kinds of jobs in short, with the time of the job that has run for longest';

create view job.running with (security_barrier) as
select r.id, k.name as kind, r.attempt, r.began_at, r.pid, r.progress, r.remark
from job.read_running() r
join job.kind_queue q on q.queue = r.queue
join job.kind k on k.id = q.kind
where job.sees(k.name);
comment on view job.running is 'The jobs that run now';

create view job.failures with (security_barrier) as
select
  f.job, k.name as kind, f.attempt, f.began_at, f.ended_at, f.sqlstate, f.message, f.detail, f.hint, f.context
from job.failure f join job.kind k on k.id = f.kind
where job.sees(k.name);
comment on view job.failures is 'Attempts that have failed, the last ten of each job';

create view job.dead_jobs with (security_barrier) as
select
  d.id, k.name as kind, d.priority, d.arguments, d.key, coalesce(d.root, d.id) as first_id, d.attempts, d.enqueued_at,
  d.died_at, d.reason, d.sqlstate, d.message
from job.dead d join job.kind k on k.id = d.kind
where job.sees(k.name);
comment on view job.dead_jobs is 'Jobs that are not tried any more, with their last error; job.redrive() sends them again';

create view job.schedules with (security_barrier) as
select
  s.name as schedule, k.name as kind, s.owner, s.cron, s.every, s.anchor, s.time_zone, s.arguments,
  coalesce(s.priority, k.priority) as priority, s.missed, s.missed_within, s.missed_most, s.may_overlap,
  case when s.paused_at is null then s.next_at end as next_at,
  case when s.paused_at is null then job.local_time(s.next_at, s.time_zone) end as next_local,
  s.last_at, s.last_job,
  case when s.last_job is not null then coalesce(
    (select f.state from job.find(s.last_job) f),
    (select 'dead' from job.dead d where d.id = s.last_job), 'done') end as last_state,
  s.skipped, s.missed_for_good, s.paused_at, s.stopped
from job.timetable s join job.kind k on k.id = s.kind
where job.sees(k.name);
comment on view job.schedules is 'The schedules, with when they are due next and what became of the last job';

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
comment on table deploy.object is 'What each file has made, as pg_identify_object_as_address names it; of a route method and pattern, of a handler its name';
comment on column deploy.object.is_stale is 'Whether its file made it before and has not since; during a deployment';
comment on column deploy.object.is_drifted is 'Whether it was changed by hand since its file ran; during a deployment';
comment on column deploy.object.definition is
  'What it was when it was deployed: PostgreSQL''s major version and an MD5, of deploy.definition()';

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
comment on table deploy.shape is 'What migrations have made of an application''s schema, when it was last deployed';
comment on column deploy.shape.definition is 'What it was; null if there was no such thing';
comment on column deploy.shape.seen is 'What it had become by hand before a deployment; during one';
comment on column deploy.shape.version is 'PostgreSQL''s major version';

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
     http.cache(text, text, text[], integer, interval), http.cache_clear(text), http.registration_path(),
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
  if address.type not in ('route', 'handler', 'job', 'schedule') then
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
comment on function deploy.drift(text) is 'What was changed by hand since an application was deployed';

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

create function deploy.unready_routes(owner text) returns table (method text, pattern text, error text, detail text, hint text)
language c volatile strict
as 'MODULE_PATHNAME', 'deploy_unready_routes';
comment on function deploy.unready_routes(text) is 'Routes to a role''s functions that cannot be served as things are';
revoke all on function deploy.unready_routes(text) from public;

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

revoke all on function
  deploy.create_application(text, text, text, boolean), deploy.drop_application(text), deploy.address(text, text[], text[]),
  deploy.note(), deploy.note_rewrite()
from public;

-- What was changed by hand since an application was deployed.

create function deploy.privileges(privileges aclitem[], kind "char", owner oid) returns text
language sql stable
set search_path = pg_catalog, pg_temp
as $body$
  select string_agg(format('%s %s %s', g.name, a.privilege_type, a.is_grantable), ', ' order by g.name, a.privilege_type)
  from aclexplode(coalesce(privileges, acldefault(kind, owner))) a
  cross join lateral (select case a.grantee when 0 then 'public' else pg_get_userbyid(a.grantee) end) g (name)
$body$;
comment on function deploy.privileges(aclitem[], "char", oid) is 'Rights as text, in an order that a restore keeps';

create function deploy.definition(class oid, object oid) returns text
language sql stable
set search_path = pg_catalog, pg_temp
as $body$
  select current_setting('server_version_num')::integer / 10000 || ':' || md5(coalesce(case class
    when 'pg_proc'::regclass then (
      -- Of a very long text the beginning and the length: this is computed for whoever looks.
      select concat_ws(E'\n', case when p.prokind = 'a' then null
          when octet_length(p.prosrc) > 1000000 then octet_length(p.prosrc)::text || substr(p.prosrc, 1, 10000)
          else pg_get_functiondef(p.oid) end, pg_get_userbyid(p.proowner),
        deploy.privileges(p.proacl, 'f', p.proowner))
      from pg_proc p where p.oid = object)
    when 'pg_class'::regclass then (
      select concat_ws(E'\n', pg_get_viewdef(c.oid), array_to_string(c.reloptions, ','), pg_get_userbyid(c.relowner),
        deploy.privileges(c.relacl, 'r', c.relowner),
        (select string_agg(t.attname || ' ' || deploy.privileges(t.attacl, 'c', c.relowner), ', ' order by t.attnum)
         from pg_attribute t where t.attrelid = c.oid and t.attacl is not null))
      from pg_class c where c.oid = object and c.relkind in ('v', 'm'))
    when 'pg_trigger'::regclass then (
      select pg_get_triggerdef(t.oid) || t.tgenabled::text from pg_trigger t where t.oid = object)
    when 'pg_rewrite'::regclass then (
      select pg_get_ruledef(r.oid) || r.ev_enabled::text from pg_rewrite r where r.oid = object)
    when 'pg_policy'::regclass then (
      select concat_ws(E'\n', p.polcmd, p.polpermissive, pg_get_expr(p.polqual, p.polrelid), pg_get_expr(p.polwithcheck, p.polrelid),
        (select string_agg(case r.role when 0 then 'public' else pg_get_userbyid(r.role) end, ', ' order by 1) from unnest(p.polroles) r (role)))
      from pg_policy p where p.oid = object)
    when 'pg_type'::regclass then (
      select concat_ws(E'\n', format_type(t.typbasetype, t.typtypmod), t.typnotnull, t.typdefault,
        (select string_agg(e.enumlabel, ', ' order by e.enumsortorder) from pg_enum e where e.enumtypid = t.oid),
        (select string_agg(a.attname || ' ' || format_type(a.atttypid, a.atttypmod), ', ' order by a.attnum)
         from pg_attribute a where a.attrelid = t.typrelid and not a.attisdropped),
        (select string_agg(pg_get_constraintdef(c.oid), ', ' order by c.conname) from pg_constraint c where c.contypid = t.oid))
      from pg_type t where t.oid = object)
    end, ''))
$body$;
comment on function deploy.definition(oid, oid) is 'PostgreSQL''s major version, and an MD5 of what an object is: text, owner, rights';

create function deploy.registration(type text, names text[]) returns text
language sql stable
set search_path = pg_catalog, pg_temp
as $body$
  select case registration.type
    when 'route' then (
      select md5(concat_ws(' ', r.function, r.role, r.search_path, r.validates, r.vary, r.max_entries, r.max_age)) from http.route r
      where r.method = registration.names[1] and r.pattern = registration.names[2])
    when 'handler' then (
      select md5(concat_ws(' ', h.statement, h.priority, h.role, h.search_path)) from http.handler h where h.name = registration.names[1])
    when 'job' then (
      select md5(concat_ws(
        ' ', k.function, k.role, k.search_path, k.attempts, k.backoff, k.longest_backoff, k.timeout is null, k.timeout,
        k.at_once is null, k.at_once, k.per_second is null, k.per_second, k.priority, k.batch,
        (select a.name from job.kind a where a.id = k.alert), k.keep_failures is null, k.keep_failures, k.keep_dead is null,
        k.keep_dead))
      from job.kind k where k.name = registration.names[1])
    when 'schedule' then (
      select md5(concat_ws(
        ' ', k.name, s.arguments, s.priority, s.cron, s.every, s.time_zone, s.missed, s.missed_within, s.missed_most, s.may_overlap))
      from job.timetable s left join job.kind k on k.id = s.kind where s.name = registration.names[1])
    end
$body$;
comment on function deploy.registration(text, text[]) is 'What a route, a query handler, a kind of jobs or a schedule is now; null if it is gone';

create function deploy.definition_of(object deploy.object) returns text
language sql stable
set search_path = pg_catalog, pg_temp
as $body$
  select case when (definition_of.object).type in ('route', 'handler', 'job', 'schedule')
    then deploy.registration((definition_of.object).type, (definition_of.object).names)
    else (
      select deploy.definition(a.classid, a.objid)
      from deploy.address((definition_of.object).type, (definition_of.object).names, (definition_of.object).arguments) a
      where a.objid is not null)
    end
$body$;
comment on function deploy.definition_of(deploy.object) is 'What an object is now; null if it is gone';

create function deploy.definitions(application text) returns table (object deploy.object, now text)
language sql stable
set search_path = pg_catalog, pg_temp
as $body$
  -- Not by definition_of(), in which the other functions would be planned again for each object.
  select o, case when o.type in ('route', 'handler', 'job', 'schedule') then deploy.registration(o.type, o.names)
    when a.objid is not null then deploy.definition(a.classid, a.objid) end
  from deploy.object o left join lateral deploy.address(o.type, o.names, o.arguments) a on true
  where o.application = definitions.application
$body$;
comment on function deploy.definitions(text) is 'What the objects of an application are now; null for those that are gone';

create function deploy.is_drifted(object deploy.object, now text) returns boolean
language sql immutable
set search_path = pg_catalog, pg_temp
as $body$
  select coalesce((object).definition is not null and not (object).is_stale and (now is null or now <> (object).definition
    and ((object).type in ('route', 'handler', 'job', 'schedule') or split_part(now, ':', 1) = split_part((object).definition, ':', 1))), false)
$body$;
comment on function deploy.is_drifted(deploy.object, text) is
  'Whether an object is not as it was noted; another major version may tell the same in other words, so that nothing is compared';

create function deploy.label(object deploy.object) returns text
language sql immutable
set search_path = pg_catalog, pg_temp
as $body$
  select (object).type || ' ' || array_to_string((object).names, case when (object).type in ('route', 'handler', 'job', 'schedule') then ' ' else '.' end)
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

create function deploy.describe(schema_name text) returns table (object text, definition text)
language sql stable
set search_path = pg_catalog, pg_temp
as $body$
  with relations as (
    select c.*, format('%s %s', case c.relkind when 'v' then 'view' when 'm' then 'materialized view' when 'S' then 'sequence'
      when 'f' then 'foreign table' else 'table' end, c.oid::regclass) as object
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = describe.schema_name and c.relkind in ('r', 'p', 'v', 'm', 'S', 'f')
      and not exists (select from pg_depend e where e.classid = 'pg_class'::regclass and e.objid = c.oid and e.deptype = 'e'))
  select r.object, concat_ws(' ', case r.relpersistence when 'u' then 'unlogged' end, 'partitioned by ' || pg_get_partkeydef(r.oid),
    pg_get_expr(r.relpartbound, r.oid), case when r.relrowsecurity then 'row security' end, case when r.relforcerowsecurity then 'forced' end)
  from relations r where r.relkind in ('r', 'p', 'f')
  union all
  select format('%s, column %I', r.object, a.attname), concat_ws(' ', format_type(a.atttypid, a.atttypmod),
    case when a.attcollation <> t.typcollation then 'collate ' || a.attcollation::regcollation end, case when a.attnotnull then 'not null' end,
    case a.attidentity when 'a' then 'generated always as identity' when 'd' then 'generated by default as identity' end,
    case when a.attgenerated = 's' then 'generated always as' when d.oid is not null then 'default' end, pg_get_expr(d.adbin, d.adrelid))
  from relations r
  join pg_attribute a on a.attrelid = r.oid and a.attnum > 0 and not a.attisdropped
  join pg_type t on t.oid = a.atttypid
  left join pg_attrdef d on d.adrelid = r.oid and d.adnum = a.attnum
  where r.relkind in ('r', 'p', 'f')
  union all
  select format('%s, constraint %I', r.object, c.conname), pg_get_constraintdef(c.oid)
  from relations r join pg_constraint c on c.conrelid = r.oid where r.relkind in ('r', 'p', 'f') and c.contype not in ('t', 'n')
  union all
  select format('%s, index %I', r.object, (select i.relname from pg_class i where i.oid = x.indexrelid)), pg_get_indexdef(x.indexrelid)
  from relations r join pg_index x on x.indrelid = r.oid
  where r.relkind in ('r', 'p') and not exists (select from pg_constraint c where c.conindid = x.indexrelid and c.conrelid = r.oid)
  union all
  select r.object, format('%s from %s by %s, %s to %s%s', format_type(s.seqtypid, null), s.seqstart, s.seqincrement, s.seqmin, s.seqmax,
    case when s.seqcycle then ', cycle' end)
  from relations r join pg_sequence s on s.seqrelid = r.oid
  union all
  select format('type %s', format_type(t.oid, null)), (select string_agg(e.enumlabel, ', ' order by e.enumsortorder) from pg_enum e where e.enumtypid = t.oid)
  from pg_type t join pg_namespace n on n.oid = t.typnamespace where n.nspname = describe.schema_name and t.typtype = 'e'
  union all
  select format('type %s', format_type(t.oid, null)), concat_ws(' ', format_type(t.typbasetype, t.typtypmod), case when t.typnotnull then 'not null' end,
    'default ' || t.typdefault,
    (select string_agg(pg_get_constraintdef(c.oid), ', ' order by c.conname) from pg_constraint c where c.contypid = t.oid))
  from pg_type t join pg_namespace n on n.oid = t.typnamespace where n.nspname = describe.schema_name and t.typtype = 'd'
  union all
  select format('%s %s.%I(%s)', case p.prokind when 'p' then 'procedure' when 'a' then 'aggregate' else 'function' end, quote_ident(n.nspname), p.proname,
    (select string_agg(format_type(t.type, null), ',' order by t.place) from unnest(p.proargtypes) with ordinality t (type, place))), ''
  from pg_proc p join pg_namespace n on n.oid = p.pronamespace
  where n.nspname = describe.schema_name
    and not exists (select from pg_depend e where e.classid = 'pg_proc'::regclass and e.objid = p.oid and e.deptype = 'e')
  union all
  select r.object, '' from relations r where r.relkind in ('v', 'm')
$body$;
comment on function deploy.describe(text) is
  'What migrations make of a schema: tables with their columns, constraints and indexes, sequences, enums, domains; names of functions and views';

create function deploy.shape_now(application text) returns table (object text, definition text)
language sql stable
set search_path = pg_catalog, pg_temp
as $body$
  with app as (select a.* from deploy.application a where a.name = shape_now.application),
  all_of_it (whole, object, definition) as (
    select split_part(d.object, ', ', 1), d.object, d.definition from app cross join lateral deploy.describe(app.schema_name) d
    union all
    select r.object, r.object || ', rights', concat_ws('; ', deploy.privileges(r.relacl, case r.relkind when 'S' then 's'::"char" else 'r' end, r.relowner),
      (select string_agg(t.attname || ': ' || deploy.privileges(t.attacl, 'c', r.relowner), '; ' order by t.attnum)
       from pg_attribute t where t.attrelid = r.oid and t.attacl is not null and not t.attisdropped))
    from app
    cross join lateral (
      select c.*, format('%s %s', case c.relkind when 'S' then 'sequence' when 'f' then 'foreign table' else 'table' end, c.oid::regclass) as object
      from pg_class c where c.relnamespace = to_regnamespace(quote_ident(app.schema_name)) and c.relkind in ('r', 'p', 'f', 'S')) r)
  select w.object, w.definition from all_of_it w
  where not exists (
    select from deploy.object o where o.application = shape_now.application and not o.is_stale and deploy.label(o) = w.whole)
$body$;
comment on function deploy.shape_now(text) is 'What deploy.shape keeps, as it is now';

create function deploy.note_shape(application text) returns void
language sql volatile
set search_path = pg_catalog, pg_temp
as $body$
  delete from deploy.shape s
  where s.application = note_shape.application and (
    s.seen is null
    or s.seen is distinct from coalesce((select n.definition from deploy.shape_now(note_shape.application) n where n.object = s.object), 'gone'));
  update deploy.shape s set seen = null where s.application = note_shape.application;
  insert into deploy.shape (application, object, definition, version)
  select note_shape.application, n.object, n.definition, current_setting('server_version_num')::integer / 10000
  from deploy.shape_now(note_shape.application) n
  on conflict do nothing
$body$;
comment on function deploy.note_shape(text) is 'Notes what migrations have made; what was changed by hand before stays noted as it was, unless a file has changed it';

create function deploy.note_drift(application text) returns void
language sql volatile
set search_path = pg_catalog, pg_temp
as $body$
  update deploy.object o set is_drifted = not o.is_drifted
  from deploy.definitions(note_drift.application) d
  where o.application = note_drift.application and (d.object).path = o.path and (d.object).type = o.type and (d.object).names = o.names
    and (d.object).arguments = o.arguments and o.is_drifted <> deploy.is_drifted(o, d.now);
  insert into deploy.shape (application, object, seen, version)
  select note_drift.application, n.object, n.definition, current_setting('server_version_num')::integer / 10000
  from deploy.shape_now(note_drift.application) n
  where exists (select from deploy.shape s where s.application = note_drift.application)
  on conflict (application, object) do update set seen = excluded.seen
  where deploy.shape.definition is distinct from excluded.seen and deploy.shape.version = excluded.version;
  update deploy.shape s set seen = 'gone'
  where s.application = note_drift.application and s.definition is not null
    and not exists (select from deploy.shape_now(note_drift.application) n where n.object = s.object)
$body$;
comment on function deploy.note_drift(text) is 'Notes, as a deployment begins, what was changed by hand';

create function deploy.drifted(application text) returns table (path text, object text, change text)
language sql stable
set search_path = pg_catalog, pg_temp
as $body$
  select (d.object).path, deploy.label(d.object), case when d.now is null then 'is gone' else 'was changed' end
  from deploy.definitions(drifted.application) d
  where deploy.is_drifted(d.object, d.now)
  union all
  select '', coalesce(s.object, n.object),
    case when n.object is null then 'is gone' when s.definition is null then 'was made by hand' else 'was changed' end
  from (select k.* from deploy.shape k where k.application = drifted.application) s
  full join deploy.shape_now(drifted.application) n on n.object = s.object
  where (s.definition is distinct from n.definition or s.object is null)
    and exists (
      select from deploy.shape k where k.application = drifted.application
      and k.version = current_setting('server_version_num')::integer / 10000)
  union all
  select '', format('route %s %s', r.method, r.pattern), 'was made by hand'
  from deploy.application a
  join http.route r on r.owner = pg_get_userbyid(a.owner::oid) or starts_with(r.function, quote_ident(a.schema_name) || '.')
  where a.name = drifted.application and not exists (
    select from deploy.object o where o.application = a.name and o.type = 'route' and o.names = array[r.method, r.pattern])
  union all
  select '', format('handler %s', h.name), 'was made by hand'
  from deploy.application a
  join http.handler h on h.owner = pg_get_userbyid(a.owner::oid)
  where a.name = drifted.application and not exists (
    select from deploy.object o where o.application = a.name and o.type = 'handler' and o.names = array[h.name])
  union all
  select '', format('job %s', k.name), 'was made by hand'
  from deploy.application a
  join job.kind k on k.owner = a.owner
  where a.name = drifted.application and not exists (
    select from deploy.object o where o.application = a.name and o.type = 'job' and o.names = array[k.name])
  union all
  select '', format('schedule %s', s.name), 'was made by hand'
  from deploy.application a
  join job.timetable s on s.owner = a.owner
  where a.name = drifted.application and not exists (
    select from deploy.object o where o.application = a.name and o.type = 'schedule' and o.names = array[s.name])
  order by 1, 2
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
  deploy.count_drift(text), deploy.privileges(aclitem[], "char", oid), deploy.definition(oid, oid), deploy.definition_of(deploy.object),
  deploy.definitions(text), deploy.registration(text, text[]), deploy.is_drifted(deploy.object, text), deploy.label(deploy.object), deploy.is_there(text, text), deploy.describe(text), deploy.shape_now(text),
  deploy.note_shape(text), deploy.note_drift(text), deploy.drifted(text)
from public;

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
      where s.stxnamespace = to_regnamespace(quote_ident(app.schema_name)) and s.stxowner <> app.owner) d (class, number)
    where not exists (
      select from pg_depend e where e.classid = d.class and e.objid = d.number
        and (e.deptype in ('e', 'i') or e.deptype = 'a' and e.refclassid = 'pg_class'::regclass and e.refobjsubid > 0))
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
  where o.type not in ('route', 'handler', 'job', 'schedule') and (deploy.address(o.type, o.names, o.arguments)).objid is not null;
end
$body$;
comment on function deploy.adopt(text, json, json) is
  'Notes that migrations of a deployment have run, and what files of code have made, where that is there already';

revoke all on function deploy.hand_over(text), deploy.adopt(text, json, json) from public;

-- Migrations that are no part of a deployment's transaction.

create function deploy.step(application text, path text, content text default null) returns json
language c volatile
as 'MODULE_PATHNAME', 'deploy_step_wrapper';
comment on function deploy.step(text, text, text) is
  'What a migration does that is no part of a transaction, and how far it is; null if it is part of one. Without a text one that was begun';

create function deploy.begin_step(application text, path text, content text) returns void
language c volatile strict
as 'MODULE_PATHNAME', 'deploy_begin_step_wrapper';
comment on function deploy.begin_step(text, text, text) is 'Notes that a migration runs which is no part of a transaction';

create function deploy.batch(application text, path text) returns json
language c volatile strict
as 'MODULE_PATHNAME', 'deploy_batch_wrapper';
comment on function deploy.batch(text, text) is 'Runs the next batch of a step that was begun, as the application''s owner';

create function deploy.end_step(application text, path text) returns void
language c volatile strict
as 'MODULE_PATHNAME', 'deploy_end_step_wrapper';
comment on function deploy.end_step(text, text) is 'Notes that a step which was begun has run; an error if the catalogs do not say so';

create function deploy.forget_step(application text, path text) returns void
language c volatile strict
as 'MODULE_PATHNAME', 'deploy_forget_step_wrapper';
comment on function deploy.forget_step(text, text) is 'Forgets that a step was begun. What it has done stays';

create function deploy.postpone(path text, content text) returns void
language c volatile strict
as 'MODULE_PATHNAME', 'deploy_postpone_wrapper';
comment on function deploy.postpone(text, text) is 'Has a migration of the deployment run after it, as it is no part of a transaction';

create function deploy.squash(path text, content text, others json) returns void
language c volatile strict
as 'MODULE_PATHNAME', 'deploy_squash_wrapper';
comment on function deploy.squash(text, text, json) is
  'Takes a migration of the deployment for others that have run, by their paths and SHA-256'
;

create function deploy.keep_role() returns void
language c volatile strict
as 'MODULE_PATHNAME', 'deploy_keep_role_wrapper';
comment on function deploy.keep_role() is
  'Has the session stay the role that it is: no SET ROLE, SET SESSION AUTHORIZATION or RESET succeeds in it any more'
;

create function deploy.hold(application text) returns void
language c volatile strict
as 'MODULE_PATHNAME', 'deploy_hold_wrapper';
comment on function deploy.hold(text) is 'Keeps others from deploying an application until the session ends, for a deployment of several transactions';

create function deploy.release(application text) returns boolean
language c volatile strict
as 'MODULE_PATHNAME', 'deploy_release_wrapper';
comment on function deploy.release(text) is 'Lets others deploy an application again';

create function deploy.read_steps()
returns table (application text, path text, begun_at timestamptz, begun_by text, keys bigint)
language c stable strict
as 'MODULE_PATHNAME', 'deploy_read_steps_wrapper';
comment on function deploy.read_steps() is 'What the view deploy.steps shows';

create view deploy.steps with (security_barrier = true) as
select * from deploy.read_steps();
comment on view deploy.steps is
  'Migrations that are no part of a transaction and are not done, of applications that the current user may deploy'
;

-- Rows of files, put into an application's tables.

create function deploy.seed(application text, content text) returns json
language c volatile strict
as 'MODULE_PATHNAME', 'deploy_seed_wrapper';
comment on function deploy.seed(text, text) is 'Runs statements as the application''s owner. What fails leaves nothing, and is returned';

create function deploy.begin_seed(application text, table_name text, columns text[], key text[] default '{}') returns void
language c volatile
as 'MODULE_PATHNAME', 'deploy_begin_seed_wrapper';
comment on function deploy.begin_seed(text, text, text[], text[]) is
  'An error if rows with these columns cannot go into a table: without a key it has to be empty, with one it has a unique index on that';

create function deploy.seed_rows(
  application text, table_name text, columns text[], key text[], format text, content bytea)
returns json
language c volatile
as 'MODULE_PATHNAME', 'deploy_seed_rows_wrapper';
comment on function deploy.seed_rows(text, text, text[], text[], text, bytea) is
  'Puts whole rows, as csv without a header or as ndjson, into a table as the application''s owner. A row whose key is there gets their values';

create function deploy.end_seed(application text, table_name text, columns text[], key text[] default '{}') returns void
language c volatile
as 'MODULE_PATHNAME', 'deploy_end_seed_wrapper';
comment on function deploy.end_seed(text, text, text[], text[]) is 'Has sequences of a table''s columns go on after the largest value';

-- What runs, what is served, what was counted. Read from shared memory, so it is as of now and the same in
-- every database, http.stats excepted. The functions are for the views.

create function http.read_workers()
returns table (
  pid integer, kind text, lane text, database text, state text, leaving boolean, started timestamptz,
  requests bigint, errors bigint, connections bigint, refused bigint, busy_ms double precision)
language c volatile strict
as 'MODULE_PATHNAME', 'read_workers_wrapper';

create view http.workers as
select * from http.read_workers();

comment on function http.read_workers() is 'What the view http.workers shows';
comment on view http.workers is 'The gateways and executors of all databases';
comment on column http.workers.pid is 'Process id; null before the process has come';
comment on column http.workers.kind is 'gateway (holds connections) or executor (runs requests)';
comment on column http.workers.lane is 'Lane of an executor: http or ingest';
comment on column http.workers.database is 'The database that it is connected to';
comment on column http.workers.state is 'starting, connecting, running or ending';
comment on column http.workers.leaving is 'Whether it finishes what runs and then ends';
comment on column http.workers.started is 'When its process started';
comment on column http.workers.requests is 'Requests that it has ended';
comment on column http.workers.errors is
  'Requests among them that it answered with a status of 500 or more; of a gateway those that it answered itself';
comment on column http.workers.connections is 'Connections that a gateway holds';
comment on column http.workers.refused is
  'Connections that a gateway has refused because there were too many, or could not accept';
comment on column http.workers.busy_ms is 'Milliseconds for which the request that runs has run; null if none does';

create function http.read_refusals()
returns table (gateway integer, database text, status integer, requests bigint)
language c volatile strict
as 'MODULE_PATHNAME', 'read_refusals_wrapper';

create view http.refusals as
select * from http.read_refusals();

comment on function http.read_refusals() is 'What the view http.refusals shows';
comment on view http.refusals is 'Requests that gateways have answered with an error by themselves';
comment on column http.refusals.gateway is 'Process id of the gateway';
comment on column http.refusals.database is 'The database that it serves';
comment on column http.refusals.status is 'The status';
comment on column http.refusals.requests is 'Requests that it has answered with it since it began';

create function http.read_log()
returns table (database text, kind text, written bigint, left_out bigint)
language c volatile strict
as 'MODULE_PATHNAME', 'read_log_wrapper';

create view http.log as
select * from http.read_log();

comment on function http.read_log() is 'What the view http.log shows';
comment on view http.log is 'Lines that requests have made the processes of each database write to the server''s log';
comment on column http.log.database is 'The database';
comment on column http.log.kind is
  'client errors (status below 500), server errors, remarks (warnings, notices) or requests (howdah.log_min_duration)';
comment on column http.log.written is 'Lines that were written';
comment on column http.log.left_out is 'Lines that were left out, beyond howdah.log_rate';

create function http.read_databases()
returns table (
  name text, oid oid, state text, withdrawn_by integer, gateways_wanted integer, gateways integer,
  executors_wanted integer, executors integer, waiting integer, in_flight bigint)
language c volatile strict
as 'MODULE_PATHNAME', 'read_databases_wrapper';

create view http.databases as
select * from http.read_databases();

comment on function http.read_databases() is 'What the view http.databases shows';
comment on view http.databases is 'The databases that howdah.databases lists';
comment on column http.databases.name is 'The database''s name';
comment on column http.databases.oid is 'Its oid; null if it does not exist';
comment on column http.databases.state is
  'serving, probing, missing, closed, wrong encoding, no extension, wrong version, withdrawn, draining or drained';
comment on column http.databases.withdrawn_by is
  'Process id of the session whose command needs the database empty';
comment on column http.databases.gateways_wanted is 'Gateways that it should have';
comment on column http.databases.gateways is 'Gateways that it has';
comment on column http.databases.executors_wanted is 'Executors of web requests that it should have now';
comment on column http.databases.executors is 'Executors of web requests that it has';
comment on column http.databases.waiting is 'Web requests that wait for an executor';
comment on column http.databases.in_flight is 'Requests and buckets of lines that have arrived and are not answered yet';

create function http.read_stats()
returns table (
  kind text, method text, pattern text, requests bigint, succeeded bigint, redirected bigint,
  client_errors bigint, server_errors bigint, inline bigint, cancelled bigint, unrun bigint,
  unchanged bigint, remembered bigint, cached bigint, shared bigint,
  missed bigint, evicted bigint, cached_bytes bigint, running integer,
  mean_ms double precision, p50_ms double precision, p99_ms double precision,
  queue_mean_ms double precision, queue_max_ms double precision,
  sql_mean_ms double precision, sql_max_ms double precision, broken text, not_remembered text)
language c volatile strict
as 'MODULE_PATHNAME', 'read_stats_wrapper';

create view http.stats as
select * from http.read_stats();

comment on function http.read_stats() is 'What the view http.stats shows';
comment on view http.stats is 'Requests of each route and handler of this database, since the server started';
comment on column http.stats.kind is 'route or handler';
comment on column http.stats.method is 'The route''s method; null for a handler';
comment on column http.stats.pattern is 'The route''s pattern, or the handler''s name';
comment on column http.stats.requests is 'Requests that have ended';
comment on column http.stats.succeeded is 'Requests answered with a status below 300';
comment on column http.stats.redirected is 'Requests answered with a status from 300 to 399';
comment on column http.stats.client_errors is 'Requests answered with a status from 400 to 499';
comment on column http.stats.server_errors is 'Requests answered with a status of 500 or more';
comment on column http.stats.inline is 'Requests that ran in a gateway';
comment on column http.stats.cancelled is 'Requests whose client left, or whose time ran out';
comment on column http.stats.unrun is
  'Requests that were not run, or not to their end: a gateway answered them, or their clients left before';
comment on column http.stats.unchanged is 'Requests answered with 304: their clients have the answer';
comment on column http.stats.remembered is 'Those of them for which nothing was run';
comment on column http.stats.cached is 'Requests answered by what a gateway has kept: nothing was run';
comment on column http.stats.shared is
  'Requests answered by the run of an equal one, for which they waited; counted in cached or remembered, too';
comment on column http.stats.missed is 'Requests to a route whose answers are kept for which something was run';
comment on column http.stats.evicted is 'Answers that a gateway has kept and that had to give way to others';
comment on column http.stats.cached_bytes is 'Bytes that gateways keep of the route now, as of a second ago';
comment on column http.stats.running is 'Requests that run now';
comment on column http.stats.mean_ms is 'Mean time of a request in milliseconds, from read to answered';
comment on column http.stats.p50_ms is 'Half of the requests took no longer; estimated from powers of two';
comment on column http.stats.p99_ms is '99 of 100 requests took no longer; estimated from powers of two';
comment on column http.stats.queue_mean_ms is 'Mean time that a request waited for an executor';
comment on column http.stats.queue_max_ms is 'Longest time that a request waited for an executor';
comment on column http.stats.sql_mean_ms is 'Mean time of a request''s transaction';
comment on column http.stats.sql_max_ms is 'Longest time of a request''s transaction';
comment on column http.stats.broken is
  'Why requests are answered with 500 at once, as the last one found: the function or the role is gone, say; null if they are not';

comment on column http.stats.not_remembered is
  'Why a route with validators, or whose answers are kept, runs for each request, as the last run found that was to find out; null if it does not, or nobody has asked';

create function http.read_sizes()
returns table (setting text, wanted bigint, have bigint, hint text)
language c volatile strict
as 'MODULE_PATHNAME', 'read_sizes_wrapper';

create view http.sizes as
select * from http.read_sizes();

comment on function http.read_sizes() is 'What the view http.sizes shows';
comment on view http.sizes is 'The sizes that are fixed at server start: what is wanted, and what there is';
comment on column http.sizes.setting is 'The setting';
comment on column http.sizes.wanted is 'The value that fits all that is configured';
comment on column http.sizes.have is 'Its value';
comment on column http.sizes.hint is 'What to do if it is too small';

revoke all on function
  http.read_workers(), http.read_refusals(), http.read_log(), http.read_databases(), http.read_stats(), http.read_sizes() from public;
grant execute on function
  http.read_workers(), http.read_refusals(), http.read_log(), http.read_databases(), http.read_stats(), http.read_sizes()
to howdah_admin;

-- The supervisor looks at this database when the transaction of `create extension` has committed.
create function http.announce_extension() returns void
language c volatile strict
as 'MODULE_PATHNAME', 'announce_extension_wrapper';
select http.announce_extension();
drop function http.announce_extension();

-- What is registered with this extension, and is no object of PostgreSQL's: routes, query handlers, kinds of jobs, schedules. The one place in
-- which deployments know of them.

create view deploy.registered as
select 'route' as type, array[r.method, r.pattern] as names, r.owner::text as owner, r.role::text as role from http.route r
union all
select 'handler', array[h.name], h.owner::text, h.role::text from http.handler h
union all
select 'schedule', array[s.name], pg_catalog.pg_get_userbyid(s.owner)::text, null from job.timetable s
union all
select 'job', array[k.name], pg_catalog.pg_get_userbyid(k.owner)::text, k.role::text from job.kind k;
comment on view deploy.registered is 'Routes, query handlers, schedules and kinds of jobs, with the roles that own them and that they run as';
revoke all on deploy.registered from public;

create view deploy.requested as
select s.kind as type, array_remove(array[s.method, s.pattern], null) as names, s.requests, s.server_errors from http.stats s;
comment on view deploy.requested is 'How often routes and query handlers were asked, and have failed';
revoke all on deploy.requested from public;

create function deploy.unregister(type text, names text[], with_jobs boolean) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $body$
declare
  kind integer;
begin
  case unregister.type
    when 'route' then
      delete from http.route r where r.method = unregister.names[1] and r.pattern = unregister.names[2];
    when 'handler' then
      delete from http.handler h where h.name = unregister.names[1];
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
    select g.type, g.names, deploy.label(d) as label
    from deploy.object d join deploy.registered g on g.type = d.type and g.names = d.names and g.owner = unregister_gone.owner
    where d.application = unregister_gone.application and case
      when unregister_gone.path is not null then d.path = unregister_gone.path
      else d.is_stale and not exists (
        select from deploy.object again
        where again.application = d.application and again.type = d.type and again.names = d.names and not again.is_stale)
      end
    -- A kind last: with it go its schedules.
    order by array_position(array['route', 'handler', 'schedule', 'job'], g.type), g.names
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
  select deploy.unregister(g.type, g.names, true)
  from (
    select r.type, r.names
    from deploy.registered r join deploy.application a on r.owner = pg_get_userbyid(a.owner)
    where a.name = unregister_all.application
    order by array_position(array['route', 'handler', 'schedule', 'job'], r.type)) g
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

-- What commits have changed.

create function http.last_change(relation regclass default null) returns bigint
language c volatile
as 'MODULE_PATHNAME', 'howdah_last_change';
comment on function http.last_change(regclass) is
  'The number of the last commit that has changed rows of a table, its partitions or children; without an argument, of the last that has changed what names, types, functions, settings or rights mean';

revoke all on function http.last_change(regclass) from public;
grant execute on function http.last_change(regclass) to howdah_admin;

-- Taking a database out of service without a lost request.

create function http.drain(announce interval default '1 second') returns bigint
language c volatile strict
as 'MODULE_PATHNAME', 'drain_wrapper';
comment on function http.drain(interval) is
  'Announces the end of service for this database, then accepts no more, and returns when all that ran is answered: how many requests took too long and were cut off';

create function http.undrain() returns boolean
language c volatile strict
as 'MODULE_PATHNAME', 'undrain_wrapper';
comment on function http.undrain() is 'Serves this database again after http.drain(); false if it was not drained';

create function http.is_draining() returns boolean
language c stable strict parallel safe
as 'MODULE_PATHNAME', 'is_draining_wrapper';
comment on function http.is_draining() is
  'Whether http.drain() has been called for this database: for a route that a load balancer asks';

create function http.replace_gateways() returns integer
language c volatile strict
as 'MODULE_PATHNAME', 'replace_gateways_wrapper';
comment on function http.replace_gateways() is
  'Starts other gateways for this database and returns when those that there were have answered what they had and ended: how many these were';

revoke all on function http.drain(interval), http.undrain(), http.replace_gateways() from public;
grant execute on function http.drain(interval), http.undrain(), http.replace_gateways() to howdah_admin;

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
  http.route, http.handler, http.listener, http.listeners, http.certificates,
  http.workers, http.refusals, http.log, http.databases, http.stats, http.sizes,
  queue.listener, queue.listeners, queue.connections,
  deploy.application, deploy.deployment, deploy.file, deploy.migration, deploy.object, deploy.shape,
  deploy.given, deploy.step, job.kind, job.kind_queue, job.permission, job.timetable, job.home
to howdah_admin;

