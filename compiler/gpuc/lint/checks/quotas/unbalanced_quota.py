"""Quota that is useless because the flavor has no quota for another resource."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from gpuc.diagnostics.finding import Severity, declare_rule
from gpuc.kubernetes.amounts import UNLIMITED, rounded
from gpuc.kubernetes.quota import Quota
from gpuc.lint.checks.quotas.capacity import FlavorCapacity
from gpuc.lint.checks.quotas.cohort_trees import CohortTree, by_flavor
from gpuc.objects.object_finding import ObjectFinding
from gpuc.trace.instance_capacity import EFA, GPU
from gpuc.trace.quota import Node

BORROWED_ALONE = declare_rule(
    "QTA015",
    Severity.WARNING,
    "A queue can borrow GPUs of a flavor, but not the cpu, memory or EFA that goes with them.",
    "Pods with a node's share use up the queue's own cpu together with its own GPUs. Borrowed GPUs then start nothing.",
    "kueue v0.19.2 pkg/scheduler/flavorassigner (every resource of a pod has to fit the same flavor)",
)
NONE_BESIDE = declare_rule(
    "QTA016",
    Severity.WARNING,
    "A flavor has quota, but no quota for the cpu, memory or pods that all work needs.",
    "Workload that requests all of these resources is never admitted to the flavor: its other quota is not used.",
    "kueue v0.19.2 pkg/scheduler/flavorassigner (every resource of a pod has to fit the same flavor)",
)
_WITH_GPUS = ("cpu", "memory", EFA)
_ALWAYS = ("cpu", "memory", "pods")


def unbalanced_quota(pools: FlavorCapacity, cohort: CohortTree) -> Iterator[ObjectFinding]:
    """Flavors of queues in which one resource has no quota, or cannot be borrowed, while others have or can."""
    for queue in cohort.queues:
        reachable = {resource for flavor, resource in queue.quotas if queue.capacity((flavor, resource)) > 0}
        for flavor, quotas in by_flavor(queue).items():
            closed = {resource for resource, quota in quotas.items() if not _is_open(queue, quota, pools)}
            yield from _none_beside(queue, flavor, quotas, closed & reachable)
            yield from _borrowed_alone(pools, queue, flavor, quotas, closed)


def _is_open(queue: Node, quota: Quota, pools: FlavorCapacity) -> bool:
    """Whether queues of other files may lend more."""
    return not pools.tree.is_complete and queue.parent is not None and quota.borrow != 0


def _none_beside(queue: Node, flavor: str, quotas: dict[str, Quota], checked: set[str]) -> Iterator[ObjectFinding]:
    usable = [resource for resource in quotas if queue.capacity((flavor, resource)) > 0]
    for resource in _ALWAYS:
        # The check of borrowing reports a resource without quota in all flavors of the queue.
        if usable and resource in checked and resource not in usable:
            assert queue.manifest is not None, "a queue has an object"
            text = f"flavor {flavor} has usable {', '.join(usable)}, but no {resource}"
            yield ObjectFinding(NONE_BESIDE, queue.manifest, (*queue.path((flavor, resource)), "nominalQuota"), text)


def _borrowed_alone(
    pools: FlavorCapacity, queue: Node, flavor: str, quotas: dict[str, Quota], closed: set[str]
) -> Iterator[ObjectFinding]:
    gpus = quotas.get(GPU)
    types = pools.unshared_types(flavor)
    if gpus is None or not types or queue.parent is None:
        return
    most = queue.capacity((flavor, GPU))
    if most <= gpus.nominal or most >= UNLIMITED:
        return
    for resource in _WITH_GPUS:
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
                f"up to {rounded(GPU, most - gpus.nominal)} of flavor {flavor} can be borrowed, but no {resource}; the "
            )
            text += f"queue's own {rounded(resource, quota.nominal)} is a node's share for {rounded(GPU, max(shares))}"
            yield ObjectFinding(BORROWED_ALONE, queue.manifest, (*queue.path((flavor, resource)), field), text)
