create table half (id int);
insert into half values (1 / 0);
