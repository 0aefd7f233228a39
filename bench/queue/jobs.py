"""Jobs: run by Howdah inside PostgreSQL, and beside it by libraries in Node and in Go."""

import os
import resource
from dataclasses import dataclass
from pathlib import Path
from statistics import quantiles
from typing import ClassVar

from bench.harness.accounting import Window
from bench.harness.cluster import DATABASE
from bench.harness.disturbance import ELSEWHERE
from bench.harness.processes import Failed, run

PEERS = Path(__file__).resolve().parent / "peers"
NODE = PEERS / "jobs"
RIVER = PEERS / "river"

# Jobs of a run, by what they do: it lasts seconds.
COUNTS = {"nothing": 300_000, "insert": 40_000}
WAITING = 1_000_000
LATENCY_JOBS, LATENCY_MILLISECONDS = 1_000, 10
# More than a run writes.
RECYCLED_MEGABYTES = 800
RAN = "create table ran (number integer)"


@dataclass(frozen=True)
class Howdah:
    """Jobs of Howdah's."""

    name: str

    settings: ClassVar = {
        "shared_preload_libraries": "howdah",
        "howdah.databases": DATABASE,
        "howdah.max_job_executors": 12,
        "autovacuum": "on",
    }

    def prepare(self, cluster):
        """Makes the kinds; none of their jobs begins yet."""
        cluster.sql(f"create extension howdah; {RAN}; grant insert on ran to howdah_web")
        cluster.sql(
            """create table started (number integer, at timestamptz);
               create table committed (number integer, at timestamptz);
               grant insert on started to howdah_web;
               create function nothing() returns void language sql begin atomic; end;
               create function insert_row(number integer) returns void language sql
                 begin atomic insert into ran values (number); end;
               create function note(number integer) returns void language sql
                 begin atomic insert into started values (number, clock_timestamp()); end;
               select job.define('nothing', 'nothing', at_once => 4, batch => 100),
                      job.define('insert', 'insert_row', at_once => 12),
                      job.define('timed', 'note')"""
        )
        cluster.sql("select job.pause('nothing'), job.pause('insert')")

    def enqueue(self, cluster, kind, count):
        """Seconds, and CPU seconds outside of PostgreSQL."""
        seconds = cluster.sql(
            f"""create temporary table took as select clock_timestamp() as begun;
                do $$ begin
                  for lowest in 0..{count - 1} by 10000 loop
                    perform job.enqueue_many('{kind}', array(
                      select jsonb_build_object('number', number)
                      from generate_series(lowest, least(lowest + 9999, {count - 1})) number));
                    commit;
                  end loop;
                end $$;
                select extract(epoch from clock_timestamp() - begun) from took"""
        )
        return float(seconds), 0

    def work(self, cluster, kind, count):
        """Seconds until so many are done, and CPU seconds outside of PostgreSQL."""
        # Nothing that this takes the time of is in the first transaction.
        seconds = cluster.sql(
            f"""create temporary table took as select clock_timestamp() as begun;
                select job.resume('{kind}');
                do $$ begin
                  while (select done from job.kinds where kind = '{kind}') < {count} loop
                    perform pg_sleep(0.005);
                  end loop;
                end $$;
                select extract(epoch from clock_timestamp() - begun) from took"""
        )
        return float(seconds.split()[-1]), 0

    def latency(self, cluster, count, milliseconds):
        """Microseconds from commit to start of each of so many jobs, one each so many milliseconds."""
        cluster.sql(
            f"""do $$ begin
                  for number in 1..{count} loop
                    perform job.enqueue('timed', jsonb_build_object('number', number));
                    commit;
                    insert into committed values (number, clock_timestamp());
                    perform pg_sleep({milliseconds / 1000});
                  end loop;
                  for attempt in 1..1000 loop
                    exit when (select done from job.kinds where kind = 'timed') >= {count};
                    perform pg_sleep(0.01);
                  end loop;
                end $$"""
        )
        waits = cluster.sql(
            "select extract(epoch from started.at - committed.at) * 1e6 from started join committed using (number)"
        )
        return [float(line) for line in waits.split()]


@dataclass(frozen=True)
class Peer:
    """A program that takes `prepare`, `enqueue`, `work` and `latency`, as peers/jobs/measure.js says."""

    name: str
    command: tuple
    folder: Path

    settings: ClassVar = {"autovacuum": "on"}

    def prepare(self, cluster):
        """Makes the library's tables."""
        cluster.sql(RAN)
        self._run(cluster, "prepare")

    def enqueue(self, cluster, kind, count):
        """Seconds, and CPU seconds outside of PostgreSQL."""
        return self._timed(cluster, "enqueue", kind, count)

    def work(self, cluster, kind, count):
        """Seconds until so many are done, and CPU seconds outside of PostgreSQL."""
        return self._timed(cluster, "work", kind, count)

    def latency(self, cluster, count, milliseconds):
        """Microseconds from commit to start of each of so many jobs, one each so many milliseconds."""
        return [float(line) for line in self._run(cluster, "latency", count, milliseconds)]

    def _timed(self, cluster, *task):
        before = _children()
        (seconds,) = self._run(cluster, *task)
        return float(seconds), _children() - before

    def _run(self, cluster, *task):
        env = {**os.environ, **cluster.environment("postgres", "unix"), "NODE_ENV": "production"}
        return run([*self.command, *map(str, task)], env=env, cwd=self.folder).split()


def _children():
    """CPU seconds of the processes that this one has waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


HOWDAH = Howdah("howdah")
SYSTEMS = {
    system.name: system
    for system in (
        HOWDAH,
        Peer("graphile_worker", ("node_modules/.bin/node", "graphile.js"), NODE),
        Peer("pg_boss", ("node_modules/.bin/node", "pgboss.js"), NODE),
        Peer("river", ("./river",), RIVER),
    )
}


def prepare(names):
    """Installs what the named systems need."""
    folders = {SYSTEMS[name].folder for name in names if isinstance(SYSTEMS[name], Peer)}
    if NODE in folders:
        run(["npm", "ci", "--no-audit", "--no-fund"], cwd=NODE)
    if RIVER in folders:
        run(["go", "build", "-mod=readonly", "-o", "river", "."], cwd=RIVER)


def jobs(_case, cluster, system, _records, results, _seconds):
    """Jobs enqueued, run that do nothing, run that insert a row; the time from commit to start; a million that wait."""
    cluster.recycle_wal(RECYCLED_MEGABYTES)
    system.prepare(cluster)
    _latency(cluster, system, results)
    for kind, count in COUNTS.items():
        enqueued = _measure(cluster, system.enqueue, kind, count)
        if kind == "nothing":
            _add(results, "jobs_enqueue", system, cluster, enqueued)
        # As autovacuum does now and then.
        cluster.sql("vacuum analyze")
        os.sync()
        worked = _measure(cluster, system.work, kind, count)
        _add(results, f"jobs_{kind}", system, cluster, worked)
    ran = int(cluster.sql("select count(distinct number) from ran"))
    if ran != COUNTS["insert"]:
        raise Failed(f"{system.name}: {ran} jobs have inserted a row, not {COUNTS['insert']}")
    if system is HOWDAH:
        _million(cluster, system, results)


def _measure(cluster, work, kind, count, upto=None):
    """Metrics of work that handles so many jobs, `upto` the count that it is told; and what others took meanwhile."""
    window = Window([cluster.pid])
    seconds, outside = work(cluster, kind, upto or count)
    cpu, elsewhere = window.close()
    metrics = {"jobs_per_second": count / seconds, "cpu_us_per_job": (cpu + outside) * 1e6 / count}
    return metrics, {"jobs": count}, {ELSEWHERE: round(elsewhere, 1)}


def _add(results, case, system, cluster, measured):
    metrics, settings, each_run = measured
    results.add(case, system.name, metrics, {**settings, "postgresql": cluster.version}, each_run)


def _latency(cluster, system, results):
    window = Window([cluster.pid])
    waits = system.latency(cluster, LATENCY_JOBS, LATENCY_MILLISECONDS)
    _, elsewhere = window.close()
    if len(waits) != LATENCY_JOBS:
        raise Failed(f"{system.name}: {len(waits)} of {LATENCY_JOBS} jobs have begun")
    percentiles = quantiles(waits, n=100)
    metrics = {"p50_us": percentiles[49], "p99_us": percentiles[98]}
    settings = {"jobs": LATENCY_JOBS, "milliseconds": LATENCY_MILLISECONDS}
    _add(results, "jobs_latency", system, cluster, (metrics, settings, {ELSEWHERE: round(elsewhere, 1)}))


def _million(cluster, system, results):
    """The first of a million and some that wait."""
    count = COUNTS["nothing"]
    cluster.sql("select job.pause('nothing')")
    system.enqueue(cluster, "nothing", WAITING + count)
    os.sync()
    # Those that were run before count, too.
    worked = _measure(cluster, system.work, "nothing", count, upto=2 * count)
    _add(results, "jobs_million", system, cluster, worked)
