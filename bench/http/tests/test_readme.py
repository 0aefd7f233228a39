"""The figures of the README are those of the results."""

import json
import re
import unittest
from pathlib import Path

PROJECT = Path(__file__).parents[3]


def cpu(system: str) -> float:
    """The CPU of all server processes for one look-up by key, in microseconds, as it was measured."""
    rows = json.loads((PROJECT / "bench/results/http.json").read_text())
    [row] = [
        row
        for row in rows
        if (row["case"], row["system"], row["metric"]) == ("users", system, "server_cpu_us_per_request")
    ]
    return row["median"]


class Figures(unittest.TestCase):
    def test_the_first_screen_says_what_was_measured(self):
        readme = " ".join((PROJECT / "README.md").read_text().split())
        said = re.search(
            r"A look-up by key costs the server ([\d.]+) µs of CPU: ([\d.]+) times less than Node with a pool, "
            r"([\d.]+) times less than axum",
            readme,
        )
        howdah = cpu("howdah")
        # The fastest form that axum has, and Node's pool over the faster of its sockets.
        axum = min(map(cpu, ["axum_pipelined", "axum_pipelined_per_core", "axum_pool"]))
        node = min(map(cpu, ["node_unix", "node_tcp"]))
        measured = [howdah, node / howdah, axum / howdah]
        self.assertEqual([f"{figure:.1f}" for figure in measured], list(said.groups()))
