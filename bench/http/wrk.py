"""Runs wrk and reads what it prints."""

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from bench.harness.processes import Failed

SCRIPTS = Path(__file__).resolve().parent / "scripts"
MICROSECONDS = {"us": 1, "ms": 1_000, "s": 1_000_000, "m": 60_000_000}


@dataclass(frozen=True)
class Load:
    """The threads and connections of wrk, and the Lua script that makes the requests."""

    threads: int
    connections: int
    script: str = "get.lua"

    def __str__(self):
        return f"-t{self.threads} -c{self.connections}"

    def command(self, running, seconds):
        """wrk's command line for a running system, in whose path the script may replace %d."""
        load = [f"-t{self.threads}", f"-c{self.connections}", f"-d{seconds}s", "--latency"]
        address = f"http://127.0.0.1:{running.port}"
        return ["wrk", *load, "-s", str(SCRIPTS / self.script), address, "--", running.path, running.method]


@dataclass(frozen=True)
class Outcome:
    """What wrk counted."""

    requests: int
    requests_per_second: float
    p50_us: float
    p99_us: float
    bad_statuses: int
    socket_errors: int


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


def measure(load, running, seconds, halfway=None):
    """Runs wrk for `seconds`, calls `halfway()` in the middle, and returns the outcome."""
    try:
        process = subprocess.Popen(
            load.command(running, seconds), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
    except FileNotFoundError as error:
        raise Failed("wrk is needed: apt-get install wrk") from error
    try:
        output = _output(process, seconds, halfway)
    finally:
        process.kill()
        process.wait()
    if process.returncode != 0:
        raise Failed(f"wrk ended with {process.returncode}:\n{output}")
    return parse(output)


def _output(process, seconds, halfway):
    if halfway:
        try:
            return process.communicate(timeout=seconds / 2)[0]
        except subprocess.TimeoutExpired:
            halfway()
    return process.communicate(timeout=seconds + 60)[0]


def _find(pattern, text, default=None):
    found = re.search(pattern, text)
    if found:
        return found.group(1)
    if default is None:
        raise Failed(f"wrk's output has no {pattern!r}:\n{text}")
    return default


def _latency(percentile, text):
    found = re.search(rf"^\s+{percentile}%\s+([\d.]+)(us|ms|s|m)$", text, re.MULTILINE)
    if not found:
        raise Failed(f"wrk's output has no latency of {percentile} %:\n{text}")
    return float(found.group(1)) * MICROSECONDS[found.group(2)]


def _socket_errors(text):
    line = _find(r"Socket errors: (.*)", text, "")
    return sum(int(number) for number in re.findall(r"\d+", line))
