-- The tables of the benchmark and the role of the peers. Howdah's own objects are in howdah.sql.

create table users (handle text not null unique, name text not null);

insert into users
select 'user' || n, 'Name ' || n from generate_series(1, 1000) as n;

-- Twenty more than a thousand, so that twenty rows follow each id that is asked for.
create table people (
  id int primary key,
  handle text not null,
  name text not null,
  email text not null,
  age int not null,
  score float8 not null,
  active boolean not null,
  created_at timestamptz not null,
  bio text
);

insert into people
select n,
       'user' || n,
       'Name ' || n,
       'user' || n || '@example.com',
       18 + n % 60,
       n * 1.25,
       n % 2 = 0,
       timestamptz '2024-01-01 00:00:00+00' + n * interval '1 hour',
       case when n % 3 > 0 then 'Likes "quotes", façades and long walks, number ' || n end
from generate_series(1, 1020) as n;

create table messages (
  id bigint generated always as identity primary key,
  author text not null,
  body text not null,
  sent_at timestamptz not null default now()
);

create role peer login;
grant select on users, people to peer;
grant insert on messages to peer;
