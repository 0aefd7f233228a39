"""Answers that are packed on their way: 20 kB of rows as JSON, beside axum with tower-http's layer."""

import gzip
import json

from bench.harness.processes import Failed
from bench.http import wrk
from bench.http.answers import fetch
from bench.http.model import Case, Route

AXUM = "axum_pipelined_per_core"
SYSTEMS = ("howdah", "howdah_executors", "axum_pipelined", AXUM)
PATH = "/crowd/%d"
CROWD = Route("GET", "/crowd/{after}", "crowd_after(int)")
KEPT = Route("GET", "/crowd/{after}", "crowd_after(int)", caches=True)
CONSTANT = Route("GET", "/constant", "crowd_constant()", caches=True)
BROWSERS = "gzip, deflate, br, zstd"
ROWS = 110


def crowd(origin, _cluster):
    """The same rows plain and packed, and each by a coding that was asked for."""
    for after in (1, 1000):
        path = f"/crowd/{after}"
        plain, packed = fetch(origin, path), fetch(origin, path, headers={"Accept-Encoding": "gzip"})
        rows = json.loads(plain.body)
        right = [row["id"] for row in rows] == list(range(after + 1, after + 1 + ROWS))
        right = right and packed.coding == "gzip" and json.loads(gzip.decompress(packed.body)) == rows
        by_any = fetch(origin, path, headers={"Accept-Encoding": BROWSERS})
        if not right or by_any.coding is None or len(by_any.body) * 3 > len(plain.body):
            raise Failed(f"{path} is answered by {plain}, {packed}, {by_any}")


def constant(origin, _cluster):
    """As many bytes as a packed crowd has."""
    answer = fetch(origin, "/constant")
    if answer.status != 200 or len(answer.body) != 3002:
        raise Failed(f"the constant is answered by {answer}")


CASES = (
    Case("compressed_json", PATH, crowd, SYSTEMS, (CROWD,), load=wrk.Load(2, 20, "browsers.lua")),
    Case("compressed_json_gzip", PATH, crowd, SYSTEMS, (CROWD,), load=wrk.Load(2, 20, "gzip.lua")),
    Case(
        "compressed_cached",
        PATH,
        crowd,
        ("howdah",),
        (KEPT,),
        load=wrk.Load(2, 20, "browsers.lua"),
        group="compressed_cached",
    ),
    Case("compressed_constant", "/constant", constant, ("howdah",), (CONSTANT,), group="compressed_cached"),
)
