"""The systems of the ladder: how records come into PostgreSQL, from a POST for each to COPY."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from bench.harness.cluster import DATABASE
from bench.harness.deadline import wait_until
from bench.harness.processes import Failed, Service, free_port, run
from bench.queue import senders
from bench.queue.records import howdah

NODE = Path(__file__).resolve().parent / "peers" / "node"
QUEUE = "bips"
TABLE = (
    'create table bips (uuid uuid, userid bigint, version int, timestamp_ms bigint, bip text, "user" text)'
)
UUID_KEY = TABLE.replace("uuid uuid", "uuid uuid primary key")
HTTP_CONNECTIONS = 4
# A POST for each record takes long: it is loaded for some seconds, not for all records.
EACH_SECONDS = 8
EACH_CONNECTIONS = 20


@dataclass(frozen=True)
class Peer:
    """A server of Node's that writes into a table."""

    name: str
    server: str
    send: Callable
    """Sends the records to a port and returns how many when all are stored."""
    table: str = TABLE
    connections: int = 1
    form: str = "plain"
    """What of the records is sent: it is made before the time runs."""

    settings: ClassVar = {}
    left = "select count(*) from bips"

    def measure(self, cluster, records):
        """Records stored, and the seconds from the first byte sent until the last row is stored."""
        getattr(records, self.form)
        cluster.sql(f"{self.table}; create role peer login; grant insert on bips to peer")
        port = free_port()
        env = {
            **cluster.environment("peer", "unix"),
            "PORT": str(port),
            "CONNECTIONS": str(self.connections),
            "NODE_ENV": "production",
        }
        log = cluster.folder / f"{self.name}.log"
        with Service(["node", self.server], log, env=env, cwd=NODE) as service:
            wait_until(lambda: accepts(port), 20, f"{self.name} to listen", service)
            return timed(lambda: self.send(port, records))


@dataclass(frozen=True)
class Howdah:
    """A queue of Howdah's with a listener."""

    name: str
    listen: str
    """The statement that listens on a port."""
    send: Callable
    """Sends the records to a port and returns how many when all are stored."""
    form: str = "plain"
    """What of the records is sent: it is made before the time runs."""

    settings: ClassVar = {"shared_preload_libraries": "howdah", "howdah.databases": DATABASE}
    left = f"select queue_length from queue.metrics('{QUEUE}')"

    def measure(self, cluster, records):
        """Records stored, and the seconds from the first byte sent until the last row is stored."""
        getattr(records, self.form)
        port = queue_with_listener(cluster, self.listen)
        return timed(lambda: self.send(port, records, cluster))


@dataclass(frozen=True)
class Copy:
    """COPY from a file that the server reads itself."""

    name: str
    format: str

    settings: ClassVar = {}
    left = "select count(*) from bips"

    def measure(self, cluster, records):
        """Records stored, and the seconds that COPY takes."""
        cluster.sql(TABLE)
        file = str(records.csv)
        if self.format == "binary":
            file = f"{cluster.folder}/data/bips.binary"
            cluster.sql(f"copy bips from '{records.csv}' csv; copy bips to '{file}' binary; truncate bips")
        # What was written for this is not written during the measurement.
        cluster.sql("checkpoint")
        return timed(lambda: copied(cluster, file, self.format, records))


def copied(cluster, file, form, records):
    """Copies a file into the table; how many rows it has."""
    cluster.sql(f"copy bips from '{file}' (format {form})")
    return records.count


def timed(send):
    """What `send` returns, and how many seconds it took."""
    begin = time.monotonic()
    count = send()
    return count, time.monotonic() - begin


def queue_with_listener(cluster, statement):
    """Makes a queue with a listener; its port."""
    cluster.sql(f"{TABLE.replace('create table bips', 'create type t_bip as')}; create extension howdah")
    cluster.sql(f"select queue.create('{QUEUE}', row_type => 't_bip')")
    return listen(cluster, statement)


def listen(cluster, statement):
    """Listens on a free port and returns it."""
    port = free_port()
    cluster.sql(statement.format(port=port))
    wait_until(lambda: accepts(port), 20, "the queue to listen", cluster.service)
    return port


def accepts(port):
    """Whether a port takes connections."""
    try:
        with senders.connected(port):
            return True
    except OSError:
        return False


def tcp_file(port, records):
    """Sends the file; the peer closes when all is written."""
    senders.send_file(port, records.plain)
    return records.count


def http_batches(port, records):
    """Posts batches; the peer answers the last request when all is written."""
    senders.post_batches(port, "/", records.batches, HTTP_CONNECTIONS)
    senders.get(port, "/")
    return records.count


def http_each(port, records):
    """Posts single records for some seconds; how many were answered."""
    lines = records.folder / "each.lua"
    lines.write_text(
        f"local lines = {{}}\n"
        f"for line in io.lines('{records.plain}') do lines[#lines + 1] = line if #lines == 200000 then break end end\n"
        f"local at = 0\n"
        f"function request() at = at % #lines + 1 return wrk.format('POST', '/', nil, lines[at]) end\n"
    )
    command = ["wrk", "-t1", f"-c{EACH_CONNECTIONS}", f"-d{EACH_SECONDS}s", "-s", str(lines)]
    output = run([*command, f"http://127.0.0.1:{port}/"])
    if "Non-2xx" in output or "Socket errors" in output:
        raise Failed(f"insert_each: {output}")
    return int(output.split(" requests in ")[0].split()[-1])


def plain_file(port, records, cluster):
    """Sends the file without acknowledgements; the queue says when all is in it."""
    senders.send_file(port, records.plain)
    return await_stored(cluster, records.count)


def acknowledged(form):
    """Sends a file with acknowledgements by howdah load."""

    def send(port, records, _cluster):
        load(port, getattr(records, form), "ladder")
        return records.count

    return send


def load(port, file, producer):
    """Loads a file with acknowledgements."""
    run([howdah(), "load", str(file), "--to", f"127.0.0.1:{port}", "--queue", QUEUE, "--producer", producer])


def queue_batches(port, records, _cluster):
    """Posts batches, each answered after its commit."""
    senders.post_batches(port, f"/queues/{QUEUE}", records.batches, HTTP_CONNECTIONS)
    return records.count


def await_stored(cluster, count):
    """Waits in the server until the queue has so many rows."""
    cluster.sql(
        f"""do $$ begin
              for attempt in 1..120000 loop
                exit when (select queue_length from queue.metrics('{QUEUE}')) >= {count};
                perform pg_sleep(0.005);
              end loop;
            end $$"""
    )
    return count


LISTEN = f"select queue.listen({{port}}, queue => '{QUEUE}')"
LISTEN_HTTP = (
    f"select queue.serve(); select queue.grant('{QUEUE}', 'send', 'howdah_web'); select http.listen({{port}})"
)

SYSTEMS = {
    system.name: system
    for system in (
        Peer("insert_each", "http_each.js", http_each, UUID_KEY, connections=10),
        Peer("http_waterfall", "http.js", http_batches, UUID_KEY, form="batches"),
        Peer("tcp_insert_uuid_pk", "tcp.js", tcp_file, UUID_KEY),
        Peer("tcp_insert", "tcp.js", tcp_file),
        Howdah("howdah_tcp_plain", LISTEN, plain_file),
        Howdah("howdah_tcp_acked", LISTEN, acknowledged("plain")),
        Howdah("howdah_tcp_acked_gzip", LISTEN, acknowledged("gzip"), form="gzip"),
        Howdah("howdah_http", LISTEN_HTTP, queue_batches, form="batches"),
        Peer("tcp_insert_uuid_pk_pool4", "tcp.js", tcp_file, UUID_KEY, connections=4),
        Peer("tcp_insert_pool4", "tcp.js", tcp_file, connections=4),
        Copy("copy_csv", "csv"),
        Copy("copy_binary", "binary"),
    )
}


def prepare(names):
    """Installs what the named systems need."""
    if any(isinstance(SYSTEMS[name], Peer) for name in names):
        run(["npm", "ci", "--no-audit", "--no-fund"], cwd=NODE)
