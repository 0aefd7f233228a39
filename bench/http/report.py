"""The table of a run, with the ratio of Howdah to each peer."""

from bench.harness.disturbance import ELSEWHERE

RATE = "requests_per_second"
CPU = "server_cpu_us_per_request"
HANDSHAKES = "handshakes_per_cpu_second"
RESUMED = "resumed_percent"
# What systems are compared by: each has one of them. Behind it stands what the table calls it.
COMPARED = {RATE: "requests/s", HANDSHAKES: "handshakes/CPU s"}
# What else stands in the table where it was measured: its heading, the metric and its digits.
OTHERS = (
    ("CPU us", CPU, 1),
    ("p50 us", "p50_us", 0),
    ("p99 us", "p99_us", 0),
    ("handshakes/s", "handshakes_per_second", 0),
    ("resumed %", RESUMED, 1),
    ("commits/s", "commits_per_second", 0),
    ("commit us", "commit_us", 0),
    ("oldest ms", "oldest_answer_ms", 1),
)
TOOLS = ("wrk", "h2load", "handshakes")


def table(objects):
    """All cases as text, one line for each system."""
    return "\n\n".join(_block(case, systems) for case, systems in by_case(objects).items())


def by_case(objects):
    """The objects as case, then system, then metric, each in the order of their first run."""
    cases = {}
    for entry in objects:
        cases.setdefault(entry["case"], {}).setdefault(entry["system"], {})[entry["metric"]] = entry
    return cases


def compared(metrics):
    """The metric that the systems of a case are compared by."""
    return next(metric for metric in COMPARED if metric in metrics)


def ratio(systems, name):
    """How many times the rate of `name` Howdah reached, or None for Howdah itself."""
    if name == "howdah" or "howdah" not in systems:
        return None
    metric = compared(systems[name])
    return systems["howdah"][metric]["median"] / systems[name][metric]["median"]


def load(systems):
    """The load of a case: the tool and how it was run."""
    settings = _settings(next(iter(systems.values())))
    return next(f"{tool} {settings[tool]}" for tool in TOOLS if tool in settings)


def resumed_none(metrics):
    """Whether handshakes were to be resumed and none was."""
    asked = _settings(metrics).get("handshakes", "").endswith("resumed")
    return asked and metrics[RESUMED]["max"] == 0


def _settings(metrics):
    return next(iter(metrics.values()))["settings"]


def _block(case, systems):
    some = next(iter(systems.values()))
    others = [other for other in OTHERS if other[1] in some]
    headings = ["system", COMPARED[compared(some)], "min", "max", "howdah is"]
    rows = [[*headings, *(heading for heading, *_ in others), "others %", "connections held"]]
    rows += [_row(name, metrics, ratio(systems, name), others) for name, metrics in systems.items()]
    remarks = [
        f"  {name} RESUMED NONE of its handshakes: its figures are those of full ones."
        for name, metrics in systems.items()
        if resumed_none(metrics)
    ]
    return "\n".join([f"{case}: {load(systems)}", _columns(rows), *remarks])


def _row(name, metrics, howdah_is, others):
    rate, settings = metrics[compared(metrics)], _settings(metrics)
    return [
        name,
        f"{rate['median']:,.0f}",
        f"{rate['min']:,.0f}",
        f"{rate['max']:,.0f}",
        f"{howdah_is:.2f} x" if howdah_is else "",
        *(f"{metrics[metric]['median']:,.{digits}f}" for _, metric, digits in others),
        f"{max(settings[ELSEWHERE]):.0f}",
        "  ".join("+".join(map(str, run)) for run in settings.get("connections_held", ())),
    ]


def _columns(rows):
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    if not any(row[-1] for row in rows[1:]):
        rows = [[*row[:-1], ""] for row in rows]
    return "\n".join("  " + _line(row, widths) for row in rows)


def _line(row, widths):
    name, *numbers, held = row
    cells = [number.rjust(width) for number, width in zip(numbers, widths[1:-1])]
    return "  ".join([name.ljust(widths[0]), *cells, held]).rstrip()
