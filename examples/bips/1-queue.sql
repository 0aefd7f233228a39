-- A queue of records like short public messages, and a port that takes them in.
-- try: howdah generate bips --records 1000000 --out bips.ndjson.gz
-- try: howdah load bips.ndjson.gz --to localhost:4000 --queue bips
-- try: zcat bips.ndjson.gz | nc -N localhost 4000

create schema if not exists bips;

-- A record's keys become columns by their names. timestamp_ms comes as a string and is stored as a number.
do $$
begin
  if to_regtype('bips.t_bip') is null then
    create type bips.t_bip as (uuid uuid, userid bigint, version int, timestamp_ms bigint, bip text, "user" text);
  end if;
end
$$;

select queue.create('bips', row_type => 'bips.t_bip');

-- Every line of JSON that arrives on port 4000 is a row of the queue, once it is committed. With howdah load, or
-- any program that speaks the acknowledged protocol, each line comes in exactly once, whatever breaks down
-- meanwhile; with nc and other shippers as well as TCP alone allows. Another port: howdah up --set bips.port=4001.
select queue.listen(coalesce(current_setting('bips.port', true), '4000')::integer,
                    queue => 'bips', address => 'localhost');
