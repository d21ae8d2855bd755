"""Makes a Job from command-line options. The other fields of the Job have values that the policies of gpuc allow."""

from collections.abc import Mapping
from typing import Any

from gpuc.admission.documents import in_namespace
from gpuc.admission.limit_ranges import container_defaults
from gpuc.kubernetes.amounts import CPU, MEMORY
from gpuc.kubernetes.api_groups import CONSTRAINTS
from gpuc.manifest.manifest import Body
from gpuc.model.names import PLACEHOLDER_REGISTRY, POOL_LABEL
from gpuc.objects.object_set import dig, items
from gpuc.trace.cluster_index import ClusterIndex
from gpuc.trace.workload import PodSet, Workload


def described_workload(
    cluster: ClusterIndex,
    namespace: str,
    queue: str,
    requests: Mapping[str, str],
    node_labels: Mapping[str, Any],
    *,
    pods: int = 1,
    priority: str = "",
) -> Workload:
    """Returns a Job with equal pods of one container.

    The options describe only the size and the queue of the pods. So the image, the security context and the NCCL
    profile are values that policies of gpuc and the level restricted of Pod Security allow.

    Args:
        requests: the requests and limits of the container.
        node_labels: the node selector of the pods.
    """
    limits = [container_defaults(manifest)[0] for manifest in in_namespace(cluster.objects, "LimitRange", namespace)]
    # Policies demand explicit requests of cpu and memory.
    defaults = {name: str(row[name]) for row in limits for name in (CPU, MEMORY) if row.get(name) is not None}
    amounts = {**defaults, **requests}
    pod = _pod(cluster, namespace, amounts, str(node_labels.get(POOL_LABEL)))
    if node_labels:
        pod["nodeSelector"] = dict(node_labels)
    return Workload((PodSet(pod, pods),), namespace, queue, name="described", priority=priority)


def _pod(cluster: ClusterIndex, namespace: str, amounts: Mapping[str, str], pool: str) -> Body:
    """Returns the spec of a pod of a pool. The requests are equal to the limits."""
    registry = next(iter(_parameters(cluster, "GpucImages", "registries")), PLACEHOLDER_REGISTRY)
    container: Body = {
        "name": "work",
        "image": f"{registry}work:1",
        "resources": {"requests": dict(amounts), "limits": dict(amounts)},
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
    }
    profiles = _parameters(cluster, "GpucNcclProfile", "profiles")
    names = (str(dig(row, "configMap")) for row in profiles if dig(row, "namespace") == namespace)
    if profile := next(names, ""):
        container["envFrom"] = [{"configMapRef": {"name": profile}}]
    clients = [row for row in _parameters(cluster, "GpucMpsClients", "pools") if dig(row, "pool") == pool]
    user = next((row["user"] for row in clients if isinstance(dig(row, "user"), int)), 1000)  # 1000 without MPS
    security = {"runAsNonRoot": True, "runAsUser": user, "seccompProfile": {"type": "RuntimeDefault"}}
    return {"restartPolicy": "Never", "containers": [container], "securityContext": security}


def _parameters(cluster: ClusterIndex, kind: str, name: str) -> list[Any]:
    constraints = cluster.objects.of(CONSTRAINTS, kind)
    return [item for found in constraints for _, item in items(dig(found.body, "spec", "parameters", name))]
