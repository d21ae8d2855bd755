"""The performance targets of gpuc, in milliseconds of the reference machine."""

from dataclasses import dataclass
from math import log2

from benchmarks.machine import REFERENCE_FLOOR_MS
from benchmarks.other_tools import HELM
from benchmarks.programs import (
    CHECK,
    CLONE,
    COLD,
    EDIT,
    FLOOR_NAME,
    LARGE,
    NOTHING_CHANGED,
    OTHER_EDIT,
    PLAIN,
    PLAN,
    SIZES,
    TEN,
    large,
)
from benchmarks.rounds import Table

GROWTH_MAX = 1.2
"""The largest exponent that counts as linear: times vary by some percent, and each pod is compared with each pool."""


@dataclass(frozen=True)
class Target:
    """A performance target and the measured value."""

    text: str
    bound: float
    unit: str
    measured: float | None
    """None if the value could not be measured."""
    at_least: bool = False

    @property
    def verdict(self) -> str:
        if self.measured is None:
            return "not measured"
        met = self.measured >= self.bound if self.at_least else self.measured <= self.bound
        return "met" if met else "**not met**"

    @property
    def limit(self) -> str:
        return f"{'>=' if self.at_least else '<='} {self.bound:g} {self.unit}".strip()

    @property
    def value(self) -> str:
        if self.measured is None:
            return "-"
        digits = 0 if self.unit in {"ms", "MiB"} else 2
        return f"{self.measured:.{digits}f} {self.unit}".strip()


def targets(table: Table) -> list[Target]:
    """Returns all targets of `python -m benchmarks` with their measured values."""
    cold, helm = table[COLD], table.get(HELM)
    return [
        Target(f"{CHECK}, relative to {FLOOR_NAME}", 3.0, "x", table[CHECK].ratio(table[FLOOR_NAME])),
        Target(f"{PLAIN}, relative to {COLD}", 2.5, "x", table[PLAIN].ratio(cold), at_least=True),
        Target(f"{COLD}, relative to {HELM}", 1.3, "x", cold.ratio(helm) if helm else None),
        *(milliseconds(table, name, 80) for name in (NOTHING_CHANGED, CLONE, OTHER_EDIT)),
        milliseconds(table, EDIT, 300),
        milliseconds(table, TEN, 1200),
        milliseconds(table, large(SIZES[-1][0]), 1500),
        milliseconds(table, LARGE, 1500),
        Target("exponent of the growth of gpuc check with the number of pools", GROWTH_MAX, "", growth(table)),
        milliseconds(table, PLAN, 700),
    ]


def milliseconds(table: Table, name: str, bound: float) -> Target:
    """Returns a target in milliseconds of the reference machine, computed from the ratio to the floor."""
    return Target(name, bound, "ms", table[name].ratio(table[FLOOR_NAME]) * REFERENCE_FLOOR_MS)


def growth(table: Table) -> float:
    """Returns the exponent of the growth of the time with the size, without the time that each process needs.

    The sizes double. If the time is a + b * size ** exponent, the second difference is 2 ** exponent times the first.
    """
    small, middle, largest = (table[large(pools)].wall for pools, *_ in SIZES)
    return log2((largest - middle) / (middle - small)) if largest > middle > small else float("nan")
