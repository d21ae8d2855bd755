"""Karpenter: per pool what nodes it may start, how they are made, and what they advertise once they run."""

from __future__ import annotations

from collections.abc import Iterator

from gpuc.catalog.records import InstanceType
from gpuc.emit.component import CLUSTER_ROLES, CONTROLLER, Component, Folder
from gpuc.emit.disruption import disruption, expire_after, termination_grace
from gpuc.emit.nodes import node_class
from gpuc.emit.sync import kept, kept_until_leaving
from gpuc.kubernetes.amounts import CPU, quantity_text, texts
from gpuc.manifest.manifest import Artifact, Body, Manifest, Values
from gpuc.model import Cluster, Pool
from gpuc.model.names import EFA, GPU

OVERLAY_WEIGHT = 10
NODES = "nodes"
"""The limit that counts nodes."""


def karpenter(cluster: Cluster) -> Iterator[Artifact]:
    """The controller's values, and a file per pool: EC2NodeClass, NodeOverlays, NodePool."""
    yield Values(cluster.out("karpenter/values.yaml"), ("spec", "cloud", "aws"), "karpenter", _values(cluster))
    for pool in cluster.pools:
        yield from _pool(cluster, pool)


def _values(cluster: Cluster) -> Body:
    settings: Body = {
        "clusterName": cluster.aws.eks_cluster,
        # Written although it is the chart's default: the quotas are computed with it.
        "vmMemoryOverheadPercent": cluster.catalog.kubelet.vm_memory_overhead_permille / 1000,
    }
    if cluster.aws.interruption_queue:
        settings["interruptionQueue"] = cluster.aws.interruption_queue
    if gates := _feature_gates(cluster):
        settings["featureGates"] = gates
    release = cluster.spec.observability.prometheus.release
    return {
        # Two, which the chart keeps on different hosts and off the nodes that Karpenter itself starts.
        "replicas": 2,
        "serviceMonitor": {"enabled": True, "additionalLabels": {"release": release}},
        "settings": settings,
    }


def _feature_gates(cluster: Cluster) -> dict[str, bool]:
    """The gates without which something of what is emitted would be accepted and ignored."""
    needed = {
        "nodeOverlay": any(overlay_capacity(pool, each) for pool in cluster.pools for each in pool.instances),
        "reservedCapacity": any("reserved" in pool.spec.purchase for pool in cluster.pools),
        "staticCapacity": any(pool.is_static for pool in cluster.pools),
    }
    return {gate: True for gate, is_needed in needed.items() if is_needed}


def _pool(cluster: Cluster, pool: Pool) -> Iterator[Manifest]:
    file = cluster.out(f"karpenter/pools/{pool.name}.yaml")

    def manifest(api: str, kind: str, name: str, body: Body, notes: dict[str, str]) -> Manifest:
        return Manifest(file, pool.path, api, kind, name, body, annotations=notes)

    # Kept also while its pool leaves: Karpenter's finalizer holds it until the last node is gone.
    notes = kept(cluster, 0)
    yield manifest("karpenter.k8s.aws/v1", "EC2NodeClass", pool.name, node_class(cluster, pool), notes)
    for instance in pool.instances:
        if capacity := overlay_capacity(pool, instance):
            name = f"{pool.name}-{instance.type.replace('.', '-')}"
            notes = kept_until_leaving(cluster, 1, leaving=pool.spec.leaving)
            yield manifest("karpenter.sh/v1alpha1", "NodeOverlay", name, _overlay(pool, instance, capacity), notes)
    notes = kept_until_leaving(cluster, 2, leaving=pool.spec.leaving)
    yield manifest("karpenter.sh/v1", "NodePool", pool.name, _node_pool(pool), notes)


def overlay_capacity(pool: Pool, instance: InstanceType) -> dict[str, str]:
    """What Karpenter has to be told of a type's nodes in a pool: what it predicts is whole GPUs and EFA.

    Slices, shares and huge pages it does not know; without them no node is ever started for a pod that asks for one.
    Whole GPUs are lowered to those that stay whole: a pod that asks for one would start a node that it cannot use.

    Source: run against karpenter-provider-aws v1.14.1
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
        _one_of("karpenter.sh/nodepool", pool.name),
        _one_of("node.kubernetes.io/instance-type", instance.type),
    ]
    return {"spec": {"weight": OVERLAY_WEIGHT, "requirements": requirements, "capacity": capacity}}


def _node_pool(pool: Pool) -> Body:
    body: Body = {"template": _template(pool), "disruption": disruption(pool), "limits": _limits(pool)}
    if pool.is_static:
        body["replicas"] = pool.nodes_max
    return {"spec": body}


def _template(pool: Pool) -> Body:
    spec: Body = {
        "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": pool.name},
        "requirements": _requirements(pool),
        "expireAfter": expire_after(pool),
        "terminationGracePeriod": termination_grace(pool),
    }
    if pool.taints:
        spec["taints"] = [taint.document() for taint in pool.taints]
    if pool.startup_taints:
        spec["startupTaints"] = [taint.document() for taint in pool.startup_taints]
    return {"metadata": {"labels": dict(pool.labels)}, "spec": spec}


def _requirements(pool: Pool) -> list[Body]:
    return [
        _one_of("node.kubernetes.io/instance-type", *(instance.type for instance in pool.instances)),
        _one_of("karpenter.sh/capacity-type", *pool.spec.purchase),
        _one_of("kubernetes.io/arch", pool.instances[0].arch),
        _one_of("kubernetes.io/os", "linux"),
        _one_of("topology.kubernetes.io/zone", *pool.zones),
    ]


def _limits(pool: Pool) -> dict[str, str]:
    """How far a pool grows: its nodes times the largest of its types.

    Nodes are counted only once they exist, cores already while a batch of pods is placed. GPUs bound nothing where
    the overlay lowers them. A static pool takes nodes alone; one more than it keeps, because Karpenter starts the
    successor of a drifted node before that node goes.

    A pool that leaves may start no node. A static one keeps its replicas: fewer would drain nodes at once, those with
    running work among them.

    Source: kubernetes-sigs/karpenter v1.14.1 pkg/controllers/static, pkg/controllers/disruption/staticdrift.go
    """
    if pool.spec.leaving:
        return dict.fromkeys((NODES,) if pool.is_static else (CPU, NODES), "0")
    if pool.is_static:
        return {NODES: quantity_text(NODES, pool.nodes_max + 1)}
    vcpu = max(instance.vcpu for instance in pool.instances)
    limits = {CPU: quantity_text(CPU, vcpu * 1000 * pool.nodes_max), NODES: quantity_text(NODES, pool.nodes_max)}
    if pool.sharing is not None and pool.sharing.kind == "exclusive":
        gpus = max(instance.gpu_count for instance in pool.instances)
        limits[GPU] = quantity_text(GPU, gpus * pool.nodes_max)
    return limits


def _one_of(key: str, *values: str) -> Body:
    return {"key": key, "operator": "In", "values": list(values)}


def _hash(group: str, kind: str, name: str) -> Body:
    """Annotations in which the controller keeps the hash of an object."""
    pointers = [f"/metadata/annotations/{group}~1{name}{suffix}" for suffix in ("", "-version")]
    return {"group": group, "kind": kind, "jsonPointers": pointers}


COMPONENT = Component(
    name="karpenter",
    wave=0,
    artifacts=karpenter,
    cluster_kinds=(
        *CLUSTER_ROLES, ("karpenter.k8s.aws", "EC2NodeClass"), ("karpenter.sh", "NodeOverlay"),
        ("karpenter.sh", "NodePool"),
    ),
    kinds=(
        *CONTROLLER, ("", "Service"), ("policy", "PodDisruptionBudget"), ("monitoring.coreos.com", "ServiceMonitor"),
    ),
    folders=(
        Folder(
            "karpenter/pools", 20, "karpenter", is_kept=True,
            ignored=(
                _hash("karpenter.sh", "NodePool", "nodepool-hash"),
                _hash("karpenter.k8s.aws", "EC2NodeClass", "ec2nodeclass-hash"),
            ),
        ),
    ),
)  # fmt: skip
