-- The users, and who may read them.

create table users (
  handle text primary key,
  name text not null);

-- The published statement, in routes.sql, compares an array built from every row. With this index it need not.
create index users_path on users ((array[null, 'users', handle]));

insert into users (handle, name) values ('johndoe', 'John'), ('maryjane', 'Mary <Jane>');

grant select on users to howdah_web;
