"""Impacts: the effects of a change on nodes, running work, tenants, money and isolation.

Every impact has an id, for example IMP301. One function finds all impacts with this id.
"""

from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from gpuc.diagnostics.contract import Check, Checks
from gpuc.diagnostics.finding import Mark, Path, Severity

if TYPE_CHECKING:
    from gpuc.manifest.manifest import Manifest
    from gpuc.plan.change import Change


class Level(Enum):
    """How dangerous an impact is. The first level is the most dangerous, in reports and for the option --fail-on."""

    DESTROYS = "destroys"
    """Data, running work or capacity is lost."""
    DISRUPTS = "disrupts"
    """Nodes are replaced, work is evicted, or admission stops."""
    RESTRICTS = "restricts"
    """Something that was allowed or possible is refused, or waits longer."""
    COSTS = "costs"
    """Money."""
    NONE = "none"
    """Nothing that runs is disturbed, but a reviewer should know the change: for example, a tenant gains a right."""

    @property
    def rank(self) -> int:
        """The position of the level: 0 is the most dangerous."""
        return list(Level).index(self)


class Prediction(NamedTuple):
    """An outcome in the cluster that confirms an impact. `gpuc rehearse --from` checks whether this outcome occurs."""

    subject: str
    """One of "nodes of pool NAME", "workloads of queue NAME", "workloads of namespace NAME", "queue NAME",
    "object KIND NAMESPACE/NAME" (without NAMESPACE/ for cluster-scoped objects)."""
    outcome: str
    """For nodes: "replaced", "removed", or "perhaps replaced" if it depends on the node. For workloads: "evicted",
    "requeued", "refused", "waiting", "perhaps refused" if it depends on the workload, or "perhaps waiting" if it
    depends on what other queues lend. For queues: "inactive" or "active". For objects: "refused", "pruned" or
    "left"."""


class Raised(NamedTuple):
    """An impact whose line in the spec is not known yet. The functions with the decorator `impact` yield this class."""

    subject: str
    """The kind and the name in the words of the spec: "node pool train-h100", "queue research", "tenant nlp"."""
    message: str
    """What happens, with numbers and units of the spec, without a period at the end. It does not repeat the subject."""
    manifest: "Manifest | None" = None
    """The object that causes the impact: of the state after, or of the state before if the object is removed. gpuc
    computes the line of the spec from the object and the path."""
    path: Path = ()
    """The path of the changed value in the object; without an object, the path in the spec."""
    details: tuple[str, ...] = ()
    """More sentences, which reports fold: order, grace periods, steps."""
    predicts: tuple[Prediction, ...] = ()


class Impact(Struct, frozen=True):
    """An impact, which is an effect of a change, with the line of the spec that causes it."""

    id: str
    level: Level
    subject: str
    message: str
    path: Path
    """The path in the merged spec that caused the impact; empty without a spec."""
    mark: Mark | None
    """The line of the spec; without a spec, the line of the object. None if it is not known."""
    is_before: bool
    """Whether the mark is in the state before, because the state after does not have the line."""
    details: tuple[str, ...] = ()
    predicts: tuple[Prediction, ...] = ()
    accepted: str = ""
    """The reason for which the spec accepts the impact; empty if the spec does not accept the impact."""

    @property
    def order(self) -> tuple[int, str, str, str]:
        """The key by which reports sort impacts: the most dangerous impact is the first."""
        return self.level.rank, self.id, self.subject, self.message


def workloads_of(kind: str, names: Iterable[str], outcome: str) -> tuple[Prediction, ...]:
    """Returns one prediction for each queue or namespace: its workloads have the given outcome, for example "evicted".

    Args:
        kind: "queue" or "namespace".
    """
    return tuple(Prediction(f"workloads of {kind} {name}", outcome) for name in names)


Impacts = Iterator[Raised]
IMPACTS: "Checks[Change, Raised]" = Checks("gpuc.plan.impacts")


def impact(id: str, level: Level) -> "Callable[[Callable[[Change], Impacts]], Check[Change, Raised]]":  # noqa: A002
    """Returns a decorator for a function that finds the impacts with an id.

    The docstring of the function is the title of the impact. The file rules.toml in the folder of the function has the
    reason and the source.

    Args:
        id: IMP and three digits. The hundreds are the topic: 1 nodes, 2 queues, 3 admission, 4 network and access,
            5 delivery, 6 versions, 7 costs.
    """
    return IMPACTS.declare(id, Severity.INFO, level=level.value)
