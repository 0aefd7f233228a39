"""Sends records at a rate over the acknowledged protocol, and measures how long acknowledgements take."""

import json
import select
import time
from collections import deque

from bench.harness.processes import Failed
from bench.queue.ladder import QUEUE
from bench.queue.senders import connected

TICK_SECONDS = 0.001
WAIT_SECONDS = 30


def measure(port, lines, rate, seconds):
    """p50 and p99 in microseconds over all records, and how many there were."""
    with connected(port) as connection:
        acknowledgements = _Acknowledgements(connection)
        hello = {"v": 1, "queue": QUEUE, "producer": f"latency-{rate}", "epoch": 1}
        connection.sendall(json.dumps({"$hello": hello}).encode() + b"\n")
        acknowledgements.await_hello()
        count = _send(connection, acknowledgements, lines, rate, max(1, rate * seconds))
        acknowledgements.await_all(count)
    return *_percentiles(acknowledgements.waited), count


def _send(connection, acknowledgements, lines, rate, count):
    """Sends what is due at each tick, in one write; how many records."""
    sent, begin = 0, time.monotonic()
    while sent < count:
        due = min(count, 1 + int((time.monotonic() - begin) * rate))
        if due > sent:
            connection.sendall(b"".join(lines[number % len(lines)] for number in range(sent, due)))
            # The moment of the last byte; the first of a tick's records waits for the others, by less than a tick.
            acknowledgements.sent.append((due, due - sent, time.monotonic()))
            sent = due
        next_due = begin + sent / rate
        acknowledgements.hear(max(TICK_SECONDS, min(next_due - time.monotonic(), 0.05)))
    return sent


class _Acknowledgements:
    """What the server says, with the times since the records were sent."""

    def __init__(self, connection):
        self.connection = connection
        self.sent = deque()
        """Last sequence, records and moment of each write."""
        self.waited = []
        """Seconds and records."""
        self.rest = b""
        self.said_hello = False

    def hear(self, seconds):
        """Hears what comes within so many seconds, at least once."""
        until = time.monotonic() + seconds
        while select.select([self.connection], [], [], max(0, until - time.monotonic()))[0]:
            more = self.connection.recv(1 << 16)
            now = time.monotonic()
            if not more:
                raise Failed("latency: the server closed the connection")
            *lines, self.rest = (self.rest + more).split(b"\n")
            for line in lines:
                self._note(json.loads(line), now)

    def await_hello(self):
        """Waits for the server's hello."""
        self._await(lambda: self.said_hello)

    def await_all(self, count):
        """Waits until all that was sent is acknowledged."""
        self._await(lambda: sum(records for _, records in self.waited) >= count)

    def _await(self, condition):
        until = time.monotonic() + WAIT_SECONDS
        while not condition():
            if time.monotonic() > until:
                raise Failed("latency: the server is silent")
            self.hear(0.05)

    def _note(self, said, now):
        self.said_hello |= "$hello" in said
        if "$error" in said or "$reject" in said:
            raise Failed(f"latency: {said}")
        sequence = said.get("$ack", 0)
        while self.sent and self.sent[0][0] <= sequence:
            _, records, moment = self.sent.popleft()
            self.waited.append((now - moment, records))


def _percentiles(waited):
    """The median and the 99th percentile of all records, in microseconds."""
    waited = sorted(waited)
    total = sum(records for _, records in waited)
    found = []
    for share in (0.5, 0.99):
        passed = 0
        for seconds, records in waited:
            passed += records
            if passed >= share * total:
                found.append(seconds * 1e6)
                break
    return found
