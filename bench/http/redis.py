"""A Redis in front of PostgreSQL."""

import shutil
from contextlib import contextmanager

from bench.harness.deadline import wait_until
from bench.harness.processes import Failed, Service


def prepare():
    """Raises if it is not installed."""
    if not shutil.which("redis-server"):
        raise Failed("redis-server is needed: apt-get install redis-server")


@contextmanager
def serving(cluster):
    """Runs one that is reached by a UNIX socket alone and writes nothing to disk; its socket and its process id."""
    socket = cluster.folder / "redis.sock"
    command = ["redis-server", "--port", "0", "--unixsocket", str(socket), "--save", "", "--appendonly", "no"]
    with Service(command, cluster.folder / "redis.log", cwd=cluster.folder) as service:
        wait_until(socket.exists, 20, "Redis to listen", service)
        yield socket, service.pid
