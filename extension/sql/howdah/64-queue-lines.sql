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
