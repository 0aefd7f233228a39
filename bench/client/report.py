"""The table and the picture of a run, with the ratio of Howdah to each peer."""

from bench.harness.picture import Bar, draw

TIME = "min_ms"
RATE = "requests_per_second"
COLUMNS = ("min_ms", "median_ms", "client_cpu_ms", "bytes_allocated_per_row", "bytes_retained_per_row")
HEADINGS = ("min ms", "median", "CPU ms", "allocated/row", "retained/row")
# What the picture shows, in words. The table has all cases.
PICTURED = {
    "t2_untouched": "nine columns, rows not looked at",
    "t2_all": "nine columns, every value read",
    "t2_json": "nine columns, written as JSON",
    "t3_json": "one column of json, written as JSON",
    "t5_untouched": "sixty timestamps, rows not looked at",
    "t5_assoc": "sixty timestamps, a key added to every row",
    "t5_all": "sixty timestamps, every value read",
    "t6_16": "an HTTP server, 16 clients, 500 rows as JSON each",
}


def by_case(objects):
    """The objects as case, then system, then metric, each in the order of their first run."""
    cases = {}
    for entry in objects:
        cases.setdefault(entry["case"], {}).setdefault(entry["system"], {})[entry["metric"]] = entry
    return cases


def ratio(systems, name, metric):
    """What Howdah has of the metric for each one that `name` has, or None."""
    ours = systems.get("howdah", {}).get(metric)
    theirs = systems[name].get(metric)
    if name == "howdah" or not ours or not theirs:
        return None
    return ours["median"] / theirs["median"]


def table(objects):
    """All cases as text, one line for each system."""
    lines = []
    for case, systems in by_case(objects).items():
        main = _main(systems)
        lines.append(f"\n{case}" + ("" if main == "ns_per_value" else _headings(main)))
        for name, metrics in systems.items():
            lines.append("  " + _line(name, metrics, ratio(systems, name, main), main))
    return "\n".join(lines)


def _main(systems):
    metrics = next(iter(systems.values()))
    return next((metric for metric in (TIME, RATE, "ns_per_value") if metric in metrics), next(iter(metrics)))


def _headings(main):
    names = ("requests/s", "CPU us") if main == RATE else HEADINGS
    return " " * 2 + "  ".join(("howdah is", *names))


def _line(name, metrics, howdah_is, main):
    if main == "ns_per_value":
        return f"{name:14}{metrics[main]['median']:10.1f} ns"
    columns = (RATE, "jvm_cpu_us_per_request") if main == RATE else COLUMNS
    cells = [f"{metrics[column]['median']:12,.1f}" if column in metrics else " " * 12 for column in columns]
    return f"{name:14}{f'{howdah_is:8.2f} x' if howdah_is else ' ' * 10}{''.join(cells)}".rstrip()


def picture(objects):
    """The SVG of the cases that tell most, if several systems ran in them."""
    cases, groups = by_case(objects), {}
    for case, words in PICTURED.items():
        systems = cases.get(case, {})
        if len(systems) > 1:
            main = _main(systems)
            unit = "requests per second, longer is better" if main == RATE else "ms, shorter is better"
            groups[f"{case}: {words} ({unit})"] = [
                _bar(name, metrics, ratio(systems, name, main), main) for name, metrics in systems.items()
            ]
    run = objects[0]["run"]
    remarks = (
        "Minimum of warm runs, the whisker to their median (t6: median of loads); server, clients and load on one machine.",
        f"{run['machine']}; commit {run['commit']}",
    )
    return draw("50,000 rows through clients of the JVM", remarks, groups) if groups else None


def _bar(name, metrics, howdah_is, main):
    entry = metrics[main]
    # The bar of a time is its minimum; the whisker reaches to the median.
    high = metrics["median_ms"]["median"] if main == TIME else entry["max"]
    note = f"{entry['median']:,.1f}" + (f" · howdah {howdah_is:.2f} ×" if howdah_is else "")
    return Bar(name, entry["median"], entry["min"], max(high, entry["median"]), note, ours=name == "howdah")
