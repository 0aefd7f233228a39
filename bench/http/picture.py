"""The picture of a run: the rate of each system, case by case."""

from bench.harness.picture import Bar, draw
from bench.http.report import HANDSHAKES, by_case, compared, load, ratio, resumed_none


def picture(objects):
    """The SVG of all cases in which several systems ran."""
    groups = {
        _heading(case, systems): [_bar(name, metrics, systems) for name, metrics in systems.items()]
        for case, systems in by_case(objects).items()
        if len(systems) > 1
    }
    run = objects[0]["run"]
    remarks = (
        "Median of interleaved runs, with minimum and maximum; the load ran on the same machine.",
        f"{run['machine']}; commit {run['commit']}",
    )
    return draw("HTTP requests per second", remarks, groups) if groups else None


def _heading(case, systems):
    heading = f"{case} ({load(systems)})"
    by_handshakes = compared(next(iter(systems.values()))) == HANDSHAKES
    return f"{heading}: handshakes for each second of the server's CPU" if by_handshakes else heading


def _bar(name, metrics, systems):
    rate, howdah_is = metrics[compared(metrics)], ratio(systems, name)
    note = f"{rate['median']:,.0f}"
    if howdah_is:
        # Beside an equal one a tenth is what counts.
        note += f" · howdah {howdah_is:.{1 if howdah_is >= 2 else 2}f} ×"
    if resumed_none(metrics):
        note += " · none resumed"
    return Bar(name, rate["median"], rate["min"], rate["max"], note, ours=name.startswith("howdah"))
