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
