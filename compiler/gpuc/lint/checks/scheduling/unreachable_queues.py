"""Finds ClusterQueues, flavors and node pools that no pod can use, and workloads that can never start.

For each resource of a ClusterQueue, the checks trace the smallest pod that requests the resource through quota,
admission and scheduling.
"""

from itertools import chain

from gpuc.cluster.flavors import FlavorCapacity, ResourceFlavor
from gpuc.cluster.instance_labels import all_types, meets_type
from gpuc.cluster.pool import named
from gpuc.cluster.pool_fields import LIMITS, REQUIREMENTS
from gpuc.cluster.queue import Member, parent
from gpuc.diagnostics.contract import PODS
from gpuc.diagnostics.finding import Path
from gpuc.diagnostics.words import first_names
from gpuc.kubernetes.amounts import Amounts, described, pods_that_fit, quantity_text
from gpuc.kubernetes.kueue import QUEUE_LABEL
from gpuc.kubernetes.node_pool import AWS_INSTANCE, INSTANCE_TYPE
from gpuc.kubernetes.selector import equals
from gpuc.lint.checks import (
    KUEUE_CONFIGURATION,
    NAMESPACE_LIMITS,
    POD_NEEDS,
    QUEUES_AND_POOLS,
    Findings,
    check,
    rule_of,
)
from gpuc.lint.checks.references.node_labels import FLAVOR_WITHOUT_NODES
from gpuc.lint.checks.scheduling._smallest_pods import smallest_pods
from gpuc.lint.checks.scheduling.node_ends import own_pools
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet
from gpuc.objects.pods import pods_of
from gpuc.rules.queues.topology import not_static, topology_without_static_nodes
from gpuc.trace.admission_steps import limit_steps
from gpuc.trace.cluster_index import ClusterIndex
from gpuc.trace.nodes import MatchingPool, matching_pools, max_pods, pod_demand
from gpuc.trace.steps import Stage
from gpuc.trace.tracer import trace_workload
from gpuc.trace.workload import PodSet, Workload, workload_of

_FAMILY = f"{AWS_INSTANCE}family"
_OF_ALL_POOLS = "all objects, complete template"
NO_QUOTA = rule_of("SCD001")
UNADVERTISED = rule_of("SCD002")
NO_NODE = rule_of("SCD003")
CLOSED_NAMESPACE = rule_of("SCD005")
NEVER_STARTS = rule_of("SCD006")
NEVER_STARTS_IN_INPUT = rule_of("SCD007")
_KARPENTER_KNOWS = ("nvidia.com/", "amd.com/", "vpc.amazonaws.com/efa", "hugepages-")
"""Prefixes of resources. For a pod with such a resource, Karpenter starts a node only if Karpenter knows the resource.
Agents on nodes may add resources with other prefixes."""
_DEVICES = ("nvidia.com/", "amd.com/")
_REPORTED_ELSEWHERE = (
    Stage.API, Stage.LOCAL_QUEUE, Stage.CLUSTER_QUEUE, Stage.PRIORITY, Stage.POLICY, Stage.NODE_POOL, Stage.STARTUP,
    Stage.SUSPENDED,
)  # fmt: skip
"""Stages that fail because of one object or one reference. Other checks report these failures."""
_DEPENDS_ON_OTHER_FILES = (Stage.RESOURCES, Stage.QUOTA, Stage.TOPOLOGY, Stage.NODE)
"""Stages that a workload may pass if the cluster has objects that are not in the input."""


@check(
    NO_QUOTA, UNADVERTISED, NO_NODE, CLOSED_NAMESPACE, NEVER_STARTS, NEVER_STARTS_IN_INPUT, FLAVOR_WITHOUT_NODES,
    topology_without_static_nodes.rule,
    kinds=(*QUEUES_AND_POOLS, *NAMESPACE_LIMITS, PODS, *POD_NEEDS, *KUEUE_CONFIGURATION),
)  # fmt: skip
def findings(objects: ObjectSet) -> Findings:
    """Yields findings about flavors and namespaces that refuse a queue's smallest pods, and workloads that never start.

    Other checks report missing references, labels that no node pool sets, and taints that are not tolerated.
    """
    cluster = objects.once(ClusterIndex)
    of_pools = _without_types(cluster)
    if not cluster.quotas:
        yield from of_pools
        return
    first: dict[tuple[str, int, Path], ObjectFinding] = {}
    for finding in chain(
        *(_of_queue(cluster, queue) for queue in cluster.quotas.values()), _never_starts(cluster), of_pools
    ):
        first.setdefault((finding.rule.id, id(finding.manifest), finding.path), finding)
    yield from first.values()


@check(NEVER_STARTS_IN_INPUT, kinds=(*QUEUES_AND_POOLS, *NAMESPACE_LIMITS, PODS, *POD_NEEDS, *KUEUE_CONFIGURATION))
def without_queue(objects: ObjectSet) -> Findings:
    """Yields findings about workloads without a queue whose pods fit on no node of their node pools.

    The node pools are those that the pods select. If the input is the whole cluster, pods with devices such as GPUs are
    checked against all node pools.
    """
    cluster = objects.once(ClusterIndex)
    for manifest in objects.manifests if cluster.nodes.pools else ():
        own = list(pods_of(manifest))
        is_selecting = all(own_pools(pods, cluster.nodes) for pods in own)
        has_devices = any("/" in name for pods in own for _, name in pods.resources())
        is_judged = own and (is_selecting or has_devices) and not any(pods.queue for pods in own)
        if is_judged and (work := workload_of(manifest)) is not None:
            step = trace_workload(cluster, work, creation=False).failure
            if step is not None and step.stage is Stage.NODE:
                path, needs = step.field or own[0].path or ("spec",), None if is_selecting else _OF_ALL_POOLS
                yield ObjectFinding(NEVER_STARTS_IN_INPUT, manifest, path, step.message, needs=needs)


def _without_types(cluster: ClusterIndex) -> Findings:
    """Yields findings about node pools whose requirements exclude all instance types that they list."""
    for pool in cluster.nodes.pools:
        families = pool.listed(_FAMILY)
        known = [name for name in all_types(pool.catalog) if name.partition(".")[0] in families]
        is_new = not families <= {name.partition(".")[0] for name in known}
        names = sorted(pool.listed(INSTANCE_TYPE)) or ([] if is_new else known)
        if names and all(meets_type(pool.catalog, name, pool.offer) is False for name in names):
            alone = [
                key
                for key, domain in pool.offer.items()
                if all(meets_type(pool.catalog, name, {key: domain}) is False for name in names)
            ]
            cause = f": none of {first_names(names, 3)} has a value that {' or '.join(alone)} allows" if alone else ""
            message = f"the requirements exclude all instance types{cause}"
            yield ObjectFinding(NO_NODE, pool.manifest, pool.place(REQUIREMENTS), message)


def _of_queue(cluster: ClusterIndex, queue: Member) -> Findings:
    manifest = queue.manifest
    assert manifest is not None, "queues are objects"
    smallest = smallest_pods(cluster, queue)
    for flavor, pods in smallest.values():
        in_queue = queue.flavors[flavor.name]
        if not pods and flavor.name in cluster.objects.once(FlavorCapacity).closed:
            continue  # the limit of the flavor's node pool is 0 nodes
        if not pods and in_queue.resources and (cluster.objects.is_complete or queue.parent is None):
            message = "the flavor has no quota for any resource, and the ClusterQueue can borrow no quota"
            yield ObjectFinding(NO_QUOTA, manifest, in_queue.path, message)
        yield from _of_flavor(cluster, queue, flavor, pods)
    yield from _closed_namespaces(cluster, manifest, [pod for _, pods in smallest.values() for pod in pods.values()])


def _never_starts(cluster: ClusterIndex) -> Findings:
    for manifest in cluster.objects.manifests:
        if manifest.labels.get(QUEUE_LABEL) is None or (work := workload_of(manifest)) is None:
            continue
        step = trace_workload(cluster, work, admission=False).failure
        if step is None or step.stage in _REPORTED_ELSEWHERE:
            continue
        is_certain = cluster.objects.is_complete or step.stage not in _DEPENDS_ON_OTHER_FILES
        rule = NEVER_STARTS if is_certain else NEVER_STARTS_IN_INPUT
        cause = f", by {step.manifest}" if step.manifest is not None and step.manifest is not manifest else ""
        # Other files may have a ClusterQueue of the cohort that lends the quota.
        may_borrow = step.stage is Stage.QUOTA and step.manifest is not None and bool(parent(step.manifest)[1])
        needs = "all objects" if may_borrow else None
        yield ObjectFinding(rule, manifest, ("spec",), f"{step.stage.value}{cause}: {step.message}", needs=needs)


def _of_flavor(cluster: ClusterIndex, queue: Member, flavor: ResourceFlavor, pods: dict[str, Amounts]) -> Findings:
    if not cluster.nodes.pools or not flavor.labels:
        return
    demand = pod_demand({}, 1, {}, [flavor])
    pools, _ = matching_pools(cluster, demand)
    if not pools:
        return
    if all(match.pool.is_known for match in pools) and not any(max_pods(match, demand) for match in pools):
        is_by_flavor = not any(match.types for match in pools) and any(match.pool.types for match in pools)
        yield _no_type(flavor, pools) if is_by_flavor else _no_node(pools[0])
        return
    for name, pod in pods.items():
        yield from _unadvertised(cluster, queue, flavor, pools, name, pod)
    is_judged = cluster.objects.is_complete and flavor.topology and not queue.setting("admissionChecksStrategy")
    if is_judged and not any(match.pool.replicas for match in pools):
        message = not_static(named(match.pool for match in pools), "spec.replicas")
        yield ObjectFinding(topology_without_static_nodes.rule, flavor.manifest, ("spec", "topologyName"), message)


def _no_type(flavor: ResourceFlavor, matches: list[MatchingPool]) -> ObjectFinding:
    """Returns the finding about a flavor whose node labels exclude all instance types of its node pools."""
    wanted, pools = flavor.labels, [match.pool for match in matches]
    excluding = [key for key in wanted if not any(pool.types_for([equals(key, wanted[key])]) for pool in pools)]
    names = ", ".join(pool.name for pool in pools)
    shown = ", ".join(f"{key}: {wanted[key]}" for key in excluding or wanted)
    message = f"no {pools[0].type_in_messages} that node pool {names} allows has {shown}"
    return ObjectFinding(FLAVOR_WITHOUT_NODES, flavor.manifest, ("spec", "nodeLabels", *excluding[:1]), message)


def _no_node(match: MatchingPool) -> ObjectFinding:
    pool = match.pool
    if not match.types:
        message = "the requirements exclude all instance types"
        return ObjectFinding(NO_NODE, pool.manifest, pool.place(REQUIREMENTS), message)
    limits = ", ".join(f"{quantity_text(name, count)} {name}" for name, count in pool.limits.items())
    types = ", ".join(instance_type.type for instance_type in match.types)
    message = f"{limits} is less than one node of type {types}" if limits else f"no pod fits on a node of type {types}"
    return ObjectFinding(NO_NODE, pool.manifest, pool.place(LIMITS), message)


def _unadvertised(
    cluster: ClusterIndex, queue: Member, flavor: ResourceFlavor, matches: list[MatchingPool], name: str, pod: Amounts
) -> Findings:
    pools = [match.pool for match in matches]
    if not all(pool.is_known for pool in pools) or not name.startswith(_KARPENTER_KNOWS):
        return
    if not cluster.objects.is_complete and any(pool.is_static for pool in pools):
        return  # partial input does not show the capacity of existing nodes
    if any(pods_that_fit(match.room.of(node), pod) for match in matches for node in match.types):
        return
    subject = f"ResourceFlavor {flavor.name} has quota for {name}, but no node of {named(pools)}"
    message = f"{subject} has room for a pod with {described(pod)}"
    assert queue.manifest is not None, "queues are objects"
    yield ObjectFinding(UNADVERTISED, queue.manifest, queue.flavors[flavor.name].path, message)


def _closed_namespaces(cluster: ClusterIndex, queue: Manifest, smallest: list[Amounts]) -> Findings:
    """Yields findings about namespaces of the ClusterQueue whose limits refuse the smallest pod of every resource."""
    for local in cluster.queues.local_queues.get(queue.name, ()):
        first = None
        for pod in smallest:
            amounts = {name: quantity_text(name, count) for name, count in pod.items()}
            # The limits of devices have to be equal to the requests, and a LimitRange or ResourceQuota can need limits.
            spec = {"containers": [{"name": "main", "resources": {"requests": amounts, "limits": dict(amounts)}}]}
            work = Workload((PodSet(spec),), local.namespace, local.name)
            failed = next((step for step in limit_steps(cluster, work) if step.failed), None)
            if failed is None:
                first = None
                break
            first = first or failed
        has_devices = any(name.startswith(_DEVICES) for pod in smallest for name in pod)
        if first is None or first.manifest is None or (has_devices and first.manifest.kind == "ResourceQuota"):
            continue  # the check of namespace quotas reports GPUs
        message = f"{first.message}; the namespace has LocalQueue {local.name}"
        yield ObjectFinding(CLOSED_NAMESPACE, first.manifest, first.path, message)
