from __future__ import annotations

from fractions import Fraction

from gpuc.cluster.flavors import FlavorCapacity
from gpuc.cluster.queue import Member, from_objects
from gpuc.kubernetes.amounts import UNLIMITED, rounded
from gpuc.kubernetes.quota import Quota
from gpuc.lint.checks import QUEUES_AND_POOLS, Findings, check, rule_of
from gpuc.model.names import EFA, GPU
from gpuc.objects.object_set import ObjectSet

BORROWED_GPUS_WITHOUT_CPU = rule_of("QTA015")
FLAVOR_WITHOUT_CPU = rule_of("QTA016")
_WITH_GPUS = ("cpu", "memory", EFA)
_ALWAYS = ("cpu", "memory", "pods")


@check(BORROWED_GPUS_WITHOUT_CPU, FLAVOR_WITHOUT_CPU, kinds=QUEUES_AND_POOLS)
def unbalanced_quota(objects: ObjectSet) -> Findings:
    """Yields findings about flavors in which only some of the resources of a pod have quota or can be borrowed."""
    pools = objects.once(FlavorCapacity)
    for queue in (queue for tree in objects.once(from_objects).trees for queue in tree.queues):
        reachable = {resource for flavor, resource in queue.quotas if queue.capacity((flavor, resource)) > 0}
        for flavor, quotas in queue.by_flavor.items():
            # In partial input, other ClusterQueues may lend resources.
            may_borrow = not objects.is_complete and queue.parent is not None
            certain = {resource for resource, quota in quotas.items() if not may_borrow or quota.borrow == 0}
            yield from _without_cpu(queue, flavor, quotas, certain & reachable)
            yield from _borrowed_gpus_without_cpu(pools, queue, flavor, quotas, certain)


def _without_cpu(queue: Member, flavor: str, quotas: dict[str, Quota], checked: set[str]) -> Findings:
    """Yields findings about flavors without quota for cpu, memory or pods."""
    usable = [resource for resource in quotas if queue.capacity((flavor, resource)) > 0]
    for resource in _ALWAYS:
        # The check of borrowing reports a resource without quota in all flavors of the queue.
        if usable and resource in checked and resource not in usable:
            text = f"the ClusterQueue can use {', '.join(usable)} of ResourceFlavor {flavor}, but no {resource}"
            yield queue.finding(FLAVOR_WITHOUT_CPU, (flavor, resource), "nominalQuota", text)


def _borrowed_gpus_without_cpu(
    pools: FlavorCapacity, queue: Member, flavor: str, quotas: dict[str, Quota], checked: set[str]
) -> Findings:
    gpus = quotas.get(GPU)
    types = pools.unshared_types(flavor)
    if gpus is None or not types or queue.parent is None:
        return
    usable = queue.capacity((flavor, GPU))
    if usable <= gpus.nominal or usable >= UNLIMITED:
        return
    for resource in _WITH_GPUS:
        quota = quotas.get(resource)
        if quota is None or not quota.nominal or resource not in checked:
            continue
        if queue.capacity((flavor, resource)) > quota.nominal:
            continue
        gpus_served = [Fraction(node[GPU] * quota.nominal, node[resource]) for node in types if node.get(resource)]
        if gpus_served and max(gpus_served) <= gpus.nominal:
            field = "borrowingLimit" if quota.borrow is not None else "nominalQuota"
            borrowed, own = rounded(GPU, usable - gpus.nominal), rounded(resource, quota.nominal)
            text = f"the ClusterQueue can borrow up to {borrowed} of ResourceFlavor {flavor}, but no {resource}; its "
            text += f"nominal quota of {own} suffices for {rounded(GPU, max(gpus_served))} on such nodes"
            yield queue.finding(BORROWED_GPUS_WITHOUT_CPU, (flavor, resource), field, text)
