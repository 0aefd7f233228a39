"""TechEmpower's tests by their rules: a case for each, with few connections and with many."""

import json

from bench.harness.processes import Failed
from bench.http import answers, wrk
from bench.http.model import Case, Route

FEW, MANY = 32, 256
COUNT = 20
"""Rows that a request asks for where a test asks for several."""
AXUM = "axum_techempower"
SYSTEMS = ("howdah", "howdah_two_gateways", AXUM, "node_techempower")


def case(test, connections=FEW):
    """The name of a test's case."""
    return f"techempower_{test}" if connections == FEW else f"techempower_{test}_{connections}"


def _greeting(origin, _cluster):
    answer = answers.fetch(origin, "/json")
    _expect("/json", answer, "application/json", json.loads(answer.body) == {"message": "Hello, World!"})


def _plaintext(origin, _cluster):
    answer = answers.fetch(origin, "/plaintext")
    _expect("/plaintext", answer, "text/plain", answer.body == b"Hello, World!")


def _one(origin, cluster):
    answer = answers.fetch(origin, "/db")
    row = json.loads(answer.body)
    _expect("/db", answer, "application/json", _numbers([row], cluster) == [row["randomNumber"]])


def _many(path, method="GET"):
    def check(origin, cluster):
        for asked, count in ((COUNT, COUNT), (0, 1), ("x", 1), (501, 500)):
            answer = answers.fetch(origin, f"{path}{asked}", method)
            rows = json.loads(answer.body)
            # A row that was asked for twice has got one of two numbers.
            told = {(row["id"], row["randomNumber"]) for row in rows}
            stored = zip((row["id"] for row in rows), _numbers(rows, cluster))
            right = len(rows) == count and told.issuperset(stored)
            _expect(f"{path}{asked}", answer, "application/json", right)

    return check


def _numbers(rows, cluster):
    """What the table has for the keys of rows."""
    ids = ", ".join(str(int(row["id"])) for row in rows)
    text = cluster.sql(
        f"select w.randomnumber from unnest(array[{ids}]) with ordinality as asked(id, place)"
        " join world w using (id) order by place"
    )
    return [int(line) for line in text.split()]


def _expect(path, answer, media_type, right):
    if answer.status != 200 or answer.media_type != media_type or not right:
        raise Failed(f"{path}: expected 200 {media_type} and the right body, but got {answer}")


# The path and the function of each test, what looks at its answers, and the script of wrk.
TESTS = {
    "json": ("/json", "hello_json()", _greeting, "get.lua"),
    "plaintext": ("/plaintext", "hello_text()", _plaintext, "pipeline.lua"),
    "db": ("/db", "db()", _one, "get.lua"),
    "queries": ("/queries", "queries(text)", _many("/queries?queries="), "get.lua"),
    "fortunes": ("/fortunes", "app.fortunes()", answers.fortunes, "get.lua"),
    "cached": ("/cached-queries", "cached_queries(text)", _many("/cached-queries?count="), "get.lua"),
    "updates": ("/updates", "updates(text)", _many("/updates?queries=", "POST"), "get.lua"),
}
# Some of its answers take more than the two seconds for which wrk waits.
NODE_FAILS = ("plaintext", MANY, "node_techempower")
QUERY = {"queries": f"?queries={COUNT}", "cached": f"?count={COUNT}", "updates": f"?queries={COUNT}"}


def _case(test, connections):
    path, function, check, script = TESTS[test]
    # A GET must have no effects.
    method = "POST" if test == "updates" else "GET"
    return Case(
        case(test, connections),
        path + QUERY.get(test, ""),
        check,
        tuple(system for system in SYSTEMS if (test, connections, system) != NODE_FAILS),
        (Route(method, path, function),),
        load=wrk.Load(2, connections, script),
        method=method,
    )


CASES = tuple(_case(test, connections) for test in TESTS for connections in (FEW, MANY))
