"""Objects that exist in a real cluster when a user follows the README, and that neither gpuc nor the README creates."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpuc.manifest.manifest import Manifest
from gpuc.model import Cluster
from gpuc.pipeline.stages import CompiledSpec
from gpuc_rehearsal.argocd.cluster import required_namespaces, system_nodes
from gpuc_rehearsal.client import new_object

Object = dict[str, Any]
NAMESPACE, NODE, NODE_CLAIM, POD, TOPOLOGY = "stand-ins", "node-1", "nodeclaim-1", "pod-1", "topology-1"
KIND, NAME = "clusterpolicies.nvidia.com", "cluster-policy"
"""An object that moves to another Application. The workload has the same name: the README calls both NAME."""
_CONTAINER = {"name": "main", "image": "registry.example.com/a:1"}


def placeholders(spec: CompiledSpec) -> dict[str, str]:
    """Existing names in place of the placeholders of the README."""
    first = {manifest.kind: manifest.name for manifest in reversed(spec.synced)}
    return {
        "NAMESPACE": NAMESPACE,
        "NODE": NODE,
        "NODECLAIM": NODE_CLAIM,
        "POD": POD,
        "KIND": KIND,
        "NAME": NAME,
        "POOL": spec.cluster.pools[0].name,
        "QUEUE": first.get("ClusterQueue", "missing"),
        "TOPOLOGY": TOPOLOGY,
        "NODEOVERLAY": first.get("NodeOverlay", "missing"),
    }


def objects(spec: CompiledSpec) -> Iterator[Object]:
    """Yields the objects in an order in which the API server accepts them, some with a status."""
    cluster = spec.cluster
    yield from required_namespaces(cluster, spec.synced)
    for name in ("argocd", NAMESPACE):
        yield new_object("v1", "Namespace", name)
    yield _object("v1", "ServiceAccount", "default", NAMESPACE)
    yield from _network(cluster)
    yield _workload("Deployment", "coredns")
    yield _workload("DaemonSet", "kube-proxy")
    health = {"resource.customizations.health.karpenter.sh_NodePool": "return {}"}
    yield _object("v1", "ConfigMap", "argocd-cm", "argocd") | {"data": health}
    for node in system_nodes(cluster):
        yield {**node, "spec": {"taints": [{"key": "CriticalAddonsOnly", "value": "true", "effect": "NoSchedule"}]}}
    pool = cluster.pools[0].name
    labels = {"karpenter.sh/nodepool": pool, "gpuc.dev/pool": pool, "gpuc.dev/mode": "plain"}
    yield _object("v1", "Node", NODE, labels=labels, spec={"providerID": "aws:///zone/i-1"})
    claim = {
        "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": pool},
        "requirements": [{"key": "kubernetes.io/os", "operator": "In", "values": ["linux"]}],
    }
    yield _object("karpenter.sh/v1", "NodeClaim", NODE_CLAIM, labels=labels, spec=claim, status={"nodeName": NODE})
    yield _object("v1", "Pod", POD, NAMESPACE, spec={"nodeName": NODE, "containers": [_CONTAINER]})
    levels = {"levels": [{"nodeLabel": "kubernetes.io/hostname"}]}
    yield _object("kueue.x-k8s.io/v1beta2", "Topology", TOPOLOGY, spec=levels)
    pod_set = {"name": "main", "count": 1, "template": {"spec": {"containers": [_CONTAINER], "restartPolicy": "Never"}}}
    yield _object("kueue.x-k8s.io/v1beta2", "Workload", NAME, NAMESPACE, spec={"active": False, "podSets": [pod_set]})


def running_syncs(spec: CompiledSpec) -> Iterator[tuple[Manifest, Object]]:
    """Yields each Application with the part of its status that Argo CD writes during a sync."""
    state = {"operation": {}, "phase": "Running", "startedAt": "2026-12-01T00:00:00Z"}
    for manifest in spec.synced:
        if manifest.kind == "Application":
            yield manifest, {"status": {"operationState": state}}


def _network(cluster: Cluster) -> Iterator[Object]:
    if has_cilium(cluster):
        data = {"enable-policy": "default", "enable-l7-proxy": "true"}
        yield _object("v1", "ConfigMap", "cilium-config", "kube-system") | {"data": data}
        yield _workload("DaemonSet", "cilium")
        yield from map(_gateway_definition, ("Gateway", "HTTPRoute"))
    else:
        yield _workload("DaemonSet", "aws-node")


def _workload(kind: str, name: str) -> Object:
    """A Deployment or a DaemonSet of kube-system."""
    labels = {"k8s-app": name}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [_CONTAINER]}}
    spec = {"selector": {"matchLabels": labels}, "template": template}
    return _object("apps/v1", kind, name, "kube-system", spec=spec)


def _gateway_definition(kind: str) -> Object:
    """A definition of the Gateway API without a schema. The real definitions need an annotation of their project."""
    plural, api_group = f"{kind.lower()}s", "gateway.networking.k8s.io"
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    spec = {
        "group": api_group,
        "scope": "Namespaced",
        "names": {"plural": plural, "singular": kind.lower(), "kind": kind},
        "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
    }
    approved = {"annotations": {"api-approved.kubernetes.io": "https://github.com/kubernetes-sigs/gateway-api"}}
    definition = _object("apiextensions.k8s.io/v1", "CustomResourceDefinition", f"{plural}.{api_group}", spec=spec)
    return {**definition, "metadata": {**definition["metadata"], **approved}}


def has_cilium(cluster: Cluster) -> bool:
    """Whether Cilium enforces the policies, and not the VPC CNI."""
    return cluster.network.policy_engine == "cilium"


def _object(
    api: str, kind: str, name: str, namespace: str = "", labels: dict[str, str] | None = None, **fields: Object
) -> Object:
    metadata: Object = {"name": name, "labels": labels or {}} | ({"namespace": namespace} if namespace else {})
    return {"apiVersion": api, "kind": kind, "metadata": metadata, **fields}
