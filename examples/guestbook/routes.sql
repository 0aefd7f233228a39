-- The routes that there shall be. One that is taken out here goes with the next deployment.
-- try: curl localhost:9000/entries
select http.route('GET', '/', 'entries'), http.route('GET', '/entries', 'entries');
select http.route('POST', '/entries', 'add_entry');
-- An entry that is refused comes back as this page, with what was typed, and with each error at its field.
select http.form('POST', '/entries', page => '/entries');
