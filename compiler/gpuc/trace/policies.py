"""Evaluates the admission policies of gpuc by the parameters of their constraints, without their CEL expressions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.amounts import amount
from gpuc.kubernetes.selector import matches
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import dig, items, pairs
from gpuc.trace.cluster_index import ClusterIndex
from gpuc.trace.counted import GPU_PREFIXES
from gpuc.trace.kueue_scope import is_managed_kind, why_gated, why_unmanaged
from gpuc.trace.steps import Stage, Step
from gpuc.trace.workload import PRIORITY_LABEL, QUEUE_LABEL, PodSet, Workload

_GPU_QUOTA = "GpucGpuQuota"
PARAMETERS: Path = ("spec", "parameters")
"""The path of the parameters in a constraint."""
_NAMESPACE_SELECTOR = ("spec", "match", "namespaceSelector")
_API = "constraints.gatekeeper.sh"
_POOL = "gpuc.dev/pool"
_DEVICE_PREFIXES = ("nvidia.com/", "amd.com/", "vpc.amazonaws.com/efa")
_JOB_KINDS = ("Job", "JobSet", "TrainJob", "MPIJob", "PyTorchJob", "RayCluster", "RayJob")
"""The kinds that need a queue label."""
_SERVICE_KINDS = ("Pod", "Deployment", "StatefulSet", "LeaderWorkerSet")
"""The kinds that need a queue label if Kueue counts their GPUs. Policy gpu-quota checks plain pods."""
_OF_JOB_CONTROLLER = ("Job", "CronJob", "JobSet", "TrainJob")
"""The kinds whose pods the Job controller of Kubernetes creates."""


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
        parameters = dig(manifest.body, *PARAMETERS)
        if manifest.kind == _GPU_QUOTA:
            message = next(_gpu_quota(parameters, workload, is_admitted=_is_admitted(cluster, workload)), "")
        else:
            message = next(_POLICIES[manifest.kind](parameters, workload), "")
        if message:
            yield PolicyViolation(manifest, message, dig(manifest.body, "spec", "enforcementAction") in ("deny", None))


def _constraints(cluster: ClusterIndex, namespace: str) -> list[Manifest]:
    """Returns the constraints that apply to the pods of a namespace, in the order of _POLICIES."""
    if namespace not in cluster.policies:
        labels = cluster.objects.namespaces.get(namespace)
        cluster.policies[namespace] = [
            constraint
            for kind in (*_POLICIES, _GPU_QUOTA)
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
    """Yields a message for a missing or wrong queue label, and for the priority class of another tenant."""
    known = _queues(parameters, workload.namespace)
    kinds = dig(parameters, "kinds")
    checked = _JOB_KINDS if kinds is None else (*_JOB_KINDS, *_SERVICE_KINDS)
    if workload.kind not in checked:
        return
    pools = [pool for pool, _ in _namespace_pools(parameters, workload.namespace)]
    is_service = workload.kind in _SERVICE_KINDS
    needed = not is_service or (workload.kind != "Pod" and any(_is_outside(pods, pools) for pods in workload.pod_sets))
    names = [str(kind) for _, kind in items(kinds)]
    if needed and kinds is not None and workload.kind not in names:
        yield f"Kueue does not manage the kind {workload.kind}; use one of the kinds {', '.join(names)}"
    if workload.queue not in known and (workload.queue or needed):
        actual = workload.queue or "missing"
        yield f"the label {QUEUE_LABEL} is {actual}; the queues of the tenant are {', '.join(known) or 'none'}"
    classes = [str(priority) for _, priority in items(dig(parameters, "priorities"))]
    if workload.priority and workload.priority not in classes:
        allowed = ", ".join(classes) or "none"
        yield f"the label {PRIORITY_LABEL} is {workload.priority}; the priority classes of the tenant are {allowed}"


def _queues(parameters: Any, namespace: str) -> list[str]:
    """Returns the queues of a namespace. Older policies have one list of queues for all namespaces of a tenant."""
    names: list[str] = []
    for _, row in items(dig(parameters, "queues")):
        if isinstance(row, str):
            names.append(row)
        elif dig(row, "namespace") == namespace:
            names += [str(name) for _, name in items(dig(row, "queues"))]
    return names


def _namespace_pools(parameters: Any, namespace: str) -> list[tuple[str, list[str]]]:
    """Returns the name and the GPU resources of every pool that the ResourceQuota of the namespace counts."""
    return [
        (str(dig(row, "pool")), [str(name) for _, name in items(dig(row, "resources"))])
        for _, row in items(dig(parameters, "pools"))
        if dig(row, "namespace") == namespace
    ]


def _is_outside(pods: PodSet, pools: list[str]) -> bool:
    """Returns whether the pods request GPUs and select none of the given pools."""
    return dig(pods.pod, "nodeSelector", _POOL) not in pools and any(map(_gpus, _containers(pods)))


def _gpus(container: Any) -> set[str]:
    """Returns the GPU resources that a container requests or limits, without amounts of 0."""
    rows = [row for key in ("limits", "requests") for row in pairs(dig(container, "resources", key))]
    return {str(name) for name, value in rows if str(name).startswith(GPU_PREFIXES) and amount(str(name), value)}


def _is_admitted(cluster: ClusterIndex, workload: Workload) -> bool:
    """Returns whether a controller that Kueue supports creates the pods, or Kueue's scheduling gate is on the pods."""
    if workload.kind in _OF_JOB_CONTROLLER:
        return True  # policy queue-required checks the job
    if why_gated(cluster, workload)[0]:
        return True  # a later step reports that Kueue never removes the gate
    return is_managed_kind(cluster, workload) and (
        workload.kind not in (*_SERVICE_KINDS, "ReplicaSet") or not why_unmanaged(cluster, workload)
    )


def _gpu_quota(parameters: Any, workload: Workload, *, is_admitted: bool) -> Iterator[str]:
    """Yields a message for pods whose GPUs neither Kueue nor the ResourceQuota of the namespace counts.

    Args:
        is_admitted: the result of _is_admitted.
    """
    pools = dict(_namespace_pools(parameters, workload.namespace))
    for pods in workload.pod_sets if not is_admitted else ():
        own = pools.get(str(dig(pods.pod, "nodeSelector", _POOL)), [])
        names = [str(dig(container, "name")) for container in _containers(pods) if not _gpus(container) <= {*own}]
        if names:
            choice = f", or select a pool with nodeSelector {_POOL}: {', '.join(pools)}" if pools else ""
            fix = f"use a kind that Kueue manages, with the label {QUEUE_LABEL}{choice}"
            yield f"no quota counts the GPUs of containers {', '.join(names)}; {fix}"


def _gpu_resources(parameters: Any, workload: Workload) -> Iterator[str]:
    """Yields a message for each requested device of which the queues of the tenant have no quota."""
    known = [str(resource) for _, resource in items(dig(parameters, "resources"))]
    for pods in workload.pod_sets:
        for name in _resources(pods):
            if name.startswith(_DEVICE_PREFIXES) and name not in known:
                allowed = ", ".join(known)
                yield f"a container requests {name}; the queues of the tenant have quota only of {allowed}"


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
}
"""Functions that yield the messages of a policy's violations, by the kind of the policy's constraints.

Policy gpu-quota is separate, because the policy depends on the configuration of Kueue.
"""


def _containers(pods: PodSet) -> Iterator[Any]:
    for key in ("initContainers", "containers"):
        yield from (container for _, container in items(dig(pods.pod, key)))


def _resources(pods: PodSet) -> list[str]:
    """Returns the names of all resources that containers request or limit."""
    maps = [dig(container, "resources", key) for container in _containers(pods) for key in ("limits", "requests")]
    return list(dict.fromkeys(str(name) for quantities in maps for name, _ in pairs(quantities)))


def _concurrent_limits(pods: PodSet, resource: str) -> int:
    """Returns the sum of the limits of all containers that run at the same time."""
    concurrent = [container for _, container in items(dig(pods.pod, "containers"))]
    concurrent += [
        container
        for _, container in items(dig(pods.pod, "initContainers"))
        if dig(container, "restartPolicy") == "Always"
    ]
    return sum(amount(resource, dig(container, "resources", "limits", resource)) or 0 for container in concurrent)
