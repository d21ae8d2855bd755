"""gpuc's own admission policies, as far as the parameters in a tree say all: no expression is evaluated."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.amounts import amount
from gpuc.kubernetes.selector import matches
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import dig, items, pairs
from gpuc.trace.cluster_index import ClusterIndex
from gpuc.trace.steps import Stage, Step
from gpuc.trace.work import PRIORITY_LABEL, PodSet, Work

PARAMETERS: Path = ("spec", "parameters")
_NAMESPACES = ("spec", "match", "namespaceSelector")
_API = "constraints.gatekeeper.sh"
_POOL = "gpuc.dev/pool"
_DEVICES = ("nvidia.com/", "amd.com/", "vpc.amazonaws.com/efa")
_QUEUED = ("Job", "JobSet", "TrainJob", "MPIJob", "PyTorchJob", "RayCluster", "RayJob")


class PolicyViolation(NamedTuple):
    """What a constraint has against some work."""

    manifest: Manifest
    message: str
    is_denied: bool
    """Whether the work is refused; otherwise who submits it is only warned."""


def policy_steps(site: ClusterIndex, work: Work) -> Iterator[Step]:
    """The first policy that refuses the work, or one step that says which were asked; warnings are told, not failed."""
    found = list(breaches(site, work))
    denied = next((each for each in found if each.is_denied), None)
    if denied is not None:
        yield Step(Stage.POLICY, "failed", denied.message, denied.manifest, PARAMETERS)
    elif asked := _about(site, work.namespace):
        told = "; ".join(f"{each.manifest.name} warns: {each.message}" for each in found)
        names = ", ".join(each.name for each in asked)
        yield Step(Stage.POLICY, "passed", told or f"{names} take it", found[0].manifest if found else asked[0])


def breaches(site: ClusterIndex, work: Work) -> Iterator[PolicyViolation]:
    """Every constraint that has something against the work, with the first thing that it has."""
    for manifest in _about(site, work.namespace):
        message = next(_POLICIES[manifest.kind](dig(manifest.body, *PARAMETERS), work), "")
        if message:
            yield PolicyViolation(manifest, message, dig(manifest.body, "spec", "enforcementAction") in ("deny", None))


def _about(site: ClusterIndex, namespace: str) -> list[Manifest]:
    """The constraints that judge pods of a namespace, in the order of the policies."""
    if namespace not in site.constraints:
        labels = site.tree.namespaces.get(namespace)
        several = [each for kind in _POLICIES for each in site.tree.of(_API, kind)] if labels is not None else []
        site.constraints[namespace] = [each for each in several if _is_about(site, each, labels or {})]
    return site.constraints[namespace]


def _is_about(site: ClusterIndex, manifest: Manifest, labels: Mapping[str, str]) -> bool:
    if dig(manifest.body, "spec", "enforcementAction") == "dryrun":
        return False
    return dig(manifest.body, *_NAMESPACES) is None or matches(site.selector(manifest, *_NAMESPACES), labels)


def _queue_required(parameters: Any, work: Work) -> Iterator[str]:
    known = [str(each) for _, each in items(dig(parameters, "queues"))]
    if work.kind in _QUEUED and work.queue not in known:
        yield f"label kueue.x-k8s.io/queue-name is {work.queue or 'missing'}; the queues are {', '.join(known)}"
    classes = [str(each) for _, each in items(dig(parameters, "priorities"))]
    if work.kind in _QUEUED and work.priority and work.priority not in classes:
        yield f"label {PRIORITY_LABEL} is {work.priority}; the classes are {', '.join(classes) or 'none'}"


def _gpu_resources(parameters: Any, work: Work) -> Iterator[str]:
    known = [str(each) for _, each in items(dig(parameters, "resources"))]
    for pods in work.pod_sets:
        for name in _claimed(pods):
            if name.startswith(_DEVICES) and name not in known:
                allowed = ", ".join(known)
                yield f"a container asks for {name}, a device that no queue of its tenant meters; allowed are {allowed}"


def _gpu_limits(parameters: Any, work: Work) -> Iterator[str]:
    for pods in work.pod_sets:
        pool = dig(pods.pod, "nodeSelector", _POOL) or ""
        for _, limit in items(dig(parameters, "limits")):
            name, most = str(dig(limit, "resource")), dig(limit, "most")
            if dig(limit, "pool") in ("", pool) and isinstance(most, int) and _running(pods, name) > most:
                yield f"the pod asks for more than a node has: at most {most} {name}"


def _toleration_fence(parameters: Any, work: Work) -> Iterator[str]:
    known = [(dig(each, "key"), dig(each, "value")) for _, each in items(dig(parameters, "taints"))]
    for pods in work.pod_sets:
        for _, each in items(dig(pods.pod, "tolerations")):
            key, value = dig(each, "key"), dig(each, "value")
            exact = dig(each, "operator") in (None, "", "Equal") and (key, value) in known
            any_gpu = key == "nvidia.com/gpu" and any(name == key for name, _ in known)
            if not (exact or any_gpu or str(key).startswith("node.kubernetes.io/")):
                yield f"the pod tolerates {key or 'everything'}, which its tenant may not"


def _pool_selector(parameters: Any, work: Work) -> Iterator[str]:
    known = [str(each) for _, each in items(dig(parameters, "pools"))]
    for pods in work.pod_sets:
        pool = dig(pods.pod, "nodeSelector", _POOL) or ""
        if pool and pool not in known:
            yield f"nodeSelector {_POOL} names {pool}; the pools of this tenant are {', '.join(known)}"
        for _, choice in items(dig(parameters, "choices")):
            several = [str(each) for _, each in items(dig(choice, "pools"))]
            name = str(dig(choice, "resource"))
            if pool not in several and name in _claimed(pods):
                yield f"several pools offer {name} ({', '.join(several)}); choose one by nodeSelector {_POOL}"


_POLICIES: dict[str, Callable[[Any, Work], Iterator[str]]] = {
    "GpucQueueRequired": _queue_required,
    "GpucGpuResources": _gpu_resources,
    "GpucGpuLimits": _gpu_limits,
    "GpucTolerationFence": _toleration_fence,
    "GpucPoolSelector": _pool_selector,
}
"""What a policy says against some work, by the kind of its constraints."""


def _containers(pods: PodSet) -> Iterator[Any]:
    for key in ("initContainers", "containers"):
        yield from (each for _, each in items(dig(pods.pod, key)))


def _claimed(pods: PodSet) -> list[str]:
    maps = [dig(each, "resources", part) for each in _containers(pods) for part in ("limits", "requests")]
    return list(dict.fromkeys(str(name) for each in maps for name, _ in pairs(each)))


def _running(pods: PodSet, resource: str) -> int:
    """Limits of the containers that run at the same time."""
    together = [each for _, each in items(dig(pods.pod, "containers"))]
    together += [each for _, each in items(dig(pods.pod, "initContainers")) if dig(each, "restartPolicy") == "Always"]
    return sum(amount(resource, dig(each, "resources", "limits", resource)) or 0 for each in together)
