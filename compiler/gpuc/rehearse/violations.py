"""One way past each policy, made from the model: objects that break one of them and no other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy

from gpuc.model.names import COST_LABEL, GPU, GPU_TAINT_VALUE, MODE_KEY, POOL_LABEL, PRIORITY_LABEL, TENANT_KEY
from gpuc.rehearse.desk import Attempt, Desk, most, namespaces_labelled, network_policy

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


def _network_policy_fence(desk: Desk) -> Iterator[Attempt]:
    yield Attempt("network-policy-fence", "ingress from everybody", network_policy(desk, None))
    other = next((each.name for each in desk.cluster.tenants if each is not desk.tenant), "another")
    document = network_policy(desk, namespaces_labelled(TENANT_KEY, other))
    yield Attempt("network-policy-fence", f"ingress from tenant {other}", document)
    document = network_policy(desk, {"ipBlock": {"cidr": "0.0.0.0/0"}})
    rule = document["spec"].pop("ingress")[0]
    document["spec"] |= {"policyTypes": ["Egress"], "egress": [{"to": rule["from"]}]}
    yield Attempt("network-policy-fence", "egress to every address", document)


def _pool_selector(desk: Desk) -> Iterator[Attempt]:
    parts = [part for queue in desk.tenant.queues for part in queue.cluster_queues]
    offers = [name for part in parts for pool in part.pools for name in dict.fromkeys(pool.gpu_resource_names)]
    shared = {
        name
        for name in offers
        if any(sum(name in pool.gpu_resource_names for pool in part.pools) > 1 for part in parts)
    }
    for resource in sorted(shared):
        asks = {resource: 1}
        yield Attempt("pool-selector", f"{resource} without a pool", desk.pod("open", None, asks), asks=asks)
    for pool in desk.cluster.pools:
        if pool not in desk.tenant.pools:
            pod = desk.pod("foreign")
            pod["spec"]["nodeSelector"] = {POOL_LABEL: pool.name}
            yield Attempt("pool-selector", f"pool {pool.name} of others", pod, pool=pool.name)


def _queue_required(desk: Desk) -> Iterator[Attempt]:
    yield Attempt("queue-required", "Job without a queue", desk.job(desk.any_pod("unqueued"), ""))
    for other in desk.cluster.tenants:
        foreign = [name for name in other.local_queues if name not in desk.tenant.local_queues]
        for queue in foreign[:1]:
            document = desk.job(desk.any_pod("stray"), queue)
            yield Attempt("queue-required", f"Job in queue {queue} of tenant {other.name}", document)
    for queue in desk.tenant.local_queues[:1]:
        document = desk.job(desk.any_pod("urgent"), queue)
        document["metadata"]["labels"][PRIORITY_LABEL] = "unheard-of"
        yield Attempt("queue-required", "Job of a priority that does not exist", document)


def _toleration_fence(desk: Desk) -> Iterator[Attempt]:
    other = next((each.name for each in desk.cluster.tenants if each is not desk.tenant), "another")
    for name, toleration in (
        ("every mode tolerated", {"key": MODE_KEY, "operator": "Exists"}),
        (f"nodes of tenant {other} tolerated", {"key": TENANT_KEY, "operator": "Equal", "value": other}),
    ):
        pod = desk.any_pod("tolerates")
        pod["spec"]["tolerations"] = [*pod["spec"].get("tolerations", []), toleration]
        yield Attempt("toleration-fence", name, pod)
    pod = desk.any_pod("placed")
    pod["spec"]["nodeName"] = "ip-10-0-0-1.ec2.internal"
    yield Attempt("toleration-fence", "node by its name", pod)


def _visible_devices(desk: Desk) -> Iterator[Attempt]:
    pod = desk.any_pod("sees")
    pod["spec"]["containers"][0]["env"] = [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}]
    yield Attempt("visible-devices", "GPUs by environment", pod)
    pod = desk.any_pod("runtime")
    pod["spec"]["runtimeClassName"] = "nvidia"
    yield Attempt("visible-devices", "runtime class", pod)
    pod = desk.any_pod("cdi")
    pod["metadata"]["annotations"] = {"cdi.k8s.io/gpu": "nvidia.com/gpu=all"}
    yield Attempt("visible-devices", "GPUs by annotation", pod)
    data = {"NVIDIA_VISIBLE_DEVICES": "all"}
    settings = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": desk.metadata("devices"), "data": data}
    yield Attempt("visible-devices", "GPUs by ConfigMap", settings)


def _cost_label(desk: Desk) -> Iterator[Attempt]:
    pod = desk.any_pod("billed")
    pod["metadata"]["labels"] = {COST_LABEL: "of-somebody-else"}
    yield Attempt("cost-label", "another cost centre", pod)


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
