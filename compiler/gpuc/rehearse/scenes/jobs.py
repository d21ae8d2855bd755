"""Jobs as tenants write them: admitted by every policy, small in everything that a scene is not about."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from gpuc.kubernetes.amounts import CPU, EPHEMERAL_STORAGE, MEMORY, MIB, Amounts, texts
from gpuc.kubernetes.kueue import LEVEL_LABELS, REQUIRED_TOPOLOGY
from gpuc.model import Cluster, ClusterQueue, Namespace
from gpuc.model.names import EFA, POOL_LABEL, PRIORITY_LABEL, QUEUE_LABEL
from gpuc.rehearse.client import Object
from gpuc.rehearse.outcome import Request
from gpuc.rehearse.quota import owner
from gpuc.rehearse.session import HOLD

SMALL: Amounts = {CPU: 100, MEMORY: 256 * MIB, EPHEMERAL_STORAGE: 64 * MIB}
"""What a pod asks for that is about something else."""
NOBODY = "gpuc.dev/rehearsal"
"""The controller that Jobs without pods wait for: where quota is the question, thousands of pods answer nothing."""
REGISTRY = "registry.example.com/"


@dataclass(frozen=True, slots=True)
class Work:
    """A Job to submit."""

    name: str
    """Of the scene; the object's name is made of it."""
    queue: ClusterQueue
    request: Request
    priority: str = ""
    holds: bool = False
    """Whether its pods run until they are deleted."""
    podless: bool = False
    """Whether nobody makes its pods."""


def job(cluster: Cluster, work: Work) -> Object:
    """The Job of some work, in the namespace of the queue's tenants that suits it best."""
    namespace = _namespace(cluster, work)
    request = work.request
    labels = {QUEUE_LABEL: work.queue.name} | ({PRIORITY_LABEL: work.priority} if work.priority else {})
    notes = dict(HOLD) if work.holds else {}
    if request.one_block:
        notes[REQUIRED_TOPOLOGY] = LEVEL_LABELS["block"]
    spec = {
        "parallelism": request.pods,
        "completions": request.pods,
        "backoffLimit": 0,
        **({"managedBy": NOBODY} if work.podless else {}),
        "template": {"metadata": {"annotations": notes}, "spec": _pod(cluster, namespace, work)},
    }
    metadata = {"name": object_name(work.name), "namespace": namespace.name, "labels": labels}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}


def object_name(name: str) -> str:
    """A short name for an object, the same for the same scene."""
    return f"scene-{hashlib.sha256(name.encode()).hexdigest()[:12]}"


def _namespace(cluster: Cluster, work: Work) -> Namespace:
    tenants = owner(cluster, work.queue).tenant_names
    spaces = [each for tenant in cluster.tenants if tenant.name in tenants for each in tenant.namespaces]
    return min(spaces, key=lambda each: (each.nccl is not None) != (EFA in work.request.pod))


def _pod(cluster: Cluster, namespace: Namespace, work: Work) -> Object:
    request = work.request
    quantities = texts(request.pod)
    container: Object = {
        "name": "work",
        "image": f"{(cluster.policy_settings('images').get('registries') or [REGISTRY])[0]}scene",
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
