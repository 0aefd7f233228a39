"""Medians, progress and the picture."""

import json
import tempfile
import unittest
from pathlib import Path
from unittest import mock
from xml.etree import ElementTree

from bench.harness import results
from bench.harness.goals import Goal, judge
from bench.harness.picture import Bar, draw
from bench.harness.progress import Progress
from bench.harness.results import Results, with_committed


class Objects(unittest.TestCase):
    def test_the_median_stands_with_its_range_and_the_settings(self):
        results = Results({"commit": "abc"})
        for rate, held in ((30, [20]), (10, [11, 9]), (20, [10, 10])):
            results.add(
                "users", "howdah", {"requests_per_second": rate}, {"wrk": "-t2"}, {"connections_held": held}
            )
        self.assertEqual(
            results.objects(),
            [
                {
                    "case": "users",
                    "system": "howdah",
                    "metric": "requests_per_second",
                    "median": 20,
                    "min": 10,
                    "max": 30,
                    "runs": 3,
                    "settings": {"wrk": "-t2", "connections_held": [[20], [11, 9], [10, 10]]},
                    "run": {"commit": "abc"},
                }
            ],
        )


def entry(case, run, median=1):
    return {"case": case, "system": "howdah", "metric": "rate", "median": median, "run": run}


class Committed(unittest.TestCase):
    def test_measured_cases_replace_theirs_and_leave_the_others(self):
        known = [entry("ladder", "old"), entry("pinned_send_1", "old"), entry("pinned_1", "old")]
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(results, "FOLDER", Path(folder)):
            (Path(folder) / "queue.json").write_text(json.dumps(known))
            merged = with_committed([entry("pinned_1", "new")], "queue", {"pinned"})
        self.assertEqual(merged, [entry("ladder", "old"), entry("pinned_1", "new")])

    def test_without_committed_results_there_are_only_the_new_ones(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(results, "FOLDER", Path(folder)):
            self.assertEqual(with_committed([entry("wal", "new")], "queue", {"wal"}), [entry("wal", "new")])


class Goals(unittest.TestCase):
    GOAL = Goal("twice", ("fast", "howdah"), ("slow", "howdah"), 2, metric="rate")

    def test_a_ratio_is_judged_within_one_run(self):
        objects = [entry("fast", "one", 6), entry("slow", "one", 2)]
        self.assertEqual(judge(objects, [self.GOAL]), ["reached    3.00 (at least 2)  twice"])

    def test_figures_of_two_runs_are_not_compared(self):
        self.assertEqual(judge([entry("fast", "one", 6), entry("slow", "two", 2)], [self.GOAL]), [])


class TimeLeft(unittest.TestCase):
    def test_the_rest_is_estimated_from_the_runs_that_are_done(self):
        clock = iter((100.0, 130.0))
        progress = Progress(4, clock=lambda: next(clock))
        self.assertEqual(progress.finished("users"), "[1/4, 1:30 left] users")


class Picture(unittest.TestCase):
    def test_bars_stand_to_scale_and_names_are_escaped(self):
        bars = [Bar("a<b", 100, 90, 120, "note", ours=True), Bar("c", 50, 50, 60, "", ours=False)]
        svg = ElementTree.fromstring(draw("Title & more", ["a remark"], {"users": bars}))
        namespace = "{http://www.w3.org/2000/svg}"
        widths = [float(rect.get("width")) for rect in svg.iter(f"{namespace}rect")]
        self.assertAlmostEqual(widths[0], 2 * widths[1], places=0)
        self.assertIn("a<b", [text.text for text in svg.iter(f"{namespace}text")])
