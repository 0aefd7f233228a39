-- Forms: what a request refuses, and a page that shows it.

create function http.invalid(parameter text, message text) returns void
language c volatile parallel unsafe
as 'MODULE_PATHNAME', 'howdah_invalid';
comment on function http.invalid(text, text) is
  'Refuses a parameter of the current request, or without a name the whole, with a message for people. The function goes on; at its end nothing of it is kept'
;
