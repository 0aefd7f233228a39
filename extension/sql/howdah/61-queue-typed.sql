-- Queues of typed rows. The row type comes last: null::the_type.

create function queue.put(queue_name text, "row" anynonarray) returns bigint
language c volatile
as 'MODULE_PATHNAME', 'howdah_queue_put';
comment on function queue.put(text, anynonarray) is 'Sends a row; returns its number. Visible when the transaction commits';

create function queue.put(queue_name text, "rows" anyarray) returns bigint
language c volatile
as 'MODULE_PATHNAME', 'howdah_queue_put_all';
comment on function queue.put(text, anyarray) is 'Sends rows; returns how many. Visible when the transaction commits';

create function queue.put(queue_name text, "rows" anyarray, producer text, epoch integer, sequence bigint)
returns bigint
language c volatile
as 'MODULE_PATHNAME', 'howdah_queue_put_from';
comment on function queue.put(text, anyarray, text, integer, bigint) is
  'Sends rows of a producer that numbers them, the last being number sequence; those that are there already are left out, an epoch that is over is refused. Returns how many were new';

create function queue.take(queue_name text, qty integer, row_type anyelement) returns setof anyelement
language c volatile rows 1000
as 'MODULE_PATHNAME', 'howdah_queue_take';
comment on function queue.take(text, integer, anyelement) is
  'Takes rows out: they are gone when the transaction commits, and back when it does not';

create function queue.take_with_poll(queue_name text, qty integer, max_poll interval, row_type anyelement)
returns setof anyelement
language c volatile rows 1000
as 'MODULE_PATHNAME', 'howdah_queue_take_with_poll';
comment on function queue.take_with_poll(text, integer, interval, anyelement) is
  'Takes rows out, and waits for some if there are none; commits wake it';

create function queue.peek(queue_name text, qty integer, row_type anyelement) returns setof anyelement
language c volatile rows 1000
as 'MODULE_PATHNAME', 'howdah_queue_peek';
comment on function queue.peek(text, integer, anyelement) is 'Shows rows that could be taken now, and takes none';

create function queue.read(queue_name text, qty integer, vt interval, row_type anyelement)
returns table (msg_id bigint, read_ct integer, "row" anyelement)
language c volatile rows 1000
as 'MODULE_PATHNAME', 'howdah_queue_read_rows';
comment on function queue.read(text, integer, interval, anyelement) is
  'Leases rows: until the time is over nobody else gets them; queue.ack() removes them';

create function queue.read_with_poll(
  queue_name text, qty integer, vt interval, max_poll interval, row_type anyelement)
returns table (msg_id bigint, read_ct integer, "row" anyelement)
language c volatile rows 1000
as 'MODULE_PATHNAME', 'howdah_queue_read_rows_with_poll';
comment on function queue.read_with_poll(text, integer, interval, interval, anyelement) is
  'Leases rows, and waits for some if there are none; commits wake it';

create function queue.ack(queue_name text, msg_id bigint, read_ct integer default null) returns boolean
language c volatile
as 'MODULE_PATHNAME', 'howdah_queue_ack';
comment on function queue.ack(text, bigint, integer) is
  'Removes a row, with the read_ct of its reading as the receipt; false if it is gone, or was read again since';

create function queue.ack(queue_name text, msg_ids bigint[], read_cts integer[] default null) returns setof bigint
language c volatile
as 'MODULE_PATHNAME', 'howdah_queue_ack';
comment on function queue.ack(text, bigint[], integer[]) is
  'Removes rows, with a receipt for each; returns the numbers of those that were there and not read again since';

create function queue.nack(queue_name text, msg_id bigint, delay integer default 0, read_ct integer default null)
returns boolean
language c volatile
as 'MODULE_PATHNAME', 'howdah_queue_nack';
comment on function queue.nack(text, bigint, integer, integer) is
  'Gives a leased row back, to be read again after so many seconds; false if it is gone, or was read again since its receipt';

create function queue.nack(
  queue_name text, msg_ids bigint[], delay integer default 0, read_cts integer[] default null)
returns setof bigint
language c volatile
as 'MODULE_PATHNAME', 'howdah_queue_nack';
comment on function queue.nack(text, bigint[], integer, integer[]) is
  'Gives leased rows back, to be read again after so many seconds; returns the numbers of those that were there and not read again since their receipts';
