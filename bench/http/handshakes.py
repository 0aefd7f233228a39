"""Runs the client in the folder handshakes/, which connects by TLS anew for each request, and reads what it prints."""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from bench.harness.processes import Failed, run

FOLDER = Path(__file__).resolve().parent / "handshakes"
PROGRAM = FOLDER / "target" / "release" / "handshakes"


@dataclass(frozen=True)
class Load:
    """How many connections there are at a time, and whether a handshake goes on from an earlier one."""

    connections: int
    resumed: bool = False
    tool: ClassVar = "handshakes"
    keeps_connections: ClassVar = False

    def __str__(self):
        return f"{self.connections} at a time, {self._kind}"

    @staticmethod
    def prepare():
        """Builds the client."""
        print("building the client that connects by TLS", flush=True)
        cargo = os.environ.get("CARGO", "cargo")
        run([cargo, "build", "--release", "--target-dir", str(FOLDER / "target")], cwd=FOLDER)

    def command(self, running, seconds):
        """The client's command line for a running system."""
        numbers = map(str, (running.origin.port, seconds, self.connections))
        return [str(PROGRAM), *numbers, self._kind, running.method, running.path]

    def parse(self, text):
        """Reads the object that the client prints last; before it stands why a connection failed."""
        try:
            counted = json.loads(text.strip().rpartition("\n")[2])
            outcome = Outcome(
                counted["handshakes"],
                counted["resumed"],
                counted["seconds"],
                counted["bad_statuses"],
                counted["failed"],
            )
        except (ValueError, KeyError, TypeError) as error:
            raise Failed(f"the client's output is no object of its own:\n{text}") from error
        if outcome.socket_errors:
            raise Failed(f"the client failed to connect:\n{text}")
        if outcome.resumed and not self.resumed:
            raise Failed(f"{outcome.resumed} handshakes were resumed that should have been full")
        return outcome

    @property
    def _kind(self):
        return "resumed" if self.resumed else "full"


@dataclass(frozen=True)
class Outcome:
    """What the client counted: a request for each handshake."""

    requests: int
    resumed: int
    seconds: float
    bad_statuses: int
    socket_errors: int

    def metrics(self, cpu_seconds):
        """The figures of the results. The rate is that of a second of the server's CPU, whatever the client takes."""
        if cpu_seconds <= 0:
            raise Failed("the server used no CPU that /proc shows: measure for longer")
        return {
            "handshakes_per_cpu_second": self.requests / cpu_seconds,
            "handshakes_per_second": self.requests / self.seconds,
            "resumed_percent": 100 * self.resumed / self.requests,
        }
