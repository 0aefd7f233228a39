"""Waiting for a condition, with a limit."""

import time

from bench.harness.processes import PAUSE_SECONDS, Failed, log_tail


def wait_until(condition, seconds, what, service=None):
    """Returns as soon as `condition()` is true; raises when `service` ends before, or after `seconds`."""
    until = time.monotonic() + seconds
    while not condition():
        if service:
            service.ensure_alive()
        if time.monotonic() > until:
            log = f"\n{log_tail(service.log)}" if service else ""
            raise Failed(f"waited {seconds} s in vain for {what}{log}")
        time.sleep(PAUSE_SECONDS)
