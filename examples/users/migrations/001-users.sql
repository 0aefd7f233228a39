-- The users, and who may read them.

create table if not exists users (
  handle text primary key,
  name text not null);

-- The published statement below compares an array built from every row. With this index it need not.
create index if not exists users_path on users ((array[null, 'users', handle]));

insert into users (handle, name) values ('johndoe', 'John'), ('maryjane', 'Mary <Jane>')
on conflict do nothing;

grant select on users to howdah_web;
