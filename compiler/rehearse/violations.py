"""One way past each policy, made from the model: objects that break one of them and no other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy

from compiler.model.names import GPU, GPU_TAINT_VALUE
from compiler.rehearse.desk import Attempt, Desk, most

GANG_LABEL = "jobset.sigs.k8s.io/jobset-name"
STRANGE_IMAGE = "docker.io/library/python:3"


def violations(desk: Desk) -> Iterator[Attempt]:
    """Objects that break one policy each."""
    for policy, attempts in _VIOLATIONS.items():
        if policy in desk.cluster.policies:
            yield from attempts(desk)


def _gpu_limits(desk: Desk) -> Iterator[Attempt]:
    for pool in desk.gpu_pools:
        for resource in pool.gpu_resource_names:
            fits = most(pool, resource)
            asks = {resource: fits + 1}
            name = f"{fits + 1} {resource} of {pool.name}"
            yield Attempt("gpu-limits", name, desk.pod("many", pool, asks), asks=asks, pool=pool.name)
            pod = desk.pod("together", pool, {resource: fits})
            second = deepcopy(pod["spec"]["containers"][0]) | {"name": "second"}
            second["resources"] = deepcopy(second["resources"])
            for part in ("requests", "limits"):
                second["resources"][part][resource] = "1"
            pod["spec"]["containers"].append(second)
            name = f"{fits} and 1 {resource} of {pool.name} in two containers"
            yield Attempt("gpu-limits", name, pod, asks=asks, pool=pool.name)


def _gpu_queue(desk: Desk) -> Iterator[Attempt]:
    for queue, has_gpus in desk.queues.items():
        if has_gpus:
            yield Attempt("gpu-queue", f"Job without a GPU in queue {queue}", desk.job(desk.pod("idle"), queue))
    if desk.gpu_pools:
        pod = desk.pod("squats")
        pod["spec"]["tolerations"] = [{"key": GPU, "operator": "Equal", "value": GPU_TAINT_VALUE}]
        yield Attempt("gpu-queue", "pod without a GPU that tolerates GPU nodes", pod)


def _gpu_resources(desk: Desk) -> Iterator[Attempt]:
    own = {name for pool in desk.tenant.pools for name in pool.advertised_names}
    others = {name for pool in desk.cluster.pools for name in pool.gpu_resource_names} - own
    for resource in (*sorted(others), "amd.com/gpu", "vpc.amazonaws.com/efa-only"):
        asks = {resource: 1}
        yield Attempt("gpu-resources", f"1 {resource}", desk.pod("strange", None, asks), asks=asks)


def _host_access(desk: Desk) -> Iterator[Attempt]:
    for name, security in (
        ("privileged container", {"privileged": True}),
        ("capability SYS_ADMIN", {"capabilities": {"drop": ["ALL"], "add": ["SYS_ADMIN"]}}),
    ):
        pod = desk.any_pod("host")
        pod["spec"]["containers"][0]["securityContext"] = security
        yield Attempt("host-access", name, pod, breaks_baseline=True)
    volumes = [{"name": "dev", "hostPath": {"path": "/dev"}}]
    for name, part in (
        ("hostPID", {"hostPID": True}),
        ("hostIPC", {"hostIPC": True}),
        ("hostPath", {"volumes": volumes}),
    ):
        pod = desk.any_pod("host")
        pod["spec"] |= part
        yield Attempt("host-access", name, pod, breaks_baseline=True)


def _host_network(desk: Desk) -> Iterator[Attempt]:
    pod = desk.any_pod("network")
    pod["spec"]["hostNetwork"] = True
    yield Attempt("host-network", "hostNetwork", pod, breaks_baseline=True)
    pod = desk.any_pod("network")
    pod["spec"]["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": 80}]
    yield Attempt("host-network", "hostPort", pod, breaks_baseline=True)
    pod = desk.any_pod("network")
    pod["metadata"]["annotations"] = {"k8s.v1.cni.cncf.io/networks": "other"}
    yield Attempt("host-network", "secondary network", pod)


def _images(desk: Desk) -> Iterator[Attempt]:
    registries = desk.cluster.policy_settings("images").get("registries", [])
    if registries and not any(STRANGE_IMAGE.startswith(prefix) for prefix in registries):
        pod = desk.any_pod("image")
        pod["spec"]["containers"][0]["image"] = STRANGE_IMAGE
        yield Attempt("images", "image of another registry", pod)


def _nccl_profile(desk: Desk) -> Iterator[Attempt]:
    if desk.namespace.nccl and desk.gpu_pools:
        pod = desk.any_pod("gang")
        pod["metadata"]["labels"] = {GANG_LABEL: "gang"}
        yield Attempt("nccl-profile", "gang without its NCCL profile", pod)


_VIOLATIONS: dict[str, Callable[[Desk], Iterator[Attempt]]] = {
    "cost-label": _cost_label,
    "gpu-limits": _gpu_limits,
    "gpu-queue": _gpu_queue,
    "gpu-resources": _gpu_resources,
    "host-access": _host_access,
    "host-network": _host_network,
    "images": _images,
    "nccl-profile": _nccl_profile,
    "network-policy-fence": _network_policy_fence,
    "pool-selector": _pool_selector,
    "queue-required": _queue_required,
    "toleration-fence": _toleration_fence,
    "visible-devices": _visible_devices,
}
"""By policy; gpu-requests is missing, because a namespace's LimitRange answers before it is asked."""
