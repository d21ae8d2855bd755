"""kwok's Stages that give nodes their resources, and the resources of simulated nodes."""

from __future__ import annotations

from collections.abc import Iterator

from gpuc.catalog.records import InstanceType
from gpuc.kubernetes.amounts import CPU, MEMORY, MIB, PODS, Amounts, texts
from gpuc.kubernetes.node_pool import INSTANCE_TYPE
from gpuc.manifest.manifest import Body
from gpuc.model import Cluster, Pool
from gpuc.model.names import EFA, GPU, POOL_LABEL
from gpuc_rehearsal.existing import existing_nodes
from gpuc_rehearsal.plane.kwok import matches, stage, status_template

_READY_STATUS = '.status.conditions.[] | select( .type == "Ready" ) | .status'


def zones_of(cluster: Cluster) -> list[str]:
    """Returns the zones of a cluster and of its pools, sorted."""
    return sorted({*cluster.substrate.zones(cluster.spec), *(zone for pool in cluster.pools for zone in pool.zones)})


def node_allocatable(cluster: Cluster, pool: Pool, instance: InstanceType) -> Amounts:
    """Returns the resources for tenant pods on a simulated node; 0 for devices that the pool does not offer."""
    devices = {GPU: instance.gpu_count, EFA: instance.efa}
    no_devices = {name: 0 for name, count in devices.items() if count}
    existing = existing_nodes(cluster.spec.cloud.substrate)
    # A provider gives its nodes the number of pods.
    pods = {PODS: existing.pods(cluster)} if existing else {}
    return no_devices | pods | pool.tenant_allocatable(instance)


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
    amounts = node_allocatable(cluster, pool, instance)
    # The capacity counts against the limits of a NodePool.
    size = {CPU: instance.vcpu * 1000, MEMORY: instance.memory_mib * MIB}
    status = _status_map("allocatable", amounts) + _status_map("capacity", amounts | size)
    selector = {
        # Only a provider gives nodes the label of an instance type.
        "matchLabels": {POOL_LABEL: pool.name} | ({INSTANCE_TYPE: instance.type} if pool.scaling else {}),
        "matchExpressions": [matches(_READY_STATUS, "NotIn", "True")],
    }
    name = f"node-ready-{pool.name}-{instance.type}"
    return stage(name, "Node", selector, {"statusTemplate": status_template("node_ready") + status})


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
