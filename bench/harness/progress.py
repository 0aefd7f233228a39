"""A line for each run, with the time that is left."""

import time


class Progress:
    """Counts runs and estimates the rest from those that are done."""

    def __init__(self, total, clock=time.monotonic):
        self.total, self.done, self._clock, self._start = total, 0, clock, clock()

    def finished(self, what):
        """The line that reports one finished run."""
        self.done += 1
        spent = self._clock() - self._start
        left = spent / self.done * (self.total - self.done)
        return f"[{self.done}/{self.total}, {_duration(left)} left] {what}"


def _duration(seconds):
    minutes, seconds = divmod(round(seconds), 60)
    return f"{minutes}:{seconds:02}"
