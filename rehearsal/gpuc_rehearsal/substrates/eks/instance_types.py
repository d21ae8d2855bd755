"""The instance types of the simulated cloud provider, and DaemonSets that reduce the resources of its nodes."""

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
    """Returns the instance types of all pools, which the simulated provider offers in these zones."""
    instances = {instance.type: instance for pool in cluster.pools for instance in pool.instances}
    return [_instance_type(cluster, instance, list(zones)) for instance in instances.values()]


def reserve_daemon_sets(cluster: Cluster) -> Iterator[Body]:
    """Yields a DaemonSet for each pool in which an instance type offers less resources than in another pool.

    The simulated provider offers the same resources for an instance type in all pools. Karpenter subtracts the requests
    of the DaemonSet, so that the rest equals the resources of the pool in the model. The DaemonSets start no pods,
    because the status of simulated nodes already has the smaller resources.
    """
    for pool in cluster.pools:
        for instance in pool.instances:
            own, largest = _before_karpenter(pool, instance), _largest_allocatable(cluster, instance)
            if amounts := {name: largest[name] - own[name] for name in largest if largest[name] > own[name]}:
                yield _daemon_set(pool, instance, amounts)


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


def _instance_type(cluster: Cluster, instance: InstanceType, zones: list[str]) -> Body:
    """Returns an instance type whose capacity is the largest allocatable amounts plus the provider's overhead."""
    known = instance_labels(cluster.catalog, instance.type)
    labels = {key: known[key] for key in _SELECTED if key in known}
    devices = {name: count for name, count in {GPU: instance.gpu_count, EFA: instance.efa}.items() if count}
    overhead = {CPU: OVERHEAD_CPU_MILLI, MEMORY: OVERHEAD_MEMORY_BYTES}
    capacity = total([_largest_allocatable(cluster, instance), overhead]) | devices
    price = cluster.catalog.price(instance.type, PRICE_REGION, "on-demand")
    hourly = price.hourly_usd if price else instance.vcpu * USD_PER_VCPU_HOUR
    return {
        "name": instance.type,
        "architecture": instance.arch,
        "operatingSystems": ["linux"],
        "resources": {**texts(capacity), "pods": str(instance.pods)},
        "offerings": [
            {
                "Price": round(hourly * factor, 4),
                "Requirements": _expressions(labels | {ZONE: zone, CAPACITY_TYPE: capacity_type}),
            }
            for zone in zones
            for capacity_type, factor in _PRICE_FACTORS.items()
        ],
    }


def _expressions(labels: dict[str, str]) -> list[Body]:
    return [{"key": key, "operator": "In", "values": [value]} for key, value in labels.items()]


def _daemon_set(pool: Pool, instance: InstanceType, amounts: Amounts) -> Body:
    name = f"node-reserve-{pool.name}-{instance.type.replace('.', '-')}"
    labels = {"app": name}
    container = {"name": "reserve", "image": "reserve", "resources": {"requests": texts(amounts)}}
    expressions = _expressions({POOL_LABEL: pool.name, INSTANCE_TYPE: instance.type})
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
