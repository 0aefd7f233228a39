-- The page. Files here run again when their text changes.
create function entries() returns http.html language sql stable
return '<!doctype html><title>guestbook</title><h1>guestbook</h1>
  <form method="post" action="/entries">
    <p><input name="author" placeholder="Your name" required>
    <p><textarea name="message" placeholder="Your message" required></textarea>
    <p><button>Sign</button>
  </form>' || coalesce((
    select string_agg(
      format('<p><b>%s</b>: %s</p>', http.escape(author), http.escape(message)), '' order by id desc)
    from entry), '');
