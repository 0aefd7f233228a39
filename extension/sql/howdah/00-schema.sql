\echo Use "create extension howdah" to load this file. \quit

-- The schema of the http door, and the roles. Roles belong to the whole server: they are made if
-- missing and stay when the extension goes.

do $roles$
begin
  begin
    create role howdah_web nologin;
  exception
    when duplicate_object or unique_violation then null;
  end;
  begin
    create role howdah_admin nologin;
  exception
    when duplicate_object or unique_violation then null;
  end;
  begin
    create role howdah_nobody nologin;
  exception
    when duplicate_object or unique_violation then null;
  end;
end
$roles$;

comment on role howdah_web is 'Runs the requests of Howdah whose route names no other role';
comment on role howdah_admin is 'May configure Howdah and see its state';
comment on role howdah_nobody is 'Runs checks of types for whom their authors are strangers; grant it nothing';

create schema http;
comment on schema http is 'HTTP answered by SQL: listeners, routes, handlers, and what they need';
