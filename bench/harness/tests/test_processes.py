"""Servers are stopped whatever happens."""

import sys
import tempfile
import unittest
from pathlib import Path

from bench.harness.deadline import wait_until
from bench.harness.processes import Failed, Service, run

# A server whose child is in its process group and outlives it unless it is ended too.
PARENT = "import signal, subprocess; print(subprocess.Popen(['sleep', '60']).pid, flush=True); signal.pause()"


class Services(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.log = Path(folder.name) / "log"

    def test_a_failure_in_the_block_leaves_neither_the_server_nor_its_children(self):
        with (
            self.assertRaises(ZeroDivisionError),
            Service([sys.executable, "-c", PARENT], self.log) as service,
        ):
            wait_until(lambda: self.log.read_text().endswith("\n"), 10, "the child", service)
            raise ZeroDivisionError
        child = int(self.log.read_text())
        wait_until(lambda: not _runs(child), 10, "the child to end")
        self.assertFalse(_runs(service.pid))

    def test_waiting_for_a_server_that_has_ended_shows_its_log(self):
        with (
            Service([sys.executable, "-c", "print('no such table')"], self.log) as service,
            self.assertRaisesRegex(Failed, "no such table"),
        ):
            wait_until(lambda: False, 10, "nothing", service)

    def test_a_failed_command_shows_what_it_printed(self):
        with self.assertRaisesRegex(Failed, "out of paper"):
            run([sys.executable, "-c", "import sys; sys.exit('out of paper')"])


def _runs(pid):
    """Whether a process is there and not a zombie that nobody has waited for yet."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat[stat.rindex(")") + 2] != "Z"
