"""Objects that work depends on, as they are at one moment: what an edit must not delete."""

from __future__ import annotations

from collections.abc import Iterator

from gpuc.model import Cluster
from gpuc.model.names import POOL_LABEL
from gpuc.rehearse.argocd.judge import Holder
from gpuc.rehearse.client import Client, Object, condition

KUEUE = "kueue.x-k8s.io/v1beta2"
_RUNNING = "Running"


def holders(client: Client, cluster: Cluster) -> dict[str, Holder]:
    """NodePools, ClusterQueues and tenants' Namespaces by "Kind name", each with the work that it holds."""
    work = dict(_work(client, cluster))
    namespaces = {name for tenant in cluster.tenants for name in (space.name for space in tenant.namespaces)}
    found = {}
    for api, kind in (("karpenter.sh/v1", "NodePool"), (KUEUE, "ClusterQueue"), ("v1", "Namespace")):
        for stored in client.list_all(api, kind) if client.serves(api, kind) else ():
            metadata = stored["metadata"]
            if kind != "Namespace" or metadata["name"] in namespaces:
                key = f"{kind} {metadata['name']}"
                found[key] = Holder(metadata["uid"], "deletionTimestamp" in metadata, work.get(key, ""))
    return found


def _work(client: Client, cluster: Cluster) -> Iterator[tuple[str, str]]:
    """("Kind name" of an object, work that it holds), from running pods and admitted Workloads."""
    pools = {node["metadata"]["name"]: node["metadata"]["labels"].get(POOL_LABEL) for node in _nodes(client)}
    for namespace in cluster.tenant_namespaces:
        for pod in client.list_all("v1", "Pod", namespace):
            if pod.get("status", {}).get("phase") == _RUNNING:
                words = f"pod {namespace}/{pod['metadata']['name']}"
                yield f"Namespace {namespace}", words
                yield f"NodePool {pools.get(pod['spec'].get('nodeName', ''))}", words
    for workload in client.list_all(KUEUE, "Workload") if client.serves(KUEUE, "Workload") else ():
        queue = workload.get("status", {}).get("admission", {}).get("clusterQueue")
        if queue and condition(workload, "Finished").get("status") != "True":
            metadata = workload["metadata"]
            yield f"ClusterQueue {queue}", f"workload {metadata['namespace']}/{metadata['name']}"


def _nodes(client: Client) -> list[Object]:
    return client.list_all("v1", "Node", labels=POOL_LABEL)
