"""What is read from /proc."""

import os
import socket
import subprocess
import sys
import time
import unittest
from contextlib import contextmanager

from bench.harness.accounting import (
    CLOCK_TICKS,
    Stat,
    Window,
    connections_per_process,
    cpu_seconds,
    established,
    machine_seconds,
)

BURN = "import time\nwhile time.process_time() < 0.3: pass"
TCP = """  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:2328 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 100 1
   1: 0100007F:2328 0100007F:D431 01 00000000:00000000 00:00000000 00000000     0        0 101 1
   2: 0100007F:D431 0100007F:2328 01 00000000:00000000 00:00000000 00000000     0        0 102 1
"""


class StatLine(unittest.TestCase):
    def test_a_name_with_spaces_and_parentheses_does_not_shift_the_fields(self):
        stat = Stat("7 (a) b (c) S 3 7 7 0 -1 0 0 0 0 0 11 22 33 44 20 0 1 0 5 0 0")
        self.assertEqual((stat.parent, stat.ticks), (3, 110))


class Connections(unittest.TestCase):
    def test_only_established_sockets_of_the_local_port_count(self):
        self.assertEqual(established(TCP.splitlines(), 9000), {"101"})

    def test_a_process_is_counted_with_its_accepted_connections(self):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port = listener.getsockname()[1]
            with socket.create_connection(("127.0.0.1", port)), listener.accept()[0]:
                self.assertEqual(connections_per_process([os.getpid()], port), [1])


class CpuTime(unittest.TestCase):
    def test_stolen_time_counts_as_taken_and_waiting_for_the_disk_does_not(self):
        taken, total = machine_seconds("cpu  10 20 30 400 500 6 7 40 0 0")
        self.assertAlmostEqual(taken * CLOCK_TICKS, 100)
        self.assertAlmostEqual(total * CLOCK_TICKS, 1013)

    def test_the_window_gives_the_time_of_the_trees(self):
        window = Window([os.getpid()])
        until = time.process_time() + 0.1
        while time.process_time() < until:
            pass
        ours, elsewhere = window.close()
        self.assertGreaterEqual(ours, 0.08)
        self.assertTrue(0 <= elsewhere <= 100)

    def test_the_time_of_a_child_that_has_ended_is_kept(self):
        before = cpu_seconds([os.getpid()])
        subprocess.run([sys.executable, "-c", BURN], check=True)
        self.assertGreaterEqual(cpu_seconds([os.getpid()]) - before, 0.28)

    def test_the_time_of_a_child_that_lives_counts_for_its_parent_and_for_nobody_beside_it(self):
        script = BURN + "\nprint('burnt', flush=True)\nimport sys; sys.stdin.read()"
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        with subprocess.Popen([sys.executable, "-c", script], **pipes) as child, idle_process() as other:
            child.stdout.readline()
            self.assertGreaterEqual(cpu_seconds([child.pid]), 0.28)
            self.assertGreaterEqual(cpu_seconds([os.getpid()]), cpu_seconds([child.pid]))
            self.assertLess(cpu_seconds([other.pid]), 0.28)
            child.stdin.close()


@contextmanager
def idle_process():
    """A process that does nothing."""
    with subprocess.Popen(["sleep", "60"]) as process:
        try:
            yield process
        finally:
            process.kill()
