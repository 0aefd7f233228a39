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
language internal immutable strict parallel safe as 'textcat';
comment on function http.html_concat(http.html, http.html) is 'HTML behind HTML: the operator ||';
-- In pg_catalog, as whoever writes an expression has no schema http in search_path.
-- The linter knows no operators.
create operator pg_catalog.|| ( -- noqa: PRS
  leftarg = http.html, rightarg = http.html, function = http.html_concat);
comment on operator pg_catalog.|| (http.html, http.html) is 'HTML behind HTML';

create function http.html_agg_add(state internal, part http.html, delimiter http.html) returns internal
language internal immutable parallel safe as 'string_agg_transfn';
comment on function http.html_agg_add(internal, http.html, http.html) is 'Adds a part to what http.html_agg() makes';
create function http.html_agg_end(state internal) returns http.html
language internal immutable parallel safe as 'string_agg_finalfn';
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
