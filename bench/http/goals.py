"""The figures to reach, as ratios within one run."""

from bench.harness.goals import Goal
from bench.http import compression, function_forms, techempower
from bench.http.report import CPU, HANDSHAKES

P99 = "p99_us"


def _of_form(form, lane, bound):
    """A form of a function costs no more than this many times the simplest."""
    return Goal(
        f"{function_forms.case(form)}, {lane}: CPU over the simplest form",
        (function_forms.case(form), lane),
        (function_forms.case(function_forms.SIMPLEST), lane),
        bound,
        metric=CPU,
        at_most=True,
    )


def _of_forms():
    bounds = {form: 1.3 for form in function_forms.IN_SQL if form != function_forms.SIMPLEST}
    bounds.update(dict.fromkeys(function_forms.IN_PLPGSQL, 1.8))
    return [_of_form(form, lane, bound) for lane in function_forms.LANES for form, bound in bounds.items()]


def _of_files():
    """A file costs no more CPU than nginx's, and by TLS little more."""
    for case, times in {
        "static_1k": 1,
        "static_1m": 1,
        "static_packed": 1,
        "static_unchanged": 1,
        "static_1k_tls": 0.9,
    }.items():
        yield Goal(
            f"{case}: nginx's CPU over Howdah's", (case, "nginx_files"), (case, "howdah"), times, metric=CPU
        )


def _of_compression():
    """Packed rows cost two thirds of what axum's do, and kept ones little more than a constant."""
    for case in ("compressed_json", "compressed_json_gzip"):
        peer, ours = (case, compression.AXUM), (case, "howdah")
        yield Goal(f"{case}: axum's CPU over Howdah's", peer, ours, 1.5, metric=CPU)
        yield Goal(f"{case}: rate over axum", ours, peer, 1.5)
    yield Goal(
        "compressed_cached: CPU over a constant of that size",
        ("compressed_cached", "howdah"),
        ("compressed_constant", "howdah"),
        1.3,
        metric=CPU,
        at_most=True,
    )


def _of_techempower():
    """At most these parts of axum's CPU for each request, and its rate with few connections and with many."""
    bounds = {"json": 1.5, "fortunes": 1.5, "db": 2, "cached": 2, "queries": 2.5, "updates": 1.4}
    for test, times in bounds.items():
        name = techempower.case(test)
        ours, peer = (name, "howdah"), (name, techempower.AXUM)
        yield Goal(f"{name}: axum's CPU over Howdah's", peer, ours, times, metric=CPU)
    for test in techempower.TESTS:
        for connections in (techempower.FEW, techempower.MANY):
            name = techempower.case(test, connections)
            yield Goal(f"{name}: rate over axum", (name, "howdah"), (name, techempower.AXUM), 1)


GOALS = (
    *_of_forms(),
    *_of_techempower(),
    Goal("users: rate over Node on its UNIX socket", ("users", "howdah"), ("users", "node_unix"), 5),
    Goal("users: rate over pipelined axum", ("users", "howdah"), ("users", "axum_pipelined"), 1.6),
    Goal(
        "users: CPU over a constant answer",
        ("users", "howdah"),
        ("users", "howdah_constant"),
        1.5,
        metric=CPU,
        at_most=True,
    ),
    Goal(
        "unchanged: CPU over a constant answer",
        ("unchanged", "howdah"),
        ("unchanged", "howdah_constant"),
        1.1,
        metric=CPU,
        at_most=True,
    ),
    Goal(
        "cached_rows: CPU over a constant answer",
        ("cached_rows", "howdah"),
        ("cached_rows", "howdah_constant"),
        1.2,
        metric=CPU,
        at_most=True,
    ),
    Goal(
        "cached_rows: rate over pipelined axum for each core",
        ("cached_rows", "howdah"),
        ("cached_rows", "axum_pipelined_per_core"),
        5,
    ),
    Goal(
        "cached_rows: CPU over that of pipelined axum for each core",
        ("cached_rows", "howdah"),
        ("cached_rows", "axum_pipelined_per_core"),
        0.2,
        metric=CPU,
        at_most=True,
    ),
    Goal(
        "cached_written: rate over the same without the cache, beside 100 commits/s",
        ("cached_written", "howdah"),
        ("cached_without", "howdah"),
        3,
    ),
    Goal(
        "cached_written: oldest answer in ms",
        ("cached_written", "howdah"),
        None,
        0,
        metric="oldest_answer_ms",
        at_most=True,
    ),
    Goal(
        "users, a transaction each: rate over Node",
        ("users", "howdah_own_transaction"),
        ("users", "node_unix"),
        4,
    ),
    Goal("users, executors only: rate over Node", ("users", "howdah_executors"), ("users", "node_unix"), 3.5),
    Goal("users_query: rate over Node", ("users_query", "howdah"), ("users_query", "node_unix"), 3.5),
    Goal("routes: rate with 1,000 over one", ("routes", "howdah"), ("routes_one", "howdah"), 0.95),
    Goal(
        "fortunes: CPU over that of axum with a compiled template",
        ("fortunes", "howdah"),
        ("fortunes", "axum_pipelined"),
        1 / 1.3,
        metric=CPU,
        at_most=True,
    ),
    Goal("fortunes: rate over Express with EJS", ("fortunes", "howdah"), ("fortunes", "express_ejs"), 4),
    Goal(
        "catalogue: CPU over the same by hand",
        ("catalogue", "howdah"),
        ("catalogue_by_hand", "howdah"),
        1.3,
        metric=CPU,
        at_most=True,
    ),
    Goal(
        "catalogue_cached: CPU over a constant of that size",
        ("catalogue_cached", "howdah"),
        ("catalogue_constant", "howdah"),
        1.2,
        metric=CPU,
        at_most=True,
    ),
    Goal("insert: rate over Node", ("insert", "howdah"), ("insert", "node_unix"), 1),
    Goal(
        "fairness: p99 beside a slow handler over alone",
        ("fairness", "howdah"),
        ("fairness_alone", "howdah"),
        2,
        metric=P99,
        at_most=True,
    ),
    Goal("tls_users: rate over clear text", ("tls_users", "howdah"), ("tls_users", "howdah_clear"), 0.8),
    Goal("h2_users: rate over HTTP/1.1 by TLS", ("h2_users", "howdah"), ("tls_users", "howdah"), 0.8),
    Goal(
        "handshakes: over nginx", ("handshakes", "howdah"), ("handshakes", "nginx"), 0.85, metric=HANDSHAKES
    ),
    *_of_files(),
    *_of_compression(),
    Goal("resumed: over nginx", ("resumed", "howdah"), ("resumed", "nginx"), 0.85, metric=HANDSHAKES),
    Goal("resumed: percent of the handshakes", ("resumed", "howdah"), None, 99, metric="resumed_percent"),
)
