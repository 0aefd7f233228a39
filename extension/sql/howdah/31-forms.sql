-- Forms: what a request refuses, and a page that shows it.

create function http.invalid(parameter text, message text) returns void
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'howdah_invalid';
comment on function http.invalid(text, text) is
  'Refuses a parameter of the current request, or without a name the whole, with a message for people. The function goes on; at its end nothing of it is kept'
;

create function http.form_sent(form text default null) returns boolean
language c stable parallel restricted
as 'MODULE_PATHNAME', 'howdah_form_sent';
comment on function http.form_sent(text) is 'Whether the page that runs is shown because its form was sent and refused';

create function http.typed(name text, otherwise text default null, form text default null) returns text
language c stable parallel restricted
as 'MODULE_PATHNAME', 'howdah_typed';
comment on function http.typed(text, text, text) is
  'The text that was typed in a field if its form was sent, also where it is empty; otherwise the second'
;
create function http.typed(name text, otherwise anyelement, form text default null) returns text
language c stable parallel restricted
as 'MODULE_PATHNAME', 'howdah_typed';
comment on function http.typed(text, anyelement, text) is 'The same for a value of any type, as text';

create function http.form_error(name text default null, form text default null) returns text
language c stable parallel restricted
as 'MODULE_PATHNAME', 'howdah_form_error';
comment on function http.form_error(text, text) is
  'The error of a field, or without a name those that no field shows, in words for people; null if there is none'
;
create function http.form_errors(form text default null) returns table (parameter text, message text)
language c stable parallel restricted
as 'MODULE_PATHNAME', 'howdah_form_errors';
comment on function http.form_errors(text) is 'All errors of a form that was sent, in order';

create function http.field(
  name text, label text default null, value text default null, type text default null, choices text[] default null,
  hint text default null, form text default null)
returns http.html
language c stable parallel restricted
as 'MODULE_PATHNAME', 'howdah_field';
comment on function http.field(text, text, text, text, text[], text, text) is
  'A field of a form as HTML: label, control, hint and error, with the text that was typed, and with the rules of the argument that it fills'
;
create function http.field(
  name text, label text, value anyelement, type text default null, choices text[] default null, hint text default null,
  form text default null)
returns http.html
language c stable parallel restricted
as 'MODULE_PATHNAME', 'howdah_field';
comment on function http.field(text, text, anyelement, text, text[], text, text) is 'The same with a value of any type';
