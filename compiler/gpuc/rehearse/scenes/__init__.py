"""Scenes: what is tried on the rehearsed cluster, each with what the model expects of it; one module per family.

A family is a module with `scenes(cluster) -> Iterator[Scene]`. It reads the model alone: what a scene expects is
computed here, never taken from a run. Scenes of one act, of whichever family, have no influence on one another and play
at the same time; acts play one after the other, and what an act made is cleared before the next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

from gpuc.diagnostics.finding import Path
from gpuc.model import Cluster
from gpuc.rehearse.outcome import Outcome, Request
from gpuc.rehearse.session import Rehearsal

FAMILIES = (
    "smallest",
    "full_node",
    "efa",
    "shares",
    "gangs",
    "borrowing",
    "preemption",
    "reclaim",
    "topology",
    "policies",
    "fences",
)
"""Modules of this package, in the order in which they play."""
NODES_ACT = "nodes"
"""The act of scenes that need a node each and do not care who else is on it."""


@dataclass(frozen=True, slots=True)
class Scene:
    """One thing that is tried."""

    family: str
    name: str
    """Unique within its family: "research train-h100 one GPU"."""
    origin: Path
    """The spec path that it proves."""
    expected: Outcome
    play: Callable[[Rehearsal], Outcome]
    """Makes the objects, waits, and says what was seen."""
    queue: str = ""
    pool: str = ""
    request: str = ""
    """What is asked for, in words: with family, queue and pool it makes a scene distinct."""
    act: str = ""
    """Scenes of one act play at the same time; empty for an act of the family's own."""
    takes: Request | None = None
    """What its work takes of quota and nodes: scenes that do not fit beside one another get acts of their own."""
    labels: tuple[str, ...] = field(default=())
    """Ids of pitfalls that it stands for."""

    @property
    def is_refusal(self) -> bool:
        return self.expected.verdict in ("refused", "pending")


class Family(Protocol):
    """A module of this package."""

    def scenes(self, cluster: Cluster) -> Iterator[Scene]:
        """All scenes that the spec gives rise to."""
        ...


def all_scenes(cluster: Cluster, families: Iterable[str] = FAMILIES) -> Iterator[Scene]:
    """All scenes that a spec gives rise to, family by family."""
    from importlib import import_module

    for name in families:
        family: Family = import_module(f"{__name__}.{name}")
        yield from family.scenes(cluster)
