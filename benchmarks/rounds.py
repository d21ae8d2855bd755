"""Alternating rounds: every round runs all contestants once, so that changes of the load affect all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from benchmarks.machine import Quiet
from benchmarks.process import Contestant, peak_mib, timed

MEMORY_ROUNDS = 3


@dataclass
class Figures:
    """The results of a contestant, with a value for every round."""

    wall_ms: list[float] = field(default_factory=list)
    user_ms: list[float] = field(default_factory=list)
    peaks_mib: list[float] = field(default_factory=list)
    """Empty if the system does not report memory."""

    @property
    def wall(self) -> float:
        return median(self.wall_ms)

    @property
    def user(self) -> float:
        return median(self.user_ms)

    @property
    def peak(self) -> float | None:
        return max(self.peaks_mib, default=None)

    def ratio(self, other: Figures) -> float:
        """The median of the ratios of the wall times in the rounds."""
        return median(mine / theirs for mine, theirs in zip(self.wall_ms, other.wall_ms, strict=True))


Table = dict[str, Figures]
"""Results by name of the contestant, in the order of a round."""


def measure(
    contestants: Sequence[Contestant],
    environment: Mapping[str, str],
    rounds: int,
    quiet: Quiet,
    report: Callable[[str], None],
) -> Table:
    """Measures times in several rounds, then memory in separate rounds.

    Raises:
        RunFailed: when a contestant has an unexpected exit code.
        BusyError: when the machine stays busy.
    """
    table: Table = {contestant.name: Figures() for contestant in contestants}
    for number in range(1, rounds + 1):
        quiet.wait(report)
        report(f"round {number} of {rounds}")
        for contestant in contestants:
            run = timed(contestant, dict(environment))
            table[contestant.name].wall_ms.append(run.wall_ms)
            table[contestant.name].user_ms.append(run.user_ms)
    for number in range(1, MEMORY_ROUNDS + 1):
        report(f"memory round {number} of {MEMORY_ROUNDS}")
        for contestant in contestants:
            peak = peak_mib(contestant, dict(environment))
            if peak is not None:
                table[contestant.name].peaks_mib.append(peak)
    return table
