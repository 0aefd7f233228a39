"""What sends records to the systems. It takes as little of the machine as it can."""

import os
import queue
import socket
import threading

from bench.harness.processes import Failed

SENDFILE = 1 << 24
TIMEOUT_SECONDS = 600


def connected(port):
    """A connection to a port of this machine."""
    sending = socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT_SECONDS)
    sending.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sending


def send_file(port, path):
    """Sends a file over one connection, says that this is all, and waits until the other side closes."""
    with connected(port) as sending, open(path, "rb") as file:
        # sendfile waits only where the socket does.
        sending.settimeout(None)
        # The kernel copies it: a loader costs nothing here.
        while os.sendfile(sending.fileno(), file.fileno(), None, SENDFILE):
            pass
        sending.shutdown(socket.SHUT_WR)
        if sending.recv(1):
            raise Failed("the server answered where it should have closed the connection")


def post_batches(port, path, batches, connections):
    """Posts batches of lines, each on the next free one of so many connections."""
    waiting = queue.Queue(2 * connections)
    failures = []

    def post():
        with connected(port) as sending:
            while (body := waiting.get()) is not None:
                try:
                    if not failures:
                        _post(sending, path, body)
                except (OSError, Failed) as error:
                    failures.append(error)

    threads = [threading.Thread(target=post) for _ in range(connections)]
    for thread in threads:
        thread.start()
    for body in batches:
        waiting.put(body)
    for _ in threads:
        waiting.put(None)
    for thread in threads:
        thread.join()
    if failures:
        raise Failed(f"posting to {path}: {failures[0]}")


def get(port, path):
    """Asks for a path and waits for the answer."""
    with connected(port) as asking:
        asking.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        _require_success(asking)


def _post(sending, path, body):
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\n"
    sending.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode())
    sending.sendall(body)
    _require_success(sending)


def _require_success(sending):
    """Reads an answer whose body, if any, has a length."""
    answer = b""
    while b"\r\n\r\n" not in answer:
        answer += _more(sending)
    head, _, body = answer.partition(b"\r\n\r\n")
    status, *fields = head.decode("latin-1").split("\r\n")
    if status.split()[1][0] != "2":
        raise Failed(f"the answer was {status}: {body.decode(errors='replace')}")
    lengths = [field.partition(":")[2] for field in fields if field.lower().startswith("content-length:")]
    while len(body) < int(lengths[0] if lengths else 0):
        body += _more(sending)


def _more(sending):
    more = sending.recv(1 << 16)
    if not more:
        raise Failed("the connection was closed before the answer")
    return more
