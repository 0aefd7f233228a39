"""The table of a run, with the ratio of Howdah to each peer."""

from bench.http.report import by_case

RATE = "records_per_second"
JOBS = "jobs_per_second"
MORE_IS_BETTER = (RATE, JOBS, "percent_of_free")
# Which of Howdah's systems a peer is compared with; the ladder's bar is durable and acknowledged.
OURS = {"ladder": "howdah_tcp_acked"}


def table(objects):
    """All cases as text, one line for each system and metric."""
    blocks = []
    for case, systems in by_case(objects).items():
        rows = [
            _row(systems, case, name, entry)
            for name, metrics in systems.items()
            for entry in metrics.values()
        ]
        blocks.append("\n".join([case, *rows]))
    return "\n\n".join(blocks)


def ratio(systems, case, name, metric=RATE):
    """How many times as good Howdah is, or None for Howdah itself and where there is nothing to compare."""
    ours = OURS.get(case, "howdah_client" if name.endswith("_client") else "howdah")
    if name.startswith("howdah") or metric not in systems.get(ours, ()) or metric not in systems[name]:
        return None
    own, theirs = systems[ours][metric]["median"], systems[name][metric]["median"]
    if not own or not theirs:
        return None
    return own / theirs if metric in MORE_IS_BETTER else theirs / own


def _row(systems, case, name, entry):
    better = ratio(systems, case, name, entry["metric"])
    figures = "".join(f"{entry[part]:>14,.1f}" for part in ("median", "min", "max"))
    behind = f"   howdah is {better:.2f} x" if better else ""
    return f"  {name:26}{entry['metric']:28}{figures}{behind}"
