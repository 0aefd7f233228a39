-- Runs in each deployment, inside its transaction, and is undone. What is not true, or raises an error, stops the deployment.
select status = 200 from http.call('GET', '/entries');

select status = 303
from http.call('POST', '/entries',
  headers => array[http.header('Content-Type', 'application/x-www-form-urlencoded')],
  body => 'author=Ada&message=%3Cb%3EHello%3C%2Fb%3E');

select convert_from(body, 'UTF8') like '%<b>Ada</b>: &lt;b&gt;Hello&lt;/b&gt;%'
from http.call('GET', '/entries');
