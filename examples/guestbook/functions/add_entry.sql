-- What the form sends. Arguments are bound by name; afterwards the browser gets the page again.
create function add_entry(author text, message text) returns http.response language sql
begin atomic
  insert into entry (author, message) values (add_entry.author, add_entry.message);
  select http.redirect('/entries');
end;
