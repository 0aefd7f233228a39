-- Cookies that nobody else can have made, and messages for the next page.

create table http.cookie_key (
  is_there boolean primary key default true check (is_there),
  key bytea not null check (length(key) >= 32));
comment on table http.cookie_key is
  'What cookies are signed by. It is in no dump: whoever has a copy of the data signs in nowhere else';

create trigger changed after insert or update or delete or truncate on http.cookie_key
for each statement execute function http.configuration_changed();
alter table http.cookie_key enable always trigger changed;

create function http.renew_cookie_key() returns void
language sql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
begin atomic
  insert into http.cookie_key (key)
  values (pg_catalog.sha256(pg_catalog.convert_to(
    pg_catalog.concat(pg_catalog.gen_random_uuid(), pg_catalog.gen_random_uuid(), pg_catalog.gen_random_uuid()), 'UTF8')))
  on conflict (is_there) do update set key = excluded.key;
end;
comment on function http.renew_cookie_key() is
  'Makes a new key for signed cookies: those that were signed before count no more';
revoke all on function http.renew_cookie_key() from public;

select http.renew_cookie_key();

create function http.signed_text(name text, value text, max_age integer) returns text
language c stable parallel restricted
as 'MODULE_PATHNAME', 'howdah_signed_text';
comment on function http.signed_text(text, text, integer) is 'The value of a signed cookie; see http.set_signed_cookie()';

create function http.set_signed_cookie(
  name text, value text, path text default '/', domain text default null, max_age integer default null,
  secure boolean default null, http_only boolean default true, same_site text default 'Lax')
returns http.header
language sql stable parallel restricted
return http.set_cookie(
  name, http.signed_text(name, value, max_age), path, domain, max_age, secure, http_only, same_site);
comment on function http.set_signed_cookie(text, text, text, text, integer, boolean, boolean, text) is
  'A Set-Cookie header whose value http.signed_cookie() reads: nobody else can make one, or change it. It counts for max_age, whatever the browser does';

create function http.signed_cookie(name text) returns text
language c stable strict parallel restricted
as 'MODULE_PATHNAME', 'howdah_signed_cookie';
comment on function http.signed_cookie(text) is
  'The value of a cookie of the current request that http.set_signed_cookie() has set; null if it was not, or counts no more';

create function http.flash_text(message text, kind text, secure boolean) returns text
language c immutable parallel safe
as 'MODULE_PATHNAME', 'howdah_flash_text';
comment on function http.flash_text(text, text, boolean) is 'The value of a Set-Cookie header; see http.flash()';

create function http.flash(message text, kind text default 'notice') returns http.header
language sql stable parallel restricted
return case when message is not null then
  row('set-cookie', http.flash_text(message, kind, coalesce(http.is_https(), false)))::http.header
end;
comment on function http.flash(text, text) is
  'A header of a redirect: the page that it leads to shows a message, once. Null without a message';

create function http.flash_message() returns text
language c stable parallel restricted
as 'MODULE_PATHNAME', 'howdah_flash_message';
comment on function http.flash_message() is
  'The message of http.flash() for the page that runs; null if there is none. The page that shows it is the last to have it';

create function http.flash_kind() returns text
language c stable parallel restricted
as 'MODULE_PATHNAME', 'howdah_flash_kind';
comment on function http.flash_kind() is 'The kind of the message of http.flash_message()';
