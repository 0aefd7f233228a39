"""The picture of a run: records per second in and out, and jobs."""

from bench.harness.picture import Bar, draw
from bench.http.report import by_case
from bench.queue.report import JOBS, RATE, ratio

GROUPS = {
    "ladder": "into PostgreSQL, loader and server on the same machine",
    "floor": "COPY inside the server, for comparison",
    "take_1_1000": "taken by 1 consumer, 1,000 at once",
    "take_4_1000": "taken by 4 consumers, 1,000 at once",
    "take_16_100": "taken by 16 consumers, 100 at once",
    "jobs_enqueue": "jobs enqueued",
    "jobs_nothing": "jobs run that do nothing",
    "jobs_insert": "jobs run that insert a row, a durable commit each",
}


def picture(objects):
    """The SVG of the cases that were measured."""
    cases = by_case(objects)
    groups = {
        heading: [_bar(case, name, cases[case]) for name in cases[case]]
        for case, heading in GROUPS.items()
        if case in cases
    }
    run = objects[0]["run"]
    remarks = (
        "Median of interleaved runs, with minimum and maximum; everything ran on one machine.",
        f"{run['machine']}; commit {run['commit']}",
    )
    return draw("Records and jobs per second", remarks, groups) if groups else None


def _bar(case, name, systems):
    metric = JOBS if case.startswith("jobs") else RATE
    rate, better = systems[name][metric], ratio(systems, case, name, metric)
    note = f"{rate['median']:,.0f}" + (f" · howdah {better:.1f} ×" if better else "")
    return Bar(name, rate["median"], rate["min"], rate["max"], note, ours=name.startswith("howdah"))
