"""The request that a test case sends to the control plane, and its outcome."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from gpuc.kubernetes.amounts import Amounts
from gpuc.model.tenant import DEFAULT_REQUEST
from gpuc.trace.steps import Component


@dataclass(frozen=True, slots=True)
class Outcome:
    """The expected or actual outcome of a test case."""

    verdict: Literal["complete", "bound", "admitted", "refused", "pending", "preempted", "unanswered"]
    by: Component | Literal[""] = ""
    """The component that refused the request, or that keeps the pods of the request pending."""
    flavor: str = ""
    """The ResourceFlavor that Kueue assigns; empty if Kueue assigns no flavor."""
    pool: str = ""
    """The pool of the nodes; empty if the pods get no nodes."""
    instance_types: tuple[str, ...] = ()
    """Expected: instance types that the nodes may have. Actual: instance types that the nodes have."""
    nodes: int | None = None
    """Number of nodes; None if the number is not compared."""
    borrowed: tuple[tuple[str, str], ...] | None = None
    """Borrowed amount by resource, in the format of Kueue's status; None if the amounts are not compared."""
    message: str = ""
    """Expected: a part of the component's message. Actual: the complete message."""


@dataclass(frozen=True, slots=True)
class Request:
    """A number of equal pods that start together."""

    pod: Amounts
    """Resource requests of one pod. The LimitRange of the namespace adds default requests."""
    pods: int = 1
    pool: str = ""
    """The node pool that the pods select; empty if Kueue chooses a pool."""
    one_block: bool = False
    """Whether all pods must run in one block of the network topology."""

    @property
    def pod_with_defaults(self) -> Amounts:
        """Resource requests of one pod, with the default requests of the LimitRange."""
        return {**DEFAULT_REQUEST, **self.pod}

    @property
    def total(self) -> Amounts:
        """Resource requests of all pods, which Kueue counts against the quota."""
        return {name: amount * self.pods for name, amount in self.pod_with_defaults.items()}


def agrees(expected: Outcome, actual: Outcome) -> bool:
    """Returns whether the actual outcome has every value that the expected outcome sets."""
    return (
        actual.verdict == expected.verdict
        and (not expected.by or actual.by == expected.by)
        and (not expected.flavor or actual.flavor == expected.flavor)
        and (not expected.pool or actual.pool == expected.pool)
        and (not expected.instance_types or set(actual.instance_types) <= set(expected.instance_types))
        and (expected.nodes is None or actual.nodes == expected.nodes)
        and (expected.borrowed is None or set(expected.borrowed) == set(actual.borrowed or ()))
        and expected.message in actual.message
    )
