"""The performance targets of gpuc on a machine with two idle cores."""

from dataclasses import dataclass

from benchmarks.other_tools import HELM
from benchmarks.programs import CHECK, COLD, NOTHING_CHANGED, PLAIN, TEN
from benchmarks.rounds import Table


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
        return f"{'>=' if self.at_least else '<='} {self.bound:g} {self.unit}"

    @property
    def value(self) -> str:
        if self.measured is None:
            return "-"
        return f"{self.measured:.0f} {self.unit}" if self.unit in {"ms", "MiB"} else f"{self.measured:.2f} {self.unit}"


def targets(table: Table) -> list[Target]:
    """Returns all targets with their measured values."""
    cold = table[COLD]
    helm = table.get(HELM)
    return [
        Target(CHECK, 300, "ms", table[CHECK].wall),
        Target(NOTHING_CHANGED, 250, "ms", table[NOTHING_CHANGED].wall),
        Target(COLD, 400, "ms", cold.wall),
        Target(f"{COLD}: peak memory", 120, "MiB", cold.peak),
        Target(f"{PLAIN}, relative to {COLD}", 3, "x", table[PLAIN].ratio(cold), at_least=True),
        Target(f"{COLD}, relative to {HELM}", 1.5, "x", cold.ratio(helm) if helm else None),
        Target(TEN, 1500, "ms", table[TEN].wall),
    ]
