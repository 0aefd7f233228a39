-- try: curl localhost:9000/users/johndoe
-- try: curl -X POST 'localhost:9000/test?q'
-- try: curl localhost:9000/users/maryjane/card

-- One statement over the relation request; the first row it returns is the response. This is the example as
-- published. Do not copy its Hello: the name goes into the HTML as it is, and a user who calls himself
-- <script> owns the page. The route below does it right: a page escapes what is no HTML.
select http.handle($$
  select http.response(headers => array[http.header('content-type', 'text/html')],
                       body => 'Hello, <b>' || users.name || '</b>!'), 1 as priority
  from request join users on string_to_array(request.path, '/', '') = array[null, 'users', users.handle]
  union all
  select http.response(status => 404,
                       body => json_build_object('method', request.method, 'path', request.path,
                                                 'query_string', request.query_string)), 0
  from request
  order by priority desc
$$, name => 'users');

-- A route calls a function, which a page is.
select http.route('GET', '/users/{handle}/card', 'user_card');
