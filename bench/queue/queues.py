"""The queues that are measured: how each is made, filled and taken from."""

import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

from bench.harness.cluster import DATABASE
from bench.harness.processes import Failed

# Records of the published shape, from a fixed seed: text of 60 to 260 bytes, non-ASCII included.
RECORDS = """
select setseed(0.42);
create type t_bip as (uuid uuid, userid bigint, version int, timestamp_ms bigint, bip text, "user" text);
create function record(number bigint) returns t_bip language sql volatile as $$
  select row(gen_random_uuid(), (random() * 2e9)::bigint, 1, 1580970914664 + number,
             repeat('tweet ☃ ' || md5(number::text) || ' ', 1 + (random() * 4)::int),
             'user' || (random() * 1e6)::int)::t_bip
$$;
create table source as
  select (number - 1) / 1000 as bucket, array_agg(record(number)) as records
  from generate_series(1, 100000) number group by 1 order by 1;
"""


@dataclass(frozen=True)
class System:
    """A queue; `{rows}` in its SQL is the number of rows, `{qty}` that of a batch."""

    name: str
    setup: str
    # For each array of records in `bucket`.
    send: str
    take: str
    # The same with the rows sent to the client.
    rows: str
    left: str
    settings: dict
    # Run before each measurement, as the system's users do now and then.
    tidy: str = "select"
    # How many may take at the same time, and in what batches.
    consumers: tuple = (1, 4, 16)
    batches: tuple = (1, 100, 1000)


HOWDAH = System(
    "howdah",
    "create extension howdah; select queue.create('bips', 't_bip')",
    "perform queue.put('bips', bucket)",
    "select count(*), sum(length(bip)) from queue.take('bips', {qty}, null::t_bip)",
    "select * from queue.take('bips', {qty}, null::t_bip)",
    "select queue_length from queue.metrics('bips')",
    {"shared_preload_libraries": "howdah", "howdah.databases": DATABASE},
)

DELETE_CTID = System(
    "delete_ctid",
    'create table bips (uuid uuid, userid bigint, version int, timestamp_ms bigint, bip text, "user" text)',
    "insert into bips select (r).* from unnest(bucket) r",
    "with taken as (delete from bips where ctid in (select ctid from bips limit {qty}) returning *) "
    "select count(*), sum(length(bip)) from taken",
    "delete from bips where ctid in (select ctid from bips limit {qty}) returning *",
    "select count(*) from bips",
    {},
    "vacuum bips",
)

PGMQ_POP = System(
    "pgmq_pop",
    "",
    "perform pgmq.send_batch('bips', array(select to_jsonb(r) from unnest(bucket) r))",
    "select count(*), sum(length(message->>'bip')) from pgmq.pop('bips', {qty})",
    "select * from pgmq.pop('bips', {qty})",
    "select queue_length from pgmq.metrics('bips')",
    {},
    "vacuum pgmq.q_bips",
)

# A batch is what lies between two ticks, so each thousand rows that are sent are followed by one.
PGQ = System(
    "pgq",
    """create extension pgq;
       select pgq.create_queue('bips'), pgq.set_queue_config('bips', 'ticker_max_count', '1'),
              pgq.register_consumer('bips', 'bench');
       create function next_batch() returns table (id bigint, data text) language plpgsql as $$
       declare batch bigint := pgq.next_batch('bips', 'bench');
       begin
         return query select ev_id, ev_data from pgq.get_batch_events(batch) where batch is not null;
         perform pgq.finish_batch(batch) where batch is not null;
       end $$""",
    "perform pgq.insert_event('bips', 'bip', row_to_json(r)::text) from unnest(bucket) r; commit; "
    "perform pgq.ticker('bips')",
    "select count(*), sum(length(data)) from next_batch()",
    "select * from next_batch()",
    "select pending_events from pgq.get_consumer_info('bips', 'bench')",
    {},
    consumers=(1,),
    batches=(1000,),
)

SYSTEMS = {system.name: system for system in (HOWDAH, DELETE_CTID, PGMQ_POP, PGQ)}


def install(cluster, system):
    """Makes the queue of a system, and the rows to fill it with."""
    cluster.sql(RECORDS)
    if (
        system is PGQ
        and cluster.sql("select count(*) from pg_available_extensions where name = 'pgq'") == "0"
    ):
        package = f"postgresql-{cluster.version.split('.')[0]}-pgq3"
        raise Failed(
            f"PgQ is not installed (Debian: {package}); SYSTEMS=howdah,delete_ctid,pgmq_pop leaves it out"
        )
    cluster.sql(system.setup)
    if system is PGMQ_POP:
        cluster.sql("create schema pgmq")
        cluster.sql(pgmq())
        cluster.sql("select pgmq.create('bips')")


def fill(cluster, system, rows):
    """Sends so many rows, a transaction for each thousand."""
    cluster.sql(
        f"""do $$
        declare bucket t_bip[];
        begin
          for number in 0..{rows // 1000 - 1} loop
            select records into bucket from source where source.bucket = number % 100;
            {system.send};
            commit;
          end loop;
        end $$"""
    )


def pgmq():
    """pgmq's SQL, which its Python package carries."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder, "pgmq"]
        if subprocess.run(command, check=False).returncode:
            raise Failed("pip could not download pgmq; SYSTEMS=howdah,delete_ctid leaves it out")
        (wheel,) = Path(folder).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            return archive.read("pgmq/sql/pgmq.sql").decode()
