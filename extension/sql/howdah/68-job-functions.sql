-- What users call of jobs.

create function job.define(
  kind text, function text, role text default null, attempts integer default 20, backoff interval default '1 s',
  longest_backoff interval default '1 h', timeout interval default '5 min', at_once integer default null,
  per_second double precision default null, priority text default 'normal', batch integer default 1,
  alert text default null, keep_failures interval default '30 days', keep_dead interval default null,
  search_path text default http.registration_path())
returns void
language c volatile
as 'MODULE_PATHNAME', 'howdah_job_define';
comment on function job.define(
  text, text, text, integer, interval, interval, interval, integer, double precision, text, integer, text, interval, interval, text) is
  'Defines a kind of jobs: the function that runs them, as which role and within what limits. The same kind replaces';

create function job.undefine(kind text, with_jobs boolean default false) returns boolean
language c volatile
as 'MODULE_PATHNAME', 'howdah_job_undefine';
comment on function job.undefine(text, boolean) is
  'Removes a kind of jobs; false if there is none. One that has jobs is removed only with them';

create function job.grant(kind text, "right" text, role text) returns void
language c volatile
as 'MODULE_PATHNAME', 'howdah_job_grant';
comment on function job.grant(text, text, text) is 'Lets a role enqueue, cancel or redrive jobs of a kind';

create function job.revoke(kind text, "right" text, role text) returns void
language c volatile
as 'MODULE_PATHNAME', 'howdah_job_revoke';
comment on function job.revoke(text, text, text) is 'Takes a right back that job.grant() has given';

create function job.enqueue(
  kind text, arguments jsonb default '{}', at timestamptz default null, priority text default null,
  key text default null, holds text default 'waiting', holds_for interval default null, meets text default 'keep')
returns bigint
language c volatile
as 'MODULE_PATHNAME', 'howdah_job_enqueue';
comment on function job.enqueue(text, jsonb, timestamptz, text, text, text, interval, text) is
  'Enqueues a job, which begins after this transaction''s commit, and not before a time. Returns its id, or that of the job that holds its key';

create function job.enqueue_with_key(
  kind text, key text, arguments jsonb default '{}', at timestamptz default null, priority text default null,
  holds text default 'waiting', holds_for interval default null, meets text default 'keep')
returns table (id bigint, has_met boolean)
language c volatile rows 1
as 'MODULE_PATHNAME', 'howdah_job_enqueue_with_key';
comment on function job.enqueue_with_key(text, text, jsonb, timestamptz, text, text, interval, text) is
  'The same for a job with a key, and whether it has met one that holds it';

create function job.enqueue_many(
  kind text, arguments jsonb[], at timestamptz default null, priority text default null)
returns setof bigint
language c volatile rows 1000
as 'MODULE_PATHNAME', 'howdah_job_enqueue_many';
comment on function job.enqueue_many(text, jsonb[], timestamptz, text) is
  'Enqueues many jobs at once, one for each element of an array, for a fraction of the time. Returns their ids, in that order';

create function job.sees(kind text) returns boolean
language c stable
as 'MODULE_PATHNAME', 'howdah_job_sees';
comment on function job.sees(text) is
  'Whether the current user may see jobs of a kind: its owner, whoever has a right to it, and howdah_admin';

create function job.cancel(id bigint) returns boolean
language c volatile
as 'MODULE_PATHNAME', 'howdah_job_cancel';
comment on function job.cancel(bigint) is
  'Makes a job that waits a dead one, or interrupts the attempt that runs, which is undone; false if it is gone, or done before that';

create function job.redrive(id bigint) returns bigint
language c volatile
as 'MODULE_PATHNAME', 'howdah_job_redrive';
comment on function job.redrive(bigint) is
  'Sends a dead job again, with all its attempts, under a new id, which it returns; null if there is none';

create function job.redrive(kind text, qty integer default null) returns bigint
language c volatile
as 'MODULE_PATHNAME', 'howdah_job_redrive_all';
comment on function job.redrive(text, integer) is 'Sends all dead jobs of a kind again, or the oldest; returns how many';

create function job.discard(id bigint) returns boolean
language c volatile
as 'MODULE_PATHNAME', 'howdah_job_discard';
comment on function job.discard(bigint) is 'Throws a dead job away; false if there is none';

create function job.discard(kind text, before timestamptz default null) returns bigint
language c volatile
as 'MODULE_PATHNAME', 'howdah_job_discard_all';
comment on function job.discard(text, timestamptz) is
  'Throws all dead jobs of a kind away, or those that died before a time; returns how many';

create function job.pause(kind text) returns boolean
language c volatile
as 'MODULE_PATHNAME', 'howdah_job_pause';
comment on function job.pause(text) is
  'No job of the kind begins any more, also after a restart; those that run go on. False if it was paused';

create function job.resume(kind text) returns boolean
language c volatile
as 'MODULE_PATHNAME', 'howdah_job_resume';
comment on function job.resume(text) is 'Jobs of the kind begin again; false if it was not paused';

create function job.find(id bigint)
returns table (
  job bigint, kind text, state text, priority text, arguments jsonb, key text,
  failed_attempts integer, enqueued_at timestamptz, due_at timestamptz, first_id bigint)
language c volatile rows 1
as 'MODULE_PATHNAME', 'howdah_job_find';
comment on function job.find(bigint) is
  'A job that waits or runs; no row for one that is done, dead or not known. job.failures has its attempts';

create function job.progress(fraction double precision, remark text default null) returns void
language c volatile
as 'MODULE_PATHNAME', 'howdah_job_progress';
comment on function job.progress(double precision, text) is
  'Says how far the job that runs is, from 0 to 1; job.running shows it at once';

create function job.current()
returns table (
  id bigint, kind text, attempt integer, attempts integer, enqueued_at timestamptz,
  first_id bigint)
language c stable rows 1
as 'MODULE_PATHNAME', 'howdah_job_current';
comment on function job.current() is
  'The job that runs, which attempt of how many it is, and the id as which it was enqueued first; no row outside of jobs';

create function job.retry(after interval, message text default null) returns void
language c volatile
as 'MODULE_PATHNAME', 'howdah_job_retry';
comment on function job.retry(interval, text) is
  'Ends the attempt by an error: all that it has done is undone, and the job comes again after a time';

create function job.give_up(message text) returns void
language c volatile
as 'MODULE_PATHNAME', 'howdah_job_give_up';
comment on function job.give_up(text) is
  'Ends the attempt by an error, as the last: all that it has done is undone, and the job is dead';

revoke all on function
  job.make_queue(integer, text), job.unmake(integer), job.has_jobs(integer), job.purge(integer),
  job.follow(integer, text), job.note_oids(),
  job.note_failure(bigint, integer, integer, integer, timestamptz, text, text, text, text, text),
  job.define(text, text, text, integer, interval, interval, interval, integer, double precision, text, integer, text, interval, interval, text)
from public;
grant execute on function
  job.define(text, text, text, integer, interval, interval, interval, integer, double precision, text, integer, text, interval, interval, text)
to howdah_admin;
