"""What is asked of a control plane, and what becomes of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from gpuc.kubernetes.amounts import Amounts
from gpuc.model.tenant import DEFAULT_REQUEST

Judge = Literal["API server", "policy", "quota", "Kueue", "scheduler", "Karpenter", "job controller"]
"""Who takes or refuses."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a scene's work, or what is expected to."""

    verdict: Literal["complete", "bound", "admitted", "refused", "pending", "preempted", "unanswered"]
    by: Judge | Literal[""] = ""
    """Who refused it, or keeps it waiting."""
    flavor: str = ""
    pool: str = ""
    instance_types: tuple[str, ...] = ()
    """Expected: instance types that its nodes may have. Afterwards: those that they have."""
    nodes: int | None = None
    borrowed: tuple[tuple[str, str], ...] | None = None
    """Borrowed amount by resource, as Kueue prints it; None where it is not compared."""
    words: str = ""
    """Expected: a part of the refusal's words. Afterwards: all of them."""


@dataclass(frozen=True, slots=True)
class Request:
    """Pods of one kind that start together."""

    pod: Amounts
    """What one pod asks for; what it leaves out is asked for by the namespace's LimitRange."""
    pods: int = 1
    pool: str = ""
    """The pool that they select; empty where Kueue may choose."""
    one_block: bool = False
    """Whether all of them have to be in one block of the network."""

    @property
    def asked(self) -> Amounts:
        """What a pod asks for in the end."""
        return {**DEFAULT_REQUEST, **self.pod}

    @property
    def total(self) -> Amounts:
        """What Kueue counts."""
        return {name: amount * self.pods for name, amount in self.asked.items()}


def agrees(expected: Outcome, seen: Outcome) -> bool:
    """Whether the outcome is the expected one, in every field that the expectation names."""
    return (
        seen.verdict == expected.verdict
        and (not expected.by or seen.by == expected.by)
        and (not expected.flavor or seen.flavor == expected.flavor)
        and (not expected.pool or seen.pool == expected.pool)
        and (not expected.instance_types or set(seen.instance_types) <= set(expected.instance_types))
        and (expected.nodes is None or seen.nodes == expected.nodes)
        and (expected.borrowed is None or set(expected.borrowed) == set(seen.borrowed or ()))
        and expected.words in seen.words
    )
