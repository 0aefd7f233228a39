"""Runs wrk and reads what it prints."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from bench.harness.processes import Failed
from bench.http.load import require

SCRIPTS = Path(__file__).resolve().parent / "scripts"
MICROSECONDS = {"us": 1, "ms": 1_000, "s": 1_000_000, "m": 60_000_000}


@dataclass(frozen=True)
class Load:
    """The threads and connections of wrk, and the Lua script that makes the requests."""

    threads: int
    connections: int
    script: str = "get.lua"
    tool: ClassVar = "wrk"
    keeps_connections: ClassVar = True

    def __str__(self):
        return f"-t{self.threads} -c{self.connections}"

    @staticmethod
    def prepare():
        """Raises if it is not installed."""
        require("wrk", "wrk")

    def command(self, running, seconds):
        """wrk's command line for a running system, in whose path the script may replace %d."""
        load = [f"-t{self.threads}", f"-c{self.connections}", f"-d{seconds}s", "--latency"]
        script = ["-s", str(SCRIPTS / self.script)]
        return ["wrk", *load, *script, running.origin.url(""), "--", running.path, running.method]

    @staticmethod
    def parse(text):
        """Reads the output of `wrk --latency`."""
        return Outcome(
            requests=int(_find(r"(\d+) requests in ", text)),
            requests_per_second=float(_find(r"Requests/sec:\s+([\d.]+)", text)),
            p50_us=_latency(50, text),
            p99_us=_latency(99, text),
            bad_statuses=int(_find(r"Non-2xx or 3xx responses: (\d+)", text, "0")),
            socket_errors=_socket_errors(text),
        )


@dataclass(frozen=True)
class Outcome:
    """What wrk counted."""

    requests: int
    requests_per_second: float
    p50_us: float
    p99_us: float
    bad_statuses: int
    socket_errors: int

    def metrics(self, cpu_seconds):
        """The figures of the results, the server's CPU seconds among them."""
        return {
            "requests_per_second": self.requests_per_second,
            "server_cpu_us_per_request": cpu_seconds * 1e6 / self.requests,
            "p50_us": self.p50_us,
            "p99_us": self.p99_us,
        }


def _find(pattern, text, default=None):
    found = re.search(pattern, text)
    if found:
        return found.group(1)
    if default is None:
        raise Failed(f"wrk's output has no {pattern!r}:\n{text}")
    return default


def _latency(percentile, text):
    found = re.search(rf"^\s+{percentile}%\s+([\d.]+)(us|ms|s|m) *$", text, re.MULTILINE)
    if not found:
        raise Failed(f"wrk's output has no latency of {percentile} %:\n{text}")
    return float(found.group(1)) * MICROSECONDS[found.group(2)]


def _socket_errors(text):
    line = _find(r"Socket errors: (.*)", text, "")
    return sum(int(number) for number in re.findall(r"\d+", line))
