-- What there is to see of jobs.

create function job.read_kinds()
returns table (
  kind integer, waiting bigint, running integer, begun bigint, done bigint, failed bigint,
  mean_ms double precision, mean_wait_ms double precision, longest_wait_ms double precision, stopped text)
language c volatile rows 10
as 'MODULE_PATHNAME', 'howdah_job_read_kinds';
comment on function job.read_kinds() is 'What is known of kinds since the server started; job.kinds shows it';

create function job.read_running()
returns table (
  id bigint, queue integer, attempt integer, began_at timestamptz, pid integer,
  progress double precision, remark text)
language c volatile rows 10
as 'MODULE_PATHNAME', 'howdah_job_read_running';
comment on function job.read_running() is 'The jobs that run now; job.running shows them';

create view job.kinds with (security_barrier) as
select
  k.name as kind, k.owner, k.function, k.role, k.attempts, k.backoff, k.longest_backoff, k.timeout, k.at_once, k.per_second,
  k.batch, k.priority, (select a.name from job.kind a where a.id = k.alert) as alert, k.keep_failures, k.keep_dead, k.paused_at,
  r.waiting, coalesce(r.running, 0) as running, coalesce(r.begun, 0) as begun, coalesce(r.done, 0) as done,
  coalesce(r.failed, 0) as failed, (select count(*) from job.dead d where d.kind = k.id) as dead,
  r.mean_ms, r.mean_wait_ms, r.longest_wait_ms, r.stopped
from job.kind k left join job.read_kinds() r on r.kind = k.id
where job.sees(k.name);
comment on view job.kinds is
  'The kinds of jobs, with what they have done since the server started, and why one runs none';

create view job.overview with (security_barrier) as
select
  k.kind, k.waiting, k.running,
  date_trunc('milliseconds', (
    select max(clock_timestamp() - r.began_at)
    from job.read_running() r
    join job.kind_queue q on q.queue = r.queue
    join job.kind d on d.id = q.kind and d.name = k.kind)) as running_for,
  k.done, k.failed, k.dead, round(k.mean_ms::numeric, 3) as mean_ms, round(k.mean_wait_ms::numeric, 3) as mean_wait_ms,
  case when (select job.is_copy()) then 'this database is a copy: select job.resume()'
    when not current_setting('howdah.jobs')::boolean then 'howdah.jobs is off'
    else coalesce('stopped: ' || k.stopped, 'paused since ' || date_trunc('seconds', k.paused_at)) end as remark
from job.kinds k;
comment on view job.overview is 'The kinds of jobs in short, with the time of the job that has run for longest';

create view job.running with (security_barrier) as
select r.id, k.name as kind, r.attempt, r.began_at, r.pid, r.progress, r.remark
from job.read_running() r
join job.kind_queue q on q.queue = r.queue
join job.kind k on k.id = q.kind
where job.sees(k.name);
comment on view job.running is 'The jobs that run now';

create view job.failures with (security_barrier) as
select
  f.job, k.name as kind, f.attempt, f.began_at, f.ended_at, f.sqlstate, f.message, f.detail, f.hint, f.context
from job.failure f join job.kind k on k.id = f.kind
where job.sees(k.name);
comment on view job.failures is 'Attempts that have failed, the last ten of each job';

create view job.dead_jobs with (security_barrier) as
select
  d.id, k.name as kind, d.priority, d.arguments, d.key, coalesce(d.root, d.id) as first_id, d.attempts, d.enqueued_at,
  d.died_at, d.reason, d.sqlstate, d.message
from job.dead d join job.kind k on k.id = d.kind
where job.sees(k.name);
comment on view job.dead_jobs is 'Jobs that are not tried any more, with their last error; job.redrive() sends them again';

create view job.schedules with (security_barrier) as
select
  s.name as schedule, k.name as kind, s.owner, s.cron, s.every, s.anchor, s.time_zone, s.arguments,
  coalesce(s.priority, k.priority) as priority, s.missed, s.missed_within, s.missed_most, s.may_overlap,
  case when s.paused_at is null then s.next_at end as next_at,
  case when s.paused_at is null then job.local_time(s.next_at, s.time_zone) end as next_local,
  s.last_at, s.last_job,
  case when s.last_job is not null then coalesce(
    (select f.state from job.find(s.last_job) f),
    (select 'dead' from job.dead d where d.id = s.last_job), 'done') end as last_state,
  s.skipped, s.missed_for_good, s.paused_at, s.stopped
from job.timetable s join job.kind k on k.id = s.kind
where job.sees(k.name);
comment on view job.schedules is 'The schedules, with when they are due next and what became of the last job';
