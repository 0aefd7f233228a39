"""The records that go in: made once for a run, in the forms that the systems read."""

import csv
import gzip
import json
import os
import shutil
import tempfile
from functools import cached_property
from itertools import islice
from pathlib import Path

from bench.harness.processes import run

COLUMNS = ("uuid", "userid", "version", "timestamp_ms", "bip", "user")
ROOT = Path(__file__).resolve().parent.parent.parent
BLOCK = 1 << 20
# Lines of a request.
BATCH = 5_000


def howdah():
    """The howdah command: HOWDAH names another one than the last build's."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return os.environ.get("HOWDAH") or str(target / "release" / "howdah")


class Records:
    """Files of the same records; use it in a `with` statement."""

    def __init__(self, count):
        self.count = count

    def __enter__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="howdah-records-"))
        # The server's account reads the CSV file.
        os.chmod(self.folder, 0o755)
        self.plain = self.folder / "bips.ndjson"
        command = [howdah(), "generate", "bips", "--records", str(self.count), "--out"]
        run([*command, str(self.plain)])
        # Or the kernel writes it half a minute later, while something is measured.
        with open(self.plain, "rb") as plain:
            os.fsync(plain.fileno())
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def gzip(self):
        """The same, compressed as gzip does by default."""
        path = self.folder / "bips.ndjson.gz"
        if not path.exists():
            with open(self.plain, "rb") as plain, gzip.open(path, "wb", compresslevel=6) as compressed:
                shutil.copyfileobj(plain, compressed, BLOCK)
        return path

    @property
    def csv(self):
        """The rows as COPY reads them."""
        path = self.folder / "bips.csv"
        if not path.exists():
            with open(self.plain, encoding="utf-8") as plain, open(path, "w", encoding="utf-8") as rows:
                writer = csv.writer(rows)
                for line in plain:
                    record = json.loads(line)
                    writer.writerow([record[name] for name in COLUMNS])
        return path

    def lines(self, count):
        """The first lines, as bytes."""
        with open(self.plain, "rb") as plain:
            return [next(plain) for _ in range(min(count, self.count))]

    @cached_property
    def batches(self):
        """All lines as the bytes of batches."""
        with open(self.plain, "rb") as plain:
            return [b"".join(lines) for lines in iter(lambda: list(islice(plain, BATCH)), [])]
