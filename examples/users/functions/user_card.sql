-- The path's {handle} is the argument of that name.
create function user_card(handle text) returns http.html
language sql stable
return (select format('<b>%s</b>', http.escape(users.name)) from users where users.handle = user_card.handle);
