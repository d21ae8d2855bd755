"""The proof as a matrix: of every ordered pair of tenants, whether pods of the first reach pods of the second."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from enum import Enum
from itertools import permutations
from typing import NamedTuple

from gpuc.isolation.proof import Opening, Reach
from gpuc.kubernetes.ports import Ports


class State(Enum):
    """What holds for a pair."""

    BLOCKED = "blocked"
    """No pod of the one reaches a pod of the other."""
    DECLARED = "declared"
    """Only what somebody declared is open."""
    OPEN = "open"


class Verdict(NamedTuple):
    """What was proven for one ordered pair of tenants."""

    caller: str
    """Tenant."""
    called: str
    """Tenant."""
    state: State
    openings: tuple[Opening, ...]
    """Every way through; those that nobody declared first."""

    @property
    def ports(self) -> Ports:
        """The ports that are open, undeclared ones only where there are any."""
        counted = [one for one in self.openings if self.state is State.DECLARED or not one.is_declared]
        return tuple(dict.fromkeys(span for one in counted for span in one.ports))


def verdicts(reach: Reach, unfenced: Collection[str] = ()) -> list[Verdict]:
    """One per ordered pair, sorted. Between two tenants that are not to be isolated (unfenced) all is declared."""
    between: dict[tuple[str, str], list[Opening]] = defaultdict(list)
    owners = reach.tenancy.tenants
    for opening in reach.openings:
        between[owners[opening.caller], owners[opening.called]].append(opening)
    found = []
    for caller, called in permutations(reach.tenancy.names, 2):
        openings = sorted(between.get((caller, called), ()), key=lambda one: one.is_declared)
        state = State.BLOCKED
        if openings:
            is_declared = openings[0].is_declared or (caller in unfenced and called in unfenced)
            state = State.DECLARED if is_declared else State.OPEN
        found.append(Verdict(caller, called, state, tuple(openings)))
    return found
