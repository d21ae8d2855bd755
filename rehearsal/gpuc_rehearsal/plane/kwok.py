"""Starts kwok, which sets the status of nodes and pods as kubelets do. A Stage is one rule of kwok."""

import json
from collections.abc import Iterator
from pathlib import Path

from gpuc.catalog.records import InstanceType
from gpuc.documents.reader import load_all_yaml
from gpuc.kubernetes.amounts import CPU, MEMORY, MIB, PODS, Amounts, texts
from gpuc.kubernetes.node_pool import INSTANCE_TYPE
from gpuc.manifest.manifest import Body
from gpuc.model import Cluster, Pool
from gpuc.model.names import EFA, GPU, POOL_LABEL
from gpuc_rehearsal.autoscaler import existing_nodes
from gpuc_rehearsal.client import new_object
from gpuc_rehearsal.plane.site import Settings, Site, flags
from gpuc_rehearsal.process import LOOPBACK, Process

STAGE_API = "kwok.x-k8s.io/v1alpha1"
FAKE_NODE = "kwok.x-k8s.io/node=fake"
"""Annotation of the nodes that kwok manages, as key=value."""
READY_AFTER = "gpuc.dev/rehearsal-ready-after"
"""Annotation of a pod that becomes ready late: the delay as a duration, for example 10s. Without it there is no delay.

Source: kwok v0.7.0 pkg/apis/v1alpha1/stage_types.go, StageDelay
"""
_READY_STATUS = '.status.conditions.[] | select( .type == "Ready" ) | .status'


def start_kwok(site: Site, settings: Settings) -> Process:
    """Starts kwok with its rules: the Stages of stages.yaml and the Stages of the settings."""
    port = site.port()
    config = site.folder / "kwok.yaml"
    stages: list[Body] = load_all_yaml(Path(__file__).with_name("stages.yaml").read_text(encoding="utf-8"))
    for row in stages if settings.ignored_namespaces else ():
        if row["metadata"]["name"] in ("pod-running", "pod-completed"):
            ignores = matches(".metadata.namespace", "NotIn", *settings.ignored_namespaces)
            row["spec"]["selector"]["matchExpressions"].insert(0, ignores)
    documents = (json.dumps(row) for row in (*settings.node_stages, *stages))
    config.write_text("".join(f"---\n{document}\n" for document in documents), encoding="utf-8")
    arguments = flags("kwok", site=site, config=config, fake_node=FAKE_NODE, port=port)
    return site.run("kwok", arguments, f"http://{LOOPBACK}:{port}/healthz")


def stage(name: str, kind: str, selector: Body, next_state: Body) -> Body:
    """Returns a Stage, a rule of kwok: each object that has this kind and matches the selector gets the next state."""
    spec = {"resourceRef": {"apiGroup": "v1", "kind": kind}, "selector": selector, "next": next_state}
    return new_object(STAGE_API, "Stage", name, spec=spec)


def matches(key: str, operator: str, *values: str) -> Body:
    """Returns a condition of the selector in a Stage (a rule of kwok). The key is a jq path: ".spec.nodeName"."""
    return {"key": key, "operator": operator} | ({"values": list(values)} if values else {})


def status_template(name: str) -> str:
    """Returns the Go template with which kwok writes the status of a node or a pod."""
    return Path(__file__).with_name(f"{name}.tmpl").read_text(encoding="utf-8")


def zones_of(cluster: Cluster) -> list[str]:
    """Returns the availability zones of a cluster and of its node pools, sorted."""
    return sorted({*cluster.substrate.zones(cluster.spec), *(zone for pool in cluster.pools for zone in pool.zones)})


def node_allocatable(cluster: Cluster, pool: Pool, instance: InstanceType) -> Amounts:
    """Returns the resources that a simulated node offers to pods of tenants; 0 for GPUs or EFA that the pool lacks."""
    devices = {GPU: instance.gpu_count, EFA: instance.efa}
    no_devices = {name: 0 for name, count in devices.items() if count}
    existing = existing_nodes(cluster.spec.cloud.substrate)
    # A provider gives its nodes the number of pods.
    pods = {PODS: existing.pods(cluster)} if existing else {}
    return no_devices | pods | pool.tenant_allocatable(instance)


def node_stages(cluster: Cluster) -> Iterator[Body]:
    """Yields Stages, rules of kwok, that make nodes ready: for the nodes of each pool, and for nodes without a pool."""
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
