\echo Use "alter extension howdah update" to load this file. \quit

-- Makes a database of 0.1.0 one of 0.2.0: each change of howdah/ has its statements here. together::upgrades compares both ways.

create function deploy.note_drop() returns event_trigger
language c
as 'MODULE_PATHNAME', 'deploy_note_drop';
comment on function deploy.note_drop() is 'Notes what a file of a deployment drops';
revoke all on function deploy.note_drop() from public;

create event trigger howdah_deploy_dropped on sql_drop -- noqa: PRS
execute function deploy.note_drop();
comment on event trigger howdah_deploy_dropped is 'Notes what a file of a deployment drops';
alter event trigger howdah_deploy_dropped enable always;
