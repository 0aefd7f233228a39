-- The handlers of Howdah in the benchmark. Which of them a case routes is in cases.py.

-- The name is not escaped: none of the peers escapes it, and the published statement does not either.
create function user_page(handle text) returns http.html stable
  language sql return (select 'Hello, <b>' || name || '</b>!' from users where users.handle = user_page.handle);

create function people_after(after int) returns setof people stable
  language sql begin atomic
    select * from people where id > people_after.after order by id limit 20;
  end;

create function crowd_after(after int) returns setof people stable
  language sql begin atomic
    select * from people where id > crowd_after.after order by id limit 110;
  end;

-- As many bytes as a crowd has by zstd.
create function crowd_constant() returns json immutable
  language sql return to_json(repeat('x', 3000));

create function add_message(author text, body text) returns void volatile
  language sql begin atomic
    insert into messages (author, body) values (add_message.author, add_message.body);
  end;

create function slow() returns text volatile
  language sql return (select 'done' from pg_sleep(1));

-- The page catalogue of the application, written as one query.
create function catalogue_by_hand(after int) returns http.html stable language sql begin atomic
  select concat('<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>Catalogue · Shop</title><link rel="stylesheet" href="/shop.css"></head>
<body>
<nav><ul>
', (select string_agg(
      concat('<li><a href="/categories/', http.url_encode(slug), '">', http.escape(name), '</a></li>
'), '' order by position) from category),
    '</ul>
<p>', (select count(*) from cart_line where cart = http.cookie('cart')), ' in your cart</p></nav>
<main>
<h1>Catalogue</h1>
', (select string_agg(
      concat('<article>
<h2><a href="/products/', http.url_encode(p.slug), '">', http.escape(p.name), '</a></h2>
<p>', http.escape(p.description), '</p>
<p class="price">', p.price, case when p.stock = 0 then ' <em>sold out</em>' end, '</p>
</article>
'), '')
      from (select * from product where product.id > catalogue_by_hand.after order by id limit 20) p),
    '
</main>
</body>
</html>')::http.html;
end;

-- As many bytes as the page of the first product, and nothing to read.
create function constant_page() returns http.html immutable language sql return repeat('x', 4000)::http.html;

grant select on users, people, fortune, category, product, cart_line to howdah_web;
grant insert on messages to howdah_web;
