"""nginx as a peer: what TLS and HTTP cost where no application is behind them."""

import os
import shutil
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from string import Template

from bench.harness.deadline import wait_until
from bench.harness.processes import Failed, Service, free_port, run
from bench.http import answers, static_files
from bench.http.certificates import certificate
from bench.http.running import Running, accepts

FILES_CONFIGURATION = Path(__file__).resolve().parent / "peers" / "nginx" / "files.conf"
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


@dataclass(frozen=True)
class NginxFiles:
    """An nginx that serves files, as its documentation recommends for speed: open files and what is packed are remembered."""

    name: str = "nginx_files"

    @contextmanager
    def started(self, case, cluster):
        """Starts nginx and gives it as a `Running`."""
        made = certificate(cluster, case.certificate) if case.certificate else None
        origin = answers.Origin(free_port(), made and made.authority)
        folder = cluster.folder / "nginx_files"
        files = folder / "static"
        static_files.write(files, packed=True)
        run(["chmod", "-R", "a+rX", str(folder)], cwd=cluster.folder)
        tls = (
            f"ssl_certificate {made.chain}; ssl_certificate_key {made.key}; ssl_protocols TLSv1.3;"
            if made
            else ""
        )
        file = folder / "nginx.conf"
        text = Template(FILES_CONFIGURATION.read_text())
        file.write_text(text.substitute(port=origin.port, ssl="ssl" if made else "", tls=tls, root=folder))
        command = [_program(), "-e", "stderr", "-p", str(folder), "-c", str(file)]
        run(["chown", "-R", "postgres", str(folder)], cwd=cluster.folder)
        log = cluster.folder / "nginx_files.log"
        with Service(command, log, cwd=folder, account=cluster.account) as service:
            wait_until(lambda: accepts(origin), 20, "nginx to listen", service)
            case.check(origin, cluster)
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
