"""What a case is: what is asked for, of whom, and how Howdah is configured for it."""

from collections.abc import Callable
from dataclasses import dataclass

from bench.http import wrk
from bench.http.load import Load

LOAD = wrk.Load(2, 20)


@dataclass(frozen=True)
class Route:
    """A route of Howdah."""

    method: str
    pattern: str
    function: str
    validates: bool = False
    """Whether its answers have entity tags."""
    caches: bool = False
    """Whether its answers are kept."""
    vary: str = "{}"
    """What kept answers depend on beside path and arguments."""


@dataclass(frozen=True)
class Handler:
    """A query handler of Howdah, with the index that its join uses."""

    name: str
    statement: str
    index: str | None = None


@dataclass(frozen=True)
class Case:
    """One thing that is measured."""

    name: str
    path: str
    """The path that is asked for; %d becomes a number of 1 to 1,000."""
    check: Callable
    """Looks at the answers beforehand; called with the origin and the cluster."""
    systems: tuple
    howdah: tuple
    """The routes and handlers that Howdah has in this case."""
    load: Load = LOAD
    method: str = "GET"
    """By which method the path is asked for."""
    certificate: str | None = None
    """The kind of the certificate's key, "ecdsa" or "rsa", if it is asked by TLS."""
    group: str = ""
    """Cases of one group run interleaved, because their ratio counts; otherwise a case is its own group."""
    beside: str | None = None
    """A path that one more connection asks for all the time, without being counted."""
    written: int = 0
    """How often a row of the page is written each second, beside the load."""
    stores: bool = False
    """Whether each request stores a row of `messages`."""
    fails: bool = False
    """Whether every answer is to be an error status."""
    rounds: int | None = None
    """How often it runs, if not as often as all others."""
