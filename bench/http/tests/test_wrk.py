"""What wrk prints is read right."""

import unittest
from pathlib import Path

from bench.harness.processes import Failed
from bench.http.answers import Origin
from bench.http.running import Running
from bench.http.wrk import Load

parse = Load.parse

GOOD = """Running 3s test @ http://127.0.0.1:9000
  2 threads and 20 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency   512.21us    1.02ms  21.46ms   97.31%
    Req/Sec    24.61k     4.63k   33.02k    66.67%
  Latency Distribution
     50%  357.00us
     75%  513.00us
     90%  712.00us
     99%    3.99ms
  146887 requests in 3.00s, 24.79MB read
Requests/sec:  48947.53
Transfer/sec:      8.26MB
"""
BAD = GOOD.replace(
    "Requests/sec:",
    "  Socket errors: connect 1, read 2, write 3, timeout 4\n"
    "  Non-2xx or 3xx responses: 146887\n"
    "Requests/sec:",
)


class Parser(unittest.TestCase):
    def test_rate_and_latencies_are_read_in_their_units(self):
        outcome = parse(GOOD)
        self.assertEqual(outcome.requests, 146887)
        self.assertEqual(outcome.requests_per_second, 48947.53)
        self.assertEqual((outcome.p50_us, outcome.p99_us), (357, 3990))

    def test_seconds_are_read(self):
        self.assertEqual(parse(GOOD.replace("3.99ms", "1.20s")).p99_us, 1_200_000)

    def test_a_clean_run_has_no_errors(self):
        self.assertEqual((parse(GOOD).bad_statuses, parse(GOOD).socket_errors), (0, 0))

    def test_error_statuses_and_socket_errors_are_counted(self):
        self.assertEqual((parse(BAD).bad_statuses, parse(BAD).socket_errors), (146887, 10))

    def test_the_servers_cpu_is_divided_by_the_requests(self):
        metrics = parse(GOOD).metrics(1.46887)
        self.assertAlmostEqual(metrics["server_cpu_us_per_request"], 10)
        self.assertEqual((metrics["p50_us"], metrics["p99_us"]), (357, 3990))

    def test_output_that_is_not_wrks_is_an_error(self):
        with self.assertRaises(Failed):
            parse("unable to connect to 127.0.0.1:9000 Connection refused")


class CommandLine(unittest.TestCase):
    def test_the_path_goes_to_the_script(self):
        command = Load(2, 20).command(Running(Origin(9000), [], "/users/user%d"), 8)
        self.assertEqual(command[:5], ["wrk", "-t2", "-c20", "-d8s", "--latency"])
        self.assertEqual(command[-4:], ["http://127.0.0.1:9000", "--", "/users/user%d", "GET"])

    def test_a_system_with_an_authority_is_asked_by_tls(self):
        command = Load(2, 20).command(Running(Origin(9000, Path("ca.pem")), [], "/"), 8)
        self.assertIn("https://127.0.0.1:9000", command)
