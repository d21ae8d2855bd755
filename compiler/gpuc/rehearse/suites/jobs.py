"""Jobs that every policy admits, with small requests for the resources that the test case does not test."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from gpuc.kubernetes.amounts import CPU, EPHEMERAL_STORAGE, MEMORY, MIB, Amounts, texts
from gpuc.kubernetes.kueue import LEVEL_LABELS, REQUIRED_TOPOLOGY
from gpuc.model import Cluster, ClusterQueue, Namespace
from gpuc.model.names import EFA, POOL_LABEL, PRIORITY_LABEL, QUEUE_LABEL
from gpuc.rehearse.client import Object
from gpuc.rehearse.context import HOLD
from gpuc.rehearse.outcome import Request
from gpuc.rehearse.quota import owner

SMALL: Amounts = {CPU: 100, MEMORY: 256 * MIB, EPHEMERAL_STORAGE: 64 * MIB}
"""Requests of a pod for the resources that the test case does not test."""
NO_CONTROLLER = "gpuc.dev/rehearsal"
"""Value of spec.managedBy for Jobs without pods: no controller has this name, so no pods are created.

Test cases for quota use it, because thousands of pods would prove nothing more.
"""
REGISTRY = "registry.example.com/"


@dataclass(frozen=True, slots=True)
class Work:
    """A Job to submit."""

    name: str
    """The name of the test case, from which the name of the Job is derived."""
    queue: ClusterQueue
    request: Request
    priority: str = ""
    keeps_running: bool = False
    """Whether the pods run until they are deleted."""
    without_pods: bool = False
    """Whether the Job gets no pods."""


def job(cluster: Cluster, work: Work) -> Object:
    """The Job, in the most suitable namespace of the queue's tenants."""
    namespace = _namespace(cluster, work)
    request = work.request
    labels = {QUEUE_LABEL: work.queue.name} | ({PRIORITY_LABEL: work.priority} if work.priority else {})
    annotations = dict(HOLD) if work.keeps_running else {}
    if request.one_block:
        annotations[REQUIRED_TOPOLOGY] = LEVEL_LABELS["block"]
    spec = {
        "parallelism": request.pods,
        "completions": request.pods,
        "backoffLimit": 0,
        **({"managedBy": NO_CONTROLLER} if work.without_pods else {}),
        "template": {"metadata": {"annotations": annotations}, "spec": _pod(cluster, namespace, work)},
    }
    metadata = {"name": object_name(work.name), "namespace": namespace.name, "labels": labels}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}


def object_name(name: str) -> str:
    """A short, reproducible name for the object of a test case."""
    return f"case-{hashlib.sha256(name.encode()).hexdigest()[:12]}"


def _namespace(cluster: Cluster, work: Work) -> Namespace:
    tenants = owner(cluster, work.queue).tenant_names
    namespaces = [namespace for tenant in cluster.tenants if tenant.name in tenants for namespace in tenant.namespaces]
    return min(namespaces, key=lambda namespace: (namespace.nccl is not None) != (EFA in work.request.pod))


def _pod(cluster: Cluster, namespace: Namespace, work: Work) -> Object:
    request = work.request
    quantities = texts(request.pod)
    container: Object = {
        "name": "work",
        "image": f"{(cluster.policy_settings('images').get('registries') or [REGISTRY])[0]}case",
        "resources": {"requests": quantities, "limits": dict(quantities)},
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
    }
    if EFA in request.pod and namespace.nccl:
        container["envFrom"] = [{"configMapRef": {"name": namespace.nccl.config_map}}]
    user = {"runAsNonRoot": True, "runAsUser": 1000, "seccompProfile": {"type": "RuntimeDefault"}}
    return {
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "terminationGracePeriodSeconds": 0,
        "securityContext": user,
        "containers": [container],
        **({"nodeSelector": {POOL_LABEL: request.pool}} if request.pool else {}),
    }
