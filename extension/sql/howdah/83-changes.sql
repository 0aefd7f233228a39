-- What commits have changed.

create function http.last_change(relation regclass default null) returns bigint
language c volatile
as 'MODULE_PATHNAME', 'howdah_last_change';
comment on function http.last_change(regclass) is
  'The number of the last commit that has changed rows of a table, its partitions or children; without an argument, of the last that has changed what names, types, functions, settings or rights mean';

revoke all on function http.last_change(regclass) from public;
grant execute on function http.last_change(regclass) to howdah_admin;
