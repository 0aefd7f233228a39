select convert_from(body, 'UTF8') = 'Hello, <b>John</b>!' from http.call('GET', '/users/johndoe');

select status = 404 and convert_from(body, 'UTF8')::json ->> 'query_string' = 'q' from http.call('POST', '/test?q');

select convert_from(body, 'UTF8') = '<b>Mary &lt;Jane&gt;</b>' from http.call('GET', '/users/maryjane/card');
