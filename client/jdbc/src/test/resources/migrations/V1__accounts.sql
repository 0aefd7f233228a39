create table account (id bigint generated always as identity primary key, email text not null unique);
insert into account (email) values ('a;b@example.org'), ('c?d@example.org');
