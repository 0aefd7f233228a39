"""What the client that connects by TLS prints is read right."""

import json
import unittest
from pathlib import Path

from bench.harness.processes import Failed
from bench.http.answers import Origin
from bench.http.handshakes import Load
from bench.http.running import Running

COUNTED = {"handshakes": 4000, "resumed": 3980, "failed": 0, "bad_statuses": 0, "seconds": 2.0}
RESUMED, FULL = Load(20, resumed=True), Load(20)


def printed(**changes):
    """What the client prints."""
    return json.dumps(COUNTED | changes) + "\n"


class Parser(unittest.TestCase):
    def test_the_rate_is_that_of_a_second_of_the_servers_cpu(self):
        metrics = RESUMED.parse(printed()).metrics(0.5)
        self.assertEqual(metrics["handshakes_per_cpu_second"], 8000)
        self.assertEqual(metrics["handshakes_per_second"], 2000)

    def test_the_share_that_was_resumed_is_reported_also_if_it_is_nothing(self):
        self.assertEqual(RESUMED.parse(printed()).metrics(1)["resumed_percent"], 99.5)
        self.assertEqual(RESUMED.parse(printed(resumed=0)).metrics(1)["resumed_percent"], 0)

    def test_full_handshakes_that_were_resumed_are_an_error(self):
        self.assertEqual(FULL.parse(printed(resumed=0)).requests, 4000)
        with self.assertRaisesRegex(Failed, "should have been full"):
            FULL.parse(printed())

    def test_why_connections_failed_is_said(self):
        with self.assertRaisesRegex(Failed, "handshake refused"):
            FULL.parse("handshake refused\n" + printed(resumed=0, failed=1))

    def test_error_statuses_are_counted(self):
        self.assertEqual(RESUMED.parse(printed(bad_statuses=3)).bad_statuses, 3)

    def test_a_run_too_short_for_the_clock_of_proc_is_an_error(self):
        with self.assertRaisesRegex(Failed, "longer"):
            RESUMED.parse(printed()).metrics(0)

    def test_output_that_is_not_the_clients_is_an_error(self):
        for text in ("", "Segmentation fault", '{"handshakes": 1}'):
            with self.assertRaises(Failed):
                RESUMED.parse(text)


class CommandLine(unittest.TestCase):
    def test_it_says_whether_to_resume(self):
        running = Running(Origin(9000, Path("ca.pem")), [], "/users/user%d")
        self.assertEqual(FULL.command(running, 2)[1:], ["9000", "2", "20", "full", "GET", "/users/user%d"])
        self.assertEqual(RESUMED.command(running, 2)[4], "resumed")
