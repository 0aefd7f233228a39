"""nginx as a peer: what TLS and HTTP cost where no application is behind them."""

import os
import shutil
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from string import Template

from bench.harness.deadline import wait_until
from bench.harness.processes import Failed, Service, free_port, run
from bench.http import answers
from bench.http.certificates import certificate
from bench.http.running import Running, accepts

CONFIGURATION = Path(__file__).resolve().parent / "peers" / "nginx" / "nginx.conf"


@dataclass(frozen=True)
class Nginx:
    """An nginx of its own, which asks no database; as the account of PostgreSQL, which may read the key."""

    name: str = "nginx"

    @contextmanager
    def started(self, case, cluster):
        """Starts nginx and gives it as a `Running`."""
        made = certificate(cluster, case.certificate)
        origin = answers.Origin(free_port(), made.authority)
        folder = cluster.folder / "nginx"
        run(["mkdir", "-p", str(folder)], cwd=cluster.folder, **cluster.account)
        file = folder / "nginx.conf"
        file.write_text(configuration(origin.port, made))
        command = [_program(), "-e", "stderr", "-p", str(folder), "-c", str(file)]
        log = cluster.folder / "nginx.log"
        with Service(command, log, cwd=folder, account=cluster.account) as service:
            wait_until(lambda: accepts(origin), 20, "nginx to listen", service)
            answers.constant_page(origin, cluster)
            yield Running(origin, [service.pid], case.path)


def prepare():
    """Raises if it is not installed."""
    _program()


def _program():
    # Not everyone's path has the folder in which Debian puts it.
    found = shutil.which("nginx", path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin")
    if not found:
        raise Failed("nginx is needed: apt-get install nginx")
    return found


def configuration(port, made):
    """What nginx reads, for a port and a certificate."""
    return Template(CONFIGURATION.read_text()).substitute(port=port, chain=made.chain, key=made.key)
