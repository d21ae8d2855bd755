"""Quota of one resource that is of no use for lack of another in the same flavor."""

from __future__ import annotations

from collections.abc import Iterator

from gpuc.diagnostics.finding import Severity, fault
from gpuc.kubernetes.amount import UNLIMITED, told
from gpuc.lint.checks.quotas.kueue import Family, Member, Quota
from gpuc.lint.checks.quotas.promises import Nodes
from gpuc.objects.flaw import Flaw
from gpuc.trace.machine import EFA, GPU

BORROWED_ALONE = fault(
    "QTA015",
    Severity.WARNING,
    "GPUs of a flavor can be borrowed, but none of the cpu, memory or EFA that goes with them.",
    "Pods that take a node's share use up the queue's own cpu with its own GPUs; what it borrows then starts nothing.",
    "kueue v0.19.2 pkg/scheduler/flavorassigner (every resource of a pod has to fit the same flavor)",
)
NONE_BESIDE = fault(
    "QTA016",
    Severity.WARNING,
    "A flavor has quota of some resources, and nothing of the cpu or memory that every pod asks for.",
    "Work that asks for all of them is never admitted to the flavor: its other quota is used by nobody.",
    "kueue v0.19.2 pkg/scheduler/flavorassigner (every resource of a pod has to fit the same flavor)",
)
_BESIDE_GPUS = ("cpu", "memory", EFA)
_ALWAYS = ("cpu", "memory", "pods")


def balance(nodes: Nodes, family: Family) -> Iterator[Flaw]:
    """Flavors of a family's queues in which one resource has nothing, or borrows nothing, beside others that do."""
    for queue in family.queues:
        reachable = {resource for (_, resource), value in queue.potential.items() if value > 0}
        for flavor, quotas in queue.flavors().items():
            closed = {resource for resource, quota in quotas.items() if not _is_open(queue, quota, nodes)}
            yield from _none_beside(queue, flavor, quotas, closed & reachable)
            yield from _borrowed_alone(nodes, queue, flavor, quotas, closed)


def _is_open(queue: Member, quota: Quota, nodes: Nodes) -> bool:
    """Whether other files of the cluster may lend more."""
    return not nodes.tree.is_whole and queue.above is not None and quota.borrowing != 0


def _none_beside(queue: Member, flavor: str, quotas: dict[str, Quota], judged: set[str]) -> Iterator[Flaw]:
    given = [resource for resource in quotas if queue.potential[flavor, resource] > 0]
    for resource in _ALWAYS:
        # Of what no flavor of the queue has anything, the judge of borrowing tells.
        if given and resource in judged and resource not in given:
            assert queue.manifest is not None, "a queue has an object"
            text = f"nothing of {resource} can be had of flavor {flavor}, beside {', '.join(given)}"
            yield Flaw(NONE_BESIDE, queue.manifest, (*quotas[resource].path, "nominalQuota"), text)


def _borrowed_alone(
    nodes: Nodes, queue: Member, flavor: str, quotas: dict[str, Quota], closed: set[str]
) -> Iterator[Flaw]:
    gpus = quotas.get(GPU)
    types = nodes.whole_gpus(flavor)
    if gpus is None or not types or queue.above is None:
        return
    most = queue.potential[flavor, GPU]
    if most <= gpus.nominal or most >= UNLIMITED:
        return
    for resource in _BESIDE_GPUS:
        quota = quotas.get(resource)
        if quota is None or resource not in closed or queue.potential[flavor, resource] > quota.nominal:
            continue
        shares = [each[GPU] * quota.nominal // each[resource] for each in types if each.get(resource)]
        if shares and max(shares) <= gpus.nominal:
            assert queue.manifest is not None, "a queue has an object"
            field = "borrowingLimit" if quota.borrowing is not None else "nominalQuota"
            text = f"of flavor {flavor} up to {told(GPU, most - gpus.nominal)} can be borrowed and no {resource}; the "
            text += f"queue's own {told(resource, quota.nominal)} is a node's share for {told(GPU, max(shares))}"
            yield Flaw(BORROWED_ALONE, queue.manifest, (*quota.path, field), text)
