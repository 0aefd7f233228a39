-- Pages: files of HTML that become functions.

create function deploy.note_page(path text, content text) returns void
language c volatile strict
as 'MODULE_PATHNAME', 'deploy_note_page_wrapper';
comment on function deploy.note_page(text, text) is 'Takes a page of the deployment as it is, so that others which call it are compiled with it';
