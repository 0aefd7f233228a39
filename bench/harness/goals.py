"""Figures to reach: ratios within one run, and a few bounds."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Goal:
    """A ratio of two medians, or one alone, and the bound that it must keep."""

    text: str
    measured: tuple
    """Case and system of the dividend."""
    against: tuple | None
    """Case and system of the divisor; None for a bound of the median itself."""
    bound: float
    metric: str = "requests_per_second"
    at_most: bool = False

    def ratio(self, entries):
        """The ratio or the median, or None if no one run has measured what it takes."""
        measured = entries.get((*self.measured, self.metric))
        if measured is None or self.against is None:
            return measured and measured["median"]
        against = entries.get((*self.against, self.metric))
        if against is None or not against["median"] or measured["run"] != against["run"]:
            return None
        return measured["median"] / against["median"]

    def reached(self, ratio):
        """Whether the ratio keeps the bound."""
        return ratio <= self.bound if self.at_most else ratio >= self.bound


def judge(objects, goals):
    """One line for each goal that these objects can judge."""
    entries = {(entry["case"], entry["system"], entry["metric"]): entry for entry in objects}
    lines = []
    for goal in goals:
        ratio = goal.ratio(entries)
        if ratio is not None:
            verdict = "reached" if goal.reached(ratio) else "SHORT"
            bound = f"at {'most' if goal.at_most else 'least'} {goal.bound:g}"
            lines.append(f"{verdict:8} {ratio:6,.2f} ({bound})  {goal.text}")
    return lines
