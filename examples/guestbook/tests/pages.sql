-- Runs in each deployment, inside its transaction, and is undone. What is not true, or raises an error, stops the deployment.
select status = 200 from http.call('GET', '/entries');

select status = 303
from http.call('POST', '/entries',
  headers => array[http.header('Content-Type', 'application/x-www-form-urlencoded')],
  body => 'author=Ada&message=%3Cb%3EHello%3C%2Fb%3E');

select convert_from(body, 'UTF8') like '%<b>Ada</b>: &lt;b&gt;Hello&lt;/b&gt;%'
from http.call('GET', '/entries');

-- A browser gets the form again that was not filled in.
select status = 422 and convert_from(body, 'UTF8') like '%value="Bob"%Please fill in this field.%'
from http.call('POST', '/entries',
  headers => array[http.header('Content-Type', 'application/x-www-form-urlencoded'), http.header('Accept', 'text/html')],
  body => 'author=Bob&message=');
