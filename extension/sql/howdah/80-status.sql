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
comment on column http.stats.kind is 'route, page or handler';
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
