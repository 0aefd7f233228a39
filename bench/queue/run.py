"""Runs the queue benchmark: `python3 -m bench.queue.run`, or `make bench-queue`.

    CASES     take, backlog, pinned, wal, with commas between them; all without it
    SYSTEMS   howdah, delete_ctid, pgmq_pop, likewise
    DURATION  seconds of each run of `pinned` (20)
    ROUNDS    how often each is measured (3)
    PG_CONFIG the pg_config of the PostgreSQL to use

What it does not measure yet is the way in: results go to bench/results/partial.
"""

import os
import re
import sys
import tempfile
from pathlib import Path
from statistics import median

from bench.harness.cluster import Cluster
from bench.harness.processes import Failed, Service, interrupt_on_termination, run
from bench.harness.results import Results, describe_run, write
from bench.queue.systems import HOWDAH, RECORDS, SYSTEMS, fill, install

SETTINGS = {
    "shared_preload_libraries": "howdah",
    "howdah.databases": "",
    "autovacuum": "off",
    "shared_buffers": "1GB",
}
CONSUMERS = (1, 4, 16)
BATCHES = (1, 100, 1000)
# Transactions of each consumer, by batch: enough for a second or so.
TRANSACTIONS = {1: 400, 100: 80, 1000: 20}


def pgbench(cluster, script, clients, *arguments):
    """Transactions per second, and milliseconds of each, of a script inside the server."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "script.sql"
        path.write_text(script + ";\n")
        command = [str(cluster.programs / "pgbench"), "-n", "-c", str(clients), "-j", "1", "-f", str(path)]
        output = run([*command, *map(str, arguments)], env={**os.environ, **cluster.environment("postgres", "unix")})
    rate = float(re.search(r"tps = ([0-9.]+) \(without", output).group(1))
    return rate, float(re.search(r"latency average = ([0-9.]+) ms", output).group(1))


def take(cluster, system, results, _seconds):
    """Rows taken per second by 1, 4 and 16 consumers, in batches of 1, 100 and 1,000, from a million."""
    fill(cluster, system, 1_000_000)
    for clients in CONSUMERS:
        for batch in BATCHES:
            count = TRANSACTIONS[batch]
            before = int(cluster.sql(system.left))
            rate, _ = pgbench(cluster, system.take.format(qty=batch), clients, "-t", count)
            # Not what was asked for: a consumer may have got nothing.
            taken = before - int(cluster.sql(system.left))
            metrics = {"records_per_second": taken * rate / (clients * count)}
            settings = {"consumers": clients, "batch": batch, "postgresql": cluster.version}
            results.add(f"take_{clients}_{batch}", system.name, metrics, settings, {})


def backlog(cluster, system, results, _seconds):
    """Pages that a take of 1,000 touches, and its time, with 10 thousand and a million rows waiting."""
    for rows in (10_000, 1_000_000):
        fill(cluster, system, rows)
        statement = system.take.format(qty=1000)
        _, milliseconds = pgbench(cluster, statement, 1, "-t", 5)
        plan = cluster.sql(f"explain (analyze, buffers, timing off) {statement}")
        pages = sum(map(int, re.findall(r"(?:hit|read)=(\d+)", plan.split("Planning")[0].split("\n")[1])))
        metrics = {"pages_per_take": pages, "milliseconds_per_take": milliseconds}
        results.add(f"backlog_{rows}", system.name, metrics, {"batch": 1000, "postgresql": cluster.version}, {})


def pinned(cluster, system, results, seconds):
    """Rate of sending and taking, alone and while a transaction holds its snapshot; dead rows after."""
    for batch in BATCHES:
        send = f"do $$ declare bucket t_bip[]; begin select records[1:{batch}] into bucket from source limit 1; {system.send}; end $$"
        script = f"{send};\n{system.take.format(qty=batch)}"
        runs = {"free": [], "pinned": []}
        # In turn, so that what else happens on the machine falls on both.
        for case in ("free", "pinned") * 3:
            with Holder(cluster) if case == "pinned" else NoHolder():
                runs[case].append(pgbench(cluster, script, 2, "-T", max(seconds // 3, 1))[0])
        rates = {case: median(values) for case, values in runs.items()}
        dead = int(cluster.sql("select coalesce(sum(n_dead_tup), 0) from pg_stat_user_tables"))
        metrics = {
            "records_per_second": rates["pinned"] * batch,
            "percent_of_free": 100 * rates["pinned"] / rates["free"],
            "dead_rows_per_100": 100 * dead / max(2 * rates["pinned"] * batch * seconds, 1),
        }
        results.add(f"pinned_{batch}", system.name, metrics, {"seconds": seconds, "postgresql": cluster.version}, {})


class NoHolder:
    """No transaction is held open."""

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False


class Holder(NoHolder):
    """A transaction that holds its snapshot while it is in force."""

    def __init__(self, cluster):
        self.cluster = cluster

    def __enter__(self):
        command = [str(self.cluster.programs / "psql"), "-Xq", "-c"]
        statement = "begin isolation level repeatable read; select 1; select pg_sleep(3600)"
        environment = {**os.environ, **self.cluster.environment("postgres", "unix")}
        log = self.cluster.folder / "holder.log"
        self.service = Service([*command, statement], log=log, env=environment)
        self.service.__enter__()
        return self

    def __exit__(self, *error):
        self.cluster.sql(
            "select pg_terminate_backend(pid) from pg_stat_activity where query like '%pg_sleep(3600)%' and pid <> pg_backend_pid()"
        )
        return self.service.__exit__(*error)


def wal(cluster, system, results, _seconds):
    """Bytes of WAL for a row in and out, in batches of 1,000, and for COPY of the same rows."""
    rows = 100_000
    cluster.sql("create table if not exists copied as select (r).* from source, unnest(records) r limit 0")
    cluster.sql(f"copy (select (r).* from source, unnest(records) r) to '{cluster.folder}/data/rows.csv' csv")
    steps = {
        "copy": lambda: cluster.sql(f"copy copied from '{cluster.folder}/data/rows.csv' csv"),
        "in": lambda: fill(cluster, system, rows),
        "out": lambda: pgbench(cluster, system.take.format(qty=1000), 1, "-t", rows // 1000),
    }
    metrics = {}
    cluster.sql("alter system set full_page_writes = off")
    cluster.sql("select pg_reload_conf()")
    for name, step in steps.items():
        cluster.sql("checkpoint")
        before = cluster.sql("select pg_current_wal_insert_lsn()")
        step()
        spent = cluster.sql(f"select pg_current_wal_insert_lsn() - '{before}'")
        metrics[f"wal_bytes_{name}"] = int(spent) / rows
    cluster.sql("alter system reset full_page_writes")
    cluster.sql("select pg_reload_conf()")
    results.add("wal", system.name, metrics, {"batch": 1000, "postgresql": cluster.version}, {})


CASES = {case.__name__: case for case in (take, backlog, pinned, wal)}


def main():
    """Measures what the environment asks for; the exit status."""
    interrupt_on_termination()
    results = Results(describe_run())
    try:
        cases = chosen("CASES", CASES)
        systems = chosen("SYSTEMS", SYSTEMS)
        seconds, rounds = (int(os.environ.get(name, value)) for name, value in (("DURATION", 20), ("ROUNDS", 3)))
        for _ in range(rounds):
            for case in cases:
                for system in systems:
                    with Cluster(SETTINGS) as cluster:
                        cluster.sql(RECORDS)
                        install(cluster, system)
                        case(cluster, system, results, seconds)
                        print(f"{case.__name__} {system.name}", flush=True)
    except Failed as error:
        print(f"bench-queue: {error}", file=sys.stderr)
        return 1
    finally:
        report(results.objects())
    return 0


def chosen(variable, known):
    """The values of `known` that an environment variable names; all without it."""
    names = [name for name in os.environ.get(variable, "").split(",") if name] or list(known)
    unknown = [name for name in names if name not in known]
    if unknown:
        raise Failed(f"{variable} names {', '.join(unknown)}; known are {', '.join(known)}")
    return [known[name] for name in names]


def report(objects):
    """Writes the results and prints a line for each, with how many times Howdah is as good as a peer."""
    if not objects:
        return
    ours = {(o["case"], o["metric"]): o["median"] for o in objects if o["system"] == HOWDAH.name}
    for entry in objects:
        own = ours.get((entry["case"], entry["metric"]))
        ratio = ""
        if own and entry["median"] and entry["system"] != HOWDAH.name:
            ratio = f"howdah is {own / entry['median']:.2f} x"
        print(f"{entry['case']:16} {entry['system']:12} {entry['metric']:22} {entry['median']:>14,.1f}  {ratio}")
    print(f"\nwritten to {write(objects, 'queue', whole=False)}")


if __name__ == "__main__":
    sys.exit(main())
