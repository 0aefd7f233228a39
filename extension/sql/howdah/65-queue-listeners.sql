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
