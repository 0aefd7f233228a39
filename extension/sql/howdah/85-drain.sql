-- Taking a database out of service without a lost request.

create function http.drain(announce interval default '1 second') returns bigint
language c volatile strict
as 'MODULE_PATHNAME', 'drain_wrapper';
comment on function http.drain(interval) is
  'Announces the end of service for this database, then accepts no more, and returns when all that ran is answered: how many requests took too long and were cut off';

create function http.undrain() returns boolean
language c volatile strict
as 'MODULE_PATHNAME', 'undrain_wrapper';
comment on function http.undrain() is 'Serves this database again after http.drain(); false if it was not drained';

create function http.is_draining() returns boolean
language c stable strict parallel safe
as 'MODULE_PATHNAME', 'is_draining_wrapper';
comment on function http.is_draining() is
  'Whether http.drain() has been called for this database: for a route that a load balancer asks';

create function http.replace_gateways() returns integer
language c volatile strict
as 'MODULE_PATHNAME', 'replace_gateways_wrapper';
comment on function http.replace_gateways() is
  'Starts other gateways for this database and returns when those that there were have answered what they had and ended: how many these were';

revoke all on function http.drain(interval), http.undrain(), http.replace_gateways() from public;
grant execute on function http.drain(interval), http.undrain(), http.replace_gateways() to howdah_admin;
