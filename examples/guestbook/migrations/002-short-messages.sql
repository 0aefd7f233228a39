-- A guest signs, and writes no novel.
alter table entry add constraint entry_is_short check (length(author) <= 100 and length(message) <= 2000);
