"""The figures to reach, as ratios within one run."""

from dataclasses import dataclass

RATE = "requests_per_second"
CPU = "server_cpu_us_per_request"
P99 = "p99_us"


@dataclass(frozen=True)
class Goal:
    """A ratio of two medians, and the bound that it must keep."""

    text: str
    measured: tuple
    """Case and system of the dividend."""
    against: tuple
    """Case and system of the divisor."""
    bound: float
    metric: str = RATE
    at_most: bool = False

    def ratio(self, medians):
        """The ratio, or None if this run measured only one side or none."""
        measured = medians.get((*self.measured, self.metric))
        against = medians.get((*self.against, self.metric))
        return measured / against if measured and against else None

    def reached(self, ratio):
        """Whether the ratio keeps the bound."""
        return ratio <= self.bound if self.at_most else ratio >= self.bound


GOALS = (
    Goal("users: rate over Node on its UNIX socket", ("users", "howdah"), ("users", "node_unix"), 5),
    Goal("users: rate over pipelined axum", ("users", "howdah"), ("users", "axum_pipelined"), 1.6),
    Goal(
        "users: CPU over a constant answer",
        ("users", "howdah"),
        ("users", "howdah_constant"),
        1.5,
        metric=CPU,
        at_most=True,
    ),
    Goal(
        "users, a transaction each: rate over Node",
        ("users", "howdah_own_transaction"),
        ("users", "node_unix"),
        4,
    ),
    Goal("users, executors only: rate over Node", ("users", "howdah_executors"), ("users", "node_unix"), 3.5),
    Goal("users_query: rate over Node", ("users_query", "howdah"), ("users_query", "node_unix"), 3.5),
    Goal("routes: rate with 1,000 over one", ("routes", "howdah"), ("routes_one", "howdah"), 0.95),
    Goal("insert: rate over Node", ("insert", "howdah"), ("insert", "node_unix"), 1),
    Goal(
        "fairness: p99 beside a slow handler over alone",
        ("fairness", "howdah"),
        ("fairness_alone", "howdah"),
        2,
        metric=P99,
        at_most=True,
    ),
)


def judge(objects, goals=GOALS):
    """One line for each goal that this run can judge."""
    medians = {(entry["case"], entry["system"], entry["metric"]): entry["median"] for entry in objects}
    lines = []
    for goal in goals:
        ratio = goal.ratio(medians)
        if ratio is not None:
            verdict = "reached" if goal.reached(ratio) else "SHORT"
            bound = f"at {'most' if goal.at_most else 'least'} {goal.bound:g}"
            lines.append(f"{verdict:8} {ratio:6.2f} ({bound})  {goal.text}")
    return lines
