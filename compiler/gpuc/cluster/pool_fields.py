"""Reads fields of a NodePool: their paths in the object, and the values of its lists."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from msgspec import Struct

from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.node_pool import normal
from gpuc.objects.object_set import dig, items

NODES = "nodes"
"""The limit of the number of nodes."""
LIMITS: Path = ("spec", "limits")
REPLICAS: Path = ("spec", "replicas")
WEIGHT: Path = ("spec", "weight")
DISRUPTION: Path = ("spec", "disruption")
BUDGETS: Path = (*DISRUPTION, "budgets")
CONSOLIDATION: Path = (*DISRUPTION, "consolidationPolicy")
IDLE_TIME: Path = (*DISRUPTION, "consolidateAfter")
TEMPLATE: Path = ("spec", "template")
LABELS: Path = (*TEMPLATE, "metadata", "labels")
REQUIREMENTS: Path = (*TEMPLATE, "spec", "requirements")
TAINTS: Path = (*TEMPLATE, "spec", "taints")
STARTUP_TAINTS: Path = (*TEMPLATE, "spec", "startupTaints")
LIFETIME: Path = (*TEMPLATE, "spec", "expireAfter")
GRACE: Path = (*TEMPLATE, "spec", "terminationGracePeriod")
NODE_CLASS: Path = (*TEMPLATE, "spec", "nodeClassRef")


class PoolRequirement(NamedTuple):
    """An entry of the list of requirements in a NodePool, for one label of the nodes."""

    position: int
    key: str
    """The current key of the label."""
    operator: str
    values: tuple[str, ...]
    least: int
    """The minimum number of values of the label among the instance types for a node; 0 without a minimum."""

    @property
    def allowed(self) -> frozenset[str] | None:
        """The allowed values of the label; None if the operator is not In."""
        return frozenset(self.values) if self.operator == "In" else None


class Budget(Struct, frozen=True):
    """A disruption budget of a NodePool: how many nodes Karpenter disrupts at the same time."""

    nodes: str
    """A number of nodes or a percentage."""
    reasons: tuple[str, ...] | None
    """The reasons for which the budget counts; None for all reasons, and an empty list for none."""
    schedule: str
    """When the budget starts to count, as a cron expression in UTC; empty if it always counts."""
    duration: str


def requirements(raw: Any) -> Iterator[PoolRequirement]:
    """Yields the requirements in a list of a NodePool, also the requirements that the API server would refuse."""
    for index, row in items(raw):
        values = tuple(str(value) for _, value in items(dig(row, "values")))
        least = dig(row, "minValues")
        number = least if isinstance(least, int) else 0
        yield PoolRequirement(index, normal(str(dig(row, "key"))), str(dig(row, "operator")), values, number)


def budgets(raw: Any) -> Iterator[Budget]:
    """Yields the budgets in an unvalidated spec.disruption.budgets; for None, Karpenter's default of 10% of nodes."""
    for _, row in items([{"nodes": "10%"}] if raw is None else raw):
        written = dig(row, "reasons")
        reasons = None if written is None else tuple(str(reason) for _, reason in items(written))
        schedule, duration = (str(dig(row, field) or "") for field in ("schedule", "duration"))
        yield Budget(str(dig(row, "nodes")), reasons, schedule, duration)
