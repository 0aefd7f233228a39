-- What is too long is refused, and the guest is told.
select status = 400
from http.call('POST', '/entries',
  headers => array[http.header('Content-Type', 'application/x-www-form-urlencoded')],
  body => convert_to('author=Ada&message=' || repeat('x', 2001), 'UTF8'));

select count(*) = 0 from entry where length(message) > 2000;
