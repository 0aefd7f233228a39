"""Runs h2load, which speaks HTTP/2, and reads what it prints."""

import re
from dataclasses import dataclass
from typing import ClassVar

from bench.harness.processes import Failed
from bench.http.load import require

PAGES = 1000
# What wrk asks for first. By itself h2load would ask for another one first, and only some servers do as they are asked.
CIPHER = "TLS_AES_256_GCM_SHA384"


@dataclass(frozen=True)
class Load:
    """The threads and connections of h2load, and how many streams are in flight on each connection."""

    threads: int
    connections: int
    streams: int
    tool: ClassVar = "h2load"
    keeps_connections: ClassVar = True

    def __str__(self):
        return f"-t{self.threads} -c{self.connections} -m{self.streams}"

    @staticmethod
    def prepare():
        """Raises if it is not installed."""
        require("h2load", "nghttp2-client")

    def command(self, running, seconds):
        """h2load's command line for a running system: every connection asks for the pages in turn."""
        pages = [running.origin.url(running.path.replace("%d", str(page))) for page in range(1, PAGES + 1)]
        method = ["-H", f":method: {running.method}"]
        return ["h2load", *str(self).split(), f"-D{seconds}", f"--tls13-ciphers={CIPHER}", *method, *pages]

    @staticmethod
    def parse(text):
        """Reads what h2load prints at the end."""
        if _find(r"^Application protocol: (\S+)$", text) != "h2":
            raise Failed(f"h2load did not speak HTTP/2:\n{text}")
        if _find(r"^TLS Protocol: (\S+)$", text) != "TLSv1.3":
            raise Failed(f"h2load did not speak TLS 1.3:\n{text}")
        requests = re.search(
            r"^requests: .* (\d+) done, .* (\d+) errored, (\d+) timeout$", text, re.MULTILINE
        )
        statuses = re.search(r"^status codes: \d+ 2xx, \d+ 3xx, (\d+) 4xx, (\d+) 5xx$", text, re.MULTILINE)
        if not requests or not statuses:
            raise Failed(f"h2load's output has no requests and status codes:\n{text}")
        done, errored, late = map(int, requests.groups())
        rate = float(_find(r"^finished in \S+, ([\d.]+) req/s", text))
        return Outcome(done, rate, sum(map(int, statuses.groups())), errored + late)


@dataclass(frozen=True)
class Outcome:
    """What h2load counted. It has no percentiles of the latency."""

    requests: int
    requests_per_second: float
    bad_statuses: int
    socket_errors: int

    def metrics(self, cpu_seconds):
        """The figures of the results, the server's CPU seconds among them."""
        return {
            "requests_per_second": self.requests_per_second,
            "server_cpu_us_per_request": cpu_seconds * 1e6 / self.requests,
        }


def _find(pattern, text):
    found = re.search(pattern, text, re.MULTILINE)
    if not found:
        raise Failed(f"h2load's output has no {pattern!r}:\n{text}")
    return found.group(1)
