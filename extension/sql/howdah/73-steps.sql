-- Migrations that are no part of a deployment's transaction.

create function deploy.step(application text, path text, content text default null) returns json
language c volatile
as 'MODULE_PATHNAME', 'deploy_step_wrapper';
comment on function deploy.step(text, text, text) is
  'What a migration does that is no part of a transaction, and how far it is; null if it is part of one. Without a text one that was begun';

create function deploy.begin_step(application text, path text, content text) returns void
language c volatile strict
as 'MODULE_PATHNAME', 'deploy_begin_step_wrapper';
comment on function deploy.begin_step(text, text, text) is 'Notes that a migration runs which is no part of a transaction';

create function deploy.batch(application text, path text) returns json
language c volatile strict
as 'MODULE_PATHNAME', 'deploy_batch_wrapper';
comment on function deploy.batch(text, text) is 'Runs the next batch of a step that was begun, as the application''s owner';

create function deploy.writers(application text, path text, of text default null) returns json
language c volatile
as 'MODULE_PATHNAME', 'deploy_writers_wrapper';
comment on function deploy.writers(text, text, text) is
  'Who has written the table of a step in batches and has not ended, of these transactions: rows of theirs are not seen yet';

create function deploy.end_step(application text, path text) returns void
language c volatile strict
as 'MODULE_PATHNAME', 'deploy_end_step_wrapper';
comment on function deploy.end_step(text, text) is 'Notes that a step which was begun has run; an error if the catalogs do not say so';

create function deploy.forget_step(application text, path text) returns void
language c volatile strict
as 'MODULE_PATHNAME', 'deploy_forget_step_wrapper';
comment on function deploy.forget_step(text, text) is 'Forgets that a step was begun. What it has done stays';

create function deploy.postpone(path text, content text) returns void
language c volatile strict
as 'MODULE_PATHNAME', 'deploy_postpone_wrapper';
comment on function deploy.postpone(text, text) is 'Has a migration of the deployment run after it, as it is no part of a transaction';

create function deploy.squash(path text, content text, others json) returns void
language c volatile strict
as 'MODULE_PATHNAME', 'deploy_squash_wrapper';
comment on function deploy.squash(text, text, json) is
  'Takes a migration of the deployment for others that have run, by their paths and SHA-256'
;

create function deploy.keep_role() returns void
language c volatile strict
as 'MODULE_PATHNAME', 'deploy_keep_role_wrapper';
comment on function deploy.keep_role() is
  'Has the session stay the role that it is: no SET ROLE, SET SESSION AUTHORIZATION or RESET succeeds in it any more'
;

create function deploy.hold(application text) returns void
language c volatile strict
as 'MODULE_PATHNAME', 'deploy_hold_wrapper';
comment on function deploy.hold(text) is 'Keeps others from deploying an application until the session ends, for a deployment of several transactions';

create function deploy.release(application text) returns boolean
language c volatile strict
as 'MODULE_PATHNAME', 'deploy_release_wrapper';
comment on function deploy.release(text) is 'Lets others deploy an application again';

create function deploy.read_steps()
returns table (application text, path text, begun_at timestamptz, begun_by text, keys bigint)
language c stable strict
as 'MODULE_PATHNAME', 'deploy_read_steps_wrapper';
comment on function deploy.read_steps() is 'What the view deploy.steps shows';

create view deploy.steps with (security_barrier = true) as
select * from deploy.read_steps();
comment on view deploy.steps is
  'Migrations that are no part of a transaction and are not done, of applications that the current user may deploy'
;
