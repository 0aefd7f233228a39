"""A system that has been started."""

from dataclasses import dataclass

from bench.http.answers import Origin, fetch


@dataclass(frozen=True)
class Running:
    """A system that is ready to be measured."""

    origin: Origin
    roots: list
    """The process ids whose trees do its work, PostgreSQL's included."""
    path: str
    """What the load asks for."""
    method: str = "GET"
    """How it asks, if the load leaves it open."""


def accepts(origin):
    """Whether there is an answer, whatever it says."""
    try:
        fetch(origin, "/")
        return True
    except OSError:
        return False
