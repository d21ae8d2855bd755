"""Checks ResourceQuotas of a namespace that contradict the quota of the ClusterQueues that the namespace can use.

Source: kubernetes v1.35 pkg/quota/v1/evaluator/core/pods.go (keys of spec.hard)
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, NamedTuple

from gpuc.cluster.flavors import FlavorCapacity
from gpuc.cluster.pool import GPUS, Pool, named
from gpuc.cluster.pool_parts import PoolPart, pool_parts
from gpuc.cluster.queue import Member, from_objects
from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.amounts import CPU, EPHEMERAL_STORAGE, MEMORY, PODS, UNLIMITED, exact_amount, rounded
from gpuc.lint.checks import QUEUES_AND_POOLS, Findings, check, rule_of
from gpuc.manifest.manifest import Manifest
from gpuc.model.units import Unit
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import NAMESPACE_NAME, ObjectSet, by_first, dig, items, pairs
from gpuc.rules.queues.capacity import Counted, beyond, quotas_exceed_capacity

QUOTA_OUT_OF_REACH = rule_of("QTA012")
NO_POD_FITS = rule_of("QTA013")
BOUNDS_NOTHING = rule_of("QTA014")
FORBIDDEN_RESOURCE = rule_of("QTA017")
COUNTED_TWICE = rule_of("QTA022")
_NATIVE = frozenset((CPU, MEMORY, EPHEMERAL_STORAGE))
Hard = dict[str, tuple[Fraction, Manifest, Path]]
"""By resource: the amount that pods of a namespace may request, and the object and path of the lowest ResourceQuota."""


@check(
    QUOTA_OUT_OF_REACH, NO_POD_FITS, BOUNDS_NOTHING, FORBIDDEN_RESOURCE, COUNTED_TWICE,
    kinds=(*QUEUES_AND_POOLS, "ResourceQuota", "LimitRange"),
)  # fmt: skip
def namespace_quotas(objects: ObjectSet) -> Findings:
    """Yields findings about ResourceQuotas that contradict the quota of the ClusterQueues of the namespace."""
    hard, queues = _hard(objects), objects.once(from_objects)
    if not hard or not queues.trees:
        return
    pools = objects.once(FlavorCapacity)
    members = {
        name: list(dict.fromkeys(local.namespace for local in rows)) for name, rows in queues.local_queues.items()
    }
    judged = {queue.name: queue for tree in queues.trees for queue in tree.queues}
    for queue in judged.values():
        served = members.get(queue.name, [])
        for namespace in served:
            refused = list(_no_pod(queue, namespace, hard.get(namespace, {})))
            yield from refused or _forbidden_resources(queue, namespace, hard.get(namespace, {}))
        if served and (objects.is_complete or _admits_only(queue, served)):
            yield from _out_of_reach(queue, [hard.get(namespace, {}) for namespace in served])
    if objects.is_complete:
        parts = objects.once(pool_parts)
        yield from _too_high(list(_quotas(hard, members, judged, pools.closed)), judged, pools, parts)
        yield from _parts_beyond_pools(parts, pools.unqueued)


def _too_high(
    quotas: "list[NamespaceQuota]", queues: dict[str, Member], pools: FlavorCapacity, parts: tuple[PoolPart, ...]
) -> Findings:
    """Yields findings about ResourceQuotas that allow more than the ClusterQueues and node pools can provide."""
    found = list(outside_kueue(quotas, pools.unqueued))
    yield from found
    covered = {resource for queue in queues.values() for _, resource in queue.quotas}
    for quota in quotas:
        if not found or not quota.pools(pools.unqueued):  # otherwise the finding has the same cause
            names = {part.pool for part in parts if part.quota.namespace == quota.namespace}
            general = [pool for pool in pools.unqueued if pool.of_spec in names]
            yield from _bounds_nothing(quota, covered, [*quota.pools(pools.unqueued), *general])


def _parts_beyond_pools(parts: tuple[PoolPart, ...], unqueued: list[Pool]) -> Findings:
    """Yields findings about ResourceQuotas for the pods of one node pool that allow more cpu than the pool has."""
    for name, rows in by_first((part.pool, part) for part in parts).items():
        pools = [pool for pool in unqueued if pool.of_spec == name and not pool.is_closed]
        bounds = [pool.maximum(CPU) for pool in pools]
        known = [bound for bound in bounds if bound is not None]
        if known and len(known) == len(bounds) and sum(part.cpu for part in rows) > sum(known):
            path = ("spec", "hard", f"requests.{CPU}")
            counted = [Counted(f"namespace {part.quota.namespace}", part.cpu, path, part.quota) for part in rows]
            found = beyond(counted, sum(known), named(pools), named(pools), Unit(CPU, ""))
            yield found.on_object(quotas_exceed_capacity.rule)


def _quotas(
    hard: dict[str, Hard], members: dict[str, list[str]], queues: dict[str, Member], closed: frozenset[str]
) -> "Iterator[NamespaceQuota]":
    """Yields the ResourceQuota of every namespace, with the amounts that its ClusterQueues can provide.

    Namespaces with a ClusterQueue that does not exist are left out.
    """
    queues_of = by_first((namespace, name) for name, served in members.items() for namespace in served)
    for namespace in dict.fromkeys((*queues_of, *hard)):
        names = queues_of.get(namespace, [])
        if not all(name in queues for name in names):
            continue
        provided: dict[str, int] = defaultdict(int)
        for name in names:
            for key in queues[name].quotas:
                provided[key[1]] += queues[name].capacity(key)
            # Admitted pods keep running after their flavor has lost its quota.
            provided |= {resource: UNLIMITED for flavor, resource in queues[name].quotas if flavor in closed}
        yield NamespaceQuota(namespace, names, hard.get(namespace, {}), provided)


def _bounds_nothing(quota: "NamespaceQuota", covered: set[str], used: list[Pool]) -> Findings:
    """Yields findings about amounts of a ResourceQuota that pods of the namespace cannot use.

    Args:
        covered: the resources of all ClusterQueues.
        used: the node pools of the namespace that no ResourceFlavor selects. Pods outside of Kueue can use them too.
    """
    if (not quota.queues and not used) or any(pool.is_closed or not pool.of_spec for pool in used):
        return
    names = [f"ClusterQueue {', '.join(quota.queues)}"] if quota.queues else []
    names += [named(used)] if used else []
    for resource, (value, manifest, path) in quota.hard.items():
        bounds = [pool.maximum_of_devices(resource) for pool in used]
        is_covered = resource in quota.provided or (resource in covered and resource not in _NATIVE) or bool(used)
        if not is_covered or None in bounds or any(resource in pool.gpus for pool in used):
            continue
        most = sum((bound for bound in bounds if bound is not None), quota.provided.get(resource, 0))
        if value > most < UNLIMITED:
            text = f"the ResourceQuota allows {rounded(resource, value)}, but {' and '.join(names)} can provide "
            yield ObjectFinding(
                BOUNDS_NOTHING, manifest, path, f"{text}at most {rounded(resource, most)} in this namespace"
            )


def _hard(objects: ObjectSet) -> dict[str, Hard]:
    by_namespace: dict[str, Hard] = defaultdict(dict)
    for quota in objects.of("", "ResourceQuota"):
        if dig(quota.body, "spec", "scopes") or dig(quota.body, "spec", "scopeSelector"):
            continue  # the quota counts only some pods
        for name, row in pairs(dig(quota.body, "spec", "hard")):
            resource = _resource(name)
            value = exact_amount(resource, row)
            if resource and value is not None:
                lowest = by_namespace[quota.namespace].get(resource)
                if lowest is None or value < lowest[0]:
                    by_namespace[quota.namespace][resource] = (value, quota, ("spec", "hard", name))
    return by_namespace


def _resource(name: Any) -> str:
    """Returns the resource that a key of spec.hard limits, `pods` for the number of pods; empty for other keys."""
    text = str(name)
    if text in _NATIVE or text.startswith("hugepages-") or text.removeprefix("count/") == PODS:
        return text.removeprefix("count/")
    return text.removeprefix("requests.") if text.startswith("requests.") else ""


def _admits_only(queue: Member, served: list[str]) -> bool:
    """Returns whether the ClusterQueue's namespaceSelector selects only the served namespaces, by their names."""
    selector = queue.setting("namespaceSelector")
    if dig(selector, "matchLabels", NAMESPACE_NAME) in served:
        return True
    rows = [row for _, row in items(dig(selector, "matchExpressions")) if dig(row, "key") == NAMESPACE_NAME]
    named = [dig(row, "values") for row in rows if dig(row, "operator") == "In"]
    return any(isinstance(values, list) and all(value in served for value in values) for values in named)


def _no_pod(queue: Member, namespace: str, hard: Hard) -> Findings:
    kinds = [name for name in {key[1]: 0 for key in queue.quotas} if name.startswith(GPUS)]
    usable = [kind for kind in kinds if any(queue.capacity(key) for key in queue.quotas if key[1] == kind)]
    flavors = [
        [resource for resource in quotas if queue.capacity((flavor, resource))]
        for flavor, quotas in queue.by_flavor.items()
    ]
    if not usable or not all(any(name.startswith(GPUS) for name in names) for names in flavors if names):
        return
    for resource in (PODS, "cpu", "memory"):
        if resource in hard and hard[resource][0] <= 0:
            value, manifest, path = hard[resource]
            text = f"the ResourceQuota allows no pods, but namespace {namespace} uses ClusterQueue {queue.name}"
            yield ObjectFinding(NO_POD_FITS, manifest, path, text)
            return
    if all(kind in hard and hard[kind][0] < 1 for kind in usable):
        value, manifest, path = hard[usable[0]]
        text = f"the ResourceQuota allows {rounded(usable[0], value)}, but ClusterQueue {queue.name} of namespace "
        text += f"{namespace} has only GPU quota: "
        yield ObjectFinding(NO_POD_FITS, manifest, path, text + ", ".join(usable))


def _forbidden_resources(queue: Member, namespace: str, hard: Hard) -> Findings:
    """Yields findings about devices and huge pages that the ClusterQueue provides and the namespace does not allow."""
    provided = dict.fromkeys(key[1] for key in queue.quotas if queue.capacity(key) > 0)
    devices = [name for name in provided if name in hard and name not in _NATIVE and name != PODS]
    refused = [name for name in devices if hard[name][0] < 1]
    for name in refused if len(refused) < len(devices) else ():
        value, manifest, path = hard[name]
        capacity = max(queue.capacity(key) for key in queue.quotas if key[1] == name)
        text = f"the ResourceQuota allows {rounded(name, value)}, but ClusterQueue {queue.name} of namespace "
        text += f"{namespace} provides up to {rounded(name, capacity)}"
        yield ObjectFinding(FORBIDDEN_RESOURCE, manifest, path, text)


def _out_of_reach(queue: Member, bounds: list[Hard]) -> Findings:
    nominal: dict[str, int] = defaultdict(int)
    for (_, resource), quota in queue.quotas.items():
        nominal[resource] += quota.nominal
    for resource, wanted in nominal.items():
        rows = [bound[resource] for bound in bounds if resource in bound]
        total = sum(row[0] for row in rows)
        if len(rows) == len(bounds) and total < wanted < UNLIMITED:
            _, manifest, path = min(rows, key=lambda row: row[0])
            text = f"all namespaces of ClusterQueue {queue.name} together may request {rounded(resource, total)}, "
            text += f"but its nominal quota is {rounded(resource, wanted)}"
            yield ObjectFinding(QUOTA_OUT_OF_REACH, manifest, path, text)


class NamespaceQuota(NamedTuple):
    """The ResourceQuota of a namespace, together with the amounts that Kueue can provide in the namespace."""

    namespace: str
    queues: list[str]
    """The ClusterQueues of the namespace."""
    hard: Hard
    provided: Mapping[str, int]

    def outside(self, resource: str) -> Fraction:
        """Returns the amount by which the ResourceQuota exceeds Kueue's quota; 0 for a resource without a limit."""
        if resource not in self.hard:
            return Fraction(0)
        return max(self.hard[resource][0] - self.provided.get(resource, 0), Fraction(0))

    def pools(self, unqueued: list[Pool]) -> list[Pool]:
        """Returns the pools in `unqueued` (pools outside of Kueue) with a GPU that the ResourceQuota allows."""
        return [pool for pool in unqueued if any(self.outside(resource) >= 1 for resource in pool.gpus)]


_Group = tuple[dict[str, Pool], list[NamespaceQuota]]
"""Pools by name, and the namespaces that may use the pools; no other namespace may use the pools."""


def outside_kueue(quotas: list[NamespaceQuota], unqueued: list[Pool]) -> Findings:
    """Yields findings about ResourceQuotas for GPUs of `unqueued`, the node pools that no ResourceFlavor selects.

    Sums are compared with the capacity only for node pools of gpuc. In other clusters, ResourceQuotas may intentionally
    allow more than the nodes have.
    """
    for quota in quotas:
        yield from _counted_twice(quota, unqueued)
    for pools, members in _groups(quotas, [pool for pool in unqueued if pool.of_spec]):
        if not any(pool.is_closed for pool in pools.values()):
            yield from _over_capacity(pools, members)


def _counted_twice(quota: NamespaceQuota, unqueued: list[Pool]) -> Findings:
    for pool in quota.pools(unqueued):
        for resource in sorted(pool.gpus):
            provided = quota.provided.get(resource, 0)
            if provided and quota.outside(resource) >= 1:
                value, manifest, path = quota.hard[resource]
                text = f"the ResourceQuota allows {rounded(resource, value)}: {rounded(resource, provided)} for "
                text += f"ClusterQueue {', '.join(quota.queues)}, and the rest for pods outside of Kueue on "
                yield ObjectFinding(COUNTED_TWICE, manifest, path, f"{text}{named([pool])}, which can use both amounts")


def _groups(quotas: list[NamespaceQuota], unqueued: list[Pool]) -> list[_Group]:
    """Groups the namespaces that use node pools without Kueue. Namespaces with a common pool are in the same group."""
    groups: list[_Group] = []
    for quota in quotas:
        pools, members = {pool.name: pool for pool in quota.pools(unqueued)}, [quota]
        for group in [group for group in groups if pools.keys() & group[0].keys()]:
            groups.remove(group)
            pools, members = {**pools, **group[0]}, [*members[:-1], *group[1], quota]
        groups += [(pools, members)] if pools else []
    return groups


def _over_capacity(pools: dict[str, Pool], quotas: list[NamespaceQuota]) -> Findings:
    """Yields a finding for the first GPU resource of which the namespaces may request more than the nodes have."""
    for resource in sorted(resource for pool in pools.values() for resource in pool.gpus):
        bounds = [pool.maximum_of_devices(resource) for pool in pools.values()]
        known = [bound for bound in bounds if bound is not None]
        beyond_kueue = [(quota, amount) for quota in quotas if (amount := quota.outside(resource))]
        if len(known) == len(bounds) and sum(amount for _, amount in beyond_kueue) > sum(known):
            rows = [
                Counted(f"namespace {quota.namespace}", amount, quota.hard[resource][2], quota.hard[resource][1])
                for quota, amount in beyond_kueue
            ]
            found = beyond(rows, sum(known), "pods outside of Kueue", named(pools.values()), Unit(resource, ""))
            yield found.on_object(quotas_exceed_capacity.rule)
            return
