-- Rows of files, put into an application's tables.

create function deploy.seed(application text, content text) returns json
language c volatile strict
as 'MODULE_PATHNAME', 'deploy_seed_wrapper';
comment on function deploy.seed(text, text) is 'Runs statements as the application''s owner. What fails leaves nothing, and is returned';

create function deploy.begin_seed(application text, table_name text, columns text[], key text[] default '{}') returns void
language c volatile
as 'MODULE_PATHNAME', 'deploy_begin_seed_wrapper';
comment on function deploy.begin_seed(text, text, text[], text[]) is
  'An error if rows with these columns cannot go into a table: without a key it has to be empty, with one it has a unique index on that';

create function deploy.seed_rows(
  application text, table_name text, columns text[], key text[], format text, content bytea)
returns json
language c volatile
as 'MODULE_PATHNAME', 'deploy_seed_rows_wrapper';
comment on function deploy.seed_rows(text, text, text[], text[], text, bytea) is
  'Puts whole rows, as csv without a header or as ndjson, into a table as the application''s owner. A row whose key is there gets their values';

create function deploy.end_seed(application text, table_name text, columns text[], key text[] default '{}') returns void
language c volatile
as 'MODULE_PATHNAME', 'deploy_end_seed_wrapper';
comment on function deploy.end_seed(text, text, text[], text[]) is 'Has sequences of a table''s columns go on after the largest value';
