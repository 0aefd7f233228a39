-- TechEmpower's tests, each a function as somebody would write it.

create type world_row as (id integer, "randomNumber" integer);

-- A number of 1 to 10,000.
create function random_id() returns integer
  language sql return 1 + floor(random() * 10000)::integer;

-- How many rows somebody asks for, whatever they write: 1 to 500.
create function how_many(asked text) returns integer immutable
  language sql return case when asked ~ '^[0-9]{1,9}$' then greatest(1, least(500, asked::integer)) else 1 end;

create function hello_json() returns json stable
  language sql return json_build_object('message', 'Hello, World!');

create function hello_text() returns text immutable
  language sql return 'Hello, World!';

create function db() returns world_row language sql begin atomic
  select id, randomnumber from world where id = (select random_id());
end;

-- Each row by a look-up of its own.
create function queries(queries text = null) returns setof world_row language sql begin atomic
  select asked.id, (select randomnumber from world where world.id = asked.id)
  from (select random_id() as id from generate_series(1, how_many(queries))) asked;
end;

create function cached_queries(count text = null) returns setof world_row language sql begin atomic
  select asked.id, (select randomnumber from world where world.id = asked.id)
  from (select random_id() as id from generate_series(1, how_many(count))) asked;
end;

-- Rows are locked in the order of their keys, so that nobody waits for each other. LIMIT tells PostgreSQL that they are few.
create function updates(queries text = null) returns setof world_row language sql begin atomic
  with asked as materialized (
    select id, (select randomnumber from world where world.id = asked.id) as was, random_id() as becomes
    from (select random_id() as id, generate_series(1, 500) limit how_many(queries)) asked),
  changed as (
    update world set randomnumber = becomes
    from (select distinct on (id) id, becomes from asked where becomes <> was order by id) new where world.id = new.id)
  select id, becomes from asked;
end;

grant select, update on world to howdah_web;
