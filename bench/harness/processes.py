"""Starts server processes and makes sure that none is left behind."""

import os
import signal
import socket
import subprocess
import time
from contextlib import contextmanager

STOP_SECONDS = 20
PAUSE_SECONDS = 0.02


class Failed(Exception):
    """Something the user should read in one piece, without a traceback."""


class Service:
    """One server process in a session of its own, so that Ctrl-C at the terminal reaches the driver alone."""

    def __init__(self, command, log, env=None, cwd=None, stop_signal=signal.SIGTERM, account=None):
        """`log` is the file for its output; `account` are Popen's arguments for the user it runs as."""
        self.command, self.log, self.env, self.cwd = command, log, env, cwd
        self.stop_signal, self.account = stop_signal, account or {}
        self.process = None

    def __enter__(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                self.command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**os.environ, **(self.env or {})},
                cwd=self.cwd,
                start_new_session=True,
                **self.account,
            )
        return self

    def __exit__(self, *_):
        with _uninterrupted():
            self._stop()

    @property
    def pid(self):
        """The process id of the leader."""
        return self.process.pid

    def ensure_alive(self):
        """Raises with the end of the log if the process has ended."""
        if self._ended():
            raise Failed(f"{self.command[0]} ended:\n{log_tail(self.log)}")

    def _ended(self):
        # It stays a zombie until `_stop` has signalled its group: until then nobody else gets its number.
        return os.waitid(os.P_PID, self.process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def _stop(self):
        os.kill(self.process.pid, self.stop_signal)
        until = time.monotonic() + STOP_SECONDS
        while not self._ended():
            if time.monotonic() > until:
                print(f"{self.command[0]} did not stop within {STOP_SECONDS} s and is killed", flush=True)
                break
            time.sleep(PAUSE_SECONDS)
        # What the leader left behind, or the leader itself.
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


@contextmanager
def _uninterrupted():
    """Holds signals back while a server stops: a second Ctrl-C would leave it running."""
    held = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, held)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def interrupt_on_termination():
    """Lets SIGTERM and SIGHUP unwind the driver as Ctrl-C does."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)


def run(command, **arguments):
    """Runs a command to its end and returns what it printed; raises with all of it if it failed."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, **arguments)
    except FileNotFoundError as error:
        raise Failed(f"{error.filename} is needed and was not found") from error
    if done.returncode != 0:
        raise Failed(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def free_port():
    """A TCP port of the loopback interface that nobody uses at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def log_tail(path, lines=20):
    """The last lines of a log."""
    with open(path, errors="replace") as log:
        return "".join(log.readlines()[-lines:])
