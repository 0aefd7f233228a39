-- The handlers of Howdah in the benchmark. Which of them a case routes is in cases.py.

-- The name is not escaped: none of the peers escapes it, and the published statement does not either.
create function user_page(handle text) returns http.html stable
  language sql return (select 'Hello, <b>' || name || '</b>!' from users where users.handle = user_page.handle);

create function people_after(after int) returns setof people stable
  language sql begin atomic
    select * from people where id > people_after.after order by id limit 20;
  end;

create function add_message(author text, body text) returns void volatile
  language sql begin atomic
    insert into messages (author, body) values (add_message.author, add_message.body);
  end;

create function slow() returns text volatile
  language sql return (select 'done' from pg_sleep(1));

grant select on users, people to howdah_web;
grant insert on messages to howdah_web;
