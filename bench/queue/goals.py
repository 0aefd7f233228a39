"""The figures to reach."""

from bench.harness.goals import Goal
from bench.queue.report import JOBS, RATE

ACKED = ("ladder", "howdah_tcp_acked")
TAKEN = "take_4_1000"


def _rate(text, measured, against, bound):
    return Goal(text, measured, against, bound, metric=RATE)


def _bound(text, case, bound, metric, at_most=False):
    return Goal(text, (case, "howdah"), None, bound, metric=metric, at_most=at_most)


def _pinned():
    """A transaction that is held open costs neither rate nor room, however rows come and in whatever batches."""
    for way, words in (("send_", "a transaction each"), ("wire_", "by wire")):
        for batch in (1, 100, 1000):
            case = f"pinned_{way}{batch}"
            yield _bound(f"{case}: rate in % of that without, {words}", case, 95, "percent_of_free")
            yield _bound(f"{case}: dead rows for 100 records", case, 1, "dead_rows_per_100", at_most=True)


def _jobs():
    """Jobs, beside each of the peers: who is the fastest differs from case to case."""
    for peer in ("graphile_worker", "pg_boss", "river"):
        for case, words, rate in (
            ("jobs_nothing", "jobs that do nothing", 3),
            ("jobs_insert", "jobs that insert a row", 1.5),
            ("jobs_enqueue", "jobs enqueued", 2),
        ):
            measured, against = (case, "howdah"), (case, peer)
            yield Goal(f"{words}, over {peer}", measured, against, rate, metric=JOBS)
            if case != "jobs_enqueue":
                text = f"{words}, CPU of {peer}'s"
                yield Goal(text, measured, against, 1 / 3, metric="cpu_us_per_job", at_most=True)
    yield _bound("p50 from commit to start, in microseconds", "jobs_latency", 2_000, "p50_us", at_most=True)
    yield _bound("p99 from commit to start, in microseconds", "jobs_latency", 10_000, "p99_us", at_most=True)
    million, few = ("jobs_million", "howdah"), ("jobs_nothing", "howdah")
    yield Goal("jobs that do nothing with a million waiting, over few", million, few, 0.9, metric=JOBS)


GOALS = (
    _rate("acknowledged TCP over COPY from CSV", ACKED, ("floor", "copy_csv"), 0.7),
    _rate("acknowledged TCP over the published TCP with key", ACKED, ("ladder", "tcp_insert_uuid_pk"), 8),
    _rate("acknowledged TCP over the published TCP without", ACKED, ("ladder", "tcp_insert"), 6),
    _rate("HTTP in batches over TCP", ("ladder", "howdah_http"), ACKED, 0.85),
    Goal(
        "p99 of acknowledgements at 50,000 records/s, in microseconds",
        ("latency_50000", "howdah_tcp_acked"),
        None,
        25_000,
        metric="p99_us",
        at_most=True,
    ),
    _rate("take over the published DELETE", (TAKEN, "howdah"), (TAKEN, "delete_ctid"), 5),
    _rate("take over pgmq pop", (TAKEN, "howdah"), (TAKEN, "pgmq_pop"), 10),
    _rate(
        "take over the published DELETE, rows sent to clients",
        (TAKEN, "howdah_client"),
        (TAKEN, "delete_ctid_client"),
        1.8,
    ),
    Goal(
        "pages of a take with 5 M rows waiting over those with 10 thousand",
        ("backlog_5000000", "howdah"),
        ("backlog_10000", "howdah"),
        1.1,
        metric="pages_per_take",
        at_most=True,
    ),
    _bound("WAL bytes of a record in, more than COPY", "wal", 24, "wal_bytes_in_over_copy", at_most=True),
    _bound("WAL bytes of a record out", "wal", 5, "wal_bytes_out", at_most=True),
    *_pinned(),
    *_jobs(),
)
