-- Reading the request, anywhere below a handler: in nested functions, policies, triggers.

create function http.current_request() returns http.request
language c stable parallel restricted
as 'MODULE_PATHNAME', 'howdah_current_request';
comment on function http.current_request() is 'The request that is being answered; null outside of one';

create function http.header_value(headers http.header[], name text) returns text
language sql immutable strict parallel safe
return (select h.value from pg_catalog.unnest(headers) h where h.name = pg_catalog.lower(header_value.name) limit 1);
comment on function http.header_value(http.header[], text) is 'The value of a header, by its name in any case';

create function http.header_value(name text) returns text
language c stable strict parallel restricted
as 'MODULE_PATHNAME', 'header_value_wrapper';
comment on function http.header_value(text) is 'The value of a header of the current request';

create function http.cookie(name text) returns text
language c stable strict parallel restricted
as 'MODULE_PATHNAME', 'cookie_wrapper';
comment on function http.cookie(text) is 'The value of a cookie of the current request';

create function http.query_value(name text) returns text
language c stable strict parallel restricted
as 'MODULE_PATHNAME', 'query_value_wrapper';
comment on function http.query_value(text) is 'The first value of a parameter of the current request''s query string';

create function http.query_values(name text) returns text[]
language c stable strict parallel restricted
as 'MODULE_PATHNAME', 'query_values_wrapper';
comment on function http.query_values(text) is 'All values of a parameter of the current request''s query string';

create function http.form_value(name text) returns text
language c stable strict parallel restricted
as 'MODULE_PATHNAME', 'form_value_wrapper';
comment on function http.form_value(text) is
  'The first value of a field of the form that the current request carries, urlencoded or multipart';

create function http.form_values(name text) returns text[]
language c stable strict parallel restricted
as 'MODULE_PATHNAME', 'form_values_wrapper';
comment on function http.form_values(text) is 'All values of a field of the form that the current request carries';

create function http.form_file(name text) returns http.file
language c stable strict parallel restricted
as 'MODULE_PATHNAME', 'howdah_form_file';
comment on function http.form_file(text) is 'A file of the multipart form that the current request carries';

create function http.is_given(name text) returns boolean
language c stable strict parallel restricted
as 'MODULE_PATHNAME', 'is_given_wrapper';
comment on function http.is_given(text) is
  'Whether the current request''s query string, form or JSON body has this name, be it with an empty field or null';

create function http.path_value(name text) returns text
language c stable strict parallel restricted
as 'MODULE_PATHNAME', 'path_value_wrapper';
comment on function http.path_value(text) is 'A parameter of the path of the current request''s route';
