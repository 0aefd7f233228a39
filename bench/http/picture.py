"""The pictures of a run: the rate of each system, case by case; what each form of a function costs; TechEmpower's tests."""

from bench.harness.picture import Bar, draw
from bench.http import function_forms, techempower
from bench.http.report import CPU, HANDSHAKES, by_case, compared, load, ratio, resumed_none

LANES = {"howdah": "in a gateway", "howdah_executors": "in executors"}


def pictures(objects):
    """The SVGs of these objects by what their names end with."""
    cases = by_case(objects)
    forms = _cases_of(cases, function_forms.CASES)
    tests = _cases_of(cases, techempower.CASES)
    others = {case: systems for case, systems in cases.items() if case not in forms and case not in tests}
    drawn = {
        "": ("HTTP requests per second", _by_rate(others), others),
        "-forms": ("CPU for each request, by the form of its function", _by_form(forms), forms),
        "-techempower": ("TechEmpower's tests: requests for each CPU second", _by_cpu(tests), tests),
    }
    return {
        ending: draw(title, _remarks(shown), groups)
        for ending, (title, groups, shown) in drawn.items()
        if groups
    }


def _cases_of(cases, named):
    names = {case.name for case in named}
    return {case: systems for case, systems in cases.items() if case in names}


def _remarks(cases):
    run = next(
        entry["run"]
        for systems in cases.values()
        for metrics in systems.values()
        for entry in metrics.values()
    )
    return (
        "Median of interleaved runs, with minimum and maximum; the load ran on the same machine.",
        f"{run['machine']}; commit {run['commit']}",
    )


def _by_rate(cases):
    return {
        _heading(case, systems): [_rate(name, metrics, systems) for name, metrics in systems.items()]
        for case, systems in cases.items()
        if len(systems) > 1
    }


def _heading(case, systems):
    heading = f"{case} ({load(systems)})"
    by_handshakes = compared(next(iter(systems.values()))) == HANDSHAKES
    return f"{heading}: handshakes for each second of the server's CPU" if by_handshakes else heading


def _rate(name, metrics, systems):
    rate, howdah_is = metrics[compared(metrics)], ratio(systems, name)
    note = f"{rate['median']:,.0f}"
    if howdah_is:
        # Beside an equal one a tenth is what counts.
        note += f" · howdah {howdah_is:.{1 if howdah_is >= 2 else 2}f} ×"
    if resumed_none(metrics):
        note += " · none resumed"
    return Bar(name, rate["median"], rate["min"], rate["max"], note, ours=name.startswith("howdah"))


def _by_form(cases):
    """For each lane the forms, beside the simplest."""
    simplest = cases.get(function_forms.case(function_forms.SIMPLEST))
    if not simplest:
        return {}
    lanes = {lane: where for lane, where in LANES.items() if lane in simplest}
    return {
        f"{where}, µs": [
            _cost(case.removeprefix("forms_"), systems[lane][CPU], simplest[lane][CPU])
            for case, systems in cases.items()
            if lane in systems
        ]
        for lane, where in lanes.items()
    }


def _cost(form, cpu, simplest):
    note = f"{cpu['median']:.1f} · {cpu['median'] / simplest['median']:.2f} × json"
    return Bar(form, cpu["median"], cpu["min"], cpu["max"], note, ours=True)


def _by_cpu(cases):
    return {
        f"{case.removeprefix('techempower_')} ({load(systems)})": [
            _per_cpu_second(name, metrics, systems) for name, metrics in systems.items()
        ]
        for case, systems in cases.items()
    }


def _per_cpu_second(name, metrics, systems):
    cpu = metrics[CPU]
    least, median, most = (1e6 / cpu[bound] for bound in ("max", "median", "min"))
    note = f"{median:,.0f}"
    if name != "howdah" and "howdah" in systems:
        note += f" · howdah {cpu['median'] / systems['howdah'][CPU]['median']:.2f} ×"
    return Bar(name, median, least, most, note, ours=name.startswith("howdah"))
