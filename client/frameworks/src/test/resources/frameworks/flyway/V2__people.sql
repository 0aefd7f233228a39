insert into customer (email, credit) values ('a@x', 10), ('b@x; --', 20);
do $$ begin perform spend(1, 4); end $$;
