"""Objects that running workloads depend on, and that an edit must not delete."""

from __future__ import annotations

from collections.abc import Iterator

from gpuc.kubernetes.kueue import KUEUE_API
from gpuc.model import Cluster
from gpuc.model.names import POOL_LABEL
from gpuc.rehearse.argocd.checks import ProtectedObject
from gpuc.rehearse.client import Client, Object, condition

_RUNNING = "Running"


def protected_objects(client: Client, cluster: Cluster) -> dict[str, ProtectedObject]:
    """Returns NodePools, ClusterQueues and tenant Namespaces by "Kind name"."""
    workloads = dict(_workloads(client, cluster))
    namespaces = {name for tenant in cluster.tenants for name in (space.name for space in tenant.namespaces)}
    found = {}
    for api, kind in (("karpenter.sh/v1", "NodePool"), (KUEUE_API, "ClusterQueue"), ("v1", "Namespace")):
        for stored in client.list_all(api, kind) if client.serves(api, kind) else ():
            metadata = stored["metadata"]
            if kind != "Namespace" or metadata["name"] in namespaces:
                key = f"{kind} {metadata['name']}"
                found[key] = ProtectedObject(metadata["uid"], "deletionTimestamp" in metadata, workloads.get(key, ""))
    return found


def _workloads(client: Client, cluster: Cluster) -> Iterator[tuple[str, str]]:
    """Yields ("Kind name" of an object, a running pod or an admitted Workload that uses the object)."""
    pools = {node["metadata"]["name"]: node["metadata"]["labels"].get(POOL_LABEL) for node in _nodes(client)}
    for namespace in cluster.tenant_namespaces:
        for pod in client.list_all("v1", "Pod", namespace):
            if pod.get("status", {}).get("phase") == _RUNNING:
                pod_name = f"pod {namespace}/{pod['metadata']['name']}"
                yield f"Namespace {namespace}", pod_name
                yield f"NodePool {pools.get(pod['spec'].get('nodeName', ''))}", pod_name
    for workload in client.list_all(KUEUE_API, "Workload") if client.serves(KUEUE_API, "Workload") else ():
        queue = workload.get("status", {}).get("admission", {}).get("clusterQueue")
        if queue and condition(workload, "Finished").get("status") != "True":
            metadata = workload["metadata"]
            yield f"ClusterQueue {queue}", f"Workload {metadata['namespace']}/{metadata['name']}"


def _nodes(client: Client) -> list[Object]:
    return client.list_all("v1", "Node", labels=POOL_LABEL)
