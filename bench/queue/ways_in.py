"""The cases of the way in: ladder, floor and latency."""

import os

from bench.harness.accounting import Window
from bench.harness.disturbance import ELSEWHERE
from bench.harness.processes import Failed
from bench.queue import latency as paced
from bench.queue.ladder import EACH_CONNECTIONS, queue_with_listener

LATENCY_RATES = (1, 1_000, 50_000)
# More than a run of `latency` writes.
RECYCLED_MEGABYTES = 800


def come_in(case, cluster, system, records, results, _seconds):
    """Records stored per second by a system of the ladder or the floor."""
    window = Window([cluster.pid])
    count, seconds = system.measure(cluster, records)
    cpu, elsewhere = window.close()
    stored = int(cluster.sql(system.left))
    # When wrk stops, each of its connections may have a record under way that is stored and not counted.
    if not count <= stored <= count + (EACH_CONNECTIONS if system.name == "insert_each" else 0):
        raise Failed(f"{case} of {system.name}: {stored} records are stored, not {count}")
    metrics = {
        "records_per_second": count / seconds,
        "postgres_cpu_us_per_record": cpu * 1e6 / count,
    }
    settings = {"records": records.count, "postgresql": cluster.version}
    results.add(case, system.name, metrics, settings, {ELSEWHERE: round(elsewhere, 1)})


def latency(_case, cluster, system, records, results, seconds):
    """From a record's last byte to its acknowledgement, at several rates."""
    cluster.recycle_wal(RECYCLED_MEGABYTES)
    port = queue_with_listener(cluster, system.listen)
    for rate in LATENCY_RATES:
        lines = records.lines(rate * seconds)
        window = Window([cluster.pid, os.getpid()])
        p50, p99, count = paced.measure(port, lines, rate, seconds)
        _, elsewhere = window.close()
        settings = {"seconds": seconds, "samples": count, "postgresql": cluster.version}
        each_run = {ELSEWHERE: round(elsewhere, 1)}
        results.add(f"latency_{rate}", system.name, {"p50_us": p50, "p99_us": p99}, settings, each_run)
