"""Tests of measuring again."""

import unittest

from bench.harness.disturbance import ATTEMPTS, ELSEWHERE, Attempt, least_disturbed
from bench.harness.results import Results


def attempts(*percentages):
    """What to measure with, and what it has measured: each time the next percentage is taken by others."""
    made = []

    def measure():
        attempt = Attempt()
        attempt.add("case", "system", {"rate": len(made)}, {}, {ELSEWHERE: percentages[len(made)]})
        made.append(attempt)
        return attempt

    return measure, made


class LeastDisturbed(unittest.TestCase):
    def test_a_run_that_nobody_disturbed_counts_at_once(self):
        measure, made = attempts(3)
        self.assertEqual(least_disturbed(measure).elsewhere, 3)
        self.assertEqual(len(made), 1)

    def test_a_disturbed_run_is_measured_again(self):
        measure, made = attempts(40, 9, 1)
        self.assertEqual(least_disturbed(measure).elsewhere, 9)
        self.assertEqual(len(made), 2)

    def test_of_disturbed_runs_the_least_disturbed_counts(self):
        measure, made = attempts(40, 20, 30)
        results = Results({})
        least_disturbed(measure).keep(results)
        self.assertEqual(len(made), ATTEMPTS)
        (entry,) = results.objects()
        self.assertEqual((entry["median"], entry["settings"]), (1, {ELSEWHERE: [20]}))

    def test_without_the_percentage_a_run_counts(self):
        attempt = Attempt()
        attempt.add("case", "system", {"rate": 1}, {}, {})
        self.assertIs(least_disturbed(lambda: attempt), attempt)
