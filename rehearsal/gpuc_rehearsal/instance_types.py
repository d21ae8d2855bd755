"""Instance types of the simulated cloud provider, and DaemonSets and kwok Stages that give nodes their resources."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gpuc.catalog.records import InstanceType
from gpuc.cluster.instance_labels import instance_labels
from gpuc.kubernetes.amounts import CPU, EPHEMERAL_STORAGE, MEMORY, MIB, PODS, Amounts, texts, total
from gpuc.kubernetes.node_pool import AWS, CAPACITY_TYPE, INSTANCE_TYPE, ZONE
from gpuc.manifest.manifest import Body
from gpuc.model import Cluster, Pool
from gpuc.model.names import EFA, GPU, HUGEPAGES, POOL_LABEL
from gpuc.model.pool import GPU_GATE_CPU_MILLI, GPU_GATE_MEMORY_MIB
from gpuc_rehearsal.client import new_object
from gpuc_rehearsal.existing import existing_nodes
from gpuc_rehearsal.plane.kwok import matches, stage, status_template

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
_READY_STATUS = '.status.conditions.[] | select( .type == "Ready" ) | .status'


def instance_types(cluster: Cluster, zones: Iterable[str]) -> list[Body]:
    """Returns the instance types of all pools, with offerings in the given zones and of every capacity type."""
    instances = {instance.type: instance for pool in cluster.pools for instance in pool.instances}
    return [_instance_type(cluster, instance, list(zones)) for instance in instances.values()]


def zones_of(cluster: Cluster) -> list[str]:
    """Returns the zones of a cluster and of its pools, sorted."""
    return sorted({*cluster.substrate.zones(cluster.spec), *(zone for pool in cluster.pools for zone in pool.zones)})


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


def node_allocatable(cluster: Cluster, pool: Pool, instance: InstanceType) -> Amounts:
    """Returns the resources for tenant pods on a simulated node; 0 for devices that the pool does not offer."""
    no_devices = {name: 0 for name in (GPU, EFA) if name in _capacity(cluster, instance)}
    existing = existing_nodes(cluster.spec.cloud.substrate)
    # A provider gives its nodes the number of pods.
    pods = {PODS: existing.pods(cluster)} if existing else {}
    return no_devices | pods | pool.tenant_allocatable(instance)


def node_capacity(cluster: Cluster, pool: Pool, instance: InstanceType) -> Amounts:
    """Returns the capacity of a simulated node, which counts against the limits of a NodePool."""
    size = {CPU: instance.vcpu * 1000, MEMORY: instance.memory_mib * MIB}
    return node_allocatable(cluster, pool, instance) | size


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


def node_stages(cluster: Cluster) -> Iterator[Body]:
    """Yields the Stages for the nodes of every pool, and for nodes without a pool."""
    for pool in cluster.pools:
        for instance in pool.instances:
            yield _ready(cluster, pool, instance)
        if pool.startup_taints:
            yield _without_startup_taints(pool)
    unpooled = [matches(_READY_STATUS, "NotIn", "True"), matches(f'.metadata.labels["{POOL_LABEL}"]', "DoesNotExist")]
    yield stage("node-ready", "Node", {"matchExpressions": unpooled}, {"statusTemplate": status_template("node_ready")})


def _ready(cluster: Cluster, pool: Pool, instance: InstanceType) -> Body:
    """Returns a Stage that makes a node ready with the capacity and the allocatable resources of its pool."""
    allocatable = _status_map("allocatable", node_allocatable(cluster, pool, instance))
    capacity = _status_map("capacity", node_capacity(cluster, pool, instance))
    selector = {
        # Only a provider gives nodes the label of an instance type.
        "matchLabels": {POOL_LABEL: pool.name} | ({INSTANCE_TYPE: instance.type} if pool.scaling else {}),
        "matchExpressions": [matches(_READY_STATUS, "NotIn", "True")],
    }
    name = f"node-ready-{pool.name}-{instance.type}"
    return stage(name, "Node", selector, {"statusTemplate": status_template("node_ready") + allocatable + capacity})


def _status_map(key: str, amounts: Amounts) -> str:
    return f"{key}:\n" + "".join(f'  {name}: "{amount}"\n' for name, amount in texts(amounts).items())


def _without_startup_taints(pool: Pool) -> Body:
    """Returns a Stage that removes the startup taints of a ready node, as the MIG manager and the network agent do."""
    keys = [taint.key for taint in pool.startup_taints]
    selector = {
        "matchLabels": {POOL_LABEL: pool.name},
        "matchExpressions": [matches(_READY_STATUS, "In", "True"), matches(".spec.taints.[].key", "In", *keys)],
    }
    comparisons = " ".join(f'(ne .key "{key}")' for key in keys)
    condition = f"and {comparisons}" if len(keys) > 1 else comparisons.strip("()")
    template = (
        "taints:\n{{ range .spec.taints }}{{ if " + condition + " }}"
        "- {key: {{ .key | Quote }}, value: {{ or .value `` | Quote }}, effect: {{ .effect }}}\n"
        "{{ end }}{{ else }}[]{{ end }}"
    )
    patch = {"root": "spec", "type": "merge", "template": template}
    return stage(f"node-freed-{pool.name}", "Node", selector, {"patches": [patch]})
