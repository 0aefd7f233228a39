"""One look-up by key in each form that a function may have: a case for each."""

from bench.http import answers
from bench.http.model import Case, Route

SIMPLEST = "json"
"""The form that costs least: what the others are compared with."""
IN_SQL = (
    "json",
    "json_quoted",
    "json_volatile",
    "jsonb",
    "text",
    "integer",
    "domain",
    "row",
    "row_return",
    "row_quoted",
    "row_volatile",
    "type",
    "type_constructed",
    "out",
    "table",
    "table_volatile",
    "set",
    "set_quoted",
    "none",
    "secured",
    "response",
)
IN_PLPGSQL = ("plpgsql", "plpgsql_execute", "plpgsql_set")
LANES = ("howdah", "howdah_executors")


def case(form):
    """The name of a form's case."""
    return f"forms_{form}"


def _case(form):
    takes = "" if form == "none" else "integer"
    route = Route("GET", "/forms/{asked}" if takes else "/forms/1", f"form_{form}({takes})")
    path = "/forms/%d" if takes else "/forms/1"
    return Case(case(form), path, answers.reading, LANES, (route,), group="forms")


CASES = tuple(_case(form) for form in (*IN_SQL, *IN_PLPGSQL))
