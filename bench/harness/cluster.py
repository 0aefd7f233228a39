"""A private PostgreSQL for the length of one benchmark, the same for all systems in it."""

import os
import pwd
import shutil
import signal
import tempfile
from contextlib import ExitStack
from pathlib import Path

from bench.harness.deadline import wait_until
from bench.harness.processes import Failed, Service, free_port, run

SUPERUSER = "postgres"
DATABASE = "bench"

# Commits are durable. Checkpoints are kept out of the runs: they would fall on one system and not on another.
SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "fsync": "on",
    "synchronous_commit": "on",
    "full_page_writes": "on",
    "shared_buffers": "256MB",
    "max_wal_size": "8GB",
    "checkpoint_timeout": "1h",
    "max_connections": "100",
    "max_worker_processes": "32",
}


class Cluster:
    """A PostgreSQL server in a temporary folder; use it in a `with` statement."""

    def __init__(self, settings=None):
        """`settings` are added to SETTINGS."""
        self.settings = {**SETTINGS, **(settings or {})}
        self.programs = Path(run([os.environ.get("PG_CONFIG", "pg_config"), "--bindir"]).strip())
        self.account = _server_account()
        self.port = free_port()
        self.folder = self.service = None

    def __enter__(self):
        with ExitStack() as undo:
            self.folder = Path(tempfile.mkdtemp(prefix="howdah-bench-"))
            undo.callback(shutil.rmtree, self.folder, ignore_errors=True)
            self._create()
            self.service = undo.enter_context(self._server())
            wait_until(self._answers, 30, "PostgreSQL to start", self.service)
            self.sql(f"create database {DATABASE}", database="postgres")
            self._undo = undo.pop_all()
        return self

    def __exit__(self, *error):
        return self._undo.__exit__(*error)

    @property
    def pid(self):
        """The postmaster's process id."""
        return self.service.pid

    @property
    def version(self):
        """The server's version, such as 15.14."""
        return self.sql("show server_version").split()[0]

    def sql(self, text, database=DATABASE):
        """Runs SQL as the superuser and returns the rows as psql's unaligned text."""
        command = [self.programs / "psql", "-XqAt", "-v", "ON_ERROR_STOP=1", "-U", SUPERUSER, "-d", database]
        return run([*map(str, command), "-h", str(self.folder), "-p", str(self.port)], input=text).strip()

    def recycle_wal(self, megabytes):
        """Leaves so many megabytes of WAL files to write over, as a server has that has run for a while.

        A server that has just been made writes each file full of zeros before it uses it, and all commits wait.
        """
        self.sql(f"alter system set min_wal_size = '{megabytes}MB'; select pg_reload_conf()")
        self.sql(
            "select count(pg_logical_emit_message(false, 'bench', repeat('x', 1024 * 1024)))"
            f" from generate_series(1, {megabytes})"
        )
        self.sql("checkpoint")

    def environment(self, user, over):
        """libpq's variables for a client that connects over "unix" or over "tcp"."""
        host = {"unix": str(self.folder), "tcp": "127.0.0.1"}[over]
        return {"PGHOST": host, "PGPORT": str(self.port), "PGUSER": user, "PGDATABASE": DATABASE}

    def _create(self):
        data = self.folder / "data"
        data.mkdir()
        # The server's account owns the folder; everyone may pass through it to the socket.
        os.chmod(self.folder, 0o755)
        if self.account:
            shutil.chown(self.folder, self.account["user"])
            shutil.chown(data, self.account["user"])
        initdb = [str(self.programs / "initdb"), "-D", str(data), "-U", SUPERUSER, "-A", "trust"]
        run([*initdb, "-E", "UTF8", "--locale=C.UTF-8", "--no-sync"], cwd=self.folder, **self.account)
        settings = {**self.settings, "port": self.port, "unix_socket_directories": self.folder}
        with open(data / "postgresql.conf", "a") as conf:
            conf.writelines(f"{name} = '{value}'\n" for name, value in settings.items())

    def _server(self):
        return Service(
            [str(self.programs / "postgres"), "-D", str(self.folder / "data")],
            log=self.folder / "server.log",
            cwd=self.folder,
            stop_signal=signal.SIGINT,
            account=self.account,
        )

    def _answers(self):
        try:
            return self.sql("select 1", database="postgres") == "1"
        except Failed:
            return False


def _server_account():
    """Popen's arguments for the account of the server: PostgreSQL refuses to run as root."""
    if os.geteuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        try:
            account = pwd.getpwnam(name)
        except KeyError:
            continue
        return {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
    raise Failed(
        "run as an ordinary user, or make an account named postgres: PostgreSQL refuses to run as root"
    )
