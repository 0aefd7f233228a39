"""Figures to reach, as ratios within one run."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Goal:
    """A ratio of two medians, and the bound that it must keep."""

    text: str
    measured: tuple
    """Case and system of the dividend."""
    against: tuple
    """Case and system of the divisor."""
    bound: float
    metric: str = "requests_per_second"
    at_most: bool = False

    def ratio(self, medians):
        """The ratio, or None if this run measured only one side or none."""
        measured = medians.get((*self.measured, self.metric))
        against = medians.get((*self.against, self.metric))
        return measured / against if measured and against else None

    def reached(self, ratio):
        """Whether the ratio keeps the bound."""
        return ratio <= self.bound if self.at_most else ratio >= self.bound


def judge(objects, goals):
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
