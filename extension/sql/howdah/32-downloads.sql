-- Files that users have sent, and that others get.

create function http.shown_type(body bytea, content_type text) returns text
language c immutable parallel safe
as 'MODULE_PATHNAME', 'howdah_shown_type';
comment on function http.shown_type(bytea, text) is
  'The type of bytes that a browser may show, by what they are; null if they could run as the site, or nobody knows them'
;

create function http.disposition(name text, shown boolean) returns text
language c immutable strict parallel safe
as 'MODULE_PATHNAME', 'howdah_disposition';
comment on function http.disposition(text, boolean) is
  'The value of Content-Disposition for a file of this name, which is shown or saved'
;

create function http.wanted_part(length bigint) returns bigint[]
language c stable strict parallel restricted
as 'MODULE_PATHNAME', 'howdah_wanted_part';
comment on function http.wanted_part(bigint) is
  'The status of an answer with so many bytes for the Range of the current request, where its bytes begin, and how many they are'
;

create function http.download(body bytea, name text, content_type text default null) returns http.response
language sql stable parallel restricted
begin atomic
  select row(
    part[1]::integer, coalesce(shown, download.content_type, 'application/octet-stream'),
    array[
      http.header('content-disposition', http.disposition(coalesce(name, ''), shown is not null)),
      http.header('accept-ranges', 'bytes')]
    operator(pg_catalog.||) case part[1]
      when 206 then array[http.header('content-range', pg_catalog.format('bytes %s-%s/%s', part[2], part[2] + part[3] - 1, length))]
      when 416 then array[http.header('content-range', pg_catalog.format('bytes */%s', length))]
      else array[]::http.header[] end,
    case part[1] when 200 then body when 206 then pg_catalog.substr(body, part[2]::integer + 1, part[3]::integer) end)::http.response
  from (select http.wanted_part(pg_catalog.octet_length(body)), pg_catalog.octet_length(body), http.shown_type(body, download.content_type)) w (part, length, shown)
  where body is not null;
end;
comment on function http.download(bytea, text, text) is
  'A file that somebody has sent, for others: shown if it is a picture, a film, music, a PDF or plain text by its bytes, and saved if not. Null if there is no body'
;
