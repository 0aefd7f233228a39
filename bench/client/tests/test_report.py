"""Ratios, goals, the picture, and the choice of what is run."""

import unittest

from bench.client.goals import GOALS
from bench.client.report import by_case, picture, ratio, table
from bench.client.run import LENGTHS, _record, choose
from bench.harness.goals import judge
from bench.harness.processes import Failed
from bench.harness.results import Results

RUN = {"machine": "2 x test", "commit": "abc"}


def measured(*lines):
    """The objects of figures as the Java side prints them: case, system, metric, values."""
    results = Results(RUN, digits=3)
    for case, system, metric, values in lines:
        line = {"case": case, "system": system, "metric": metric, "values": values}
        _record(line, {"rows": 50_000}, results)
    return results.objects()


OBJECTS = measured(
    ("t2_all", "howdah", "ms", [5.5, 4.0, 9.0]),
    ("t2_all", "howdah", "client_cpu_ms", [2.0]),
    ("t2_all", "pgjdbc_arrays", "ms", [10.0, 8.0, 12.0]),
    ("t6_16", "howdah", "requests_per_second", [1700, 1600]),
    ("t6_16", "pgjdbc_maps", "requests_per_second", [1000, 1000]),
    ("codec_json_date", "howdah", "ns_per_value", [20.0]),
)


class Report(unittest.TestCase):
    def test_times_become_a_minimum_and_a_median(self):
        metrics = by_case(OBJECTS)["t2_all"]["howdah"]
        self.assertEqual((metrics["min_ms"]["median"], metrics["median_ms"]["median"]), (4.0, 5.5))
        self.assertEqual((metrics["median_ms"]["max"], metrics["median_ms"]["runs"]), (9.0, 3))

    def test_a_peer_stands_with_the_part_of_its_time_that_howdah_takes(self):
        systems = by_case(OBJECTS)["t2_all"]
        self.assertEqual(ratio(systems, "pgjdbc_arrays", "min_ms"), 0.5)
        self.assertIsNone(ratio(systems, "howdah", "min_ms"))

    def test_the_table_has_a_line_for_each_system(self):
        line = next(line for line in table(OBJECTS).splitlines() if "pgjdbc_arrays" in line)
        self.assertEqual(line.split(), ["pgjdbc_arrays", "0.50", "x", "8.0", "10.0"])
        self.assertIn("20.0 ns", table(OBJECTS))

    def test_the_picture_shows_cases_of_several_systems(self):
        self.assertIn("howdah 0.50 ×", picture(OBJECTS))
        self.assertIsNone(picture(measured(("t1_one", "howdah", "ms", [1.0]))))


class Goals(unittest.TestCase):
    def test_times_are_to_be_short_and_rates_high(self):
        lines = judge(OBJECTS, GOALS)
        self.assertEqual([line.split()[0] for line in lines], ["reached", "reached"])
        self.assertIn("0.50 (at most 0.85)", lines[0])
        slow = measured(("t5_assoc", "howdah", "ms", [2.0]), ("t5_untouched", "floor", "ms", [1.0]))
        self.assertTrue(judge(slow, GOALS)[0].startswith("SHORT"))


class Chosen(unittest.TestCase):
    def test_without_variables_the_run_is_whole(self):
        self.assertTrue(choose({}).whole)

    def test_a_part_is_whole_if_no_system_is_left_out(self):
        self.assertTrue(choose({"CASES": "t1"}).whole)

    def test_a_run_without_all_systems_or_a_shorter_one_is_not(self):
        for variables in ({"SYSTEMS": "howdah"}, *({name: "1"} for name in LENGTHS)):
            self.assertFalse(choose(variables).whole)

    def test_an_unknown_name_is_refused(self):
        with self.assertRaises(Failed):
            choose({"CASES": "t7"})
