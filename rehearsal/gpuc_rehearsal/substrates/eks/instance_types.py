"""Instance types of the simulated cloud provider, and DaemonSets that reserve resources of nodes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gpuc.catalog.records import InstanceType
from gpuc.cluster.instance_labels import instance_labels
from gpuc.kubernetes.amounts import CPU, EPHEMERAL_STORAGE, MEMORY, MIB, Amounts, texts, total
from gpuc.kubernetes.node_pool import AWS, CAPACITY_TYPE, INSTANCE_TYPE, ZONE
from gpuc.manifest.manifest import Body
from gpuc.model import Cluster, Pool
from gpuc.model.names import EFA, GPU, HUGEPAGES, POOL_LABEL
from gpuc.model.pool import GPU_GATE_CPU_MILLI, GPU_GATE_MEMORY_MIB
from gpuc_rehearsal.client import new_object

RESERVE_NAMESPACE = "kube-system"

OVERHEAD_CPU_MILLI = 100
OVERHEAD_MEMORY_BYTES = 10 * MIB
"""Overhead that the simulated provider subtracts from the capacity of every node.

Source: sigs.k8s.io/karpenter v1.14.1 kwok/cloudprovider/helpers.go
"""
PRICE_REGION = "us-east-1"
"""The region whose on-demand prices the simulated provider has. gpuc knows prices of this region."""
USD_PER_VCPU_HOUR = 0.05
"""Assumed price of an instance type without a published price. Karpenter only compares prices."""
_GATE: Amounts = {CPU: GPU_GATE_CPU_MILLI, MEMORY: GPU_GATE_MEMORY_MIB * MIB}
"""Requests of the GPU gate: the DaemonSet of gpuc's output that runs on GPU nodes."""
_SELECTED = tuple(f"{AWS}instance-{name}" for name in ("family", "size", "cpu", "memory", "gpu-name", "gpu-count"))
"""Labels of Karpenter's AWS provider that specs and pods can select."""
_PRICE_FACTORS = {"reserved": 0.01, "spot": 0.4, "on-demand": 1.0}
"""Assumed price by capacity type, relative to on-demand."""


def instance_types(cluster: Cluster, zones: Iterable[str]) -> list[Body]:
    """Returns the instance types of all pools, with offerings in the given zones and of every capacity type."""
    instances = {instance.type: instance for pool in cluster.pools for instance in pool.instances}
    return [_instance_type(cluster, instance, list(zones)) for instance in instances.values()]


def reserve_daemon_sets(cluster: Cluster) -> Iterator[Body]:
    """Yields a DaemonSet for each pool and instance type with less allocatable resources than in another pool.

    The simulated provider has one capacity per instance type. Karpenter subtracts the requests of DaemonSets from the
    capacity; the result equals the allocatable resources of the pool in the model. The DaemonSets start no pods,
    because simulated nodes report the allocatable resources of the model.
    """
    for pool in cluster.pools:
        for instance in pool.instances:
            if amounts := _reserved_amounts(cluster, pool, instance):
                yield _daemon_set(pool, instance, amounts)


def _reserved_amounts(cluster: Cluster, pool: Pool, instance: InstanceType) -> Amounts:
    """Returns the requests of the DaemonSet that reduces the provider's allocatable resources to those of the pool."""
    largest, allocatable = _largest_allocatable(cluster, instance), _before_karpenter(pool, instance)
    return {name: largest[name] - allocatable[name] for name in largest if largest[name] > allocatable[name]}


def _before_karpenter(pool: Pool, instance: InstanceType) -> Amounts:
    """Returns the resources for tenant pods, plus huge pages and the GPU gate, which Karpenter subtracts itself."""
    allocatable = pool.tenant_allocatable(instance)
    memory_bytes = allocatable[MEMORY] + allocatable.get(HUGEPAGES, 0)
    base = {CPU: allocatable[CPU], MEMORY: memory_bytes, EPHEMERAL_STORAGE: allocatable[EPHEMERAL_STORAGE]}
    return total([base, _GATE]) if pool.is_gpu else base


def _largest_allocatable(cluster: Cluster, instance: InstanceType) -> Amounts:
    """Returns the largest allocatable amount of each resource on the instance type in any pool."""
    by_pool = [_before_karpenter(pool, instance) for pool in cluster.pools if instance in pool.instances]
    return {name: max(allocatable[name] for allocatable in by_pool) for name in by_pool[0]}


def _capacity(cluster: Cluster, instance: InstanceType) -> Amounts:
    """Returns the provider's capacity: the largest allocatable amounts plus the provider's overhead."""
    capacity = _largest_allocatable(cluster, instance)
    capacity[CPU] += OVERHEAD_CPU_MILLI
    capacity[MEMORY] += OVERHEAD_MEMORY_BYTES
    devices = {GPU: instance.gpu_count, EFA: instance.efa}
    return capacity | {name: count for name, count in devices.items() if count}


def _instance_type(cluster: Cluster, instance: InstanceType, zones: list[str]) -> Body:
    known = instance_labels(cluster.catalog, instance.type)
    labels = {key: known[key] for key in _SELECTED if key in known}
    return {
        "name": instance.type,
        "architecture": instance.arch,
        "operatingSystems": ["linux"],
        "resources": {**texts(_capacity(cluster, instance)), "pods": str(instance.pods)},
        "offerings": [
            _offering(cluster, instance, labels | {ZONE: zone, CAPACITY_TYPE: capacity_type})
            for zone in zones
            for capacity_type in _PRICE_FACTORS
        ],
    }


def _offering(cluster: Cluster, instance: InstanceType, labels: dict[str, str]) -> Body:
    price = cluster.catalog.price(instance.type, PRICE_REGION, "on-demand")
    hourly = price.hourly_usd if price else instance.vcpu * USD_PER_VCPU_HOUR
    return {
        "Price": round(hourly * _PRICE_FACTORS[labels[CAPACITY_TYPE]], 4),
        "Requirements": [{"key": key, "operator": "In", "values": [value]} for key, value in labels.items()],
    }


def _daemon_set(pool: Pool, instance: InstanceType, amounts: Amounts) -> Body:
    name = f"node-reserve-{pool.name}-{instance.type.replace('.', '-')}"
    labels = {"app": name}
    container = {"name": "reserve", "image": "reserve", "resources": {"requests": texts(amounts)}}
    expressions = [
        {"key": POOL_LABEL, "operator": "In", "values": [pool.name]},
        {"key": INSTANCE_TYPE, "operator": "In", "values": [instance.type]},
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
    spec = {"selector": {"matchLabels": labels}, "template": template}
    return new_object("apps/v1", "DaemonSet", name, RESERVE_NAMESPACE, spec=spec)
