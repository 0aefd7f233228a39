"""The results of a run: medians with their range, as BENCHMARKS of every area write them."""

import json
import os
import platform
import statistics
import subprocess
from datetime import UTC, datetime
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "results"


class Results:
    """Collects the values of repeated runs and turns them into the objects of the result file."""

    def __init__(self, run, digits=1):
        """`run` tells when, where and of what the measurements are (`describe_run`); `digits` to round to."""
        self.run, self.digits = run, digits
        self._values, self._settings = {}, {}

    def add(self, case, system, metrics, settings, each_run):
        """Adds one run: `metrics` by name, the `settings` that all runs share, what differs in `each_run`."""
        for metric, value in metrics.items():
            self._values.setdefault((case, system, metric), []).append(value)
        known = self._settings.setdefault((case, system), dict(settings))
        for name, value in each_run.items():
            known.setdefault(name, []).append(value)

    def objects(self):
        """One object for each case, system and metric, in the order of their first run."""
        return [
            {
                "case": case,
                "system": system,
                "metric": metric,
                "median": round(statistics.median(values), self.digits),
                "min": round(min(values), self.digits),
                "max": round(max(values), self.digits),
                "runs": len(values),
                "settings": self._settings[case, system],
                "run": self.run,
            }
            for (case, system, metric), values in self._values.items()
        ]


def write(objects, area, whole):
    """Writes AREA.json; a run that is not whole never replaces the committed one. Returns the path."""
    path = (FOLDER if whole else FOLDER / "partial") / f"{area}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    # One object a line: short, and a change shows as a change of that line.
    lines = ",\n".join(json.dumps(entry) for entry in objects)
    path.write_text(f"[\n{lines}\n]\n")
    return path


def with_committed(objects, area, cases):
    """These objects of whole `cases`, behind what the committed AREA.json has of the others.

    An object belongs to the case whose name its own begins with, up to the first underscore.
    """
    path = FOLDER / f"{area}.json"
    committed = json.loads(path.read_text()) if path.exists() else []
    return [entry for entry in committed if entry["case"].partition("_")[0] not in cases] + objects


def describe_run():
    """The time, the commit and the machine of this run."""
    return {
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": _commit(),
        "machine": f"{os.cpu_count()} x {_processor()}, Linux {platform.release()}",
    }


def _commit():
    describe = ["git", "-C", str(FOLDER.parent), "describe", "--always", "--dirty", "--abbrev=10"]
    try:
        return subprocess.run(describe, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def _processor():
    with open("/proc/cpuinfo") as cpuinfo:
        for line in cpuinfo:
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.machine()
