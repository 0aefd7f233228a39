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
