-- The tables of the benchmark and the role of the peers. Howdah's own objects are in howdah.sql.

create table users (handle text not null unique, name text not null);

insert into users
select 'user' || n, 'Name ' || n from generate_series(1, 1000) as n;

-- A hundred and ten more than a thousand, so that as many rows follow each id that is asked for.
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
from generate_series(1, 1110) as n;

create table messages (
  id bigint generated always as identity primary key,
  author text not null,
  body text not null,
  sent_at timestamptz not null default now()
);

-- TechEmpower's ten thousand.
create table world (id integer primary key, randomnumber integer not null default 0);

insert into world
select n, 1 + n * 7919 % 10000 from generate_series(1, 10000) as n;

-- The same, of which not everybody sees all.
create table secured_world (id integer primary key, randomnumber integer not null default 0);

insert into secured_world
select * from world;

alter table secured_world enable row level security;

create policy visible on secured_world using (randomnumber > 0);

-- TechEmpower's twelve.
create table fortune (id integer primary key, message text not null);
insert into fortune (id, message) values
  (1, 'fortune: No such file or directory'),
  (2, 'A computer scientist is someone who fixes things that aren''t broken.'),
  (3, 'After enough decimal places, nobody gives a damn.'),
  (4, 'A bad random number generator: 1, 1, 1, 1, 1, 4.33e+67, 1, 1, 1'),
  (5, 'A computer program does what you tell it to do, not what you want it to do.'),
  (6, 'Emacs is a nice operating system, but I prefer UNIX. — Tom Christaensen'),
  (7, 'Any program that runs right is obsolete.'),
  (8, 'A list is only as strong as its weakest link. — Donald Knuth'),
  (9, 'Feature: A bug with seniority.'),
  (10, 'Computers make very fast, very accurate mistakes.'),
  (11, '<script>alert("This should not be displayed in a browser alert box.");</script>'),
  (12, 'フレームワークのベンチマーク');

-- A shop.
create table category (slug text primary key, name text not null, position integer not null);
insert into category select 'category-' || n, 'Category ' || n, n from generate_series(1, 8) n;
create table product (
  id integer primary key, slug text not null, name text not null, description text not null, price numeric(8, 2) not null,
  stock integer not null);
insert into product
select n, 'product-' || n, 'Product "' || n || '"', 'Made of oak & steel, <' || n || ' mm wide. ' || repeat('It lasts. ', n % 5), n * 0.99, n % 7
from generate_series(1, 1020) n;
create table cart_line (cart text, product integer, primary key (cart, product));
insert into cart_line select 'cart-' || n, p from generate_series(1, 1000) n, generate_series(1, 3) p;

create role peer login;
grant select on users, people, fortune to peer;
grant insert on messages to peer;
grant select, update on world to peer;
