-- Dead letters: rows that were read too often without being removed.

create view queue.dead_letters as
select q.name as queue_name, d.msg_id, d.read_ct, d.enqueued_at, d.buried_at, d.error, d.message, d.headers
from queue.dead_letter d join queue.queue q on q.id = d.queue
where queue.allows(q.name, 'manage');
comment on view queue.dead_letters is 'Dead letters of the queues that the current user may manage';
comment on column queue.dead_letters.msg_id is 'The number that the row had in its queue';
comment on column queue.dead_letters.read_ct is 'How often it was read';
comment on column queue.dead_letters.message is 'The message, or the row as JSON';
grant select on queue.dead_letters to public;

create function queue.exhume(queue integer, qty integer)
returns setof queue.dead_letter
language sql volatile set search_path = pg_catalog, pg_temp
as $body$
  delete from queue.dead_letter d
  where ctid = any (array(
    select e.ctid from queue.dead_letter e
    where e.queue = exhume.queue order by e.buried_at limit exhume.qty for update skip locked))
  returning d.*
$body$;
comment on function queue.exhume(integer, integer) is 'Removes dead letters and returns them; queue.redrive() calls it';

create function queue.redrive(queue_name text, qty integer default null) returns bigint
language c volatile
as 'MODULE_PATHNAME', 'howdah_queue_redrive';
comment on function queue.redrive(text, integer) is
  'Sends dead letters of a queue to it again, all or the oldest; returns how many';

revoke all on function queue.exhume(integer, integer) from public;
