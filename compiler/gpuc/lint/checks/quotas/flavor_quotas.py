"""Checks whether the quotas of a ResourceFlavor fit the node pools of the flavor.

The checks find quotas that exceed the capacity of the node pools, quotas that are out of proportion to other quotas of
the flavor, and quotas for node pools with a limit of 0 nodes.
"""

from collections import defaultdict
from fractions import Fraction
from math import inf

from gpuc.cluster.flavors import FlavorCapacity, every_flavor
from gpuc.cluster.pool import named
from gpuc.cluster.pool_fields import LIMITS, NODES
from gpuc.cluster.pools import Pools
from gpuc.cluster.queue import Member, from_objects
from gpuc.kubernetes.amounts import UNLIMITED, rounded
from gpuc.kubernetes.kueue import GROUP
from gpuc.kubernetes.quota import Key, Quota
from gpuc.lint.checks import QUEUES_AND_POOLS, Findings, check, rule_of
from gpuc.lint.checks.consistency.object_consistency import TOO_FEW_NODES
from gpuc.model.names import EFA, GPU
from gpuc.model.units import Unit
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet, dig
from gpuc.rules.queues.capacity import Counted, beyond, quotas_exceed_capacity
from gpuc.rules.queues.places import place

OVER_KNOWN_CAPACITY = rule_of("QTA002")
BELOW_A_NODE = rule_of("QTA003")
OUT_OF_PROPORTION = rule_of("QTA004")
BORROWED_GPUS_WITHOUT_CPU = rule_of("QTA015")
FLAVOR_WITHOUT_CPU = rule_of("QTA016")
_UNKNOWN_OR_REMOTE = (None, "kueue.x-k8s.io/multikueue")
_TOLERANCE = 4
"""Pods rarely request less than a quarter of the cpu and memory that a node has for each of its GPUs."""
_WITH_GPUS = ("cpu", "memory", EFA)
_ALWAYS = ("cpu", "memory", "pods")


@check(OVER_KNOWN_CAPACITY, quotas_exceed_capacity.rule, kinds=QUEUES_AND_POOLS)
def quota_over_capacity(objects: ObjectSet) -> Findings:
    """Yields findings about nominal quotas that exceed the capacity of the flavor's node pools.

    Each flavor has at most one finding, for the resource with the largest excess, because all resources depend on the
    number of nodes.
    """
    pools, trees = objects.once(FlavorCapacity), objects.once(from_objects).trees
    checks = objects.of(GROUP, "AdmissionCheck")
    controllers = {check.name: dig(check.body, "spec", "controllerName") for check in checks}
    by_flavor: dict[str, dict[Key, list[Member]]] = defaultdict(lambda: defaultdict(list))
    for member in (member for tree in trees for member in tree.members):
        # The work of a ClusterQueue with MultiKueue may run in other clusters.
        if not any(controllers.get(name) in _UNKNOWN_OR_REMOTE for name in member.checks):
            for key in member.quotas:
                by_flavor[key[0]][key].append(member)
    for flavor, by_key in by_flavor.items():
        exceeded = []
        for key, members in by_key.items():
            total, most = sum(member.quotas[key].nominal for member in members), pools.maximum(key)
            # An unlimited quota exceeds the capacity on purpose.
            if most is not None and max(most, 0) < total < UNLIMITED:
                exceeded.append((total / most if most > 0 else inf, key, members, most))
        if exceeded:
            _, key, members, most = max(exceeded, key=lambda excess: excess[0])
            rows = [Counted(row.words, row.quotas[key].nominal, *place(row, key, "nominalQuota")) for row in members]
            rule = quotas_exceed_capacity.rule if pools.is_certain(flavor) else OVER_KNOWN_CAPACITY
            found = beyond(rows, most, f"ResourceFlavor {flavor}", named(pools.by_flavor[flavor]), Unit(key[1], ""))
            others = [other[1] for _, other, _, _ in exceeded if other != key]
            more = f"; also exceeded: {', '.join(others)}" if others else ""
            yield found._replace(message=found.message + more).on_object(rule)


@check(BELOW_A_NODE, OUT_OF_PROPORTION, kinds=QUEUES_AND_POOLS)
def quota_proportions(objects: ObjectSet) -> Findings:
    """Yields findings about GPU quotas below one node, and about too little cpu, memory or EFA for a GPU quota.

    If the input is only a part of a cluster, the function checks only ClusterQueues without a cohort, because the other
    ClusterQueues may borrow from queues in other files.
    """
    pools, trees = objects.once(FlavorCapacity), objects.once(from_objects).trees
    checked = (tree for tree in trees if objects.is_complete or tree.root.is_queue)
    for queue in (queue for tree in checked for queue in tree.queues):
        for flavor, quotas in queue.by_flavor.items():
            types = pools.unshared_types(flavor)
            gpus = queue.capacity((flavor, GPU))
            if gpus and types and gpus < UNLIMITED:
                yield from _of_gpus(queue, flavor, quotas, gpus, types)


def _of_gpus(queue: Member, flavor: str, quotas: dict[str, Quota], gpus: int, types: list[dict[str, int]]) -> Findings:
    node_gpus = min(node[GPU] for node in types)
    if gpus < node_gpus and queue.capacity((flavor, EFA)):
        text = f"the ClusterQueue can use {rounded(GPU, gpus)} of ResourceFlavor {flavor}, borrowing included, but one "
        text += f"node has {rounded(GPU, node_gpus)}"
        yield queue.finding(BELOW_A_NODE, (flavor, GPU), "nominalQuota", text)
    for resource in _WITH_GPUS:
        if resource not in quotas or not (resource != EFA or queue.capacity((flavor, EFA))):
            continue
        usable = queue.capacity((flavor, resource))
        gpus_served = [Fraction(node[GPU] * usable, node[resource]) for node in types if node[resource]]
        if gpus_served and max(gpus_served) * _TOLERANCE < gpus:
            text = f"the ClusterQueue can use {rounded(GPU, gpus)} of ResourceFlavor {flavor}, but its "
            text += f"{rounded(resource, usable)} suffices for {rounded(GPU, max(gpus_served))} on such nodes"
            yield queue.finding(OUT_OF_PROPORTION, (flavor, resource), "nominalQuota", text)


@check(BORROWED_GPUS_WITHOUT_CPU, FLAVOR_WITHOUT_CPU, kinds=QUEUES_AND_POOLS)
def unbalanced_quota(objects: ObjectSet) -> Findings:
    """Yields findings about flavors with quota (own or borrowed) for only some of the resources that a pod needs."""
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


@check(TOO_FEW_NODES, kinds=QUEUES_AND_POOLS)
def closed_pools(objects: ObjectSet) -> Findings:
    """Yields findings about static node pools with a limit of 0 nodes, if ClusterQueues have quota for them."""
    pools, with_quota = objects.once(Pools), objects.once(from_objects).with_quota
    for flavor in objects.once(every_flavor):
        for pool in pools.matching(flavor.labels) if flavor.labels and flavor.name in with_quota else ():
            if pool.replicas and pool.is_closed:
                message = f"the limit is 0 nodes, but ClusterQueues have quota for ResourceFlavor {flavor.name}"
                yield ObjectFinding(TOO_FEW_NODES, pool.manifest, (*LIMITS, NODES), message)
