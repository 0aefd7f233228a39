"""Configures the Howdah of the private PostgreSQL for one case."""

import os
import shutil
from contextlib import contextmanager
from pathlib import Path

from bench.harness.cluster import DATABASE, SUPERUSER
from bench.harness.processes import free_port, run
from bench.http import static_files
from bench.http.model import Handler

HERE = Path(__file__).resolve().parent
OBJECTS = tuple(HERE / name for name in ("howdah.sql", "function_forms.sql", "techempower.sql"))
PAGES = HERE / "app"

# What the server needs in its configuration; everything else is Howdah's default.
SETTINGS = {"shared_preload_libraries": "howdah", "howdah.databases": DATABASE}


def install(cluster):
    """Creates the extension, the handlers and the pages, over tables that are there already."""
    cluster.sql("create extension howdah")
    for objects in OBJECTS:
        cluster.sql(objects.read_text())
    # The pages, and the files that nginx has as well.
    folder = cluster.folder / "app"
    shutil.copytree(PAGES, folder)
    static_files.write(folder / "static", packed=False)
    where = cluster.environment(SUPERUSER, "unix")
    to = f"host={where['PGHOST']} port={where['PGPORT']} user={where['PGUSER']} dbname={where['PGDATABASE']}"
    run([os.environ.get("HOWDAH", "howdah"), "deploy", "--app", str(folder), "--to", to])


@contextmanager
def serving(cluster, registrations, inline, gateways=1, certificate=None):
    """Listens with these routes and handlers alone and gives the port; takes everything back afterwards.

    It speaks TLS if there is a certificate.
    """
    port = free_port()
    cluster.sql(f"alter system set howdah.inline = {_literal(inline)}")
    cluster.sql(f"alter system set howdah.gateways = {gateways}")
    listen = f"select http.listen({port})"
    if certificate:
        files = f"{certificate.chain}:{certificate.key}"
        cluster.sql(f"alter system set howdah.tls_certificates = {_literal(files)}")
        listen = f"select http.listen({port}, tls => true)"
    cluster.sql("select pg_reload_conf()")
    cluster.sql(_transaction([*map(_register, registrations), listen]))
    yield port
    # Not after a failure: it ends the whole run, and the server with it.
    cluster.sql(_transaction([f"select http.unlisten({port})", *map(_remove, registrations)]))


def _register(registration):
    if isinstance(registration, Handler):
        index = f"create index users_published on {registration.index};" if registration.index else ""
        statement = _literal(registration.statement)
        return f"{index} select http.handle({statement}, name => {_literal(registration.name)})"
    method, pattern = _literal(registration.method), _literal(registration.pattern)
    route = f"select http.route({method}, {pattern}, {_literal(registration.function)})"
    if registration.caches:
        return f"{route}; select http.cache({method}, {pattern}, vary => {_literal(registration.vary)})"
    return f"{route}; select http.validate({method}, {pattern})" if registration.validates else route


def _remove(registration):
    if isinstance(registration, Handler):
        index = "drop index users_published;" if registration.index else ""
        return f"{index} select http.unhandle({_literal(registration.name)})"
    return f"select http.unroute({_literal(registration.method)}, {_literal(registration.pattern)})"


def _transaction(statements):
    return "begin;\n" + ";\n".join(statements) + ";\ncommit;"


def _literal(text):
    return "'" + text.replace("'", "''") + "'"
