create or replace view rich as select id, email from customer where credit > 5;
