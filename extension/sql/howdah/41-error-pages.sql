-- Error pages of applications: made of pages/errors/ when an application is deployed, and sent by gateways without SQL.

create table http.error_prefix (
  prefix text not null primary key,
  owner text not null);
comment on table http.error_prefix is 'Paths below which the error pages of an application answer; said by http.error_pages()';
comment on column http.error_prefix.owner is 'Who owns the application';

create table http.error_page (
  prefix text not null,
  number integer not null,
  owner text not null,
  statuses integer[] not null,
  with_detail boolean,
  pieces text[] not null,
  primary key (prefix, number));
comment on table http.error_page is 'Error pages, as they were made when their applications were deployed';
comment on column http.error_page.prefix is 'Errors at this path and below it get the page';
comment on column http.error_page.owner is 'Who owns the application';
comment on column http.error_page.statuses is 'The errors that it stands for';
comment on column http.error_page.with_detail is 'Whether it is for those whose detail is told, or for the others; null is for all';
comment on column http.error_page.pieces is 'HTML, and names of what each request puts in, in turns: detail, request_id, path';

create trigger changed after insert or update or delete or truncate on http.error_page
for each statement execute function http.configuration_changed();
alter table http.error_page enable always trigger changed;

select pg_catalog.pg_extension_config_dump('http.error_prefix', '');
select pg_catalog.pg_extension_config_dump('http.error_page', '');

create function http.error_pages(prefix text default '/') returns void
language c volatile
as 'MODULE_PATHNAME', 'howdah_error_pages';
comment on function http.error_pages(text) is
  'Lets the error pages of the application whose file says it answer at a path and below it, instead of at all paths'
;
revoke all on function http.error_pages(text) from public;
grant execute on function http.error_pages(text) to howdah_admin;
