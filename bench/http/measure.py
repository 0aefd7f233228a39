"""One run: a system warmed up, loaded, and held to what it answered."""

from contextlib import nullcontext

from bench.harness.accounting import Window, connections_per_process
from bench.harness.disturbance import ELSEWHERE
from bench.harness.processes import Failed
from bench.http import load
from bench.http.slow_connection import slow_connection
from bench.http.writing import writing


def measure(case, system, cluster, seconds, warmup_seconds):
    """Runs one system in one case; returns its metrics, and by name what else belongs to this run alone."""
    with (
        system.started(case, cluster) as running,
        slow_connection(running.origin.port, case.beside) if case.beside else nullcontext(),
    ):
        load.measure(case.load, running, warmup_seconds)
        if not case.written:
            return _loaded(case, system, running, cluster, seconds)
        with writing(cluster, running.origin.port, case.written) as written:
            metrics, each_run = _loaded(case, system, running, cluster, seconds)
        return {**metrics, **written.metrics()}, each_run


def _loaded(case, system, running, cluster, seconds):
    held = []
    stored = _stored(case, cluster)
    window = Window(running.roots)
    outcome = load.measure(
        case.load,
        running,
        seconds,
        halfway=lambda: held.extend(connections_per_process(running.roots, running.origin.port)),
    )
    cpu, elsewhere = window.close()
    _require_right(case, system, outcome, _stored(case, cluster) - stored)
    each_run = {"connections_held": held} if case.load.keeps_connections else {}
    return outcome.metrics(cpu), {**each_run, ELSEWHERE: round(elsewhere, 1)}


def _stored(case, cluster):
    return int(cluster.sql("select count(*) from messages")) if case.stores else 0


def _require_right(case, system, outcome, stored):
    run = f"{case.name} of {system.name}"
    if outcome.requests == 0 or outcome.socket_errors:
        raise Failed(f"{run}: {outcome.requests} requests, {outcome.socket_errors} socket errors")
    wanted = outcome.requests if case.fails else 0
    if outcome.bad_statuses != wanted:
        raise Failed(
            f"{run}: {outcome.bad_statuses} error statuses in {outcome.requests} requests, not {wanted}"
        )
    # When wrk stops, each connection may have a request under way that is stored and not counted: at the end
    # of this run, and at the end of the warm-up before it.
    if case.stores and not outcome.requests <= stored <= outcome.requests + 2 * case.load.connections:
        raise Failed(f"{run}: {outcome.requests} requests were answered and {stored} rows stored")
