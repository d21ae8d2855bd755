"""The Karpenter objects of a pool: an EC2NodeClass, NodeOverlays and NodePools."""

from collections.abc import Iterator, Sequence

from gpuc.catalog.records import InstanceType
from gpuc.emit.sync import protected, protected_until_leaving, prunable
from gpuc.kubernetes.amounts import CPU, quantity_text, texts
from gpuc.kubernetes.api_groups import KARPENTER_API, KARPENTER_AWS
from gpuc.kubernetes.cron import utc_hours
from gpuc.kubernetes.duration import format_duration
from gpuc.kubernetes.node_pool import CAPACITY_TYPE, INSTANCE_TYPE, NODE_POOL, ZONE
from gpuc.manifest.manifest import Body, Manifest
from gpuc.model import Cluster, Pool
from gpuc.model.names import EFA, GPU, RESERVED_INSTANCES
from gpuc.substrates.eks.karpenter.node_class import node_class
from gpuc.substrates.eks.scaling import eks

OVERLAY_WEIGHT = 10
NODES = "nodes"
"""The key under `limits` of a NodePool object for the maximum number of nodes."""


def pool_objects(cluster: Cluster, pool: Pool) -> Iterator[Manifest]:
    """Yields the EC2NodeClass, the NodeOverlays and the NodePools of a pool, which are all in one file."""
    file = cluster.out(f"karpenter/pools/{pool.name}.yaml")

    def manifest(api: str, kind: str, name: str, body: Body, annotations: dict[str, str]) -> Manifest:
        return Manifest(file, pool.path, api, kind, name, body, annotations=annotations)

    # Protected even if the pool is leaving: the finalizer of Karpenter keeps the object until the last node is deleted.
    annotations = protected(cluster, 0)
    yield manifest(f"{KARPENTER_AWS}/v1", "EC2NodeClass", pool.name, node_class(cluster, pool), annotations)
    for instance in pool.instances:
        if capacity := overlay_capacity(pool, instance):
            name = f"{pool.name}-{instance.type.replace('.', '-')}"
            annotations = protected_until_leaving(cluster, 1, leaving=pool.spec.leaving)
            yield manifest(
                "karpenter.sh/v1alpha1", "NodeOverlay", name, _overlay(pool, instance, capacity), annotations
            )
    annotations = protected_until_leaving(cluster, 2, leaving=pool.spec.leaving) | _reserved_instances(pool)
    body = _node_pool(cluster, pool, eks(pool).spec.purchase, pool.nodes_max if pool.is_static else None)
    yield manifest(KARPENTER_API, "NodePool", pool.name, body, annotations)
    if pool.warm_nodes:
        body, annotations = _warm_node_pool(cluster, pool), prunable(cluster, 2)
        yield manifest(KARPENTER_API, "NodePool", eks(pool).warm_node_pool, body, annotations)


def _reserved_instances(pool: Pool) -> dict[str, str]:
    """Returns the annotation with which `gpuc trace` knows the number of reserved nodes; empty without a number."""
    number = eks(pool).reserved_instances
    return {RESERVED_INSTANCES: str(number)} if number is not None else {}


def overlay_capacity(pool: Pool, instance: InstanceType) -> dict[str, str]:
    """Returns the resources of a node that a NodeOverlay declares, because Karpenter would compute other amounts.

    Karpenter computes complete GPUs and EFA devices, but not MIG slices, GPU shares and huge pages. Without a
    NodeOverlay, Karpenter never starts a node for a pod that requests one of these resources. Partitioned and shared
    GPUs do not count as complete GPUs. Otherwise Karpenter would start a node without a complete GPU for a pod that
    requests a complete GPU.

    Source: measured with karpenter-provider-aws v1.14.1
    """
    if not pool.is_gpu:
        return {}
    capacity = {GPU: 0} | pool.advertised(instance)
    capacity.pop(EFA, None)
    if capacity[GPU] == instance.gpu_count:
        del capacity[GPU]
    return texts(capacity)


def _overlay(pool: Pool, instance: InstanceType, capacity: dict[str, str]) -> Body:
    requirements = [
        _requirement(NODE_POOL, *eks(pool).node_pools),
        _requirement(INSTANCE_TYPE, instance.type),
    ]
    return {"spec": {"weight": OVERLAY_WEIGHT, "requirements": requirements, "capacity": capacity}}


def _node_pool(cluster: Cluster, pool: Pool, purchase: Sequence[str], replicas: int | None) -> Body:
    """Returns the body of a NodePool; `replicas` is the number of nodes of a static NodePool."""
    body: Body = {
        "template": _template(pool, purchase),
        "disruption": disruption(cluster, pool),
        "limits": _limits(pool) if replicas is None else _static_limits(pool),
    }
    if replicas is not None:
        body["replicas"] = replicas
    return {"spec": body}


def _warm_node_pool(cluster: Cluster, pool: Pool) -> Body:
    """Returns the body of the static NodePool of the warm nodes.

    Karpenter cannot change a NodePool between static and dynamic, and a NodePool has no minimum. A CapacityBuffer is
    not a minimum either: a CapacityBuffer keeps free capacity in addition to the used capacity, and its feature gate is
    alpha. The warm nodes are not spot capacity if the pool has another option, because EC2 can take spot nodes back at
    any time. Argo CD prunes the NodePool when the spec has no `min` any more, also with `prune: confirm`: the pool is
    still in the spec, so no `leaving` could announce the removal.

    Source: kubernetes-sigs/karpenter v1.14.1 pkg/apis/v1/nodepool.go, pkg/controllers/capacitybuffer
    """
    purchase = [option for option in eks(pool).spec.purchase if option != "spot"] or eks(pool).spec.purchase
    return _node_pool(cluster, pool, purchase, pool.warm_nodes)


def _template(pool: Pool, purchase: Sequence[str]) -> Body:
    spec: Body = {
        "nodeClassRef": {"group": KARPENTER_AWS, "kind": "EC2NodeClass", "name": pool.name},
        "requirements": _requirements(pool, purchase),
        "expireAfter": expire_after(pool),
    }
    if (grace_seconds := eks(pool).grace_seconds) is not None:
        spec["terminationGracePeriod"] = format_duration(grace_seconds)
    if pool.taints:
        spec["taints"] = [taint.document() for taint in pool.taints]
    if pool.startup_taints:
        spec["startupTaints"] = [taint.document() for taint in pool.startup_taints]
    return {"metadata": {"labels": {**pool.labels, **pool.startup_labels}}, "spec": spec}


def _requirements(pool: Pool, purchase: Sequence[str]) -> list[Body]:
    return [
        _requirement(INSTANCE_TYPE, *(instance.type for instance in pool.instances)),
        _requirement(CAPACITY_TYPE, *purchase),
        _requirement("kubernetes.io/arch", pool.instances[0].arch),
        _requirement("kubernetes.io/os", "linux"),
        _requirement(ZONE, *pool.zones),
    ]


def _limits(pool: Pool) -> dict[str, str]:
    """Returns the `limits` of a dynamic NodePool object; zero for a pool that is marked as leaving.

    - The maximum number of nodes without the warm nodes, and that number times the CPUs of the largest instance type.
      Karpenter compares the node limit with existing nodes only; it compares the CPU limit while it schedules a batch
      of pods.
    - Exclusive GPUs: also the number of GPUs. With MIG or shared GPUs a GPU limit would have no effect, because the
      NodeOverlay lowers the number of GPUs.
    """
    if pool.spec.leaving:
        return {CPU: "0", NODES: "0"}
    most = pool.nodes_max - pool.warm_nodes
    vcpu = max(instance.vcpu for instance in pool.instances)
    limits = {CPU: quantity_text(CPU, vcpu * 1000 * most), NODES: quantity_text(NODES, most)}
    if pool.sharing is not None and pool.sharing.kind == "exclusive":
        gpus = max(instance.gpu_count for instance in pool.instances)
        limits[GPU] = quantity_text(GPU, gpus * most)
    return limits


def _static_limits(pool: Pool) -> dict[str, str]:
    """Returns the `limits` of a static NodePool object.

    There, Karpenter supports only the limit of the number of nodes.

    - `replicas` plus one node, because Karpenter starts the replacement of a drifted node first. If no capacity is
      reserved for this node, the limit is `replicas`. Karpenter then replaces no drifted nodes, because each attempt
      would fail. If someone deletes a NodeClaim, Karpenter starts the next node after the instance has ended, because
      the limit also counts nodes that are being deleted.
    - Pool that is marked as leaving: zero, so that no node starts. The object keeps its `replicas`, because a lower
      number would drain nodes with running work at once.

    Source: kubernetes-sigs/karpenter v1.14.1 pkg/controllers/static, pkg/controllers/disruption/staticdrift.go,
    pkg/controllers/state/statenodepool.go (ReserveNodeCount)
    """
    return {
        NODES: "0" if pool.spec.leaving else quantity_text(NODES, pool.always_running + eks(pool).can_start_spare_node)
    }


def _requirement(key: str, *values: str) -> Body:
    return {"key": key, "operator": "In", "values": list(values)}


_IDLE_SECONDS = {"training": 30 * 60}
"""How long an empty node is kept, by purpose of the pool. New training nodes are scarce, and a run may start soon."""
_DEFAULT_IDLE_SECONDS = 10 * 60
_USED = ("Drifted", "Underutilized")
"""The reasons for which Karpenter replaces a node with pods."""
_EMPTY: Body = {"nodes": "100%", "reasons": ["Empty"]}


def expire_after(pool: Pool) -> str:
    """Returns `expireAfter`, the maximum lifetime of a node: Never, unless the spec has a value.

    Expiry ignores disruption budgets and the annotation karpenter.sh/do-not-disrupt, and does not wait for a new node.
    Nodes that start together expire together. New images need no expiry: Karpenter replaces drifted nodes, and respects
    the budgets.

    Source: kubernetes-sigs/karpenter v1.14.1 pkg/controllers/nodeclaim/expiration/controller.go;
    aws/karpenter-provider-aws v1.14.1 website/content/en/docs/concepts/disruption.md, expiration
    """
    seconds = eks(pool).spec.expire_after
    return "Never" if seconds is None else format_duration(seconds)


def disruption(cluster: Cluster, pool: Pool) -> Body:
    """Returns the field `spec.disruption` of a NodePool object: the consolidation policy and the disruption budgets."""
    idle_seconds = eks(pool).spec.idle_after
    if idle_seconds is None:
        idle_seconds = _IDLE_SECONDS.get(pool.spec.purpose, _DEFAULT_IDLE_SECONDS)
    return {
        "consolidationPolicy": "WhenEmpty" if pool.is_gpu else "WhenEmptyOrUnderutilized",
        "consolidateAfter": format_duration(idle_seconds),
        "budgets": _gpu_budgets(cluster) if pool.is_gpu else [_EMPTY, {"nodes": "10%", "reasons": list(_USED)}],
    }


def _gpu_budgets(cluster: Cluster) -> list[Body]:
    """Returns the disruption budgets for GPU nodes.

    Karpenter removes all empty nodes at once. Outside of working hours, it replaces other nodes one at a time. If
    several budgets match, Karpenter applies the strictest budget.
    """
    budgets: list[Body] = [_EMPTY]
    if hours := cluster.spec.working_hours:
        offsets = cluster.catalog.time_zones[hours.time_zone].offsets
        schedule, duration_seconds = utc_hours(hours.days, hours.start_minute, hours.end_minute, offsets)
        window = {"schedule": schedule, "duration": format_duration(duration_seconds)}
        budgets.append({"nodes": "0", "reasons": list(_USED), **window})
    return [*budgets, {"nodes": "1", "reasons": list(_USED)}]
