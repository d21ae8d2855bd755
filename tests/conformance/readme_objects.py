"""Objects that exist in a real cluster when a user follows the README, and that neither gpuc nor the README creates."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from gpuc.emit.notify import secret_keys
from gpuc.manifest.manifest import Manifest
from gpuc.model import Cluster
from gpuc.pipeline.stages import CompiledSpec
from gpuc_rehearsal.argocd.cluster import required_namespaces, system_nodes

Object = dict[str, Any]
OBJECTS = Path(__file__).with_suffix(".yaml")


def placeholders(spec: CompiledSpec) -> dict[str, str]:
    """Existing names in place of the placeholders of the README.

    KIND and NAME are an object that moves to another Application. The workload of OBJECTS has the same name: the README
    calls both NAME.
    """
    first = {manifest.kind: manifest.name for manifest in reversed(spec.synced)}
    return {
        "NAMESPACE": "stand-ins",
        "NODE": "node-1",
        "NODECLAIM": "nodeclaim-1",
        "POD": "pod-1",
        "KIND": "clusterpolicies.nvidia.com",
        "NAME": "cluster-policy",
        "POOL": spec.cluster.pools[0].name,
        "QUEUE": first.get("ClusterQueue", "missing"),
        "TOPOLOGY": "topology-1",
        "NODEOVERLAY": first.get("NodeOverlay", "missing"),
    }


def objects(spec: CompiledSpec) -> Iterator[Object]:
    """Yields the objects in an order in which the API server accepts them, some with a status."""
    cluster = spec.cluster
    given = yaml.safe_load(OBJECTS.read_text(encoding="utf-8").replace("$POOL", cluster.pools[0].name))
    yield from required_namespaces(cluster, spec.synced)
    for chapter in ("namespaces", "cilium" if has_cilium(cluster) else "vpc-cni", "system"):
        yield from given[chapter]
    for node in system_nodes(cluster):
        yield {**node, "spec": {"taints": [{"key": "CriticalAddonsOnly", "value": "true", "effect": "NoSchedule"}]}}
    settings = cluster.spec.observability
    if settings and settings.notify:
        yield {**given["alertmanager"], "metadata": {"name": "main", "namespace": settings.namespace}}
        for name in secret_keys(settings):
            yield {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": settings.namespace}}
    runs = [run for tenant in cluster.tenants for run in tenant.runs]
    claims = {(run.namespace.name, run.spec.checkpoints.claim) for run in runs if run.spec.checkpoints}
    for namespace, claim in sorted(claims):
        spec_of_claim = {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Gi"}}}
        metadata = {"name": claim, "namespace": namespace}
        yield {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec_of_claim}
    yield from given["workloads"]


def running_syncs(spec: CompiledSpec) -> Iterator[tuple[Manifest, Object]]:
    """Yields each Application with the part of its status that Argo CD writes during a sync."""
    state = {"operation": {}, "phase": "Running", "startedAt": "2026-12-01T00:00:00Z"}
    for manifest in spec.synced:
        if manifest.kind == "Application":
            yield manifest, {"status": {"operationState": state}}


def has_cilium(cluster: Cluster) -> bool:
    """Whether Cilium enforces the policies, and not the VPC CNI."""
    return cluster.network.policy_engine == "cilium"
