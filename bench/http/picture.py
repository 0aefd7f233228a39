"""The picture of a run: requests per second of each system, case by case."""

from bench.harness.picture import Bar, draw
from bench.http.report import RATE, by_case, ratio


def picture(objects):
    """The SVG of all cases in which several systems ran."""
    groups = {}
    for case, systems in by_case(objects).items():
        if len(systems) > 1:
            wrk = next(iter(systems.values()))[RATE]["settings"]["wrk"]
            groups[f"{case} (wrk {wrk})"] = [
                _bar(name, metrics, systems) for name, metrics in systems.items()
            ]
    run = objects[0]["run"]
    remarks = (
        "Median of interleaved runs, with minimum and maximum; the load ran on the same machine.",
        f"{run['machine']}; commit {run['commit']}",
    )
    return draw("HTTP requests per second", remarks, groups) if groups else None


def _bar(name, metrics, systems):
    rate, howdah_is = metrics[RATE], ratio(systems, name)
    note = f"{rate['median']:,.0f}" + (f" · howdah {howdah_is:.1f} ×" if howdah_is else "")
    return Bar(name, rate["median"], rate["min"], rate["max"], note, ours=name.startswith("howdah"))
