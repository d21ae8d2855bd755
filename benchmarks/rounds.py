"""The alternating loop: every contestant once a round, so that all see the same machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from benchmarks.machine import Quiet
from benchmarks.process import Contestant, peak_mib, timed

MEMORY_ROUNDS = 3


@dataclass
class Figures:
    """What one contestant took, a value for each round."""

    wall_ms: list[float] = field(default_factory=list)
    user_ms: list[float] = field(default_factory=list)
    peaks_mib: list[float] = field(default_factory=list)
    """Empty where the system does not tell it."""

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
        """The median over the rounds of this contestant's wall time in those of the other."""
        return median(mine / theirs for mine, theirs in zip(self.wall_ms, other.wall_ms, strict=True))


Table = dict[str, Figures]
"""Figures by the contestant's name, in the order of a round."""


def measure(
    contestants: Sequence[Contestant],
    environment: Mapping[str, str],
    rounds: int,
    quiet: Quiet,
    say: Callable[[str], None],
) -> Table:
    """Times rounds of all contestants, then samples their memory in rounds of its own.

    Raises:
        RunFailed: when a contestant ends otherwise than it has to.
        BusyError: when the machine stays busy.
    """
    table: Table = {contestant.name: Figures() for contestant in contestants}
    for number in range(1, rounds + 1):
        quiet.wait(say)
        say(f"round {number} of {rounds}")
        for contestant in contestants:
            run = timed(contestant, dict(environment))
            table[contestant.name].wall_ms.append(run.wall_ms)
            table[contestant.name].user_ms.append(run.user_ms)
    for number in range(1, MEMORY_ROUNDS + 1):
        say(f"memory {number} of {MEMORY_ROUNDS}")
        for contestant in contestants:
            peak = peak_mib(contestant, dict(environment))
            if peak is not None:
                table[contestant.name].peaks_mib.append(peak)
    return table
