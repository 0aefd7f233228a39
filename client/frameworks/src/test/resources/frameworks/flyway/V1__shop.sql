create type mood as enum ('sad', 'ok', 'happy');
create table customer (
  id bigint generated always as identity primary key,
  email text not null unique,
  mood mood not null default 'ok',
  credit numeric(12, 2) not null default 0 check (credit >= 0)
);
comment on table customer is 'Who buys.';
create table purchase (
  id uuid primary key default gen_random_uuid(),
  customer bigint not null references customer on delete cascade deferrable,
  bought timestamptz not null,
  tags text[] not null default '{}',
  detail jsonb not null default '{}'
);
create index purchase_of_customer on purchase (customer, bought desc) where tags <> '{}';
create function spend(who bigint, amount numeric) returns numeric language plpgsql as $$
begin
  update customer set credit = credit - amount where id = who;
  return (select credit from customer where id = who);
end
$$;
