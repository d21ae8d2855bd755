"""Quota of one resource that is of no use for lack of another in the same flavor."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from gpuc.diagnostics.finding import Severity, declare_rule
from gpuc.kubernetes.amounts import UNLIMITED, rounded
from gpuc.kubernetes.quota import Quota
from gpuc.lint.checks.quotas.families import Family, by_flavor
from gpuc.lint.checks.quotas.promises import Nodes
from gpuc.objects.object_finding import ObjectFinding
from gpuc.trace.instance_capacity import EFA, GPU
from gpuc.trace.quota import Node

BORROWED_ALONE = declare_rule(
    "QTA015",
    Severity.WARNING,
    "GPUs of a flavor can be borrowed, but none of the cpu, memory or EFA that goes with them.",
    "Pods that take a node's share use up the queue's own cpu with its own GPUs; what it borrows then starts nothing.",
    "kueue v0.19.2 pkg/scheduler/flavorassigner (every resource of a pod has to fit the same flavor)",
)
NONE_BESIDE = declare_rule(
    "QTA016",
    Severity.WARNING,
    "A flavor has quota of some resources, and nothing of the cpu or memory that every pod asks for.",
    "Work that asks for all of them is never admitted to the flavor: its other quota is used by nobody.",
    "kueue v0.19.2 pkg/scheduler/flavorassigner (every resource of a pod has to fit the same flavor)",
)
_BESIDE_GPUS = ("cpu", "memory", EFA)
_ALWAYS = ("cpu", "memory", "pods")


def balance(nodes: Nodes, family: Family) -> Iterator[ObjectFinding]:
    """Flavors of a family's queues in which one resource has nothing, or borrows nothing, beside others that do."""
    for queue in family.queues:
        reachable = {resource for flavor, resource in queue.quotas if queue.capacity((flavor, resource)) > 0}
        for flavor, quotas in by_flavor(queue).items():
            closed = {resource for resource, quota in quotas.items() if not _is_open(queue, quota, nodes)}
            yield from _none_beside(queue, flavor, quotas, closed & reachable)
            yield from _borrowed_alone(nodes, queue, flavor, quotas, closed)


def _is_open(queue: Node, quota: Quota, nodes: Nodes) -> bool:
    """Whether other files of the cluster may lend more."""
    return not nodes.tree.is_complete and queue.parent is not None and quota.borrow != 0


def _none_beside(queue: Node, flavor: str, quotas: dict[str, Quota], judged: set[str]) -> Iterator[ObjectFinding]:
    given = [resource for resource in quotas if queue.capacity((flavor, resource)) > 0]
    for resource in _ALWAYS:
        # Of what no flavor of the queue has anything, the judge of borrowing tells.
        if given and resource in judged and resource not in given:
            assert queue.manifest is not None, "a queue has an object"
            text = f"nothing of {resource} can be had of flavor {flavor}, beside {', '.join(given)}"
            yield ObjectFinding(NONE_BESIDE, queue.manifest, (*queue.path((flavor, resource)), "nominalQuota"), text)


def _borrowed_alone(
    nodes: Nodes, queue: Node, flavor: str, quotas: dict[str, Quota], closed: set[str]
) -> Iterator[ObjectFinding]:
    gpus = quotas.get(GPU)
    types = nodes.whole_gpus(flavor)
    if gpus is None or not types or queue.parent is None:
        return
    most = queue.capacity((flavor, GPU))
    if most <= gpus.nominal or most >= UNLIMITED:
        return
    for resource in _BESIDE_GPUS:
        quota = quotas.get(resource)
        if quota is None or not quota.nominal or resource not in closed:
            continue
        if queue.capacity((flavor, resource)) > quota.nominal:
            continue
        shares = [Fraction(node[GPU] * quota.nominal, node[resource]) for node in types if node.get(resource)]
        if shares and max(shares) <= gpus.nominal:
            assert queue.manifest is not None, "a queue has an object"
            field = "borrowingLimit" if quota.borrow is not None else "nominalQuota"
            text = (
                f"of flavor {flavor} up to {rounded(GPU, most - gpus.nominal)} can be borrowed and no {resource}; the "
            )
            text += f"queue's own {rounded(resource, quota.nominal)} is a node's share for {rounded(GPU, max(shares))}"
            yield ObjectFinding(BORROWED_ALONE, queue.manifest, (*queue.path((flavor, resource)), field), text)
