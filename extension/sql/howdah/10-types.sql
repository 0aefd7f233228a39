-- What handlers get and give.

create type http.header as (name text, value text);
comment on type http.header is 'A header; names of a request are in lower case';

create type http.request as (
  id text,
  method text,
  path text,
  query_string text,
  headers http.header[],
  body bytea,
  remote_address inet,
  parameters jsonb,
  scheme text,
  client_certificate jsonb);
comment on type http.request is 'A request; the path is percent-decoded, the query string as sent and without its ?';
comment on column http.request.id is 'X-Request-Id, or one that was made';
comment on column http.request.remote_address is
  'The client, behind the proxies of howdah.trusted_proxies; null on a UNIX socket';
comment on column http.request.parameters is 'Parameters of the route''s path';
comment on column http.request.client_certificate is
  'Who the client is, by a certificate that an authority of howdah.tls_client_authorities has signed; null if it has shown none';
comment on column http.request.scheme is 'https or http, as the client reached the outermost proxy of howdah.trusted_proxies';

create type http.response as (status integer, content_type text, headers http.header[], body bytea);
comment on type http.response is
  'A response; without a status 200, or 204 if there is no body; a content-type among the headers wins';

create type http.file as (name text, content_type text, body bytea);
comment on type http.file is 'An uploaded file; name and type are the client''s claims';

-- An argument of this type, or of a domain over it, is taken out of whatever is logged and answered.
create domain http.secret as text;
comment on domain http.secret is 'A password, a token, a key: as an argument of a function that requests or jobs call it appears in no message'
;

-- A function that returns one of these answers with this content type. So does a domain of your own whose
-- name is a media type: create domain "image/png" as bytea.
create domain http.css as text;
comment on domain http.css is 'text/css; charset=utf-8';
create domain http.csv as text;
comment on domain http.csv is 'text/csv; charset=utf-8';
create domain http.javascript as text;
comment on domain http.javascript is 'text/javascript; charset=utf-8';
create domain http.markdown as text;
comment on domain http.markdown is 'text/markdown; charset=utf-8';
create domain http.ndjson as text;
comment on domain http.ndjson is 'application/x-ndjson';
create domain http.svg as text;
comment on domain http.svg is 'image/svg+xml';
create domain http.xml as text;
comment on domain http.xml is 'application/xml';
