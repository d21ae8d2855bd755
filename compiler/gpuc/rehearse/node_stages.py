"""kwok Stages that make nodes ready with the resources of their pool, and that remove startup taints."""

from __future__ import annotations

from collections.abc import Iterator

from gpuc.catalog.records import InstanceType
from gpuc.kubernetes.amounts import Amounts, texts
from gpuc.kubernetes.node_pool import INSTANCE_TYPE
from gpuc.manifest.manifest import Body
from gpuc.model import Cluster, Pool
from gpuc.model.names import POOL_LABEL
from gpuc.rehearse.instance_types import node_allocatable, node_capacity
from gpuc.rehearse.plane.kwok import matches, stage

_READY_STATUS = '.status.conditions.[] | select( .type == "Ready" ) | .status'


def node_stages(cluster: Cluster) -> Iterator[Body]:
    """Yields the Stages for the nodes of every pool, and for nodes without a pool."""
    for pool in cluster.pools:
        for instance in pool.instances:
            yield _ready(cluster, pool, instance)
        if pool.startup_taints:
            yield _without_startup_taints(pool)
    unpooled = [matches(_READY_STATUS, "NotIn", "True"), matches(f'.metadata.labels["{POOL_LABEL}"]', "DoesNotExist")]
    yield stage("node-ready", "Node", {"matchExpressions": unpooled}, {"statusTemplate": _STATUS_TEMPLATE})


def _ready(cluster: Cluster, pool: Pool, instance: InstanceType) -> Body:
    """Returns a Stage that makes a node ready with the capacity and the allocatable resources of its pool."""
    allocatable = _status_map("allocatable", node_allocatable(cluster, pool, instance))
    capacity = _status_map("capacity", node_capacity(cluster, pool, instance))
    selector = {
        "matchLabels": {POOL_LABEL: pool.name, INSTANCE_TYPE: instance.type},
        "matchExpressions": [matches(_READY_STATUS, "NotIn", "True")],
    }
    name = f"node-ready-{pool.name}-{instance.type}"
    return stage(name, "Node", selector, {"statusTemplate": _STATUS_TEMPLATE + allocatable + capacity})


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


_STATUS_TEMPLATE = """
{{ $now := Now | Quote }}
phase: Running
addresses:
- {type: InternalIP, address: {{ NodeIP | Quote }}}
- {type: Hostname, address: {{ .metadata.name | Quote }}}
nodeInfo:
  architecture: {{ or (index .metadata.labels "kubernetes.io/arch") "amd64" }}
  operatingSystem: linux
  kubeletVersion: simulated
  kubeProxyVersion: ""
  containerRuntimeVersion: ""
  kernelVersion: ""
  osImage: ""
  bootID: ""
  machineID: ""
  systemUUID: ""
conditions:
{{ range NodeConditions }}
- type: {{ .type }}
  status: {{ .status | Quote }}
  reason: {{ .reason | Quote }}
  message: {{ .message | Quote }}
  lastHeartbeatTime: {{ $now }}
  lastTransitionTime: {{ $now }}
{{ end }}
"""
