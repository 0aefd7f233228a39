-- Consumers: each takes a thousand records, does its work with them, and commits. Both happen or neither: if a
-- consumer dies, its records are free again. As many as you like may run at once; no two get the same record.
-- try: howdah psql -c "call bips.consume('one')"

create table if not exists bips.batch (
  consumer text not null,
  finished_at timestamptz not null default clock_timestamp(),
  records bigint not null,
  links bigint not null);
comment on table bips.batch is 'What the consumers of the queue have done; only appended to';

-- It commits after each batch, so it has no settings of its own, and every name stands with its schema.
create or replace procedure bips.consume(consumer text, patience interval default '3 seconds')
language plpgsql
as $body$
declare
  found_records bigint;
  found_links bigint;
begin
  loop
    -- The work: here it counts the records with a link. Where there are no records, it waits for some.
    select count(*), count(*) filter (where t.bip like '%https://%')
    into found_records, found_links
    from queue.take_with_poll('bips', 1000, consume.patience, null::bips.t_bip) t;

    exit when found_records = 0;
    insert into bips.batch (consumer, records, links) values (consume.consumer, found_records, found_links);
    commit;
  end loop;
end
$body$;
comment on procedure bips.consume(text, interval) is 'Takes records until there have been none for a while';

-- What each consumer has done since a moment, and how fast.
create or replace function bips.rates(since timestamptz default '-infinity')
returns table (consumer text, batches bigint, records bigint, links bigint, records_per_second bigint)
language sql stable
begin atomic
  select b.consumer, count(*), sum(b.records)::bigint, sum(b.links)::bigint,
    (sum(b.records) / greatest(extract(epoch from max(b.finished_at) - min(b.finished_at)), 0.001))::bigint
  from bips.batch b
  where b.finished_at >= rates.since
  group by b.consumer
  order by b.consumer;
end;
comment on function bips.rates(timestamptz) is 'What each consumer has done since a moment, and how fast';
