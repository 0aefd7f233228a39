"""The table of a run, with the ratio of Howdah to each peer."""

from bench.harness.disturbance import ELSEWHERE

RATE = "requests_per_second"
HEADINGS = (
    "system",
    "requests/s",
    "min",
    "max",
    "howdah is",
    "CPU us",
    "p50 us",
    "p99 us",
    "others %",
    "connections held",
)


def table(objects):
    """All cases as text, one line for each system."""
    blocks = []
    for case, systems in by_case(objects).items():
        rows = [HEADINGS] + [_row(name, metrics, ratio(systems, name)) for name, metrics in systems.items()]
        wrk = next(iter(systems.values()))[RATE]["settings"]["wrk"]
        blocks.append(f"{case}: wrk {wrk}\n{_columns(rows)}")
    return "\n\n".join(blocks)


def by_case(objects):
    """The objects as case, then system, then metric, each in the order of their first run."""
    cases = {}
    for entry in objects:
        cases.setdefault(entry["case"], {}).setdefault(entry["system"], {})[entry["metric"]] = entry
    return cases


def ratio(systems, name):
    """How many times the requests per second of `name` Howdah answered, or None for Howdah itself."""
    if name == "howdah" or "howdah" not in systems:
        return None
    return systems["howdah"][RATE]["median"] / systems[name][RATE]["median"]


def _row(name, metrics, howdah_is):
    rate = metrics[RATE]
    return (
        name,
        f"{rate['median']:,.0f}",
        f"{rate['min']:,.0f}",
        f"{rate['max']:,.0f}",
        f"{howdah_is:.2f} x" if howdah_is else "",
        f"{metrics['server_cpu_us_per_request']['median']:.1f}",
        f"{metrics['p50_us']['median']:,.0f}",
        f"{metrics['p99_us']['median']:,.0f}",
        f"{max(rate['settings'][ELSEWHERE]):.0f}",
        "  ".join("+".join(map(str, run)) for run in rate["settings"]["connections_held"]),
    )


def _columns(rows):
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADINGS))]
    return "\n".join("  " + _line(row, widths) for row in rows)


def _line(row, widths):
    name, *numbers, held = row
    cells = [number.rjust(width) for number, width in zip(numbers, widths[1:-1])]
    return "  ".join([name.ljust(widths[0]), *cells, held]).rstrip()
