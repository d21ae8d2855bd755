"""Measures programs in rounds. Each round runs all programs once, so that a change of the load affects all programs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from benchmarks.machine import LoadLimit
from benchmarks.process import Program, peak_mib, timed

MEMORY_ROUNDS = 3


@dataclass
class Measurements:
    """The results of a program, with one value for each round."""

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

    def ratio(self, other: "Measurements") -> float:
        """Returns the median of the ratios of the wall times, with one ratio for each round."""
        return median(mine / theirs for mine, theirs in zip(self.wall_ms, other.wall_ms, strict=True))


Table = dict[str, Measurements]
"""The results by the name of the program, in the order of a round."""


def measure(
    programs: Sequence[Program],
    environment: Mapping[str, str],
    rounds: int,
    load_limit: LoadLimit,
    report: Callable[[str], None],
) -> Table:
    """Measures the times of the programs in several rounds, then their memory in separate rounds.

    Raises:
        RunFailed: when a program has an unexpected exit code.
        BusyError: when the load of the machine stays higher than the limit.
    """
    table: Table = {program.name: Measurements() for program in programs}
    for number in range(1, rounds + 1):
        load_limit.wait(report)
        report(f"round {number} of {rounds}")
        for program in programs:
            run = timed(program, dict(environment))
            table[program.name].wall_ms.append(run.wall_ms)
            table[program.name].user_ms.append(run.user_ms)
    for number in range(1, MEMORY_ROUNDS + 1):
        report(f"memory round {number} of {MEMORY_ROUNDS}")
        for program in programs:
            peak = peak_mib(program, dict(environment))
            if peak is not None:
                table[program.name].peaks_mib.append(peak)
    return table
