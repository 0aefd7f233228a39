--liquibase formatted sql

--changeset howdah:1
create table note (id int primary key, body varchar(100));
--rollback drop table note;

--changeset howdah:2
insert into note (id, body) values (1, 'what?');
--rollback delete from note;
