-- Runs once. What has been deployed stays as it is: the next change is a file of its own, 002-….sql.
create domain short_text as varchar(60);
create table entry (
  id integer generated always as identity primary key,
  author short_text not null,
  message text not null check (message <> ''),
  written_at timestamptz not null default now());

-- Requests run as howdah_web, which may do what it is granted.
grant select, insert on entry to howdah_web;
