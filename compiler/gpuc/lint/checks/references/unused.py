"""Objects that have no effect, because no other object refers to them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gpuc.cluster.index import Index
from gpuc.diagnostics.finding import Rule, Severity, declare_rule
from gpuc.kubernetes.quantity import quantity
from gpuc.lint.checks.unqueued_pools import devices, unqueued_pools
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import dig, group, items, pairs
from gpuc.objects.paths import matching_values, pattern
from gpuc.objects.symbol_table import Kind, kind_of
from gpuc.verify.references.names import object_references

UNUSED_CAPACITY = declare_rule(
    "REF060",
    Severity.WARNING,
    "No object refers to a ResourceFlavor, ClusterQueue, Cohort or EC2NodeClass.",
    "No work can use the object. Often the reference to the object is misspelt.",
)
UNUSED = declare_rule(
    "REF061",
    Severity.INFO,
    "No object refers to a Topology, AdmissionCheck, WorkloadPriorityClass, ConstraintTemplate or ConfigMap.",
    "The object has no effect until other objects, such as later work, refer to it. The object may be left over.",
)


class Unused(NamedTuple):
    """A kind whose objects have no effect unless an object of another kind refers to the objects."""

    kind: Kind
    user: str
    """The kind of the objects that refer to the unused kind. Input without such objects is not checked."""
    rule: Rule
    message: str


_KUEUE = "kueue.x-k8s.io"
KINDS: tuple[Unused, ...] = tuple(
    Unused(kind_of(kind), user, rule, message)
    for kind, user, rule, message in (
        (f"{_KUEUE}/ResourceFlavor", f"{_KUEUE}/ClusterQueue", UNUSED_CAPACITY, "no ClusterQueue has this flavor"),
        (f"{_KUEUE}/ClusterQueue", f"{_KUEUE}/LocalQueue", UNUSED_CAPACITY, "no LocalQueue names this ClusterQueue"),
        (f"{_KUEUE}/Topology", f"{_KUEUE}/ResourceFlavor", UNUSED, "no ResourceFlavor names this topology"),
        (f"{_KUEUE}/AdmissionCheck", f"{_KUEUE}/ClusterQueue", UNUSED, "no ClusterQueue names this check"),
        (
            "karpenter.k8s.aws/EC2NodeClass",
            "karpenter.sh/NodePool",
            UNUSED_CAPACITY,
            "no NodePool names this node class",
        ),
        (
            "templates.gatekeeper.sh/ConstraintTemplate",
            "constraints.gatekeeper.sh/*",
            UNUSED,
            "no constraint has the kind of this template",
        ),
    )
)


def findings(index: Index) -> Iterator[ObjectFinding]:
    """Yields findings about objects that no other object refers to."""
    objects, used = index.tree, {(use.kind, use.name) for use in object_references(index)}
    groups = {group(manifest) for manifest in objects.manifests}
    for row in KINDS:
        api_group, user = kind_of(row.user)
        if (user == "*" and api_group in groups) or objects.has(api_group, user):
            for manifest in objects.of(*row.kind):
                name = index.symbols.name_of(manifest)
                if (row.kind, name) not in used:
                    yield ObjectFinding(row.rule, manifest, (), row.message)
    yield from _cohorts(index)
    yield from _priorities(index, used)
    yield from _pools(index)
    yield from _config_maps(index, used)


def _cohorts(index: Index) -> Iterator[ObjectFinding]:
    named: set[object] = set()
    for kind, keys in (("ClusterQueue", ("cohortName", "cohort")), ("Cohort", ("parentName", "parent"))):
        for manifest in index.tree.of(_KUEUE, kind):
            named |= {name for key in keys if isinstance(name := dig(manifest.body, "spec", key), str)}
    if index.tree.has(_KUEUE, "ClusterQueue"):
        for cohort in index.tree.of(_KUEUE, "Cohort"):
            if cohort.name not in named:
                yield ObjectFinding(UNUSED_CAPACITY, cohort, (), "no ClusterQueue and no Cohort is in this cohort")


def _priorities(index: Index, used: set[tuple[Kind, str]]) -> Iterator[ObjectFinding]:
    """Yields findings about priority classes that no workload names.

    Input with LocalQueues is not checked, because users submit further workloads to the LocalQueues.
    """
    kind = (_KUEUE, "WorkloadPriorityClass")
    if index.tree.has(_KUEUE, "LocalQueue") or not any(used_kind == kind for used_kind, _ in used):
        return
    for manifest in index.tree.of(*kind):
        if (kind, manifest.name) not in used:
            yield ObjectFinding(UNUSED, manifest, (), "no work in the input names this priority class")


def _pools(index: Index) -> Iterator[ObjectFinding]:
    """Yields findings about node pools that neither Kueue nor a ResourceQuota counts."""
    pools = unqueued_pools(index.tree, index.nodes)
    counted = _counted_by_quotas(index) if pools else set()
    for pool in pools:
        if not devices(pool, index.overlays) & counted:
            from gpuc.rules.queues.capacity_without_queue import capacity_without_queue

            path = ("spec", "template", "metadata", "labels")
            message = "no ResourceFlavor selects the nodes of this node pool, and no ResourceQuota counts their devices"
            yield ObjectFinding(capacity_without_queue.rule, pool.manifest, path, message)


def _counted_by_quotas(index: Index) -> set[str]:
    """Returns the resources that a ResourceQuota allows in a namespace whose ClusterQueues do not cover them."""
    covered = {
        queue.name: {
            str(name) for _, name in matching_values(queue.body, pattern("spec.resourceGroups[].coveredResources[]"))
        }
        for queue in index.tree.of(_KUEUE, "ClusterQueue")
    }
    queued: dict[str, set[str]] = {}
    for local in index.tree.of(_KUEUE, "LocalQueue"):
        queued.setdefault(local.namespace, set()).update(covered.get(str(dig(local.body, "spec", "clusterQueue")), ()))
    return {
        key.removeprefix("requests.")
        for quota in index.tree.of("", "ResourceQuota")
        for key, value in pairs(dig(quota.body, "spec", "hard"))
        if quantity(value) and key.removeprefix("requests.") not in queued.get(quota.namespace, ())
    }


def _config_maps(index: Index, used: set[tuple[Kind, str]]) -> Iterator[ObjectFinding]:
    """Yields findings about ConfigMaps that no pod reads, in namespaces whose pods have volumes.

    Namespaces with a LocalQueue are not checked, because workloads that users submit may read the ConfigMaps.
    """
    queued = {local.namespace for local in index.tree.of(_KUEUE, "LocalQueue")}
    reading = {pods.manifest.namespace for pods in index.pods if any(True for _ in items(dig(pods.spec, "volumes")))}
    kind = ("", "ConfigMap")
    for manifest in index.tree.of(*kind):
        is_candidate = manifest.namespace in reading - queued and not manifest.labels and not manifest.annotations
        if is_candidate and (kind, manifest.name) not in used and not _is_mentioned(manifest.name, index):
            yield ObjectFinding(UNUSED, manifest, (), "no pods in the input read this ConfigMap")


def _is_mentioned(name: str, index: Index) -> bool:
    """Returns whether the spec of any pods mentions a name."""
    return any(name in str(pods.spec) for pods in index.pods)
