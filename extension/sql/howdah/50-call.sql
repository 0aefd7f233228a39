-- A request in the caller's transaction. Nobody may call it but whom an administrator lets: what it runs has the rights of the route's
-- role, which the caller must be allowed to become.

create function http.call(
  method text, target text, headers http.header[] default null, body bytea default null, scheme text default 'http')
returns http.response
language c volatile
as 'MODULE_PATHNAME', 'howdah_call';
comment on function http.call(text, text, http.header[], bytea, text) is
  'Runs a request in this transaction, as a worker would, under a savepoint; an error is its answer. For tests and deployments';
revoke all on function http.call(text, text, http.header[], bytea, text) from public;

create function http.explain(method text, target text, headers http.header[] default null)
returns table (what text, name text, last_change bigint)
language c volatile
as 'MODULE_PATHNAME', 'howdah_explain';
comment on function http.explain(text, text, http.header[]) is
  'Runs a GET as http.call does, and shows what its answer has read, and why it cannot be remembered';
revoke all on function http.explain(text, text, http.header[]) from public;
