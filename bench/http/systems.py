"""The systems: how each is built and started."""

import os
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.harness.deadline import wait_until
from bench.harness.processes import Failed, Service, free_port, run
from bench.http import answers
from bench.http.howdah import serving

PEERS = Path(__file__).resolve().parent / "peers"
NODE = PEERS / "node"
AXUM = PEERS / "axum"


@dataclass(frozen=True)
class Running:
    """A system that is ready to be measured."""

    port: int
    roots: list
    """The process ids whose trees do its work, PostgreSQL's included."""
    path: str
    """What wrk asks for."""
    method: str = "GET"
    """How wrk asks, if the load's script leaves it open."""


@dataclass(frozen=True)
class Peer:
    """A server of its own that connects to PostgreSQL."""

    name: str
    command: tuple
    folder: Path
    over: str = "unix"
    """How it reaches PostgreSQL: "unix" or "tcp"."""
    env: tuple = ()
    """Pairs of environment variables and their values."""

    @contextmanager
    def started(self, case, cluster):
        """Starts the server and gives it as a `Running`."""
        port = free_port()
        env = {
            **cluster.environment("peer", self.over),
            "PORT": str(port),
            "NODE_ENV": "production",
            **dict(self.env),
        }
        log = cluster.folder / f"{self.name}.log"
        with Service(list(self.command), log, env=env, cwd=self.folder) as service:
            wait_until(lambda: _accepts(port), 20, f"{self.name} to listen", service)
            case.check(port, cluster)
            yield Running(port, [service.pid, cluster.pid], case.path)


@dataclass(frozen=True)
class Howdah:
    """Howdah inside the measured PostgreSQL."""

    name: str
    inline: str = "on"
    """The setting `howdah.inline`."""
    method: str = "GET"
    """What is asked for of the case's path."""
    check: Callable | None = None
    """What looks at the answers, if not the case."""

    @contextmanager
    def started(self, case, cluster):
        """Registers what the case needs and gives the gateways as a `Running`."""
        check = self.check or case.check
        with serving(cluster, case.howdah, self.inline) as port:
            wait_until(lambda: _accepts(port), 20, "the gateway to listen", cluster.service)
            wait_until(lambda: _passes(check, port, cluster), 5, "the routes to take effect", cluster.service)
            check(port, cluster)
            yield Running(port, [cluster.pid], case.path, self.method)


SYSTEMS = {
    system.name: system
    for system in (
        Howdah("howdah"),
        Howdah("howdah_own_transaction", inline="transaction"),
        Howdah("howdah_executors", inline="off"),
        Howdah("howdah_constant", method="OPTIONS", check=answers.options),
        Peer("node_tcp", ("node", "server.js"), NODE, over="tcp"),
        Peer("node_unix", ("node", "server.js"), NODE),
        Peer("node_unix_cluster2", ("node", "cluster.js"), NODE),
        Peer("node_unix_pipelined", ("node", "server.js"), NODE, env=(("PIPELINE", "1"),)),
        Peer("axum_pipelined", ("target/release/axum_pipelined",), AXUM),
        Peer("axum_pipelined_per_core", ("target/release/axum_pipelined_per_core",), AXUM),
        Peer("axum_pool", ("target/release/axum_pool",), AXUM),
    )
}


def prepare(names):
    """Installs and builds what the named systems need."""
    folders = {SYSTEMS[name].folder for name in names if isinstance(SYSTEMS[name], Peer)}
    if NODE in folders:
        print("installing the packages of the Node peers", flush=True)
        run(["npm", "ci", "--no-audit", "--no-fund"], cwd=NODE)
    if AXUM in folders:
        print("building the axum peers", flush=True)
        cargo = os.environ.get("CARGO", "cargo")
        run([cargo, "build", "--release", "--target-dir", str(AXUM / "target")], cwd=AXUM)


def _accepts(port):
    try:
        answers.fetch(port, "/")
        return True
    except OSError:
        return False


def _passes(check, port, cluster):
    try:
        check(port, cluster)
        return True
    except (Failed, OSError):
        return False
