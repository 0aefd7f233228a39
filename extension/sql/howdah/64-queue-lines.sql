-- Lines of JSON into queues.

create type queue.lines_result as (
  received bigint, stored bigint, repeated bigint, rejected bigint, sequence bigint);
comment on type queue.lines_result is 'What queue.put_lines() returns';

create function queue.put_lines(
  queue text, lines text, producer text default null, epoch integer default 1, sequence bigint default null,
  line_column text default null, rest_column text default null)
returns setof queue.lines_result
language c volatile rows 1
as 'MODULE_PATHNAME', 'howdah_queue_put_lines';
comment on function queue.put_lines(text, text, text, integer, bigint, text, text) is
  'Stores lines of JSON in a queue; bad ones become dead letters. A producer numbers its lines, the first here being number sequence; line_column gets the whole line, rest_column the keys that have no column';

create function queue.put_lines(
  queue text, lines bytea, producer text default null, epoch integer default 1, sequence bigint default null,
  line_column text default null, rest_column text default null)
returns setof queue.lines_result
language c volatile rows 1
as 'MODULE_PATHNAME', 'howdah_queue_put_lines';
comment on function queue.put_lines(text, bytea, text, integer, bigint, text, text) is
  'Stores lines of JSON in a queue; bad ones become dead letters. A producer numbers its lines, the first here being number sequence; line_column gets the whole line, rest_column the keys that have no column';
