-- One look-up by key in each form that a function may have. Which of them there are is in function_forms.py.

create type reading as (id integer, randomnumber integer);
create domain reading_json as json;

create function form_json(asked integer) returns json stable language sql begin atomic
  select json_build_object('id', id, 'randomnumber', randomnumber) from world where id = asked;
end;
create function form_json_quoted(asked integer) returns json stable language sql as $$
  select json_build_object('id', id, 'randomnumber', randomnumber) from world where id = asked $$;
create function form_json_volatile(asked integer) returns json language sql begin atomic
  select json_build_object('id', id, 'randomnumber', randomnumber) from world where id = asked;
end;
create function form_jsonb(asked integer) returns jsonb stable language sql begin atomic
  select to_jsonb(world) from world where id = asked;
end;
create function form_text(asked integer) returns text stable language sql begin atomic
  select randomnumber::text from world where id = asked;
end;
create function form_integer(asked integer) returns integer stable language sql begin atomic
  select randomnumber from world where id = asked;
end;
create function form_domain(asked integer) returns reading_json stable language sql begin atomic
  select json_build_object('id', id, 'randomnumber', randomnumber) from world where id = asked;
end;
create function form_row(asked integer) returns world stable language sql begin atomic
  select * from world where id = asked;
end;
create function form_row_return(asked integer) returns world stable language sql
return (select world from world where id = asked);
create function form_row_quoted(asked integer) returns world stable language sql as $$
  select * from world where id = asked $$;
create function form_row_volatile(asked integer) returns world language sql begin atomic
  select * from world where id = asked;
end;
create function form_type(asked integer) returns reading stable language sql begin atomic
  select id, randomnumber from world where id = asked;
end;
create function form_type_constructed(asked integer) returns reading stable language sql
return (select row(id, randomnumber)::reading from world where id = asked);
create function form_out(asked integer, out id integer, out randomnumber integer) stable language sql begin atomic
  select world.id, world.randomnumber from world where world.id = asked;
end;
create function form_table(asked integer) returns table (id integer, randomnumber integer) stable language sql begin atomic
  select world.id, world.randomnumber from world where world.id = asked;
end;
create function form_table_volatile(asked integer) returns table (id integer, randomnumber integer) language sql begin atomic
  select world.id, world.randomnumber from world where world.id = asked;
end;
create function form_set(asked integer) returns setof world stable language sql begin atomic
  select * from world where id = asked;
end;
create function form_set_quoted(asked integer) returns setof world language sql as $$
  select * from world where id = asked $$;
create function form_none() returns world stable language sql begin atomic
  select * from world where id = 1;
end;
create function form_secured(asked integer) returns secured_world stable language sql begin atomic
  select * from secured_world where id = asked;
end;
create function form_response(asked integer) returns http.response stable language sql begin atomic
  select http.response(to_json(world)) from world where id = asked;
end;
create function form_plpgsql(asked integer) returns world stable language plpgsql as $$
declare found world;
begin
  select * into found from world where id = asked;
  return found;
end $$;
create function form_plpgsql_execute(asked integer) returns world stable language plpgsql as $$
declare found world;
begin
  execute 'select * from world where id = $1' into found using asked;
  return found;
end $$;
create function form_plpgsql_set(asked integer) returns setof world stable language plpgsql as $$
begin
  return query select * from world where id = asked;
end $$;

grant select on world, secured_world to howdah_web;
