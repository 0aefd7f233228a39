-- Queues of messages: pgmq's names, parameter names and meaning.

create type queue.message_record as (
  msg_id bigint, read_ct integer, enqueued_at timestamptz, last_read_at timestamptz, vt timestamptz,
  message jsonb, headers jsonb);
comment on type queue.message_record is 'A message, as it is read';

create function queue.send(queue_name text, msg jsonb) returns bigint
language c volatile
as 'MODULE_PATHNAME', 'howdah_queue_send';
comment on function queue.send(text, jsonb) is
  'Sends a message; returns its number. Visible when the transaction commits';

create function queue.send(queue_name text, msg jsonb, headers jsonb) returns bigint
language c volatile
as 'MODULE_PATHNAME', 'howdah_queue_send';
comment on function queue.send(text, jsonb, jsonb) is
  'Sends a message; returns its number, with headers';

create function queue.send(queue_name text, msg jsonb, delay integer) returns bigint
language c volatile
as 'MODULE_PATHNAME', 'howdah_queue_send';
comment on function queue.send(text, jsonb, integer) is
  'Sends a message; returns its number, to be read after so many seconds';

create function queue.send(queue_name text, msg jsonb, headers jsonb, delay integer) returns bigint
language c volatile
as 'MODULE_PATHNAME', 'howdah_queue_send';
comment on function queue.send(text, jsonb, jsonb, integer) is
  'Sends a message; returns its number, with headers, to be read after so many seconds';

create function queue.send(queue_name text, msg jsonb, delay timestamptz) returns bigint
language c volatile
as 'MODULE_PATHNAME', 'howdah_queue_send';
comment on function queue.send(text, jsonb, timestamptz) is
  'Sends a message; returns its number, to be read from then on';

create function queue.send(queue_name text, msg jsonb, headers jsonb, delay timestamptz) returns bigint
language c volatile
as 'MODULE_PATHNAME', 'howdah_queue_send';
comment on function queue.send(text, jsonb, jsonb, timestamptz) is
  'Sends a message; returns its number, with headers, to be read from then on';

create function queue.send_batch(queue_name text, msgs jsonb[]) returns setof bigint
language c volatile
as 'MODULE_PATHNAME', 'howdah_queue_send_batch';
comment on function queue.send_batch(text, jsonb[]) is
  'Sends messages; returns their numbers. Visible when the transaction commits';

create function queue.send_batch(queue_name text, msgs jsonb[], headers jsonb[]) returns setof bigint
language c volatile
as 'MODULE_PATHNAME', 'howdah_queue_send_batch';
comment on function queue.send_batch(text, jsonb[], jsonb[]) is
  'Sends messages; returns their numbers, with headers';

create function queue.send_batch(queue_name text, msgs jsonb[], delay integer) returns setof bigint
language c volatile
as 'MODULE_PATHNAME', 'howdah_queue_send_batch';
comment on function queue.send_batch(text, jsonb[], integer) is
  'Sends messages; returns their numbers, to be read after so many seconds';

create function queue.send_batch(queue_name text, msgs jsonb[], headers jsonb[], delay integer) returns setof bigint
language c volatile
as 'MODULE_PATHNAME', 'howdah_queue_send_batch';
comment on function queue.send_batch(text, jsonb[], jsonb[], integer) is
  'Sends messages; returns their numbers, with headers, to be read after so many seconds';

create function queue.send_batch(queue_name text, msgs jsonb[], delay timestamptz) returns setof bigint
language c volatile
as 'MODULE_PATHNAME', 'howdah_queue_send_batch';
comment on function queue.send_batch(text, jsonb[], timestamptz) is
  'Sends messages; returns their numbers, to be read from then on';

create function queue.send_batch(queue_name text, msgs jsonb[], headers jsonb[], delay timestamptz) returns setof bigint
language c volatile
as 'MODULE_PATHNAME', 'howdah_queue_send_batch';
comment on function queue.send_batch(text, jsonb[], jsonb[], timestamptz) is
  'Sends messages; returns their numbers, with headers, to be read from then on';

create function queue.read(queue_name text, vt integer, qty integer, conditional jsonb default '{}') returns setof queue.message_record
language c volatile
as 'MODULE_PATHNAME', 'howdah_queue_read';
comment on function queue.read(text, integer, integer, jsonb) is
  'Leases messages for vt seconds; those that contain the condition, if it is not empty';

create function queue.read_with_poll(
  queue_name text, vt integer, qty integer, max_poll_seconds integer default 5,
  poll_interval_ms integer default 100, conditional jsonb default '{}') returns setof queue.message_record
language c volatile
as 'MODULE_PATHNAME', 'howdah_queue_read_with_poll';
comment on function queue.read_with_poll(text, integer, integer, integer, integer, jsonb) is
  'Leases messages, and waits for some if there are none; commits wake it, and poll_interval_ms is not needed';

create function queue.pop(queue_name text, qty integer default 1) returns setof queue.message_record
language c volatile
as 'MODULE_PATHNAME', 'howdah_queue_pop';
comment on function queue.pop(text, integer) is
  'Takes messages out: they are gone when the transaction commits';

create function queue.peek(queue_name text, qty integer default 1) returns setof queue.message_record
language c volatile
as 'MODULE_PATHNAME', 'howdah_queue_peek_messages';
comment on function queue.peek(text, integer) is
  'Shows messages that could be read now';

create function queue.delete(queue_name text, msg_id bigint) returns boolean
language c volatile
as 'MODULE_PATHNAME', 'howdah_queue_delete';
comment on function queue.delete(text, bigint) is
  'Removes a message; false if it is gone already';

create function queue.delete(queue_name text, msg_id bigint, read_ct integer) returns boolean
language c volatile
as 'MODULE_PATHNAME', 'howdah_queue_delete';
comment on function queue.delete(text, bigint, integer) is
  'Removes a message, with the read_ct of its reading as the receipt; false if it is gone, or was read again since';

create function queue.delete(queue_name text, msg_ids bigint[]) returns setof bigint
language c volatile
as 'MODULE_PATHNAME', 'howdah_queue_delete';
comment on function queue.delete(text, bigint[]) is
  'Removes messages; returns the numbers of those that were there';

create function queue.delete(queue_name text, msg_ids bigint[], read_cts integer[]) returns setof bigint
language c volatile
as 'MODULE_PATHNAME', 'howdah_queue_delete';
comment on function queue.delete(text, bigint[], integer[]) is
  'Removes messages, with a receipt for each; returns the numbers of those that were there and not read again since';

create function queue.archive(queue_name text, msg_id bigint) returns boolean
language c volatile
as 'MODULE_PATHNAME', 'howdah_queue_archive';
comment on function queue.archive(text, bigint) is
  'Moves to the archive a message; false if it is gone already';

create function queue.archive(queue_name text, msg_id bigint, read_ct integer) returns boolean
language c volatile
as 'MODULE_PATHNAME', 'howdah_queue_archive';
comment on function queue.archive(text, bigint, integer) is
  'Moves to the archive a message, with the read_ct of its reading as the receipt; false if it is gone, or was read again since';

create function queue.archive(queue_name text, msg_ids bigint[]) returns setof bigint
language c volatile
as 'MODULE_PATHNAME', 'howdah_queue_archive';
comment on function queue.archive(text, bigint[]) is
  'Moves to the archive messages; returns the numbers of those that were there';

create function queue.archive(queue_name text, msg_ids bigint[], read_cts integer[]) returns setof bigint
language c volatile
as 'MODULE_PATHNAME', 'howdah_queue_archive';
comment on function queue.archive(text, bigint[], integer[]) is
  'Moves to the archive messages, with a receipt for each; returns the numbers of those that were there and not read again since';

create function queue.set_vt(queue_name text, msg_id bigint, vt integer) returns setof queue.message_record
language c volatile
as 'MODULE_PATHNAME', 'howdah_queue_set_vt';
comment on function queue.set_vt(text, bigint, integer) is
  'Sets how long a message is hidden: for so many seconds from now';

create function queue.set_vt(queue_name text, msg_id bigint, vt integer, read_ct integer)
returns setof queue.message_record
language c volatile
as 'MODULE_PATHNAME', 'howdah_queue_set_vt';
comment on function queue.set_vt(text, bigint, integer, integer) is
  'Sets how long a message is hidden: for so many seconds from now; nothing if it was read again since its receipt';

create function queue.set_vt(queue_name text, msg_id bigint, vt timestamptz) returns setof queue.message_record
language c volatile
as 'MODULE_PATHNAME', 'howdah_queue_set_vt';
comment on function queue.set_vt(text, bigint, timestamptz) is
  'Sets how long a message is hidden: until then';

create function queue.set_vt(queue_name text, msg_id bigint, vt timestamptz, read_ct integer)
returns setof queue.message_record
language c volatile
as 'MODULE_PATHNAME', 'howdah_queue_set_vt';
comment on function queue.set_vt(text, bigint, timestamptz, integer) is
  'Sets how long a message is hidden: until then; nothing if it was read again since its receipt';

create function queue.set_vt(queue_name text, msg_ids bigint[], vt integer) returns setof queue.message_record
language c volatile
as 'MODULE_PATHNAME', 'howdah_queue_set_vt';
comment on function queue.set_vt(text, bigint[], integer) is
  'Sets how long messages are hidden: for so many seconds from now';

create function queue.set_vt(queue_name text, msg_ids bigint[], vt integer, read_cts integer[])
returns setof queue.message_record
language c volatile
as 'MODULE_PATHNAME', 'howdah_queue_set_vt';
comment on function queue.set_vt(text, bigint[], integer, integer[]) is
  'Sets how long messages are hidden: for so many seconds from now; not those that were read again since their receipts';

create function queue.set_vt(queue_name text, msg_ids bigint[], vt timestamptz) returns setof queue.message_record
language c volatile
as 'MODULE_PATHNAME', 'howdah_queue_set_vt';
comment on function queue.set_vt(text, bigint[], timestamptz) is
  'Sets how long messages are hidden: until then';

create function queue.set_vt(queue_name text, msg_ids bigint[], vt timestamptz, read_cts integer[])
returns setof queue.message_record
language c volatile
as 'MODULE_PATHNAME', 'howdah_queue_set_vt';
comment on function queue.set_vt(text, bigint[], timestamptz, integer[]) is
  'Sets how long messages are hidden: until then; not those that were read again since their receipts';
