-- What is served. Ordinary tables, so that pg_dump carries them. A change takes effect for all processes at
-- its commit: the triggers invalidate, as DML on an ordinary table does not.

create table http.route (
  method text not null,
  pattern text not null,
  function text not null,
  role regrole not null,
  search_path text not null,
  primary key (method, pattern));
comment on table http.route is 'Routes; change them by http.route() and http.unroute()';
comment on column http.route.method is 'GET, POST and so on, in upper case, or * for all others';
comment on column http.route.pattern is 'Path with {name} for a segment and {*rest} for all that is left';
comment on column http.route.function is 'The function with its argument types';
comment on column http.route.role is 'The role that requests run as';
comment on column http.route.search_path is 'search_path at registration, in which names resolve';

create table http.handler (
  name text not null primary key,
  statement text not null,
  priority integer not null,
  role regrole not null,
  search_path text not null);
comment on table http.handler is 'Query handlers; change them by http.handle() and http.unhandle()';
comment on column http.handler.statement is 'One statement over the relation request; its first row is the response';
comment on column http.handler.priority is 'Higher ones are asked first; those of one priority by name';
comment on column http.handler.role is 'The role that requests run as';
comment on column http.handler.search_path is 'search_path at registration, in which names resolve';

create table http.listener (
  port integer not null check (port between 1 and 65535),
  address text not null,
  primary key (port, address));
comment on table http.listener is 'Listeners; change them by http.listen() and http.unlisten()';
comment on column http.listener.address is
  'Host name, address, * or folder of UNIX sockets; empty for all that howdah.listen_addresses allows';

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

grant select on http.route, http.handler, http.listener to howdah_admin;

-- Checks that the functions below make. Those that configure run as the extension's owner, so that nobody
-- else can write the tables; whom a request may run as is decided by who calls.

create function http.registration_path() returns text
language sql stable
return (
  select pg_catalog.string_agg(pg_catalog.quote_ident(name), ', ' order by place) operator(pg_catalog.||) ', pg_temp'
  from pg_catalog.unnest(pg_catalog.current_schemas(false)) with ordinality as path (name, place)
  where name operator(pg_catalog.<>) 'pg_temp');
comment on function http.registration_path() is 'The schemas of the search_path, pg_temp last';

create function http.check_role(role regrole) returns void
language c stable strict
as 'MODULE_PATHNAME', 'check_role_wrapper';
comment on function http.check_role(regrole) is 'An error unless the session''s user is a member of the role';

create function http.check_function(function regprocedure) returns void
language c stable strict
as 'MODULE_PATHNAME', 'check_function_wrapper';
comment on function http.check_function(regprocedure) is 'An error if a route cannot call the function';

create function http.check_routes(methods text[], patterns text[]) returns void
language c immutable strict
as 'MODULE_PATHNAME', 'check_routes_wrapper';
comment on function http.check_routes(text[], text[]) is 'An error if one of the routes is malformed or they conflict';

create function http.check_statement(statement text) returns void
language c stable strict
as 'MODULE_PATHNAME', 'check_statement_wrapper';
comment on function http.check_statement(text) is 'An error if the statement cannot be a query handler';

create function http.check_listener(port integer, address text) returns void
language c stable strict
as 'MODULE_PATHNAME', 'check_listener_wrapper';
comment on function http.check_listener(integer, text) is
  'An error if the port is taken, or howdah.listen_addresses does not allow the address';

create function http.route(
  method text, pattern text, function text, role text default 'howdah_web',
  search_path text default http.registration_path())
returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $body$
#variable_conflict use_column
declare
  target regprocedure;
begin
  perform http.check_role(quote_ident(route.role)::regrole);
  -- Under the caller's search_path every name is qualified: this runs as the extension's owner.
  perform pg_catalog.set_config('search_path', coalesce(route.search_path, 'pg_temp'), true);
  if pg_catalog.strpos(route.function, '(') operator(pg_catalog.>) 0 then
    target := pg_catalog.regprocedurein(pg_catalog.textout(route.function));
  else
    target := pg_catalog.regprocin(pg_catalog.textout(route.function));
  end if;
  perform pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
  perform http.check_function(target);
  insert into http.route as r (method, pattern, function, role, search_path)
  values (
    upper(route.method), route.pattern, target::text, quote_ident(route.role)::regrole,
    coalesce(route.search_path, 'pg_temp'))
  on conflict (method, pattern) do update
  set function = excluded.function, role = excluded.role, search_path = excluded.search_path;
  perform http.check_routes(array_agg(r.method), array_agg(r.pattern)) from http.route r;
end
$body$;
comment on function http.route(text, text, text, text, text) is
  'Lets a function answer a method and a path pattern; the same method and pattern replaces';

create function http.unroute(method text, pattern text) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $body$
#variable_conflict use_column
begin
  delete from http.route r where r.method = upper(unroute.method) and r.pattern = unroute.pattern;
  return found;
end
$body$;
comment on function http.unroute(text, text) is 'Removes a route; false if there is none';

create function http.handle(
  statement text, name text default 'default', priority integer default 0,
  role text default 'howdah_web', search_path text default http.registration_path())
returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $body$
#variable_conflict use_column
begin
  perform http.check_role(quote_ident(handle.role)::regrole);
  -- Under the caller's search_path every name is qualified: this runs as the extension's owner.
  perform pg_catalog.set_config('search_path', coalesce(handle.search_path, 'pg_temp'), true);
  perform http.check_statement(handle.statement);
  perform pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
  insert into http.handler as h (name, statement, priority, role, search_path)
  values (
    handle.name, handle.statement, handle.priority, quote_ident(handle.role)::regrole,
    coalesce(handle.search_path, 'pg_temp'))
  on conflict (name) do update
  set statement = excluded.statement, priority = excluded.priority, role = excluded.role,
    search_path = excluded.search_path;
end
$body$;
comment on function http.handle(text, text, integer, text, text) is
  'Lets a statement over the relation request answer what no route does; the same name replaces';

create function http.unhandle(name text default 'default') returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $body$
#variable_conflict use_column
begin
  delete from http.handler h where h.name = unhandle.name;
  return found;
end
$body$;
comment on function http.unhandle(text) is 'Removes a query handler; false if there is none';

create function http.listen(port integer, address text default '') returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $body$
#variable_conflict use_column
begin
  if listen.port is null or listen.port not between 1 and 65535 then
    raise exception 'port % is not from 1 to 65535', listen.port using errcode = '22023';
  end if;
  if exists (select from queue.listener l where l.port = listen.port) then
    raise exception 'port % is a listener for lines', listen.port using errcode = 'object_in_use',
      hint = 'Choose another port, or queue.unlisten() it first.';
  end if;
  perform http.check_listener(listen.port, coalesce(listen.address, ''));
  insert into http.listener as l (port, address)
  values (listen.port, coalesce(listen.address, ''))
  on conflict do nothing;
end
$body$;
comment on function http.listen(integer, text) is
  'Listens on a port: on one address, or on all that howdah.listen_addresses allows';

create function http.unlisten(port integer, address text default null) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $body$
#variable_conflict use_column
begin
  delete from http.listener l
  where l.port = unlisten.port and (unlisten.address is null or l.address = unlisten.address);
  return found;
end
$body$;
comment on function http.unlisten(integer, text) is
  'Stops listening on a port: on one address, or on all; requests that run are finished. False if nothing listened';

revoke all on function
  http.route(text, text, text, text, text), http.unroute(text, text),
  http.handle(text, text, integer, text, text), http.unhandle(text),
  http.listen(integer, text), http.unlisten(integer, text),
  http.check_role(regrole), http.check_function(regprocedure), http.check_routes(text[], text[]),
  http.check_statement(text), http.check_listener(integer, text), http.configuration_changed()
from public;
grant execute on function
  http.route(text, text, text, text, text), http.unroute(text, text),
  http.handle(text, text, integer, text, text), http.unhandle(text),
  http.listen(integer, text), http.unlisten(integer, text)
to howdah_admin;

create function http.read_ports()
returns table (port integer, address text, gateway integer, error text, wanted_by text[])
language c volatile strict
as 'MODULE_PATHNAME', 'read_ports_wrapper';
comment on function http.read_ports() is 'What the gateways of this database have bound, or could not';

create view http.listeners as
select l.port, l.address, p.address as bound, p.gateway, p.error
from http.listener l left join http.read_ports() p on p.port = l.port and l.address = any (p.wanted_by);
comment on view http.listeners is
  'The listeners of this database, and what became of each of their addresses in each gateway';
comment on column http.listeners.bound is 'The address that a gateway has bound, or tries to';
comment on column http.listeners.gateway is 'Process id of the gateway; null if none serves the listener';
comment on column http.listeners.error is 'Why the gateway could not bind it; it tries again every second';
revoke all on function http.read_ports() from public;
grant execute on function http.read_ports() to howdah_admin;
grant select on http.listeners to howdah_admin;
