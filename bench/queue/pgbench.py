"""Runs statements inside the server again and again."""

import os
import re
import tempfile
from pathlib import Path

from bench.harness.processes import run


def pgbench(cluster, scripts, clients, *arguments):
    """Transactions per second, and milliseconds of each, of scripts with their weights, or of one script."""
    if isinstance(scripts, str):
        scripts = {scripts: 1}
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for number, (script, weight) in enumerate(scripts.items()):
            path = Path(folder) / f"script{number}.sql"
            path.write_text(script + ";\n")
            files += ["-f", f"{path}@{weight}"]
        command = [str(cluster.programs / "pgbench"), "-n", "-c", str(clients), "-j", "1", *files]
        env = {**os.environ, **cluster.environment("postgres", "unix")}
        output = run([*command, *map(str, arguments)], env=env)
    rate = float(re.search(r"tps = ([0-9.]+) \(without", output).group(1))
    return rate, float(re.search(r"latency average = ([0-9.]+) ms", output).group(1))
