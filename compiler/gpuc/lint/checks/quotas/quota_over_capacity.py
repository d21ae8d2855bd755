from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from math import inf

from gpuc.cluster.flavors import FlavorCapacity
from gpuc.cluster.pool import named
from gpuc.cluster.queue import Member, from_objects
from gpuc.kubernetes.amounts import UNLIMITED, rounded
from gpuc.kubernetes.kueue import GROUP
from gpuc.kubernetes.quota import Key, Quota
from gpuc.lint.checks import QUEUES_AND_POOLS, Findings, check, rule_of
from gpuc.model.names import EFA, GPU
from gpuc.model.units import Unit
from gpuc.objects.object_set import ObjectSet, dig
from gpuc.rules.queues.capacity import Counted, beyond, quotas_exceed_capacity
from gpuc.rules.queues.places import place

OVER_KNOWN_CAPACITY = rule_of("QTA002")
BELOW_A_NODE = rule_of("QTA003")
OUT_OF_PROPORTION = rule_of("QTA004")
_UNKNOWN_OR_REMOTE = (None, "kueue.x-k8s.io/multikueue")
_TOLERANCE = 4
"""Pods rarely request less than a quarter of the cpu and memory that a node has for each of its GPUs."""
_WITH_GPUS = ("cpu", "memory", EFA)


@check(OVER_KNOWN_CAPACITY, quotas_exceed_capacity.rule, kinds=QUEUES_AND_POOLS)
def quota_over_capacity(objects: ObjectSet) -> Findings:
    """Yields findings about nominal quotas that exceed the capacity of the flavor's node pools.

    A flavor has one finding, for the resource with the largest excess, because all resources depend on the same nodes.
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
            rows = [Counted(row.name, row.quotas[key].nominal, *place(row, key, "nominalQuota")) for row in members]
            rule = quotas_exceed_capacity.rule if pools.is_certain(flavor) else OVER_KNOWN_CAPACITY
            found = beyond(rows, most, f"ResourceFlavor {flavor}", named(pools.by_flavor[flavor]), Unit(key[1], ""))
            others = [other[1] for _, other, _, _ in exceeded if other != key]
            more = f"; also exceeded: {', '.join(others)}" if others else ""
            yield found._replace(message=found.message + more).on_object(rule)


@check(BELOW_A_NODE, OUT_OF_PROPORTION, kinds=QUEUES_AND_POOLS)
def quota_proportions(objects: ObjectSet) -> Findings:
    """Yields findings about GPU quotas below one node, and about too little cpu, memory or EFA for the GPU quota.

    In partial input, only ClusterQueues without a cohort are checked: others may borrow from queues of other files.
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
