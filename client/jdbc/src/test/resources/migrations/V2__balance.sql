alter table account add balance numeric(12, 2) not null default 0;
create function touch() returns trigger language plpgsql as $$
begin
  new.balance := new.balance + 1; -- a semicolon; and a ? in here
  return new;
end $$;
create trigger touch before update on account for each row execute function touch();
