-- The routes that there shall be. One that is taken out here goes with the next deployment.
-- try: curl localhost:9000/entries
select http.route('GET', '/', 'entries');
select http.route('GET', '/entries', 'entries');
select http.route('POST', '/entries', 'add_entry');
