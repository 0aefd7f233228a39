"""Runs the queue benchmark: `python3 -m bench.queue.run`, or `make bench-queue`.

    CASES     ladder, floor, latency, take, backlog, pinned, wal, jobs, with commas between them; all without it
    SYSTEMS   names of systems, likewise
    DURATION  seconds for which `pinned` holds a transaction open (180); of `latency` each rate has a ninth
    RECORDS   how many records go in by the ladder (1000000)
    ROUNDS    how often each is measured (3); `pinned` runs once and measures nine times
    PG_CONFIG the pg_config of the PostgreSQL to use
    HOWDAH    the howdah command (that of the last build)

A run of all systems at these lengths or more writes its cases into bench/results/queue.json, beside those of earlier
runs, and draws queue.svg. Any other run, and one that is broken off, writes to bench/results/partial.
"""

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from bench.harness import choice
from bench.harness.cluster import Cluster
from bench.harness.disturbance import Attempt, least_disturbed
from bench.harness.goals import judge
from bench.harness.processes import Failed, interrupt_on_termination
from bench.harness.progress import Progress
from bench.harness.results import Results, describe_run, with_committed, write
from bench.queue import jobs, ladder, queues
from bench.queue.goals import GOALS
from bench.queue.picture import picture
from bench.queue.records import Records
from bench.queue.report import table
from bench.queue.ways_in import come_in, latency
from bench.queue.ways_out import backlog, pinned, take, wal

# For all systems alike; Howdah's add what Howdah needs.
SETTINGS = {"autovacuum": "off", "shared_buffers": "1GB"}
DURATION, RECORDS, ROUNDS = 180, 1_000_000, 3
FLOOR = ("copy_csv", "copy_binary")


@dataclass(frozen=True)
class Case:
    """One thing that is measured, and of whom."""

    name: str
    measure: Callable
    systems: tuple
    seconds: float = 1
    """How much of DURATION it gets."""
    once: bool = False
    """Whether it runs in one round only."""
    whole: bool = True
    """Whether a run that others disturbed is measured again as a whole, not its parts."""


CASES = (
    Case("ladder", come_in, tuple(system for name, system in ladder.SYSTEMS.items() if name not in FLOOR)),
    Case("floor", come_in, tuple(ladder.SYSTEMS[name] for name in FLOOR)),
    Case("latency", latency, (ladder.SYSTEMS["howdah_tcp_acked"],), seconds=1 / 9),
    Case("take", take, tuple(queues.SYSTEMS.values()), whole=False),
    Case("backlog", backlog, (queues.HOWDAH, queues.DELETE_CTID, queues.PGMQ_POP)),
    Case("pinned", pinned, tuple(queues.SYSTEMS.values()), once=True),
    Case("wal", wal, tuple(queues.SYSTEMS.values())),
    Case("jobs", jobs.jobs, tuple(jobs.SYSTEMS.values())),
)


@dataclass(frozen=True)
class Choice:
    """What the environment asks for."""

    cases: list
    systems: list
    seconds: int
    records: int
    rounds: int
    whole: bool
    """Whether the cases are measured of all systems, and for long enough to replace the committed results."""


def chosen(environment):
    """Reads the environment."""
    known_systems = list(dict.fromkeys([*ladder.SYSTEMS, *queues.SYSTEMS, *jobs.SYSTEMS]))
    cases = choice.names(environment, "CASES", [case.name for case in CASES])
    systems = choice.names(environment, "SYSTEMS", known_systems)
    seconds = choice.number(environment, "DURATION", DURATION)
    records = choice.number(environment, "RECORDS", RECORDS)
    rounds = choice.number(environment, "ROUNDS", ROUNDS)
    whole = len(systems) == len(known_systems)
    long_enough = seconds >= DURATION and records >= RECORDS and rounds >= ROUNDS
    wanted = [case for case in CASES if case.name in cases]
    return Choice(wanted, systems, seconds, records, rounds, whole and long_enough)


def schedule(wanted):
    """All runs as pairs of a case and a system; the systems of a case take turns."""
    runs = []
    for case in wanted.cases:
        for _ in range(1 if case.once else wanted.rounds):
            runs.extend((case, system) for system in case.systems if system.name in wanted.systems)
    return runs


def main():
    """Measures what the environment asks for; the exit status."""
    interrupt_on_termination()
    try:
        wanted = chosen(os.environ)
        runs = schedule(wanted)
        if not runs:
            raise Failed("none of these systems takes part in any of these cases")
        _run(runs, wanted)
    except Failed as error:
        print(f"bench-queue: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


def _run(runs, wanted):
    ladder.prepare({system.name for _, system in runs} & ladder.SYSTEMS.keys())
    jobs.prepare({system.name for case, system in runs if case.name == "jobs"})
    results, complete = Results(describe_run()), False
    progress = Progress(len(runs))
    try:
        with Records(wanted.records) as records:
            for case, system in runs:
                seconds = max(1, round(wanted.seconds * case.seconds))
                attempt = partial(_attempt, case, system, records, seconds)
                (least_disturbed(attempt) if case.whole else attempt()).keep(results)
                print(progress.finished(f"{case.name} {system.name}"), flush=True)
        complete = True
    finally:
        objects = results.objects()
        if objects:
            whole = wanted.whole and complete
            if whole:
                objects = with_committed(objects, "queue", {case.name for case in wanted.cases})
            _report(objects, whole)


def _attempt(case, system, records, seconds):
    """One run on a server of its own."""
    attempt = Attempt()
    with Cluster({**SETTINGS, **system.settings}) as cluster:
        case.measure(case.name, cluster, system, records, attempt, seconds)
    return attempt


def _report(objects, whole):
    path = write(objects, "queue", whole)
    drawing = picture(objects)
    if drawing:
        path.with_suffix(".svg").write_text(drawing)
    print(f"\n{table(objects)}\n")
    for line in judge(objects, GOALS):
        print(line)
    print(f"\nwritten to {path}")


if __name__ == "__main__":
    sys.exit(main())
