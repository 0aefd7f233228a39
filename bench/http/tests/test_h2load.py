"""What h2load prints is read right."""

import unittest
from pathlib import Path

from bench.harness.processes import Failed
from bench.http.answers import Origin
from bench.http.h2load import Load
from bench.http.running import Running

GOOD = """TLS Protocol: TLSv1.3
Cipher: TLS_AES_128_GCM_SHA256
Server Temp Key: X25519 253 bits
Application protocol: h2
Main benchmark duration is over for thread #0. Stopping all clients.

finished in 2.00s, 41624.50 req/s, 3.52MB/s
requests: 83249 total, 83377 started, 83249 done, 83249 succeeded, 0 failed, 0 errored, 0 timeout
status codes: 83255 2xx, 0 3xx, 0 4xx, 0 5xx
traffic: 7.04MB (7380264) total, 3.91MB (4096000) headers (space savings 50.00%), 1.84MB (1929000) data
                     min         max         mean         sd        +/- sd
time for request:       61us      9.21ms       436us       856us    97.40%
"""
BROKEN = GOOD.replace("0 failed, 0 errored, 0 timeout", "9 failed, 6 errored, 3 timeout")
REFUSED = GOOD.replace("0 4xx, 0 5xx", "70 4xx, 7 5xx")


class Parser(unittest.TestCase):
    def test_the_requests_and_their_rate_are_read(self):
        outcome = Load.parse(GOOD)
        self.assertEqual((outcome.requests, outcome.requests_per_second), (83249, 41624.5))
        self.assertEqual((outcome.bad_statuses, outcome.socket_errors), (0, 0))

    def test_error_statuses_and_broken_streams_are_counted(self):
        self.assertEqual(Load.parse(REFUSED).bad_statuses, 77)
        self.assertEqual(Load.parse(BROKEN).socket_errors, 9)

    def test_the_servers_cpu_is_divided_by_the_requests(self):
        self.assertAlmostEqual(Load.parse(GOOD).metrics(0.83249)["server_cpu_us_per_request"], 10)

    def test_another_protocol_is_an_error(self):
        with self.assertRaisesRegex(Failed, "HTTP/2"):
            Load.parse(GOOD.replace("protocol: h2", "protocol: http/1.1"))
        with self.assertRaisesRegex(Failed, "TLS 1.3"):
            Load.parse(GOOD.replace("TLSv1.3", "TLSv1.2"))

    def test_output_that_is_not_h2loads_is_an_error(self):
        for text in ("unable to connect", GOOD.replace("requests:", "asked:")):
            with self.assertRaises(Failed):
                Load.parse(text)


class CommandLine(unittest.TestCase):
    def test_all_pages_are_asked_for_by_the_method(self):
        running = Running(Origin(9000, Path("ca.pem")), [], "/users/user%d", "OPTIONS")
        command = Load(2, 8, 16).command(running, 5)
        self.assertEqual(command[:5], ["h2load", "-t2", "-c8", "-m16", "-D5"])
        self.assertEqual(command[5:8], ["--tls13-ciphers=TLS_AES_256_GCM_SHA384", "-H", ":method: OPTIONS"])
        self.assertEqual(command[8], "https://127.0.0.1:9000/users/user1")
        self.assertEqual(len(command), 8 + 1000)
