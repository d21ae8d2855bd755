"""Objects that running workloads depend on, and that an edit must not delete."""

from __future__ import annotations

from collections.abc import Iterator

from gpuc.model import Cluster
from gpuc.model.names import POOL_LABEL
from gpuc.rehearse.argocd.checks import ProtectedObject
from gpuc.rehearse.client import Client, is_true
from gpuc.rehearse.context import CLUSTER_QUEUE, NODE, NODE_POOL, POD, WORKLOAD


def protected_objects(client: Client, cluster: Cluster) -> dict[str, ProtectedObject]:
    """Returns NodePools, ClusterQueues and tenant Namespaces by "Kind name"."""
    workloads = dict(_workloads(client, cluster))
    found = {}
    for api, kind in (NODE_POOL, CLUSTER_QUEUE, ("v1", "Namespace")):
        for stored in client.list_all(api, kind) if client.serves(api, kind) else ():
            metadata = stored["metadata"]
            if kind != "Namespace" or metadata["name"] in cluster.tenant_namespaces:
                key = f"{kind} {metadata['name']}"
                found[key] = ProtectedObject(metadata["uid"], "deletionTimestamp" in metadata, workloads.get(key, ""))
    return found


def _workloads(client: Client, cluster: Cluster) -> Iterator[tuple[str, str]]:
    """Yields ("Kind name" of an object, a running pod or an admitted Workload that uses the object)."""
    nodes = (node["metadata"] for node in client.list_all(*NODE, labels=POOL_LABEL))
    pools = {metadata["name"]: metadata["labels"].get(POOL_LABEL) for metadata in nodes}
    for namespace in cluster.tenant_namespaces:
        for pod in client.list_all(*POD, namespace):
            if pod.get("status", {}).get("phase") == "Running":
                pod_name = f"pod {namespace}/{pod['metadata']['name']}"
                yield f"Namespace {namespace}", pod_name
                yield f"NodePool {pools.get(pod['spec'].get('nodeName', ''))}", pod_name
    for workload in client.list_all(*WORKLOAD) if client.serves(*WORKLOAD) else ():
        queue = workload.get("status", {}).get("admission", {}).get("clusterQueue")
        if queue and not is_true(workload, "Finished"):
            metadata = workload["metadata"]
            yield f"ClusterQueue {queue}", f"Workload {metadata['namespace']}/{metadata['name']}"
