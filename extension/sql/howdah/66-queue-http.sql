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

create function queue.answer_later(
  queue_name text, arrivals bigint, milliseconds integer, any_row boolean default false)
returns void
language c volatile strict
as 'MODULE_PATHNAME', 'howdah_queue_answer_later';
comment on function queue.answer_later(text, bigint, integer, boolean) is
  'Has a request that found nothing run again when rows may be free; its answer is sent when the time is over, after a minute at the latest. Requests to which any row is as good take turns';

-- Casts to json may be somebody's, and raise for one row: that must not stop those behind it.
create function queue.json_of("rows" anyarray) returns json[]
language plpgsql volatile set search_path = pg_catalog, pg_temp
as $body$
declare
  every json[] := '{}';
  one json;
begin
  begin
    return array(select to_json(r) from unnest("rows") r);
  exception when others then
    -- What comes of others, of the server or of a cancel is no fault of a row.
    if left(sqlstate, 2) in ('40', '53', '55', '57', '58') then
      raise;
    end if;
  end;
  for place in 1..cardinality("rows") loop
    begin
      one := to_json("rows"[place]);
    exception when others then
      if left(sqlstate, 2) in ('40', '53', '55', '57', '58') then
        raise;
      end if;
      one := null;
    end;
    every := every || one;
  end loop;
  return every;
end
$body$;
comment on function queue.json_of(anyarray) is 'Rows as JSON; null for each whose conversion raises an error';

create function queue.rows_as_json(queue_name text, qty integer, leased boolean, vt interval)
returns table (msg_id bigint, read_ct integer, "row" json)
language plpgsql volatile set search_path = pg_catalog, pg_temp
as $body$
declare
  of_type regtype;
  taken json[];
  ids bigint[];
  counts integer[];
begin
  if qty is null or qty not between 0 and 10000 then
    raise exception using errcode = '22023', message = format('qty must be from 0 to 10000, and is %s', coalesce(qty::text, 'null'));
  end if;
  select q.row_type into of_type from queue.queue q where q.name = rows_as_json.queue_name;
  if of_type is not null and leased then
    return query execute format(
      'select l.msg_id, l.read_ct, case when l."row" is not null then
         json_build_object(''msg_id'', l.msg_id, ''read_ct'', l.read_ct, ''row'', l."row") end
       from (
         select array_agg(r.msg_id) as ids, array_agg(r.read_ct) as counts, array_agg(r."row") as "rows"
         from queue.read($1, $2, $3, null::%s) r) read
       cross join unnest(read.ids, read.counts, queue.json_of(read."rows")) l (msg_id, read_ct, "row")', of_type)
    using queue_name, qty, vt;
  elsif of_type is not null then
    begin
      execute format('select array_agg(to_json(r)) from queue.take($1, $2, null::%s) r', of_type)
      into taken using queue_name, qty;
    exception when others then
      if left(sqlstate, 2) in ('40', '53', '55', '57', '58') then
        raise;
      end if;
      -- Rows that cannot be JSON are leased, which counts, and stay; those behind them are handed out.
      select array_agg(r.msg_id), array_agg(r.read_ct), array_agg(r."row" -> 'row') into ids, counts, taken
      from queue.rows_as_json(queue_name, qty, true, '30 seconds') r where r."row" is not null;
      perform queue.ack(queue_name, ids, read_cts => counts);
    end;
    return query select null::bigint, null::integer, t from unnest(taken) t;
  elsif leased then
    return query select r.msg_id, r.read_ct, to_json(r)
    from queue.read(queue_name, extract(epoch from vt)::integer, qty) r;
  else
    return query select r.msg_id, r.read_ct, to_json(r) from queue.pop(queue_name, qty) r;
  end if;
end
$body$;
comment on function queue.rows_as_json(text, integer, boolean, interval) is
  'Rows or messages as JSON: leased for a time, or taken out. A leased row that cannot be JSON is null';

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
