-- Some of everything that a database of Howdah can hold, beside examples/users: scripts/keep-release runs this in a database of a release, and
-- together::upgrades finds it after an update.

create schema shop;
create table shop.goods (name text primary key);
insert into shop.goods values ('tea');
grant usage on schema shop to howdah_web;
grant select, insert on shop.goods to howdah_web;

create function shop.goods_list() returns text language sql stable as $$ select string_agg(name, ',' order by name) from shop.goods $$;
select http.route('GET', '/goods', 'shop.goods_list()'), http.cache('GET', '/goods', vary => '{cookie:who}', max_entries => 7);

-- Of five rows one is consumed; a producer has sent two of them.
create type shop.reading as (sensor text, value numeric);
select queue.create('readings', row_type => 'shop.reading'), queue.grant('readings', 'take', 'howdah_web');
select queue.put('readings', array[row('a', 1.5), row('b', 2.5), row('c', null)]::shop.reading[]);
select * from queue.put('readings', array[row('d', 4.5), row('e', 5.5)]::shop.reading[], 'station', 1, 2);
select * from queue.take('readings', 1, null::shop.reading);

-- One waits, one is delayed, one leased, one in the archive, one a dead letter.
select queue.create('notes', max_reads => 1);
select queue.send('notes', '{"note": "waits"}'), queue.send('notes', '{"note": "delayed"}', 1000000000),
  queue.send('notes', '{"note": "leased"}'), queue.send('notes', '{"note": "archived"}'), queue.send('notes', '{"note": "dead"}');
select count(*) from queue.read('notes', 1000000000, 1, '{"note": "leased"}');
select queue.archive('notes', msg_id) from queue.peek('notes', 10) where message ->> 'note' = 'archived';
select count(*) from queue.read('notes', 0, 1, '{"note": "dead"}');
select count(*) from queue.read('notes', 0, 1, '{"note": "dead"}');

-- Lines into a table, one of which it cannot take.
create table shop.line (number integer primary key);
select * from queue.put_lines(into_table => 'shop.line', lines => E'{"number": 1}\n{"number": "one"}\n', producer => 'lines', sequence => 1);

-- Jobs that wait, one with a key, one that sleeps, one that is dead and has told about it; a schedule.
create table shop.ran (number integer);
grant insert on shop.ran to howdah_web;
create function shop.work(number integer) returns void language plpgsql as $$
begin
  if number < 0 then raise exception 'no % here', number; end if;
  insert into shop.ran values (number);
end $$;
select job.define('told', 'shop.work'), job.pause('told');
select job.define('work', 'shop.work', attempts => 2, backoff => '1 ms', alert => 'told', batch => 5);
select job.enqueue('work', '{"number": -1}');
do $$ begin
  for look in 1..600 loop
    exit when exists (select from job.dead_jobs);
    perform pg_sleep(0.1);
    commit;
  end loop;
end $$;
select job.pause('work');
select count(*) from job.enqueue_many('work', array(select jsonb_build_object('number', n) from generate_series(1, 20) n));
select job.enqueue('work', '{"number": 21}', key => 'k', priority => 'high'), job.enqueue('work', '{"number": 22}', at => '3000-01-01');
select job.schedule('yearly', '0 0 1 1 *', 'work', time_zone => 'Europe/Berlin');
select job.grant('work', 'enqueue', 'howdah_web');
