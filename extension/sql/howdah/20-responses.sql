-- Making responses. Written as expressions, so that the planner puts them into the handler's own plan.

create function http.as_bytes(value text) returns bytea
language c immutable strict parallel safe
as 'MODULE_PATHNAME', 'howdah_as_bytes';
comment on function http.as_bytes(text) is 'The bytes of a text';

create function http.header(name text, value text) returns http.header
language sql immutable parallel safe
return row(name, value)::http.header;
comment on function http.header(text, text) is 'A header of a response';

create function http.response(body text, status integer default null, headers http.header[] default null)
returns http.response
language sql immutable parallel safe
return row(status, 'text/plain; charset=utf-8', headers, http.as_bytes(body))::http.response;
comment on function http.response(text, integer, http.header[]) is 'A response whose body is text, as text/plain';

create function http.response(body http.html, status integer default null, headers http.header[] default null)
returns http.response
language sql immutable parallel safe
return row(status, 'text/html; charset=utf-8', headers, http.as_bytes(body::text))::http.response;
comment on function http.response(http.html, integer, http.header[]) is 'A response whose body is HTML';

create function http.response(body json, status integer default null, headers http.header[] default null)
returns http.response
language sql immutable parallel safe
return row(status, 'application/json', headers, http.as_bytes(body::text))::http.response;
comment on function http.response(json, integer, http.header[]) is 'A response whose body is JSON';

create function http.response(body jsonb, status integer default null, headers http.header[] default null)
returns http.response
language sql immutable parallel safe
return row(status, 'application/json', headers, http.as_bytes(body::text))::http.response;
comment on function http.response(jsonb, integer, http.header[]) is 'A response whose body is JSON';

create function http.response(body bytea, status integer default null, headers http.header[] default null)
returns http.response
language sql immutable parallel safe
return row(status, 'application/octet-stream', headers, body)::http.response;
comment on function http.response(bytea, integer, http.header[]) is 'A response whose body is bytes';

create function http.response(status integer default null, headers http.header[] default null)
returns http.response
language sql immutable parallel safe
return row(status, null, headers, null)::http.response;
comment on function http.response(integer, http.header[]) is 'A response without a body; without a status 204';

create function http.as_location(value text) returns text
language c immutable strict parallel safe
as 'MODULE_PATHNAME', 'as_location_wrapper';
comment on function http.as_location(text) is
  'A URL: blanks, and what is not ASCII, are percent-encoded; see http.redirect()';

create function http.redirect(location text, status integer default 303, headers http.header[] default null)
returns http.response
language sql immutable parallel safe
return row(
  status, null,
  array[http.header('location', http.as_location(location))] operator(pg_catalog.||) headers, null)::http.response;
comment on function http.redirect(text, integer, http.header[]) is
  'Sends the client elsewhere: 303 after a form, 307 to repeat the request, 301 or 308 for good';

create function http.same_site(location text, otherwise text default '/') returns text
language c immutable parallel safe
as 'MODULE_PATHNAME', 'howdah_same_site';
comment on function http.same_site(text, text) is
  'A location if it is a path of the same site, as browsers read it; otherwise the second'
;

create function http.cookie_text(
  name text, value text, path text, domain text, max_age integer, secure boolean, http_only boolean,
  same_site text)
returns text
language c immutable parallel safe
as 'MODULE_PATHNAME', 'cookie_text_wrapper';
comment on function http.cookie_text(text, text, text, text, integer, boolean, boolean, text) is
  'The value of a Set-Cookie header; see http.set_cookie()';

create function http.is_https() returns boolean
language c stable parallel restricted
as 'MODULE_PATHNAME', 'is_https_wrapper';
comment on function http.is_https() is
  'Whether the request that is being answered came by https, or by http to a proxy of howdah.trusted_proxies that was reached by https; null outside of one';

create function http.set_cookie(
  name text, value text, path text default '/', domain text default null, max_age integer default null,
  secure boolean default null, http_only boolean default true, same_site text default 'Lax')
returns http.header
language sql stable parallel restricted
return row(
  'set-cookie',
  http.cookie_text(
    name, value, path, domain, max_age, coalesce(secure, http.is_https(), false), http_only, same_site))::http.header;
comment on function http.set_cookie(text, text, text, text, integer, boolean, boolean, text) is
  'A Set-Cookie header; a response may have several. max_age in seconds; 0 deletes the cookie. Secure, unless it says otherwise, where the request came by https';

create function http.escape(value text) returns text
language c immutable strict parallel safe
as 'MODULE_PATHNAME', 'escape_wrapper';
comment on function http.escape(text) is 'Text for HTML: &, <, >, " and '' are escaped';

create function http.url_encode(value text) returns text
language c immutable strict parallel safe
as 'MODULE_PATHNAME', 'url_encode_wrapper';
comment on function http.url_encode(text) is
  'Text for a part of a URL: all but letters, digits, -, ., _ and ~ is percent-encoded';
