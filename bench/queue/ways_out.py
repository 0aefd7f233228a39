"""The cases of the way out: take, backlog, pinned and wal."""

import os
import re
import time
from functools import partial
from statistics import median

from bench.harness.accounting import Window
from bench.harness.cluster import Cluster
from bench.harness.deadline import wait_until
from bench.harness.disturbance import ELSEWHERE, Attempt, least_disturbed
from bench.harness.processes import Failed, Service
from bench.queue.ladder import LISTEN, QUEUE, listen, load
from bench.queue.pgbench import pgbench
from bench.queue.queues import fill, install

BATCHES = (1, 100, 1000)
# Takes of all consumers together, by batch. Whoever is so fast that they take less than SHORTEST does MANY: more rows would
# be unfair to those that walk over what has been taken until vacuum comes.
FEW = {1: 1600, 100: 320, 1000: 80}
MANY = {1: 6400, 100: 1600, 1000: 800}
SHORTEST_SECONDS = 0.5
WAITING = 1_000_000
BACKLOGS = (10_000, 1_000_000, 5_000_000)
# `pinned` measures for so many seconds with a transaction that is held open, then as long without one, again and again;
# at least so often.
TURN_SECONDS, TURNS = 10, 3
# Records that go in before they are taken out again, when they come by wire.
CYCLE = 50_000
SENDING = """do $$ declare bucket t_bip[];
  begin select records[1:{batch}] into bucket from source where source.bucket = 0; {send}; end $$"""


def take(_case, cluster, system, _records, results, _seconds):
    """Rows taken per second by 1, 4 and 16 consumers, in batches of 1, 100 and 1,000, from a million."""
    install(cluster, system)
    for clients in system.consumers:
        for batch in system.batches:
            for name, statement in ((system.name, system.take), (f"{system.name}_client", system.rows)):
                least_disturbed(partial(_taken, cluster, system, name, statement, clients, batch)).keep(
                    results
                )


def _taken(cluster, system, name, statement, clients, batch):
    """Takes by so many consumers from a million rows."""
    takes = FEW[batch]
    attempt, seconds = _take(cluster, system, name, statement, clients, batch, takes)
    if seconds < SHORTEST_SECONDS:
        takes = min(MANY[batch], int(takes * SHORTEST_SECONDS / seconds))
        attempt, _ = _take(cluster, system, name, statement, clients, batch, takes)
    return attempt


def _take(cluster, system, name, statement, clients, batch, takes):
    """One measurement, and how many seconds the takes took."""
    fill(cluster, system, WAITING - int(cluster.sql(system.left)))
    cluster.sql(system.tidy)
    # Or the kernel writes what was filled in while it is taken.
    os.sync()
    before = int(cluster.sql(system.left))
    transactions = takes // clients
    window = Window([cluster.pid])
    rate, _ = pgbench(cluster, statement.format(qty=batch), clients, "-t", transactions, "-M", "prepared")
    _, elsewhere = window.close()
    # Not what was asked for: a consumer may have got nothing.
    taken = before - int(cluster.sql(system.left))
    attempt = Attempt()
    metrics = {"records_per_second": taken * rate / (clients * transactions)}
    settings = {"consumers": clients, "batch": batch, "postgresql": cluster.version}
    each_run = {ELSEWHERE: round(elsewhere, 1), "takes": takes}
    attempt.add(f"take_{clients}_{batch}", name, metrics, settings, each_run)
    return attempt, clients * transactions / rate


def backlog(_case, cluster, system, _records, results, _seconds):
    """Pages that a take of 1,000 touches, and its time, with 10 thousand, one and five million rows waiting."""
    install(cluster, system)
    statement = system.take.format(qty=1000)
    for rows in BACKLOGS:
        fill(cluster, system, rows - int(cluster.sql(system.left)))
        cluster.sql(system.tidy)
        _, milliseconds = pgbench(cluster, statement, 1, "-t", 5)
        metrics = {"pages_per_take": pages(cluster, statement), "milliseconds_per_take": milliseconds}
        results.add(
            f"backlog_{rows}", system.name, metrics, {"batch": 1000, "postgresql": cluster.version}, {}
        )


def pages(cluster, statement):
    """Pages that a statement touches, planning left out."""
    plan = cluster.sql(f"explain (analyze, buffers, timing off) {statement}")
    return sum(map(int, re.findall(r"(?:hit|read)=(\d+)", plan.split("Planning")[0].split("\n")[1])))


def pinned(_case, cluster, system, records, results, seconds):
    """Rate of sending and taking while a transaction holds its snapshot, beside that of a server without one; dead rows."""
    with Cluster(cluster.settings) as free:
        pair = (cluster, free)
        for each in pair:
            install(each, system)
        for batch in BATCHES:
            # As many rows come in as go out, in one transaction for each batch.
            sending = SENDING.format(batch=batch, send=system.send)
            together = {f"{sending};\n{system.take.format(qty=batch)}": 1}
            # It is there for comparison with the peers: a part of the time will do.
            _compare(
                pair, system, results, f"pinned_{batch}", seconds / 6, partial(_Sql, together, batch, system)
            )
            if system.name == "howdah":
                # A transaction for each row.
                one = {SENDING.format(batch=1, send=system.send): batch, system.take.format(qty=batch): 1}
                work = partial(_Sql, one, batch / (batch + 1), system)
                _compare(pair, system, results, f"pinned_send_{batch}", seconds, work)
                work = partial(_Wire, batch, system, records)
                _compare(pair, system, results, f"pinned_wire_{batch}", seconds, work)


class _Sql:
    """Scripts with their weights, run by two clients if the system can; `rows` of each transaction are sent and taken."""

    def __init__(self, scripts, rows, system):
        self.scripts, self.rows, self.clients = scripts, rows, min(2, max(system.consumers))

    def prepare(self, cluster):
        pass

    def rate(self, cluster, seconds):
        return pgbench(cluster, self.scripts, self.clients, "-T", max(1, round(seconds)))[0] * self.rows


class _Wire:
    """Records that come by the acknowledged protocol and are taken by two clients, one cycle after another."""

    def __init__(self, batch, system, records):
        # A cycle takes a second or so, whatever the batch.
        self.count = CYCLE if batch > 1 else CYCLE // 10
        self.batch, self.system, self.port = batch, system, None
        self.lines = records.folder / f"cycle_{batch}.ndjson"
        self.lines.write_bytes(b"".join(records.lines(self.count)))
        self.cycles = 0

    def prepare(self, cluster):
        cluster.sql(f"select queue.purge_queue('{QUEUE}')")
        self.port = listen(cluster, LISTEN)

    def rate(self, cluster, seconds):
        begin, before = time.monotonic(), self.cycles
        statement = self.system.take.format(qty=self.batch)
        while time.monotonic() - begin < seconds:
            self.cycles += 1
            load(self.port, self.lines, f"cycle-{self.batch}-{self.cycles}")
            pgbench(cluster, statement, 2, "-t", self.count // self.batch // 2)
        if int(cluster.sql(self.system.left)):
            raise Failed("pinned: rows are left after a cycle")
        return (self.cycles - before) * self.count / (time.monotonic() - begin)


def _compare(pair, system, results, case, seconds, work):
    """Measures for `seconds`, on a server whose snapshot is held for all of them and on one without, in turns.

    A rate is compared with the one that was measured just before: the machine's speed moves by a third within minutes.
    """
    cluster, free = pair
    works = {each: work() for each in pair}
    for each in pair:
        works[each].prepare(each)
    turns = max(TURNS, round(seconds / TURN_SECONDS / 2))
    rates, spent, dead = [], 0, dead_rows(cluster)
    with Holder(cluster):
        for _ in range(turns):
            without = works[free].rate(free, seconds / turns / 2)
            begin = time.monotonic()
            rates.append((works[cluster].rate(cluster, seconds / turns / 2), without))
            spent += time.monotonic() - begin
    dead = dead_rows(cluster) - dead
    for rate, without in rates:
        metrics = {
            "records_per_second": rate,
            "percent_of_free": 100 * rate / without,
            "dead_rows_per_100": 100 * dead / (median(rate for rate, _ in rates) * spent),
        }
        settings = {"seconds_pinned": seconds, "postgresql": cluster.version}
        results.add(case, system.name, metrics, settings, {})


def dead_rows(cluster):
    """Dead rows in all tables."""
    return int(cluster.sql("select coalesce(sum(n_dead_tup), 0) from pg_stat_user_tables"))


class Holder:
    """A transaction that holds its snapshot while it is in force."""

    def __init__(self, cluster):
        self.cluster = cluster

    def __enter__(self):
        command = [str(self.cluster.programs / "psql"), "-Xq", "-c"]
        statement = "begin isolation level repeatable read; select 1; select pg_sleep(36000)"
        self.service = Service(
            [*command, statement],
            log=self.cluster.folder / "holder.log",
            env=self.cluster.environment("postgres", "unix"),
        )
        self.service.__enter__()
        wait_until(self._holds, 10, "a transaction to be held open", self.service)
        return self

    def __exit__(self, *error):
        self.cluster.sql(f"select pg_terminate_backend(pid) from {HOLDERS}")
        return self.service.__exit__(*error)

    def _holds(self):
        return self.cluster.sql(f"select count(*) from {HOLDERS} and wait_event = 'PgSleep'") == "1"


HOLDERS = "pg_stat_activity where query like '%pg_sleep(36000)%' and pid <> pg_backend_pid()"


def wal(_case, cluster, system, _records, results, _seconds):
    """Bytes of WAL for a row in and out, in batches of 1,000, and for COPY of the same rows."""
    install(cluster, system)
    rows = 100_000
    cluster.sql("create table copied as select (r).* from source, unnest(records) r limit 0")
    cluster.sql(f"copy (select (r).* from source, unnest(records) r) to '{cluster.folder}/data/rows.csv' csv")
    steps = {
        "copy": lambda: cluster.sql(f"copy copied from '{cluster.folder}/data/rows.csv' csv"),
        "in": lambda: fill(cluster, system, rows),
        "out": lambda: pgbench(cluster, system.take.format(qty=1000), 1, "-t", rows // 1000),
    }
    cluster.sql("alter system set full_page_writes = off")
    cluster.sql("select pg_reload_conf()")
    metrics = {f"wal_bytes_{name}": wal_bytes(cluster, step) / rows for name, step in steps.items()}
    metrics["wal_bytes_in_over_copy"] = metrics["wal_bytes_in"] - metrics["wal_bytes_copy"]
    results.add("wal", system.name, metrics, {"batch": 1000, "postgresql": cluster.version}, {})


def wal_bytes(cluster, step):
    """How much WAL a step writes, after a checkpoint."""
    cluster.sql("checkpoint")
    before = cluster.sql("select pg_current_wal_insert_lsn()")
    step()
    return int(cluster.sql(f"select pg_current_wal_insert_lsn() - '{before}'"))
