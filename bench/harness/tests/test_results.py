"""Medians, progress and the picture."""

import unittest
from xml.etree import ElementTree

from bench.harness.picture import Bar, draw
from bench.harness.progress import Progress
from bench.harness.results import Results


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
