"""Evaluates the admission policies of gpuc by the parameters of their constraints, without their CEL expressions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.amounts import amount
from gpuc.kubernetes.selector import matches
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import dig, items, pairs
from gpuc.trace.cluster_index import ClusterIndex
from gpuc.trace.kueue_scope import DEFAULT_QUEUE, why_gated, why_unmanaged
from gpuc.trace.local_queue import SYSTEM_PREFIX
from gpuc.trace.steps import Stage, Step
from gpuc.trace.workload import PRIORITY_LABEL, QUEUE_LABEL, PodSet, Workload

_GPU_QUOTA = "GpucGpuQuota"
PARAMETERS: Path = ("spec", "parameters")
"""The path of the parameters in a constraint."""
_NAMESPACE_SELECTOR = ("spec", "match", "namespaceSelector")
_API = "constraints.gatekeeper.sh"
_POOL = "gpuc.dev/pool"
_DEVICE_PREFIXES = ("nvidia.com/", "amd.com/", "vpc.amazonaws.com/efa")
_GPU_PREFIXES = ("nvidia.com/", "amd.com/")
SERVICE_KINDS = ("Deployment", "StatefulSet", "LeaderWorkerSet")
"""The kinds that need a queue only if Kueue counts their GPUs. All kinds of jobs need a queue."""


class PolicyViolation(NamedTuple):
    """A constraint that a workload violates."""

    manifest: Manifest
    message: str
    is_denied: bool
    """Whether the API server denies the workload; otherwise the API server accepts the workload with a warning."""


def policy_steps(cluster: ClusterIndex, workload: Workload) -> Iterator[Step]:
    """Yields a failed step for the first constraint that denies the workload; otherwise a passed step with warnings.

    Yields no step if no constraint applies to the namespace.
    """
    violated = list(violations(cluster, workload))
    denied = next((violation for violation in violated if violation.is_denied), None)
    if denied is not None:
        yield Step(Stage.POLICY, "failed", denied.message, denied.manifest, PARAMETERS)
    elif constraints := _constraints(cluster, workload.namespace):
        warnings = "; ".join(f"{violation.manifest} warns: {violation.message}" for violation in violated)
        names = ", ".join(constraint.name for constraint in constraints)
        decisive = violated[0].manifest if violated else constraints[0]
        yield Step(Stage.POLICY, "passed", warnings or f"allowed by constraints {names}", decisive)


def violations(cluster: ClusterIndex, workload: Workload) -> Iterator[PolicyViolation]:
    """Yields every constraint that the workload violates, with the message of the first violation."""
    for manifest in _constraints(cluster, workload.namespace):
        subject = _with_gate(cluster, workload) if manifest.kind == _GPU_QUOTA else workload
        message = next(_POLICIES[manifest.kind](dig(manifest.body, *PARAMETERS), subject), "")
        if message:
            yield PolicyViolation(manifest, message, dig(manifest.body, "spec", "enforcementAction") in ("deny", None))


def _with_gate(cluster: ClusterIndex, workload: Workload) -> Workload:
    """Returns the workload with a queue if Kueue puts its scheduling gate on the pods, otherwise without a queue."""
    is_gated = bool(why_gated(cluster, workload)[0]) or not why_unmanaged(cluster, workload)
    return workload._replace(queue=(workload.queue or DEFAULT_QUEUE) if is_gated else "")


def _constraints(cluster: ClusterIndex, namespace: str) -> list[Manifest]:
    """Returns the constraints that apply to the pods of a namespace, in the order of _POLICIES."""
    if namespace not in cluster.policies:
        labels = cluster.objects.namespaces.get(namespace)
        cluster.policies[namespace] = [
            constraint
            for kind in _POLICIES
            for constraint in cluster.objects.of(_API, kind)
            if labels is not None and _applies(cluster, constraint, labels)
        ]
    return cluster.policies[namespace]


def _applies(cluster: ClusterIndex, manifest: Manifest, labels: Mapping[str, str]) -> bool:
    """Returns whether a constraint denies pods, or warns about pods, in a namespace with these labels."""
    if dig(manifest.body, "spec", "enforcementAction") == "dryrun":
        return False
    return dig(manifest.body, *_NAMESPACE_SELECTOR) is None or matches(
        cluster.selector(manifest, *_NAMESPACE_SELECTOR), labels
    )


def _queue_required(parameters: Any, workload: Workload) -> Iterator[str]:
    """Yields a message for a missing or wrong queue, for a kind without queues, and for an unknown priority class."""
    if workload.kind in ("CronJob", "ReplicaSet"):
        return  # the policy checks the Jobs of a CronJob, and the Deployment of a ReplicaSet
    known = _queues(parameters, workload.namespace)
    is_job = workload.kind not in SERVICE_KINDS and workload.kind != "Pod"
    is_needed = is_job or (workload.kind != "Pod" and any(_uncounted(parameters, workload)))
    managed = [str(kind) for _, kind in items(dig(parameters, "kinds"))]
    if is_needed and workload.kind not in managed:
        yield f"Kueue does not manage the kind {workload.kind} in this cluster; it manages {', '.join(managed)}"
    if workload.queue not in known and (workload.queue or is_needed):
        actual = workload.queue or "missing"
        yield f"the label {QUEUE_LABEL} is {actual}; the queues of the namespace are {', '.join(known) or 'none'}"
    classes = [str(priority) for _, priority in items(dig(parameters, "priorities"))]
    if workload.priority and workload.priority not in classes:
        allowed = ", ".join(classes) or "none"
        yield f"the label {PRIORITY_LABEL} is {workload.priority}; the priority classes of the tenant are {allowed}"


def _gpu_quota(parameters: Any, workload: Workload) -> Iterator[str]:
    """Yields a message for pods with GPUs that no controller creates, that Kueue does not hold, and no quota counts.

    Controllers of jobs create the pods of jobs, and Kueue holds the pods of services in a queue.
    """
    if workload.queue or workload.kind not in (*SERVICE_KINDS, "Pod", "ReplicaSet"):
        return
    for resources in _uncounted(parameters, workload):
        yield f"no quota counts {', '.join(resources)}; use a queue, or select a pool of the namespace with {_POOL}"


def _mps_clients(parameters: Any, workload: Workload) -> Iterator[str]:
    """Yields a message for a volume that hides the MPS server, and for a user who is not the user of the pool."""
    for pods in workload.pod_sets:
        pool = dig(pods.pod, "nodeSelector", _POOL) or ""
        users = [dig(row, "user") for _, row in items(dig(parameters, "pools")) if dig(row, "pool") == pool]
        clients = [container for container in _containers(pods) if users and _gpus([container])]
        for container in clients:
            paths = [dig(mount, "mountPath") for _, mount in items(dig(container, "volumeMounts"))]
            if set(paths) & {"/dev/shm", "/dev/shm/"}:
                yield "a volume at /dev/shm hides the MPS server; remove the volumeMount"
            user = dig(container, "securityContext", "runAsUser")
            if (dig(pods.pod, "securityContext", "runAsUser") if user is None else user) not in users:
                yield f"the user of MPS clients of pool {pool} is {users[0]}; set securityContext.runAsUser"


def _queues(parameters: Any, namespace: str) -> list[str]:
    rows = [row for _, row in items(dig(parameters, "queues")) if dig(row, "namespace") == namespace]
    return [str(queue) for row in rows for _, queue in items(dig(row, "queues"))]


def _uncounted(parameters: Any, workload: Workload) -> Iterator[list[str]]:
    """Yields the GPU resources of each pod set that no ResourceQuota of the namespace counts for the selected pool."""
    rows = [row for _, row in items(dig(parameters, "pools")) if dig(row, "namespace") == workload.namespace]
    for pods in workload.pod_sets:
        pool = dig(pods.pod, "nodeSelector", _POOL) or ""
        counted = [name for row in rows if dig(row, "pool") == pool for _, name in items(dig(row, "resources"))]
        if resources := [name for name in _gpus(_containers(pods)) if name not in counted]:
            yield resources


def _gpu_resources(parameters: Any, workload: Workload) -> Iterator[str]:
    """Yields a message for each requested device of which the tenant has no quota."""
    known = [str(resource) for _, resource in items(dig(parameters, "resources"))]
    for pods in workload.pod_sets:
        for name in _resources(pods):
            if name.startswith(_DEVICE_PREFIXES) and name not in known:
                allowed = ", ".join(known)
                yield f"a container requests {name}; the tenant has quota only of {allowed}"


def _gpu_limits(parameters: Any, workload: Workload) -> Iterator[str]:
    """Yields a message for each limit of devices that exceeds the devices of one node."""
    for pods in workload.pod_sets:
        pool = dig(pods.pod, "nodeSelector", _POOL) or ""
        for _, limit in items(dig(parameters, "limits")):
            name, most = str(dig(limit, "resource")), dig(limit, "most")
            if dig(limit, "pool") in ("", pool) and isinstance(most, int) and _concurrent_limits(pods, name) > most:
                yield f"the pod requests more than one node has; the maximum is {most} {name}"


def _toleration_fence(parameters: Any, workload: Workload) -> Iterator[str]:
    """Yields a message for each toleration of a taint that is not a taint of the tenant's pools."""
    known = [(dig(taint, "key"), dig(taint, "value")) for _, taint in items(dig(parameters, "taints"))]
    for pods in workload.pod_sets:
        for _, toleration in items(dig(pods.pod, "tolerations")):
            key, value = dig(toleration, "key"), dig(toleration, "value")
            exact = dig(toleration, "operator") in (None, "", "Equal") and (key, value) in known
            any_gpu = key == "nvidia.com/gpu" and any(name == key for name, _ in known)
            if not (exact or any_gpu or str(key).startswith("node.kubernetes.io/")):
                yield f"the pod tolerates {key or 'every taint'}; the tenant must not use this toleration"


def _priority_classes(_: Any, workload: Workload) -> Iterator[str]:
    """Yields a message for each set of pods with a PriorityClass of system components."""
    for pods in workload.pod_sets:
        name = dig(pods.pod, "priorityClassName")
        if isinstance(name, str) and name.startswith(SYSTEM_PREFIX):
            yield f"priorityClassName {name} is for system components; remove priorityClassName"


def _pool_selector(parameters: Any, workload: Workload) -> Iterator[str]:
    """Yields a message if pods select a pool of another tenant, or have to select one of several pools."""
    known = [str(pool) for _, pool in items(dig(parameters, "pools"))]
    for pods in workload.pod_sets:
        pool = dig(pods.pod, "nodeSelector", _POOL) or ""
        if pool and pool not in known:
            yield f"nodeSelector {_POOL} is {pool}; the pools of the tenant are {', '.join(known)}"
        for _, choice in items(dig(parameters, "choices")):
            with_resource = [str(pool) for _, pool in items(dig(choice, "pools"))]
            name = str(dig(choice, "resource"))
            if pool not in with_resource and name in _resources(pods):
                yield f"several pools have {name} ({', '.join(with_resource)}); select one with nodeSelector {_POOL}"


_POLICIES: dict[str, Callable[[Any, Workload], Iterator[str]]] = {
    "GpucQueueRequired": _queue_required,
    "GpucGpuResources": _gpu_resources,
    "GpucGpuLimits": _gpu_limits,
    "GpucTolerationFence": _toleration_fence,
    "GpucPoolSelector": _pool_selector,
    "GpucGpuQuota": _gpu_quota,
    "GpucMpsClients": _mps_clients,
    "GpucPriorityClasses": _priority_classes,
}
"""Functions that yield the messages of a policy's violations, by the kind of the policy's constraints."""


def _containers(pods: PodSet) -> Iterator[Any]:
    for key in ("initContainers", "containers"):
        yield from (container for _, container in items(dig(pods.pod, key)))


def _resources(pods: PodSet) -> list[str]:
    """Returns the names of all resources that containers request or limit."""
    maps = [dig(container, "resources", key) for container in _containers(pods) for key in ("limits", "requests")]
    return list(dict.fromkeys(str(name) for quantities in maps for name, _ in pairs(quantities)))


def _gpus(containers: Iterable[Any]) -> list[str]:
    """Returns the names of the GPU resources that containers request, without requests for 0."""
    quantities = [dig(container, "resources", key) for container in containers for key in ("limits", "requests")]
    found = [(str(name), value) for row in quantities for name, value in pairs(row)]
    names = [name for name, value in found if name.startswith(_GPU_PREFIXES) and amount(name, value)]
    return list(dict.fromkeys(names))


def _concurrent_limits(pods: PodSet, resource: str) -> int:
    """Returns the sum of the limits of all containers that run at the same time."""
    concurrent = [container for _, container in items(dig(pods.pod, "containers"))]
    concurrent += [
        container
        for _, container in items(dig(pods.pod, "initContainers"))
        if dig(container, "restartPolicy") == "Always"
    ]
    return sum(amount(resource, dig(container, "resources", "limits", resource)) or 0 for container in concurrent)
