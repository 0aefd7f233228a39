"""One more client that asks for a slow page over and over on one connection."""

import http.client
import threading
from contextlib import contextmanager

from bench.harness.processes import Failed


@contextmanager
def slow_connection(port, path):
    """Requests `path` all the time while the block runs; raises afterwards if that did not work."""
    stop, failures, answered = threading.Event(), [], []

    def repeat():
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        try:
            while not stop.is_set():
                connection.request("GET", path)
                response = connection.getresponse()
                response.read()
                if response.status != 200:
                    raise Failed(f"{path} answered {response.status}")
                answered.append(response.status)
        except (OSError, http.client.HTTPException, Failed) as error:
            failures.append(error)
        finally:
            connection.close()

    thread = threading.Thread(target=repeat)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
    if failures or not answered:
        raise Failed(f"the slow connection failed: {failures or 'it was never answered'}")
