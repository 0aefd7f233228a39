"""Reads from environment variables what is to be measured."""

from bench.harness.processes import Failed


def names(environment, variable, known):
    """The names of a variable with commas between them, all known ones if it is not set."""
    wanted = [name for name in environment.get(variable, "").split(",") if name]
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise Failed(f"{variable} names {', '.join(unknown)}; known are {', '.join(known)}")
    return wanted or list(known)


def number(environment, variable, default):
    """A whole number of at least 1."""
    text = environment.get(variable) or str(default)
    if not text.isdigit() or int(text) < 1:
        raise Failed(f"{variable} is {text!r}; it must be a whole number of at least 1")
    return int(text)
