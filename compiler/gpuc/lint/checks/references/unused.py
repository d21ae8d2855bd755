from typing import NamedTuple

from gpuc.cluster.flavors import FlavorCapacity
from gpuc.cluster.index import Index
from gpuc.cluster.pool import named
from gpuc.cluster.pool_fields import LABELS, REQUIREMENTS
from gpuc.cluster.pool_parts import pool_parts
from gpuc.cluster.queue import from_objects
from gpuc.diagnostics.finding import Rule
from gpuc.kubernetes.api_groups import CONSTRAINTS, KARPENTER, KARPENTER_AWS, TEMPLATES
from gpuc.kubernetes.kueue import GROUP
from gpuc.kubernetes.node_pool import CAPACITY_TYPE
from gpuc.kubernetes.quantity import quantity
from gpuc.lint.checks import Findings, check, rule_of
from gpuc.manifest.manifest import Kind, Manifest
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet, dig, group, items, pairs
from gpuc.rules.queues.capacity import capacity_without_queue, without_quota
from gpuc.verify.references.names import object_references

UNUSED_CAPACITY = rule_of("REF060")
UNUSED = rule_of("REF061")
RESERVATIONS = rule_of("REF019")


class Unused(NamedTuple):
    """A kind whose objects have no effect if no object of another kind refers to them, for example Topology."""

    kind: Kind
    user: Kind
    """The kind of the objects that refer to the unused kind. Input without such objects is not checked."""
    rule: Rule
    message: str


_FLAVOR, _QUEUE = (GROUP, "ResourceFlavor"), (GROUP, "ClusterQueue")
KINDS = (
    Unused(_FLAVOR, _QUEUE, UNUSED_CAPACITY, "no ClusterQueue has this flavor"),
    Unused(_QUEUE, (GROUP, "LocalQueue"), UNUSED_CAPACITY, "no LocalQueue names this ClusterQueue"),
    Unused((GROUP, "Topology"), _FLAVOR, UNUSED, "no ResourceFlavor names this topology"),
    Unused((GROUP, "AdmissionCheck"), _QUEUE, UNUSED, "no ClusterQueue names this check"),
    Unused(
        (KARPENTER_AWS, "EC2NodeClass"), (KARPENTER, "NodePool"), UNUSED_CAPACITY, "no NodePool names this node class"
    ),
    Unused(
        (TEMPLATES, "ConstraintTemplate"), (CONSTRAINTS, "*"), UNUSED, "no constraint has the kind of this template"
    ),
)


@check(UNUSED_CAPACITY, UNUSED, RESERVATIONS, capacity_without_queue.rule)
def findings(objects: ObjectSet) -> Findings:
    """Yields findings about objects without effect, because no other object refers to them."""
    index = objects.once(Index)
    objects, used = index.tree, {(use.kind, use.name) for use in object_references(index)}
    groups = {group(manifest) for manifest in objects.manifests}
    for row in KINDS:
        if (row.user[1] == "*" and row.user[0] in groups) or objects.has(*row.user):
            for manifest in objects.of(*row.kind):
                name = index.symbols.name_of(manifest)
                if (row.kind, name) not in used and not _lends(manifest, objects):
                    yield ObjectFinding(row.rule, manifest, (), row.message)
    yield from _cohorts(index)
    yield from _priorities(index, used)
    yield from _pools(index)
    yield from _config_maps(index, used)
    yield from _reservations(index)


def _reservations(index: Index) -> Findings:
    """Yields findings about capacity reservations that no node pool uses, and reserved nodes without a reservation."""
    for row in index.tree.of(KARPENTER_AWS, "EC2NodeClass"):
        pools = [pool for pool in index.nodes.pools if pool.node_class == (KARPENTER_AWS, row.kind, row.name)]
        listed = [pool.listed(CAPACITY_TYPE) for pool in pools]
        if any(items(dig(row.body, "spec", "capacityReservationSelectorTerms"))):
            wrong = pools[:1] if all(listed) and not any("reserved" in types for types in listed) else []
            message = f"no NodePool of {row} in the input allows reserved: its capacity reservations stay unused"
        else:
            wrong = [pool for pool, types in zip(pools, listed, strict=True) if types == {"reserved"}]
            message = f"all nodes are reserved, and {row} selects no capacity reservation"
        for pool in wrong:
            positions = [need.position for need in pool.requirements if need.key == CAPACITY_TYPE]
            yield ObjectFinding(RESERVATIONS, pool.manifest, (*pool.place(REQUIREMENTS), *positions[:1]), message)


def _lends(manifest: Manifest, objects: ObjectSet) -> bool:
    """Returns whether a ClusterQueue can lend quota to its cohort, so that it has a use without a LocalQueue."""
    queue = from_objects(objects).by_name.get(manifest.name) if manifest.kind == "ClusterQueue" else None
    if queue is None or queue.parent is None or objects.is_complete:
        return False
    return any(quota.nominal > 0 and quota.lend != 0 for quota in queue.quotas.values())


def _cohorts(index: Index) -> Findings:
    named = {member.parent_name for member in from_objects(index.tree).members}
    if index.tree.has(GROUP, "ClusterQueue"):
        for cohort in index.tree.of(GROUP, "Cohort"):
            if cohort.name not in named:
                yield ObjectFinding(UNUSED_CAPACITY, cohort, (), "no ClusterQueue and no Cohort is in this cohort")


def _priorities(index: Index, used: set[tuple[Kind, str]]) -> Findings:
    """Yields findings about priority classes that no workload names.

    Input with LocalQueues is not checked, because users submit further workloads to the LocalQueues.
    """
    kind = (GROUP, "WorkloadPriorityClass")
    if index.tree.has(GROUP, "LocalQueue") or not any(used_kind == kind for used_kind, _ in used):
        return
    for manifest in index.tree.of(*kind):
        if (kind, manifest.name) not in used:
            yield ObjectFinding(UNUSED, manifest, (), "no work in the input names this priority class")


def _pools(index: Index) -> Findings:
    """Yields findings about node pools that neither Kueue nor a ResourceQuota counts."""
    pools = index.tree.once(FlavorCapacity).unqueued
    counted = _counted_by_quotas(index) if pools else set()
    parts = {part.pool for part in index.tree.once(pool_parts)}
    for pool in pools:
        if not pool.devices & counted and pool.of_spec not in parts:
            message = without_quota("queue or namespace", f"the nodes of {named([pool])}")
            yield ObjectFinding(capacity_without_queue.rule, pool.manifest, pool.place(LABELS), message)


def _counted_by_quotas(index: Index) -> set[str]:
    """Returns the resources that a ResourceQuota allows in a namespace whose ClusterQueues do not cover them."""
    queues = from_objects(index.tree)
    queued = {
        namespace: {resource for name in names if name in queues.by_name for resource in queues.by_name[name].covered}
        for namespace, names in queues.in_namespace.items()
    }
    return {
        key.removeprefix("requests.")
        for quota in index.tree.of("", "ResourceQuota")
        for key, value in pairs(dig(quota.body, "spec", "hard"))
        if quantity(value) and key.removeprefix("requests.") not in queued.get(quota.namespace, ())
    }


def _config_maps(index: Index, used: set[tuple[Kind, str]]) -> Findings:
    """Yields findings about ConfigMaps that no pod reads, in namespaces whose pods have volumes.

    Namespaces with a LocalQueue are not checked, because workloads that users submit may read the ConfigMaps.
    """
    queued = {local.namespace for local in index.tree.of(GROUP, "LocalQueue")}
    reading = {pods.manifest.namespace for pods in index.pods if any(True for _ in items(dig(pods.spec, "volumes")))}
    kind = ("", "ConfigMap")
    for manifest in index.tree.of(*kind):
        is_candidate = manifest.namespace in reading - queued and not manifest.labels and not manifest.annotations
        is_mentioned = is_candidate and any(manifest.name in str(pods.spec) for pods in index.pods)
        if is_candidate and (kind, manifest.name) not in used and not is_mentioned:
            yield ObjectFinding(UNUSED, manifest, (), "no pods in the input read this ConfigMap")
