-- Takes the form. Arguments are bound by name; those without a default have to be filled in. Afterwards the browser gets the page again.
create function add_entry(author short_text, message text) returns http.response language sql
begin atomic
  insert into entry (author, message) values (add_entry.author, add_entry.message);
  select http.redirect('/entries');
end;
