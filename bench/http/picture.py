"""The picture of a run: the rate of each system, case by case."""

from bench.harness.picture import Bar, draw
from bench.http.report import by_case, compared, load, ratio


def picture(objects):
    """The SVG of all cases in which several systems ran."""
    groups = {
        f"{case} ({load(systems)})": [_bar(name, metrics, systems) for name, metrics in systems.items()]
        for case, systems in by_case(objects).items()
        if len(systems) > 1
    }
    run = objects[0]["run"]
    remarks = (
        "Median of interleaved runs, with minimum and maximum; the load ran on the same machine.",
        f"{run['machine']}; commit {run['commit']}",
    )
    return draw("HTTP requests per second", remarks, groups) if groups else None


def _bar(name, metrics, systems):
    rate, howdah_is = metrics[compared(metrics)], ratio(systems, name)
    note = f"{rate['median']:,.0f}"
    if howdah_is:
        # Beside an equal one a tenth is what counts.
        note += f" · howdah {howdah_is:.{1 if howdah_is >= 2 else 2}f} ×"
    return Bar(name, rate["median"], rate["min"], rate["max"], note, ours=name.startswith("howdah"))
