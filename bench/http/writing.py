"""Commits to the table beside the load, and how old the answers are that one client gets meanwhile."""

import http.client
import re
import statistics
import subprocess
import threading
import time
from contextlib import contextmanager

from bench.harness.cluster import DATABASE, SUPERUSER
from bench.harness.processes import Failed

ROW = 501
"""The person whose name is written: the first of the page that is asked for."""
PAGE = f"/people/{ROW - 1}"
LOOK_SECONDS = 0.02


class Writing:
    """What was committed, and what was seen of it."""

    def __init__(self):
        self.committed = []
        """When each name was known to be committed."""
        self.took = []
        """Seconds that each commit took."""
        self.ages = []
        """For how many seconds each answer was no longer true when it was asked for."""
        self.failures = []

    def metrics(self):
        """The figures of the results by name."""
        return {
            "commits_per_second": len(self.took) / max(self.committed[-1] - self.committed[0], 1e-9),
            "commit_us": statistics.median(self.took) * 1e6,
            "oldest_answer_ms": max(self.ages) * 1e3,
        }


@contextmanager
def writing(cluster, port, per_second):
    """Commits another name of the person so often while the block runs, and looks at the page; gives a `Writing`."""
    state, stop = Writing(), threading.Event()
    threads = [
        threading.Thread(target=_guarded, args=(state, _write, cluster, state, stop, per_second)),
        threading.Thread(target=_guarded, args=(state, _look, port, state, stop)),
    ]
    for thread in threads:
        thread.start()
    try:
        yield state
    finally:
        stop.set()
        for thread in threads:
            thread.join()
        cluster.sql(f"update people set name = 'Name {ROW}' where id = {ROW}")
    if state.failures or not state.ages or not state.took:
        raise Failed(f"what was to write beside the load failed: {state.failures or 'nothing was seen'}")


def _guarded(state, work, *arguments):
    try:
        work(*arguments)
    except (OSError, http.client.HTTPException, ValueError, Failed) as error:
        state.failures.append(error)


def _write(cluster, state, stop, per_second):
    command = [cluster.programs / "psql", "-XqAt", "-v", "ON_ERROR_STOP=1", "-U", SUPERUSER, "-d", DATABASE]
    command = [*map(str, command), "-h", str(cluster.folder), "-p", str(cluster.port)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as psql:
        due = time.monotonic()
        while not stop.is_set():
            number, begun = len(state.committed), time.monotonic()
            psql.stdin.write(f"update people set name = 'Name v{number}' where id = {ROW};\n\\echo done\n")
            psql.stdin.flush()
            if psql.stdout.readline().strip() != "done":
                raise Failed("psql has ended")
            now = time.monotonic()
            state.committed.append(now)
            state.took.append(now - begun)
            due += 1 / per_second
            stop.wait(max(0.0, due - now))
        psql.stdin.close()


def _look(port, state, stop):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    while not stop.wait(LOOK_SECONDS):
        asked = time.monotonic()
        connection.request("GET", PAGE)
        response = connection.getresponse()
        body = response.read().decode()
        found = re.search(r'"name": ?"Name v(\d+)"', body)
        if response.status != 200:
            raise Failed(f"{PAGE} answered {response.status}")
        if found:
            newer = state.committed[int(found[1]) + 1 : int(found[1]) + 2]
            state.ages.append(max([0.0, *(asked - committed for committed in newer)]))
    connection.close()
