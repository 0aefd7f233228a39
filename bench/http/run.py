"""Runs the http benchmark: `python3 -m bench.http.run`, or `make bench-http`.

    CASES     names with commas between them; all cases without it
    SYSTEMS   likewise
    DURATION  seconds that each run is measured (8)
    ROUNDS    how often each system runs in each case (3)
    PG_CONFIG the pg_config of the PostgreSQL to use

Cases that are measured of all systems, with the rounds and the duration above or more, replace theirs in
bench/results/http.json, whose other cases stay, and the pictures http*.svg are drawn anew. Cases whose names begin alike, up to the first
underscore, are compared with each other and only go together, and so do those that take turns. Everything else goes to bench/results/partial.
"""

import os
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bench.harness.choice import names, number
from bench.harness.cluster import Cluster
from bench.harness.disturbance import Attempt, least_disturbed
from bench.harness.goals import judge
from bench.harness.processes import Failed, interrupt_on_termination
from bench.harness.progress import Progress
from bench.harness.results import Results, describe_run, with_committed, write
from bench.http import howdah
from bench.http.cases import CASES
from bench.http.goals import GOALS
from bench.http.measure import measure
from bench.http.picture import pictures
from bench.http.report import table
from bench.http.schedule import schedule
from bench.http.systems import SYSTEMS, Howdah, prepare

AREA = "http"
SCHEMA = Path(__file__).resolve().parent / "schema.sql"
DURATION_SECONDS = 8
WARMUP_SECONDS = 2
ROUNDS = 3


@dataclass(frozen=True)
class Choice:
    """What the environment asks for."""

    cases: list
    systems: list
    seconds: int
    rounds: int

    @property
    def groups(self):
        """What the names of the cases begin with."""
        return {_beginning(case) for case in self.cases}

    @property
    def whole(self):
        """Whether the run may replace the committed results of its cases."""
        compared = {_compared(case) for case in self.cases}
        together = all(case in self.cases for case in CASES if _compared(case) in compared)
        everything = together and len(self.systems) == len(SYSTEMS)
        return everything and self.seconds >= DURATION_SECONDS and self.rounds >= ROUNDS


def _beginning(case):
    return case.name.partition("_")[0]


def _compared(case):
    """What cases that are compared with each other have in common."""
    return case.group or _beginning(case)


def choose(environment):
    """Reads the choice from environment variables."""
    wanted = names(environment, "CASES", [case.name for case in CASES])
    return Choice(
        [case for case in CASES if case.name in wanted],
        names(environment, "SYSTEMS", list(SYSTEMS)),
        number(environment, "DURATION", DURATION_SECONDS),
        number(environment, "ROUNDS", ROUNDS),
    )


def main():
    """Measures what the environment asks for; the exit status."""
    interrupt_on_termination()
    try:
        _run(choose(os.environ))
    except Failed as error:
        print(f"bench-http: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("bench-http: interrupted", file=sys.stderr)
        return 130
    return 0


def _run(choice):
    runs = schedule(choice.cases, choice.systems, choice.rounds)
    if not runs:
        raise Failed("none of these systems takes part in any of these cases")
    names = {name for _, name in runs}
    prepare(names)
    for load in {case.load.tool: case.load for case, _ in runs}.values():
        load.prepare()
    results, complete = Results(describe_run()), False
    try:
        _measure_all(runs, names, choice, results)
        complete = True
    finally:
        objects = results.objects()
        if objects:
            whole = choice.whole and complete
            if whole:
                objects = with_committed(objects, AREA, choice.groups)
            _report(objects, whole)


def _measure_all(runs, names, choice, results):
    progress = Progress(len(runs))
    with_howdah = any(isinstance(SYSTEMS[name], Howdah) for name in names)
    with Cluster(howdah.SETTINGS if with_howdah else None) as cluster:
        cluster.sql(SCHEMA.read_text())
        if with_howdah:
            howdah.install(cluster)
        cluster.sql("vacuum analyze")
        for case, name in runs:
            least_disturbed(partial(_attempt, case, name, cluster, choice.seconds)).keep(results)
            print(progress.finished(f"{case.name} {name}"), flush=True)


def _attempt(case, name, cluster, seconds):
    metrics, each_run = measure(case, SYSTEMS[name], cluster, seconds, WARMUP_SECONDS)
    settings = {
        case.load.tool: str(case.load),
        "duration_seconds": seconds,
        "warmup_seconds": WARMUP_SECONDS,
        "postgresql": cluster.version,
    }
    attempt = Attempt()
    attempt.add(case.name, name, metrics, settings, each_run)
    return attempt


def _report(objects, whole):
    path = write(objects, AREA, whole)
    for ending, drawing in pictures(objects).items():
        path.with_name(f"{path.stem}{ending}.svg").write_text(drawing)
    print(f"\n{table(objects)}\n")
    for line in judge(objects, GOALS):
        print(line)
    print(f"\nwritten to {path}")


if __name__ == "__main__":
    sys.exit(main())
