"""What load generators have in common, and how one is run."""

import shutil
import subprocess
from typing import Protocol

from bench.harness.processes import Failed


class Outcome(Protocol):
    """What a load generator has counted."""

    requests: int
    bad_statuses: int
    """Answers with a status of 400 or more."""
    socket_errors: int
    """Connections, streams or handshakes that failed."""

    def metrics(self, cpu_seconds):
        """The figures of the results by name, from these counts and the server's CPU seconds."""


class Load(Protocol):
    """A load generator and how much it asks for; `str()` of it stands in the results."""

    tool: str
    """Its name in the results."""
    keeps_connections: bool
    """Whether it has the same connections all the time, so that they can be counted in the middle."""

    @staticmethod
    def prepare():
        """Finds or builds it, or raises."""

    def command(self, running, seconds):
        """The command line for a running system."""

    def parse(self, text) -> Outcome:
        """Reads what it prints."""


def require(program, package):
    """Raises if there is no such program."""
    if not shutil.which(program):
        raise Failed(f"{program} is needed: apt-get install {package}")


def measure(load, running, seconds, halfway=None):
    """Runs the load for `seconds`, calls `halfway()` in the middle, and returns what it has counted."""
    process = subprocess.Popen(
        load.command(running, seconds), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        output = _output(process, seconds, halfway)
    finally:
        process.kill()
        process.wait()
    if process.returncode != 0:
        raise Failed(f"{load.tool} ended with {process.returncode}:\n{output}")
    return load.parse(output)


def _output(process, seconds, halfway):
    if halfway:
        try:
            return process.communicate(timeout=seconds / 2)[0]
        except subprocess.TimeoutExpired:
            halfway()
    return process.communicate(timeout=seconds + 60)[0]
