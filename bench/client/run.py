"""Runs the client benchmark: `python3 -m bench.client.run`, or `make bench-client`.

    CASES     of t1, t2, t3, t4, t5, t5_varied, t6, codecs, with commas between them; all without it
    SYSTEMS   likewise
    RUNS      how often each way of access is measured (20), after WARM runs (8)
    DURATION  seconds of each load of t6 (5), ROUNDS of them (3)
    ROWS      rows of a query (50000)
    JAVA      the java that runs it
    PG_CONFIG the pg_config of the PostgreSQL to use

A run of all systems at these lengths or more writes its cases into bench/results/client.json, beside those of earlier
runs, and draws client.svg. Any other run, and one that is broken off, writes to bench/results/partial.
"""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from bench.client.goals import GOALS
from bench.client.report import picture, table
from bench.harness.choice import names, number
from bench.harness.cluster import SUPERUSER, Cluster
from bench.harness.goals import judge
from bench.harness.processes import Failed, interrupt_on_termination, run
from bench.harness.results import Results, describe_run, with_committed, write

AREA = "client"
CLIENT = Path(__file__).resolve().parent.parent.parent / "client"
CASES = ("t1", "t2", "t3", "t4", "t5", "t5_varied", "t6", "codecs")
SYSTEMS = ("howdah", "howdah_shared", "floor", "socket", "pgjdbc_arrays", "pgjdbc_maps", "java_jdbc", "vertx")
LENGTHS = {"RUNS": 20, "WARM": 8, "DURATION": 5, "ROUNDS": 3, "ROWS": 50_000}


@dataclass(frozen=True)
class Choice:
    """What the environment asks for."""

    cases: list
    systems: list
    lengths: dict

    @property
    def whole(self):
        """Whether the cases are measured of all systems, and for long enough to replace the committed results."""
        return len(self.systems) == len(SYSTEMS) and all(
            self.lengths[name] >= least for name, least in LENGTHS.items()
        )

    def environment(self):
        """The choice as the Java side reads it."""
        lengths = {name: str(value) for name, value in self.lengths.items()}
        return {"CASES": ",".join(self.cases), "SYSTEMS": ",".join(self.systems), **lengths}


def choose(environment):
    """Reads the choice from environment variables."""
    lengths = {name: number(environment, name, least) for name, least in LENGTHS.items()}
    return Choice(names(environment, "CASES", CASES), names(environment, "SYSTEMS", SYSTEMS), lengths)


def main():
    """Measures what the environment asks for; the exit status."""
    interrupt_on_termination()
    try:
        _run(choose(os.environ))
    except Failed as error:
        print(f"bench-client: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("bench-client: interrupted", file=sys.stderr)
        return 130
    return 0


def _run(choice):
    run(["mvn", "-B", "-q", "-DskipTests", "-pl", "core,clojure,bench", "package"], cwd=CLIENT)
    results, complete = Results(describe_run(), digits=3), False
    try:
        with Cluster() as cluster:
            _measure(choice, cluster, results)
        complete = True
    finally:
        objects = results.objects()
        if objects:
            whole = choice.whole and complete
            if whole:
                objects = with_committed(objects, AREA, {case.removesuffix("s") for case in choice.cases})
            _report(objects, whole)


def _measure(choice, cluster, results):
    environment = {**os.environ, **choice.environment(), **cluster.environment(SUPERUSER, "tcp")}
    java = os.environ.get("JAVA", "java")
    classes = f"{CLIENT}/bench/target/classes:{CLIENT}/bench/target/dependency/*"
    # A heap that grows and shrinks would take its time from whoever comes next.
    command = [java, "-Xms3g", "-Xmx3g", "-cp", classes, "dev.howdah.pg.bench.Main"]
    settings = {"java": _version(java), "postgresql": cluster.version, **choice.lengths}
    try:
        process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
    except FileNotFoundError as error:
        raise Failed(f"{error.filename} is needed and was not found") from error
    try:
        for line in process.stdout:
            if line.startswith("{"):
                _record(json.loads(line), settings, results)
        if process.wait() != 0:
            raise Failed(f"the measurements ended with {process.returncode}; what was wrong stands above")
    finally:
        process.kill()
        process.wait()


def _record(measured, settings, results):
    case, system, metric = measured["case"], measured["system"], measured["metric"]
    if metric == "ms":
        results.add(case, system, {"min_ms": min(measured["values"])}, settings, {})
        metric = "median_ms"
        print(f"{case} {system}: {min(measured['values']):.1f} ms", flush=True)
    for value in measured["values"]:
        results.add(case, system, {metric: value}, settings, {})


def _version(java):
    return subprocess.run([java, "-version"], capture_output=True, text=True, check=True).stderr.splitlines()[
        0
    ]


def _report(objects, whole):
    path = write(objects, AREA, whole)
    drawing = picture(objects)
    if drawing:
        path.with_suffix(".svg").write_text(drawing)
    print(f"{table(objects)}\n")
    for line in judge(objects, GOALS):
        print(line)
    print(f"\nwritten to {path}")


if __name__ == "__main__":
    sys.exit(main())
