"""The ResourceQuota of a namespace against the ClusterQueue that its LocalQueues lead to.

Source: kubernetes v1.35 pkg/quota/v1/evaluator/core/pods.go (names of what is counted)
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from gpuc.diagnostics.finding import Path, Severity, declare_rule
from gpuc.kubernetes.amounts import CPU, EPHEMERAL_STORAGE, MEMORY, PODS, UNLIMITED, exact_amount, rounded
from gpuc.kubernetes.kueue import GROUP
from gpuc.lint.checks.quotas.families import Family, by_flavor
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet, dig, items, pairs
from gpuc.trace.closed_flavors import closed_flavors
from gpuc.trace.quota import Node

QUOTA_OUT_OF_REACH = declare_rule(
    "QTA012",
    Severity.WARNING,
    "The ResourceQuotas of all namespaces of a queue together are below the queue's nominal quota.",
    "Kueue admits the work, and the API server refuses its pods.",
    "https://kubernetes.io/docs/concepts/policy/resource-quotas/",
)
NO_POD_FITS = declare_rule(
    "QTA013",
    Severity.ERROR,
    "A namespace leads to a queue of GPUs, and its ResourceQuota admits not one pod with a GPU.",
    "Kueue admits the work, and the API server refuses every pod of it.",
    "https://kubernetes.io/docs/concepts/policy/resource-quotas/",
)
BOUNDS_NOTHING = declare_rule(
    "QTA014",
    Severity.WARNING,
    "A ResourceQuota allows more than all queues of its namespace can ever give.",
    "It holds back nothing: pods that go past the queues take what other tenants were promised.",
    "https://kubernetes.io/docs/concepts/policy/resource-quotas/",
)
NONE_OF_IT = declare_rule(
    "QTA017",
    Severity.WARNING,
    "A namespace's ResourceQuota admits no pod with a resource that its queue gives.",
    "Kueue admits work that asks for it, and the API server refuses its pods: the quota is held by nothing.",
    "https://kubernetes.io/docs/concepts/policy/resource-quotas/",
)
_NATIVE = frozenset((CPU, MEMORY, EPHEMERAL_STORAGE))
_GPUS = ("nvidia.com/gpu", "nvidia.com/mig-", "amd.com/gpu", "gpu.intel.com/")
_NAME = "kubernetes.io/metadata.name"
Hard = dict[str, tuple[Fraction, Manifest, Path]]
"""What pods of a namespace may request, by resource: the least of all its ResourceQuotas, and where that stands."""


def namespaces(tree: ObjectSet, known: list[Family]) -> Iterator[ObjectFinding]:
    """Quotas of namespaces that stand in the way of the quota of their queue."""
    hard = _hard(tree)
    if not hard:
        return
    members: dict[str, list[str]] = defaultdict(list)
    for each in tree.of(GROUP, "LocalQueue"):
        queue = dig(each.body, "spec", "clusterQueue")
        if isinstance(queue, str) and each.namespace not in members[queue]:
            members[queue].append(each.namespace)
    for family in known:
        for queue in family.queues:
            served = members.get(queue.name, [])
            for namespace in served:
                refused = list(_no_pod(queue, namespace, hard.get(namespace, {})))
                yield from refused or _none_of_it(queue, namespace, hard.get(namespace, {}))
            if served and (tree.is_complete or _admits_only(queue, served)):
                yield from _out_of_reach(queue, [hard.get(namespace, {}) for namespace in served])
    if tree.is_complete:
        queues = {queue.name: queue for family in known for queue in family.queues}
        yield from _bounds_nothing(hard, members, queues, closed_flavors(tree))


def _bounds_nothing(
    hard: dict[str, Hard], members: dict[str, list[str]], queues: dict[str, Node], closed: frozenset[str]
) -> Iterator[ObjectFinding]:
    metered = {resource for queue in queues.values() for _, resource in queue.quotas}
    homes: dict[str, list[str]] = defaultdict(list)
    for name, served in members.items():
        for namespace in served:
            homes[namespace].append(name)
    for namespace, names in homes.items():
        if not all(name in queues for name in names):
            continue
        given: dict[str, int] = defaultdict(int)
        for name in names:
            for key in queues[name].quotas:
                given[key[1]] += queues[name].capacity(key)
            # Work that was admitted before its flavor lost the quota still has its pods.
            given |= {resource: UNLIMITED for flavor, resource in queues[name].quotas if flavor in closed}
        for resource, (value, manifest, path) in hard.get(namespace, {}).items():
            is_metered = resource in given or (resource in metered and resource not in _NATIVE)
            if is_metered and value > given.get(resource, 0) < UNLIMITED:
                most = rounded(resource, given.get(resource, 0))
                text = f"{rounded(resource, value)}, and all that {', '.join(names)} can ever give here is {most}"
                yield ObjectFinding(BOUNDS_NOTHING, manifest, path, text)


def _hard(tree: ObjectSet) -> dict[str, Hard]:
    found: dict[str, Hard] = defaultdict(dict)
    for each in tree.of("", "ResourceQuota"):
        if dig(each.body, "spec", "scopes") or dig(each.body, "spec", "scopeSelector"):
            continue  # it counts only some of the pods
        for name, row in pairs(dig(each.body, "spec", "hard")):
            resource = _resource(name)
            value = exact_amount(resource, row)
            if resource and value is not None:
                least = found[each.namespace].get(resource)
                if least is None or value < least[0]:
                    found[each.namespace][resource] = (value, each, ("spec", "hard", name))
    return found


def _resource(name: Any) -> str:
    """The resource whose requests an entry bounds, `pods` for their number; empty for anything else."""
    if not isinstance(name, str):
        return ""
    if name in _NATIVE or name == PODS or name.startswith("hugepages-"):
        return name
    if name == "count/pods":
        return PODS
    return name.removeprefix("requests.") if name.startswith("requests.") else ""


def _admits_only(queue: Node, served: list[str]) -> bool:
    """Whether the queue's own selector lets no namespace in but these."""
    assert queue.manifest is not None, "a queue has an object"
    selector = dig(queue.manifest.body, "spec", "namespaceSelector")
    if dig(selector, "matchLabels", _NAME) in served:
        return True
    rows = [row for _, row in items(dig(selector, "matchExpressions")) if dig(row, "key") == _NAME]
    named = [dig(row, "values") for row in rows if dig(row, "operator") == "In"]
    return any(isinstance(values, list) and all(each in served for each in values) for values in named)


def _no_pod(queue: Node, namespace: str, hard: Hard) -> Iterator[ObjectFinding]:
    kinds = [name for name in {key[1]: 0 for key in queue.quotas} if name.startswith(_GPUS)]
    usable = [kind for kind in kinds if any(queue.capacity(key) for key in queue.quotas if key[1] == kind)]
    if not usable or not all(_has_gpus(quotas) for quotas in _in_use(queue)):
        return
    for resource in (PODS, "cpu", "memory"):
        if resource in hard and hard[resource][0] <= 0:
            value, manifest, path = hard[resource]
            yield ObjectFinding(
                NO_POD_FITS, manifest, path, f"admits no pod at all, and {namespace} leads to queue {queue.name}"
            )
            return
    if all(kind in hard and hard[kind][0] < 1 for kind in usable):
        value, manifest, path = hard[usable[0]]
        text = f"{rounded(usable[0], value)}, and {namespace} leads to queue {queue.name}, which has only GPUs: "
        yield ObjectFinding(NO_POD_FITS, manifest, path, text + ", ".join(usable))


def _none_of_it(queue: Node, namespace: str, hard: Hard) -> Iterator[ObjectFinding]:
    """Devices and huge pages of which the queue gives some and the namespace allows not one."""
    given = dict.fromkeys(key[1] for key in queue.quotas if queue.capacity(key) > 0)
    devices = [name for name in given if name in hard and name not in _NATIVE and name != PODS]
    shut = [name for name in devices if hard[name][0] < 1]
    for name in shut if len(shut) < len(devices) else ():
        value, manifest, path = hard[name]
        most = max(queue.capacity(key) for key in queue.quotas if key[1] == name)
        text = f"{rounded(name, value)}, and queue {queue.name}, to which {namespace} leads, "
        yield ObjectFinding(NONE_OF_IT, manifest, path, f"{text}gives up to {rounded(name, most)}")


def _in_use(queue: Node) -> list[dict[str, int]]:
    """Of every flavor that has any quota, what can be used by resource."""
    flavors = [
        {resource: queue.capacity((flavor, resource)) for resource in quotas}
        for flavor, quotas in by_flavor(queue).items()
    ]
    return [each for each in flavors if any(each.values())]


def _has_gpus(quotas: dict[str, int]) -> bool:
    return any(value and name.startswith(_GPUS) for name, value in quotas.items())


def _out_of_reach(queue: Node, bounds: list[Hard]) -> Iterator[ObjectFinding]:
    nominal: dict[str, int] = defaultdict(int)
    for (_, resource), quota in queue.quotas.items():
        nominal[resource] += quota.nominal
    for resource, wanted in nominal.items():
        rows = [bound[resource] for bound in bounds if resource in bound]
        total = sum(row[0] for row in rows)
        if len(rows) == len(bounds) and total < wanted < UNLIMITED:
            _, manifest, path = min(rows, key=lambda row: row[0])
            text = f"the namespaces of queue {queue.name} may request {rounded(resource, total)} together, "
            yield ObjectFinding(
                QUOTA_OUT_OF_REACH, manifest, path, text + f"its nominal quota is {rounded(resource, wanted)}"
            )
