import json
import socket
import threading
import unittest

from bench.queue import latency


def _serve(listener, delay_lines):
    """Says hello, then acknowledges every line that came `delay_lines` before the last."""
    connection, _ = listener.accept()
    with connection:
        lines = connection.makefile("rb")
        hello = json.loads(lines.readline())
        connection.sendall(b'{"$hello": {"v": 1, "sequence": 0}}\n' if "$hello" in hello else b"no\n")
        for count, _ in enumerate(lines, 1):
            connection.sendall(b'{"$ack": %d}\n' % max(0, count - delay_lines))
            if count == 100:
                connection.sendall(b'{"$ack": 100}\n')


class LatencyTest(unittest.TestCase):
    def measured(self, delay_lines):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            threading.Thread(target=_serve, args=(listener, delay_lines), daemon=True).start()
            return latency.measure(listener.getsockname()[1], [b"{}\n"], rate=100, seconds=1)

    def test_a_record_is_measured_from_its_last_byte_to_its_acknowledgement(self):
        p50, p99, count = self.measured(delay_lines=0)
        self.assertEqual(count, 100)
        self.assertLess(p50, 5_000)
        self.assertLessEqual(p50, p99)

    def test_an_acknowledgement_that_waits_for_ten_more_records_takes_as_long_as_they(self):
        # At 100 records a second, ten of them take 100 ms.
        p50, _, _ = self.measured(delay_lines=10)
        self.assertGreater(p50, 80_000)

    def test_percentiles_count_records_and_not_writes(self):
        self.assertEqual(latency._percentiles([(0.001, 98), (0.5, 2)]), [1000.0, 500000.0])


if __name__ == "__main__":
    unittest.main()
