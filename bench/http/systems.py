"""The systems: how each is built and started."""

import os
from collections.abc import Callable
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.harness.deadline import wait_until
from bench.harness.processes import Failed, Service, free_port, run
from bench.http import answers, nginx, redis
from bench.http.certificates import certificate
from bench.http.howdah import serving
from bench.http.nginx import Nginx, NginxFiles
from bench.http.running import Running, accepts

PEERS = Path(__file__).resolve().parent / "peers"
NODE = PEERS / "node"
AXUM = PEERS / "axum"


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
    asks_redis: bool = False
    """Whether it has a Redis in front of PostgreSQL."""

    @contextmanager
    def started(self, case, cluster):
        """Starts the server and gives it as a `Running`."""
        made = certificate(cluster, case.certificate) if case.certificate else None
        origin = answers.Origin(free_port(), made and made.authority)
        env = {
            **cluster.environment("peer", self.over),
            "PORT": str(origin.port),
            "NODE_ENV": "production",
            **({"TLS_CERTIFICATE": str(made.chain), "TLS_KEY": str(made.key)} if made else {}),
            **dict(self.env),
        }
        log = cluster.folder / f"{self.name}.log"
        with ExitStack() as started:
            roots = [cluster.pid]
            if self.asks_redis:
                socket, pid = started.enter_context(redis.serving(cluster))
                env["REDIS"] = f"redis+unix://{socket}"
                roots.append(pid)
            service = started.enter_context(Service(list(self.command), log, env=env, cwd=self.folder))
            wait_until(lambda: accepts(origin), 20, f"{self.name} to listen", service)
            case.check(origin, cluster)
            yield Running(origin, [service.pid, *roots], case.path, case.method)


@dataclass(frozen=True)
class Howdah:
    """Howdah inside the measured PostgreSQL."""

    name: str
    inline: str = "on"
    """The setting `howdah.inline`."""
    method: str | None = None
    """What is asked for of the case's path, if it is not what the case asks for."""
    check: Callable | None = None
    """What looks at the answers, if not the case."""
    clear: bool = False
    """Whether it speaks clear text also where the case asks by TLS."""
    gateways: int = 1
    """The setting `howdah.gateways`."""

    @contextmanager
    def started(self, case, cluster):
        """Registers what the case needs and gives the gateways as a `Running`."""
        check = self.check or case.check
        by_tls = case.certificate and not self.clear
        made = certificate(cluster, case.certificate) if by_tls else None
        with serving(cluster, case.howdah, self.inline, self.gateways, made) as port:
            origin = answers.Origin(port, made and made.authority)
            wait_until(lambda: accepts(origin), 20, "the gateway to listen", cluster.service)
            wait_until(
                lambda: _passes(check, origin, cluster), 5, "the routes to take effect", cluster.service
            )
            check(origin, cluster)
            yield Running(origin, [cluster.pid], case.path, self.method or case.method)


SYSTEMS = {
    system.name: system
    for system in (
        Howdah("howdah"),
        Howdah("howdah_own_transaction", inline="transaction"),
        Howdah("howdah_executors", inline="off"),
        Howdah("howdah_constant", method="OPTIONS", check=answers.options),
        Howdah("howdah_clear", clear=True),
        Howdah("howdah_two_gateways", gateways=2),
        Peer("node_tcp", ("node", "server.js"), NODE, over="tcp"),
        Peer("node_unix", ("node", "server.js"), NODE),
        Peer("node_unix_cluster2", ("node", "cluster.js"), NODE),
        Peer("node_unix_pipelined", ("node", "server.js"), NODE, env=(("PIPELINE", "1"),)),
        Peer(
            "node_techempower",
            ("node", "cluster.js"),
            NODE,
            env=(("SERVER", "./techempower.js"), ("PIPELINE", "1")),
        ),
        Peer("express_ejs", ("node", "express.js"), NODE),
        Peer("express_ejs_cluster2", ("node", "cluster.js"), NODE, env=(("SERVER", "./express.js"),)),
        Peer("express_ejs_pipelined", ("node", "express.js"), NODE, env=(("PIPELINE", "1"),)),
        Peer("axum_pipelined", ("target/release/axum_pipelined",), AXUM),
        Peer("axum_pipelined_per_core", ("target/release/axum_pipelined_per_core",), AXUM),
        Peer("axum_techempower", ("target/release/axum_techempower",), AXUM),
        Peer("axum_pool", ("target/release/axum_pool",), AXUM),
        Peer("axum_redis", ("target/release/axum_redis",), AXUM, asks_redis=True),
        Nginx(),
        NginxFiles(),
    )
}


def prepare(names):
    """Installs and builds what the named systems need."""
    if Nginx.name in names or NginxFiles.name in names:
        nginx.prepare()
    if any(getattr(SYSTEMS[name], "asks_redis", False) for name in names):
        redis.prepare()
    folders = {SYSTEMS[name].folder for name in names if isinstance(SYSTEMS[name], Peer)}
    if NODE in folders:
        print("installing the packages of the Node peers", flush=True)
        run(["npm", "ci", "--no-audit", "--no-fund"], cwd=NODE)
    if AXUM in folders:
        print("building the axum peers", flush=True)
        cargo = os.environ.get("CARGO", "cargo")
        run([cargo, "build", "--release", "--target-dir", str(AXUM / "target")], cwd=AXUM)


def _passes(check, origin, cluster):
    try:
        check(origin, cluster)
        return True
    except (Failed, OSError):
        return False
