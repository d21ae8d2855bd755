"""What the simulated provider offers, and what its nodes keep for themselves: from the catalog and the model."""

from __future__ import annotations

from collections.abc import Iterator

from gpuc.catalog.records import InstanceType
from gpuc.kubernetes.amounts import CPU, EPHEMERAL_STORAGE, MEMORY, MIB, Amounts, texts, total
from gpuc.manifest.manifest import Body
from gpuc.model import Cluster, Pool
from gpuc.model.names import EFA, GPU, HUGEPAGES, POOL_LABEL
from gpuc.model.pool import LAYOUT_GATE_CPU_MILLI, LAYOUT_GATE_MEMORY_MIB

INSTANCE_TYPE_LABEL = "node.kubernetes.io/instance-type"
ZONE_LABEL = "topology.kubernetes.io/zone"
CAPACITY_TYPE_LABEL = "karpenter.sh/capacity-type"
RESERVE_NAMESPACE = "kube-system"

OVERHEAD_CPU_MILLI = 100
OVERHEAD_MEMORY_BYTES = 10 * MIB
"""What the simulated provider takes off each node, whatever its size.

Source: sigs.k8s.io/karpenter v1.14.1 kwok/cloudprovider/helpers.go
"""
USD_PER_VCPU_HOUR = 0.05
"""The price of a type whose price nobody published: only the order of prices counts."""
_GATE: Amounts = {CPU: LAYOUT_GATE_CPU_MILLI, MEMORY: LAYOUT_GATE_MEMORY_MIB * MIB}
"""What the layout gate asks for, the one DaemonSet that is part of a cluster's tree."""
_PRICE_SHARE = {"reserved": 0.01, "spot": 0.4, "on-demand": 1.0}


def instance_types(cluster: Cluster) -> list[Body]:
    """Every type that a pool names, in every zone of the cluster, by every way of purchase."""
    return [_offered(cluster, instance) for instance in _instances(cluster)]


def reserves(cluster: Cluster) -> Iterator[Body]:
    """A DaemonSet per pool and type whose nodes leave less to tenants than other pools' nodes of that type.

    The provider knows one capacity per type; Karpenter takes off it what DaemonSets ask for, and so comes to what the
    model says is left. No controller makes their pods: a node says by itself what it has.
    """
    for pool in cluster.pools:
        for instance in pool.instances:
            if amounts := _reserved(cluster, pool, instance):
                yield _reserve(pool, instance, amounts)


def node_allocatable(cluster: Cluster, pool: Pool, instance: InstanceType) -> Amounts:
    """What a simulated node of a pool has for tenants: the model's `left`, and no piece of what it could advertise."""
    plugins = {name: 0 for name in (GPU, EFA) if name in _capacity(cluster, instance)}
    return plugins | pool.tenant_allocatable(instance)


def node_capacity(cluster: Cluster, pool: Pool, instance: InstanceType) -> Amounts:
    """The size of a simulated node, by which limits count: EC2's figures, and what its device plugins advertise."""
    size = {CPU: instance.vcpu * 1000, MEMORY: instance.memory_mib * MIB}
    return node_allocatable(cluster, pool, instance) | size


def _reserved(cluster: Cluster, pool: Pool, instance: InstanceType) -> Amounts:
    """What the provider believes to be left on a node of the pool beyond what the model says is."""
    believed, left = _believed(cluster, instance), _left(pool, instance)
    return {name: believed[name] - left[name] for name in believed if believed[name] > left[name]}


def _left(pool: Pool, instance: InstanceType) -> Amounts:
    """What a node leaves to tenants, and what Karpenter takes off by itself: huge pages, and our own DaemonSet."""
    left = pool.tenant_allocatable(instance)
    memory_bytes = left[MEMORY] + left.get(HUGEPAGES, 0)
    vector = {CPU: left[CPU], MEMORY: memory_bytes, EPHEMERAL_STORAGE: left[EPHEMERAL_STORAGE]}
    return total([vector, _GATE]) if pool.mig_by_operator else vector


def _believed(cluster: Cluster, instance: InstanceType) -> Amounts:
    """The most that a node of the type leaves in any pool."""
    found = [_left(pool, instance) for pool in cluster.pools if instance in pool.instances]
    return {name: max(left[name] for left in found) for name in found[0]}


def _capacity(cluster: Cluster, instance: InstanceType) -> Amounts:
    """What the provider is told, so that its allocatable is what the model says is left."""
    believed = _believed(cluster, instance)
    believed[CPU] += OVERHEAD_CPU_MILLI
    believed[MEMORY] += OVERHEAD_MEMORY_BYTES
    pieces = {GPU: instance.gpu_count, EFA: instance.efa}
    return believed | {name: count for name, count in pieces.items() if count}


def _instances(cluster: Cluster) -> list[InstanceType]:
    return list({each.type: each for pool in cluster.pools for each in pool.instances}.values())


def _offered(cluster: Cluster, instance: InstanceType) -> Body:
    zones = sorted({*cluster.aws.zones, *(zone for pool in cluster.pools for zone in pool.zones)})
    labels = _labels(cluster, instance)
    return {
        "name": instance.type,
        "architecture": instance.arch,
        "operatingSystems": ["linux"],
        "resources": {**texts(_capacity(cluster, instance)), "pods": str(instance.pods)},
        "offerings": [
            _offering(instance, labels | {ZONE_LABEL: zone, CAPACITY_TYPE_LABEL: purchase})
            for zone in zones
            for purchase in _PRICE_SHARE
        ],
    }


def _offering(instance: InstanceType, labels: dict[str, str]) -> Body:
    hourly = instance.hourly_usd or instance.vcpu * USD_PER_VCPU_HOUR
    return {
        "Price": round(hourly * _PRICE_SHARE[labels[CAPACITY_TYPE_LABEL]], 4),
        "Requirements": [{"key": key, "operator": "In", "values": [value]} for key, value in labels.items()],
    }


def _labels(cluster: Cluster, instance: InstanceType) -> dict[str, str]:
    """The labels of the AWS provider that specs and pods may select by."""
    domain = "karpenter.k8s.aws"
    size = instance.type.partition(".")[2]
    labels = {
        f"{domain}/instance-family": instance.family,
        f"{domain}/instance-size": size,
        f"{domain}/instance-cpu": str(instance.vcpu),
        f"{domain}/instance-memory": str(instance.memory_mib),
    }
    if instance.gpu:
        labels |= {
            f"{domain}/instance-gpu-name": cluster.catalog.gpus[instance.gpu].karpenter_name,
            f"{domain}/instance-gpu-count": str(instance.gpu_count),
        }
    return labels


def _reserve(pool: Pool, instance: InstanceType, amounts: Amounts) -> Body:
    name = f"node-reserve-{pool.name}-{instance.type.replace('.', '-')}"
    labels = {"app": name}
    container = {"name": "reserve", "image": "reserve", "resources": {"requests": texts(amounts)}}
    expressions = [
        {"key": POOL_LABEL, "operator": "In", "values": [pool.name]},
        {"key": INSTANCE_TYPE_LABEL, "operator": "In", "values": [instance.type]},
    ]
    required = {"nodeSelectorTerms": [{"matchExpressions": expressions}]}
    template = {
        "metadata": {"labels": labels},
        "spec": {
            "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}},
            "containers": [container],
            "tolerations": [{"operator": "Exists"}],
        },
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": name, "namespace": RESERVE_NAMESPACE},
        "spec": {"selector": {"matchLabels": labels}, "template": template},
    }
