import unittest

from bench.harness.goals import judge
from bench.queue.goals import GOALS
from bench.queue.picture import picture
from bench.queue.report import table

RUN = {"time": "now", "commit": "abc", "machine": "2 x test"}


def _entry(case, system, metric, median):
    return {
        "case": case,
        "system": system,
        "metric": metric,
        "median": median,
        "min": median,
        "max": median,
        "runs": 3,
        "settings": {},
        "run": RUN,
    }


OBJECTS = [
    _entry("ladder", "howdah_tcp_acked", "records_per_second", 800.0),
    _entry("ladder", "tcp_insert", "records_per_second", 100.0),
    _entry("ladder", "tcp_insert", "postgres_cpu_us_per_record", 5.0),
    _entry("floor", "copy_csv", "records_per_second", 1000.0),
    _entry("take_4_1000", "howdah", "records_per_second", 500.0),
    _entry("take_4_1000", "howdah_client", "records_per_second", 100.0),
    _entry("take_4_1000", "delete_ctid_client", "records_per_second", 50.0),
    _entry("wal", "howdah", "wal_bytes_out", 0.0),
    _entry("backlog_10000", "howdah", "pages_per_take", 30.0),
    _entry("backlog_10000", "delete_ctid", "pages_per_take", 90.0),
    _entry("jobs_nothing", "howdah", "jobs_per_second", 600.0),
    _entry("jobs_nothing", "howdah", "cpu_us_per_job", 10.0),
    _entry("jobs_nothing", "river", "jobs_per_second", 150.0),
    _entry("jobs_nothing", "river", "cpu_us_per_job", 25.0),
]


class ReportTest(unittest.TestCase):
    def test_peers_are_compared_with_what_does_the_same(self):
        text = table(OBJECTS)
        line = next(line for line in text.splitlines() if "tcp_insert " in line and "records" in line)
        self.assertIn("howdah is 8.00 x", line)
        line = next(line for line in text.splitlines() if "delete_ctid_client" in line)
        self.assertIn("howdah is 2.00 x", line)

    def test_fewer_pages_are_better(self):
        line = next(line for line in table(OBJECTS).splitlines() if "delete_ctid" in line and "pages" in line)
        self.assertIn("howdah is 3.00 x", line)

    def test_goals_are_judged_as_ratios_and_as_bounds(self):
        lines = judge(OBJECTS, GOALS)
        self.assertTrue(lines[0].startswith("reached    0.80 (at least 0.7)"), lines)
        self.assertTrue(any(line.startswith("reached    0.00 (at most 5)") for line in lines), lines)
        self.assertTrue(any(line.startswith("reached    2.00 (at least 1.8)") for line in lines), lines)

    def test_jobs_are_compared_by_their_rate_and_their_cpu(self):
        lines = judge(OBJECTS, GOALS)
        self.assertIn("reached    4.00 (at least 3)  jobs that do nothing, over river", lines)
        self.assertTrue(any(line.startswith("SHORT      0.40 (at most 0.333333)") for line in lines), lines)
        self.assertIn(
            "howdah is 4.00 x", next(line for line in table(OBJECTS).splitlines() if "river" in line)
        )

    def test_the_picture_shows_ways_in_and_out(self):
        drawing = picture(OBJECTS)
        for text in (
            "howdah_tcp_acked",
            "copy_csv",
            "taken by 4 consumers",
            "jobs run that do nothing",
            "howdah 8.0",
        ):
            self.assertIn(text, drawing)
        self.assertIsNone(picture([_entry("wal", "howdah", "wal_bytes_out", 1.0)]))


if __name__ == "__main__":
    unittest.main()
