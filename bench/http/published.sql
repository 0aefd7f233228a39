select http.response(headers => array[http.header('content-type', 'text/html')],
                     body => 'Hello, <b>' || users.name || '</b>!'), 1 as priority
from request join users on string_to_array(request.path, '/', '') = array[null, 'users', users.handle]
union all
select http.response(status => 404,
                     body => json_build_object('method', request.method, 'path', request.path,
                                               'query_string', request.query_string)), 0
from request
order by priority desc
