"""Ratios, goals and the choice of what is run."""

import unittest
from html import unescape

from bench.harness.goals import judge
from bench.harness.processes import Failed
from bench.http.cases import CASES
from bench.http.goals import GOALS
from bench.http.picture import pictures
from bench.http.report import by_case, ratio, table
from bench.http.run import choose
from bench.http.schedule import schedule
from bench.http.systems import SYSTEMS

RUN = {"machine": "2 x test", "commit": "abc"}
METRICS = ("requests_per_second", "server_cpu_us_per_request", "p50_us", "p99_us")


def measured(case, system, rate, cpu=10):
    """The objects of one system in one case."""
    values = dict(zip(METRICS, (rate, cpu, 100, 300)))
    settings = {"wrk": "-t2 -c20", "connections_held": [[11, 9]], "cpu_elsewhere_percent": [4.0]}
    fixed = {"runs": 3, "settings": settings, "run": RUN}
    return [
        {
            "case": case,
            "system": system,
            "metric": metric,
            "median": value,
            "min": value,
            "max": value,
            **fixed,
        }
        for metric, value in values.items()
    ]


OBJECTS = measured("users", "howdah", 60_000) + measured("users", "node_unix", 10_000, cpu=120)


class Ratios(unittest.TestCase):
    def test_a_peer_stands_with_how_many_times_its_rate_howdah_has(self):
        systems = by_case(OBJECTS)["users"]
        self.assertEqual(ratio(systems, "node_unix"), 6)
        self.assertIsNone(ratio(systems, "howdah"))

    def test_without_howdah_there_is_no_ratio(self):
        self.assertIsNone(ratio(by_case(measured("users", "node_unix", 1))["users"], "node_unix"))

    def test_the_table_names_rate_ratio_cpu_and_connections(self):
        line = next(line for line in table(OBJECTS).splitlines() if "node_unix" in line)
        self.assertEqual(
            line.split(),
            ["node_unix", "10,000", "10,000", "10,000", "6.00", "x", "120.0", "100", "300", "4", "11+9"],
        )

    def test_the_picture_writes_the_ratio_at_the_peer(self):
        self.assertIn("howdah 6.0 ×", pictures(OBJECTS)[""])

    def test_forms_and_the_tests_of_techempower_have_pictures_of_their_own(self):
        forms = measured("forms_json", "howdah", 1, cpu=10) + measured("forms_row", "howdah", 1, cpu=12)
        tests = measured("techempower_db", "howdah", 9, cpu=10) + measured(
            "techempower_db", "axum_techempower", 4, cpu=25
        )
        drawn = pictures(OBJECTS + forms + tests)
        self.assertEqual(list(drawn), ["", "-forms", "-techempower"])
        self.assertIn("12.0 · 1.20 × json", drawn["-forms"])
        self.assertIn("40,000 · howdah 2.50 ×", drawn["-techempower"])
        self.assertNotIn("forms", drawn[""] + drawn["-techempower"])

    def test_the_table_leaves_out_what_a_load_does_not_measure(self):
        objects = [entry for entry in OBJECTS if entry["metric"] not in ("p50_us", "p99_us")]
        self.assertNotIn("p50", table(objects))


def handshakes(case, system, rate, resumed):
    """The objects of one system in a case of handshakes."""
    settings = {"handshakes": f"20 at a time, {'resumed' if resumed is not None else 'full'}"}
    settings["cpu_elsewhere_percent"] = [4.0]
    values = {
        "handshakes_per_cpu_second": rate,
        "handshakes_per_second": 900,
        "resumed_percent": resumed or 0,
    }
    fixed = {"case": case, "system": system, "runs": 3, "settings": settings, "run": RUN}
    return [{**fixed, "metric": name, "median": at, "min": at, "max": at} for name, at in values.items()]


class Handshakes(unittest.TestCase):
    FULL = handshakes("handshakes", "howdah", 1_700, None) + handshakes("handshakes", "nginx", 2_000, None)
    RESUMED = handshakes("resumed", "howdah", 1_700, 0) + handshakes("resumed", "nginx", 4_000, 99.8)

    def test_they_are_compared_by_the_cpu_of_the_servers(self):
        line = next(line for line in table(self.FULL).splitlines() if "nginx" in line)
        self.assertEqual(line.split(), ["nginx", "2,000", "2,000", "2,000", "0.85", "x", "900", "0.0", "4"])

    def test_the_table_and_the_picture_say_who_resumed_none(self):
        self.assertIn("howdah RESUMED NONE", table(self.RESUMED))
        self.assertNotIn("nginx RESUMED", table(self.RESUMED))
        self.assertEqual(pictures(self.RESUMED)[""].count("none resumed"), 1)

    def test_full_handshakes_are_not_blamed_for_it(self):
        self.assertNotIn("RESUMED NONE", table(self.FULL))

    def test_a_ratio_near_one_has_two_digits_in_the_picture(self):
        self.assertIn("howdah 0.85 ×", pictures(self.FULL)[""])
        self.assertIn("second of the server's CPU", unescape(pictures(self.FULL)[""]))

    def test_a_goal_asks_for_the_share_that_was_resumed(self):
        lines = judge(self.RESUMED, GOALS)
        self.assertTrue(any(line.startswith("SHORT") and "percent" in line for line in lines), lines)


class Goals(unittest.TestCase):
    def test_a_ratio_over_its_bound_is_reached(self):
        self.assertEqual(len(judge(OBJECTS, GOALS)), 1)
        self.assertTrue(judge(OBJECTS, GOALS)[0].startswith("reached    6.00 (at least 5)"))

    def test_cpu_over_its_bound_falls_short(self):
        objects = measured("users", "howdah", 1, cpu=16) + measured("users", "howdah_constant", 1, cpu=10)
        self.assertTrue(judge(objects, GOALS)[0].startswith("SHORT      1.60 (at most 1.5)"))


class Order(unittest.TestCase):
    def names(self, cases, systems, rounds):
        chosen = [case for case in CASES if case.name in cases]
        return [(case.name, system) for case, system in schedule(chosen, systems, rounds)]

    def test_systems_take_turns(self):
        runs = self.names(["users"], ["howdah", "node_unix"], 2)
        self.assertEqual(runs, [("users", "howdah"), ("users", "node_unix")] * 2)

    def test_cases_whose_ratio_counts_take_turns(self):
        runs = self.names(["routes_one", "routes"], ["howdah"], 2)
        self.assertEqual(runs, [("routes_one", "howdah"), ("routes", "howdah")] * 2)

    def test_fairness_runs_five_times(self):
        self.assertEqual(len(self.names(["fairness"], ["howdah"], 3)), 5)

    def test_http_2_takes_turns_with_what_it_is_compared_with(self):
        runs = self.names(["tls_users", "h2_users"], ["howdah"], 2)
        self.assertEqual(runs, [("tls_users", "howdah"), ("h2_users", "howdah")] * 2)

    def test_clear_text_takes_turns_with_tls(self):
        runs = self.names(["tls_users"], ["howdah", "howdah_clear"], 2)
        self.assertEqual(runs, [("tls_users", "howdah"), ("tls_users", "howdah_clear")] * 2)

    def test_cases_of_handshakes_and_of_http_2_have_a_certificate(self):
        for case in CASES:
            self.assertTrue(case.certificate or case.load.tool == "wrk", case.name)

    def test_nginx_answers_by_tls_alone(self):
        self.assertTrue(all(case.certificate for case in CASES if "nginx" in case.systems))

    def test_every_system_takes_part_in_some_case(self):
        self.assertEqual({name for case in CASES for name in case.systems}, set(SYSTEMS))


class Environment(unittest.TestCase):
    def test_everything_at_full_length_is_whole_and_so_are_cases_that_are_compared(self):
        self.assertTrue(choose({}).whole)
        self.assertTrue(choose({"CASES": "fairness,fairness_alone,insert"}).whole)
        self.assertTrue(choose({"CASES": "tls_users,h2_users,resumed"}).whole)

    def test_a_part_or_a_short_run_is_not_whole(self):
        for environment in (
            {"CASES": "users"},
            {"CASES": "fairness,insert"},
            {"CASES": "h2_users"},
            {"CASES": "handshakes"},
            {"SYSTEMS": "howdah"},
            {"DURATION": "2"},
            {"ROUNDS": "1"},
        ):
            self.assertFalse(choose(environment).whole, environment)

    def test_unknown_names_and_numbers_are_refused_with_what_is_known(self):
        with self.assertRaisesRegex(Failed, "known are users"):
            choose({"CASES": "user"})
        with self.assertRaisesRegex(Failed, "DURATION"):
            choose({"DURATION": "0"})
