"""The order of the runs."""

from itertools import groupby


def schedule(cases, systems, rounds):
    """All runs as pairs of a case and the name of a system.

    The systems of a case take turns, A B C A B C, so that what else happens on the machine falls on all of
    them. The cases of a group take turns as well. A case that asks for more rounds of its own gets them.
    """
    runs = []
    for _, group in groupby(cases, key=lambda case: case.group or case.name):
        group = list(group)
        for turn in range(max(_rounds(case, rounds) for case in group)):
            for case in group:
                if turn < _rounds(case, rounds):
                    runs.extend((case, name) for name in case.systems if name in systems)
    return runs


def _rounds(case, rounds):
    return max(rounds, case.rounds) if case.rounds and rounds > 1 else rounds
