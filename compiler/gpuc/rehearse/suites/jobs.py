"""Jobs of test cases. Every policy admits the Jobs."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from gpuc.kubernetes.amounts import CPU, EPHEMERAL_STORAGE, MEMORY, MIB, Amounts, texts
from gpuc.kubernetes.kueue import LEVEL_LABELS, PRIORITY_LABEL, QUEUE_LABEL, REQUIRED_TOPOLOGY
from gpuc.model import Cluster, ClusterQueue, Namespace
from gpuc.model.names import EFA, POOL_LABEL
from gpuc.rehearse.client import Object
from gpuc.rehearse.context import HOLD
from gpuc.rehearse.outcome import Request
from gpuc.rehearse.sample_workloads import REPLACE_FAILED, security_context

SMALL: Amounts = {CPU: 100, MEMORY: 256 * MIB, EPHEMERAL_STORAGE: 64 * MIB}
"""Requests of a pod for cpu, memory and ephemeral storage if the test case tests another resource."""
NO_CONTROLLER = "gpuc.dev/rehearsal"
"""Value of spec.managedBy for Jobs without pods: no controller has this name, so no controller creates pods.

Test cases for quota use this value, because Kueue decides about a Job before it has pods.
"""
REGISTRY = "registry.example.com/"


@dataclass(frozen=True, slots=True)
class Work:
    """A Job that a test case submits."""

    name: str
    """Unique description of the Job. The object's name is a hash of it."""
    queue: ClusterQueue
    request: Request
    priority: str = ""
    """Name of the priority; empty for the default."""
    keeps_running: bool = False
    """Whether the pods run until their deletion. Otherwise the pods complete immediately."""
    without_pods: bool = False
    """Whether no controller creates pods for the Job."""


def job_of(cluster: Cluster, work: Work) -> Object:
    """Returns the Job in a namespace of the queue's tenants: with an NCCL profile for EFA requests, else without."""
    namespace = _namespace(cluster, work)
    request = work.request
    labels = {QUEUE_LABEL: work.queue.name} | ({PRIORITY_LABEL: work.priority} if work.priority else {})
    annotations = dict(HOLD) if work.keeps_running else {}
    if request.one_block:
        annotations[REQUIRED_TOPOLOGY] = block_label(work.queue, request)
    spec = {
        "parallelism": request.pods,
        "completions": request.pods,
        "backoffLimit": 0,
        **REPLACE_FAILED,
        **({"managedBy": NO_CONTROLLER} if work.without_pods else {}),
        "template": {"metadata": {"annotations": annotations}, "spec": _pod(cluster, namespace, work)},
    }
    metadata = {"name": object_name(work.name), "namespace": namespace.name, "labels": labels}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}


def block_label(queue: ClusterQueue, request: Request) -> str:
    """Returns the node label of the block that a request requires: that of the selected pool, or of the first one."""
    labels = [pool.level_labels for pool in queue.pools if request.pool in ("", pool.name)]
    return next((found["block"] for found in labels if "block" in found), LEVEL_LABELS["block"])


def object_name(name: str) -> str:
    """Returns a short, reproducible name for the object of a test case."""
    return f"case-{hashlib.sha256(name.encode()).hexdigest()[:12]}"


def _namespace(cluster: Cluster, work: Work) -> Namespace:
    namespaces = [
        namespace
        for tenant in cluster.tenants
        for namespace in tenant.namespaces
        if work.queue.name in namespace.local_queues
    ]
    return min(namespaces, key=lambda namespace: (namespace.nccl is not None) != (EFA in work.request.pod))


def _pod(cluster: Cluster, namespace: Namespace, work: Work) -> Object:
    request = work.request
    quantities = texts(request.pod)
    container: Object = {
        "name": "work",
        "image": f"{(cluster.policy_settings('images').get('registries') or [REGISTRY])[0]}case:1",
        "resources": {"requests": quantities, "limits": dict(quantities)},
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
    }
    if EFA in request.pod and namespace.nccl:
        container["envFrom"] = [{"configMapRef": {"name": namespace.nccl.config_map}}]
    pool = next((pool for pool in cluster.pools if pool.name == request.pool), None)
    return {
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "terminationGracePeriodSeconds": 0,
        "securityContext": security_context(pool),
        "containers": [container],
        **({"nodeSelector": {POOL_LABEL: request.pool}} if request.pool else {}),
    }
