"""Measures again what others disturbed."""

ELSEWHERE = "cpu_elsewhere_percent"
"""How much of the machine others took while something was measured, as results name it."""
LIMIT_PERCENT = 10
ATTEMPTS = 3


class Attempt:
    """What one run adds to the results."""

    def __init__(self):
        self._added = []

    def add(self, case, system, metrics, settings, each_run):
        """Takes what `Results.add` takes."""
        self._added.append((case, system, metrics, settings, each_run))

    def keep(self, results):
        """Adds all of it to the results."""
        for added in self._added:
            results.add(*added)

    @property
    def elsewhere(self):
        """The most that others took of the machine in any part of the run."""
        return max((each_run.get(ELSEWHERE, 0) for *_, each_run in self._added), default=0)


def least_disturbed(measure):
    """Calls `measure` until others took at most LIMIT_PERCENT of the machine meanwhile, ATTEMPTS times at most.

    It returns an Attempt; the one that was disturbed least is returned. The hypervisor is one of the others: on a shared
    machine it may give half of the processors' time away for minutes.
    """
    best = None
    for _ in range(ATTEMPTS):
        attempt = measure()
        if best is None or attempt.elsewhere < best.elsewhere:
            best = attempt
        if best.elsewhere <= LIMIT_PERCENT:
            break
    return best
