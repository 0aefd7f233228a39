-- HTML.

-- A type of its own, no domain: text is taken for a domain over text unasked, and what has come from a client would be HTML by that. Text
-- becomes HTML, and HTML text, where it is assigned or cast. The functions are those of text.
create type http.html;
create function http.html_in(text cstring) returns http.html
language internal immutable strict parallel safe as 'textin';
comment on function http.html_in(cstring) is 'Reads HTML, as it is';
create function http.html_out(value http.html) returns cstring
language internal immutable strict parallel safe as 'textout';
comment on function http.html_out(http.html) is 'Writes HTML, as it is';
create function http.html_receive(message internal) returns http.html
language internal stable strict parallel safe as 'textrecv';
comment on function http.html_receive(internal) is 'Reads HTML in the binary format';
create function http.html_send(value http.html) returns bytea
language internal stable strict parallel safe as 'textsend';
comment on function http.html_send(http.html) is 'Writes HTML in the binary format';
create type http.html (
  input = http.html_in, output = http.html_out, receive = http.html_receive, send = http.html_send,
  like = text, category = 'S', collatable = true);
comment on type http.html is 'text/html; charset=utf-8';
create cast (text as http.html) without function as assignment;
comment on cast (text as http.html) is 'Text that is HTML already: it is not escaped';
create cast (http.html as text) without function as assignment;
comment on cast (http.html as text) is 'HTML as text';

create function http.html_concat(one http.html, other http.html) returns http.html
language c immutable strict parallel safe
as 'MODULE_PATHNAME', 'howdah_html_concat';
comment on function http.html_concat(http.html, http.html) is 'HTML behind HTML: the operator ||';
-- In pg_catalog, as whoever writes an expression has no schema http in search_path.
-- The linter knows no operators.
create operator pg_catalog.|| ( -- noqa: PRS
  leftarg = http.html, rightarg = http.html, function = http.html_concat);
comment on operator pg_catalog.|| (http.html, http.html) is 'HTML behind HTML';

create function http.html_agg_add(state internal, part http.html, delimiter http.html) returns internal
language c immutable parallel safe
as 'MODULE_PATHNAME', 'howdah_html_agg_add';
comment on function http.html_agg_add(internal, http.html, http.html) is 'Adds a part to what http.html_agg() makes';
create function http.html_agg_end(state internal) returns http.html
language c immutable parallel safe
as 'MODULE_PATHNAME', 'howdah_html_agg_end';
comment on function http.html_agg_end(internal) is 'Ends what http.html_agg() makes';
create aggregate http.html_agg(part http.html, delimiter http.html) (
  sfunc = http.html_agg_add, stype = internal, finalfunc = http.html_agg_end, parallel = safe);
comment on aggregate http.html_agg(http.html, http.html) is 'The parts of all rows with a delimiter between them, as string_agg()';

create function http.html_eq(one http.html, other http.html) returns boolean
language internal immutable strict leakproof parallel safe as 'texteq';
comment on function http.html_eq(http.html, http.html) is 'The operator =';
create function http.html_ne(one http.html, other http.html) returns boolean
language internal immutable strict leakproof parallel safe as 'textne';
comment on function http.html_ne(http.html, http.html) is 'The operator <>';
create function http.html_lt(one http.html, other http.html) returns boolean
language internal immutable strict leakproof parallel safe as 'text_lt';
comment on function http.html_lt(http.html, http.html) is 'The operator <';
create function http.html_le(one http.html, other http.html) returns boolean
language internal immutable strict leakproof parallel safe as 'text_le';
comment on function http.html_le(http.html, http.html) is 'The operator <=';
create function http.html_gt(one http.html, other http.html) returns boolean
language internal immutable strict leakproof parallel safe as 'text_gt';
comment on function http.html_gt(http.html, http.html) is 'The operator >';
create function http.html_ge(one http.html, other http.html) returns boolean
language internal immutable strict leakproof parallel safe as 'text_ge';
comment on function http.html_ge(http.html, http.html) is 'The operator >=';
create function http.html_cmp(one http.html, other http.html) returns integer
language internal immutable strict leakproof parallel safe as 'bttextcmp';
comment on function http.html_cmp(http.html, http.html) is 'Compares HTML, as text';
create function http.html_like(value http.html, pattern text) returns boolean
language internal immutable strict parallel safe as 'textlike';
comment on function http.html_like(http.html, text) is 'LIKE';
create function http.html_unlike(value http.html, pattern text) returns boolean
language internal immutable strict parallel safe as 'textnlike';
comment on function http.html_unlike(http.html, text) is 'NOT LIKE';
create operator pg_catalog.= (
  leftarg = http.html, rightarg = http.html, function = http.html_eq, commutator = operator(pg_catalog.=), negator = operator(pg_catalog.<>),
  restrict = eqsel, join = eqjoinsel, merges);
comment on operator pg_catalog.= (http.html, http.html) is 'The same HTML';
create operator pg_catalog.<> (
  leftarg = http.html, rightarg = http.html, function = http.html_ne, commutator = operator(pg_catalog.<>), negator = operator(pg_catalog.=),
  restrict = neqsel, join = neqjoinsel);
comment on operator pg_catalog.<> (http.html, http.html) is 'Other HTML';
create operator pg_catalog.< (
  leftarg = http.html, rightarg = http.html, function = http.html_lt, commutator = operator(pg_catalog.>), negator = operator(pg_catalog.>=),
  restrict = scalarltsel, join = scalarltjoinsel);
comment on operator pg_catalog.< (http.html, http.html) is 'Before, as text';
create operator pg_catalog.<= (
  leftarg = http.html, rightarg = http.html, function = http.html_le, commutator = operator(pg_catalog.>=), negator = operator(pg_catalog.>),
  restrict = scalarlesel, join = scalarlejoinsel);
comment on operator pg_catalog.<= (http.html, http.html) is 'Before or the same, as text';
create operator pg_catalog.> (
  leftarg = http.html, rightarg = http.html, function = http.html_gt, commutator = operator(pg_catalog.<), negator = operator(pg_catalog.<=),
  restrict = scalargtsel, join = scalargtjoinsel);
comment on operator pg_catalog.> (http.html, http.html) is 'Behind, as text';
create operator pg_catalog.>= (
  leftarg = http.html, rightarg = http.html, function = http.html_ge, commutator = operator(pg_catalog.<=), negator = operator(pg_catalog.<),
  restrict = scalargesel, join = scalargejoinsel);
comment on operator pg_catalog.>= (http.html, http.html) is 'Behind or the same, as text';
create operator pg_catalog.~~ (
  leftarg = http.html, rightarg = text, function = http.html_like, negator = operator(pg_catalog.!~~),
  restrict = likesel, join = likejoinsel);
comment on operator pg_catalog.~~ (http.html, text) is 'LIKE';
create operator pg_catalog.!~~ (
  leftarg = http.html, rightarg = text, function = http.html_unlike, negator = operator(pg_catalog.~~),
  restrict = nlikesel, join = nlikejoinsel);
comment on operator pg_catalog.!~~ (http.html, text) is 'NOT LIKE';
create operator class http.html_ops default for type http.html using btree as
  operator 1 pg_catalog.<, operator 2 pg_catalog.<=, operator 3 pg_catalog.=, operator 4 pg_catalog.>=, operator 5 pg_catalog.>,
  function 1 http.html_cmp(http.html, http.html);

-- HTML of values. The type of an argument, as its expression has it, says whether it is HTML.

create function http.html_of(variadic pieces "any") returns http.html
language c stable parallel safe
as 'MODULE_PATHNAME', 'howdah_html_of';
comment on function http.html_of("any") is
  'Its arguments one after the other: HTML as it is, all else as text that is escaped, null as nothing. Pages are made of it'
;
create function http.text_of(variadic pieces "any") returns text
language c stable parallel safe
as 'MODULE_PATHNAME', 'howdah_text_of';
comment on function http.text_of("any") is 'Its arguments one after the other as text, null as nothing: the same for what is no HTML';
create function http.attribute(value "any") returns http.html
language c stable parallel safe
as 'MODULE_PATHNAME', 'howdah_attribute';
comment on function http.attribute("any") is 'A value for an attribute between quotes: HTML is escaped there, too';
create function http.format(template http.html, variadic pieces "any") returns http.html
language c stable parallel safe
as 'MODULE_PATHNAME', 'howdah_format';
comment on function http.format(http.html, "any") is
  'HTML with values in the places %s, or %1$s, as format() has them: escaped, unless they are HTML'
;
create function http.raw(value text) returns http.html
language sql immutable strict parallel safe
return value::http.html;
comment on function http.raw(text) is 'A text that is HTML: it is not escaped. Never one that a client has sent';
create function http.safe_url(value text) returns text
language c immutable strict parallel safe
as 'MODULE_PATHNAME', 'howdah_safe_url';
comment on function http.safe_url(text) is
  'A URL that browsers do not run: of http, https, mailto or tel, or without a scheme; about:invalid for all else'
;
create function http.script_json(value json) returns http.html
language c immutable parallel safe
as 'MODULE_PATHNAME', 'howdah_script_json';
comment on function http.script_json(json) is 'JSON for a <script type="application/json">: nothing in it ends the script';
create function http.url(pattern text) returns text
language c stable parallel safe
as 'MODULE_PATHNAME', 'howdah_url';
comment on function http.url(text) is 'The URL of a route without parameters';
create function http.url(pattern text, variadic arguments "any") returns text
language c stable parallel safe
as 'MODULE_PATHNAME', 'howdah_url';
comment on function http.url(text, "any") is
  'The URL of a route: values for the parameters of its pattern, then names and values of the query, of which those that are null are left out'
;
create function http.url_with(variadic pairs "any") returns text
language c stable parallel restricted
as 'MODULE_PATHNAME', 'howdah_url_with';
comment on function http.url_with("any") is
  'The query of the request that runs with changes, as a URL of the same path: names and values, null takes one out'
;

create function http.html_agg_put(state internal, part http.html) returns internal
language c immutable parallel safe
as 'MODULE_PATHNAME', 'howdah_html_agg_put';
comment on function http.html_agg_put(internal, http.html) is 'Adds a part to what http.html_agg() makes';
create aggregate http.html_agg(part http.html) (
  sfunc = http.html_agg_put, stype = internal, finalfunc = http.html_agg_end, parallel = safe);
comment on aggregate http.html_agg(http.html) is 'The parts of all rows, one after the other';

create function http.single_put(state internal, part http.html, place text) returns internal
language c immutable parallel safe
as 'MODULE_PATHNAME', 'howdah_single_put';
comment on function http.single_put(internal, http.html, text) is 'Takes the row of http.single()';
create function http.single_put(state internal, part text, place text) returns internal
language c immutable parallel safe
as 'MODULE_PATHNAME', 'howdah_single_put';
comment on function http.single_put(internal, text, text) is 'Takes the row of http.single()';
create function http.single_end(state internal, part http.html, place text) returns http.html
language c immutable parallel safe
as 'MODULE_PATHNAME', 'howdah_single_end';
comment on function http.single_end(internal, http.html, text) is 'Ends what http.single() makes';
create function http.single_end(state internal, part text, place text) returns text
language c immutable parallel safe
as 'MODULE_PATHNAME', 'howdah_single_end';
comment on function http.single_end(internal, text, text) is 'Ends what http.single() makes';
create aggregate http.single(part http.html, place text) (
  sfunc = http.single_put, stype = internal, finalfunc = http.single_end, finalfunc_extra, parallel = safe);
comment on aggregate http.single(http.html, text) is 'The part of the only row; null without a row, an error that names the place with two';
create aggregate http.single(part text, place text) (
  sfunc = http.single_put, stype = internal, finalfunc = http.single_end, finalfunc_extra, parallel = safe);
comment on aggregate http.single(text, text) is 'The text of the only row; null without a row, an error that names the place with two';
