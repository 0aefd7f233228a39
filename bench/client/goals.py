"""The figures to reach, as ratios within one run."""

from bench.harness.goals import Goal

CPU = "jvm_cpu_us_per_request"


def _time(case, against, bound, of=None):
    """A goal for the time of a case beside the same, or another, case of another system."""
    text = f"{case}: time over {of + ' of ' if of else ''}{against}"
    return Goal(text, (case, "howdah"), (of or case, against), bound, metric="min_ms", at_most=True)


GOALS = (
    *(_time(f"t{n}_untouched", "floor", 1.05) for n in (1, 2, 3, 4)),
    _time("t2_all", "pgjdbc_arrays", 0.85),
    _time("t2_all", "java_jdbc", 0.5),
    _time("t5_assoc", "floor", 1.3, of="t5_untouched"),
    _time("t5_all", "java_jdbc", 0.4),
    *(_time(f"{case}_all", "pgjdbc_arrays", 0.9) for case in ("t5", "t5_varied")),
    *(_time(f"{case}_map", "pgjdbc_maps", 0.9) for case in ("t5", "t5_varied")),
    *(
        Goal(f"t6_{n}: rate over pgjdbc", (f"t6_{n}", "howdah"), (f"t6_{n}", "pgjdbc_maps"), 1.6)
        for n in (16, 64)
    ),
    *(
        Goal(
            f"t6_{n}: CPU of the JVM over pgjdbc's",
            (f"t6_{n}", "howdah"),
            (f"t6_{n}", "pgjdbc_maps"),
            1 / 3,
            metric=CPU,
            at_most=True,
        )
        for n in (16, 64)
    ),
)
