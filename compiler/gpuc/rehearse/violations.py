"""Ways past each policy: objects that break one of them and no other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy

from gpuc.diagnostics.finding import DeclarationError
from gpuc.model.names import GPU, GPU_TAINT_VALUE, POOL_LABEL, TENANT_KEY
from gpuc.policy.folder import unknown_example
from gpuc.policy.library import Policy, policies
from gpuc.rehearse.client import Object
from gpuc.rehearse.desk import Attempt, Desk, most, namespaces_labelled, network_policy
from gpuc.rehearse.examples import IMAGE, Example, examples

GANG_LABEL = "jobset.sigs.k8s.io/jobset-name"


def violations(desk: Desk) -> Iterator[Attempt]:
    """Objects that break one policy each: the examples that its folder names, and what only the model can name."""
    for policy in desk.cluster.policies.values():
        if policies().get(policy.name) == policy:
            for row in policy.violations:
                example = _named(policy, row["example"])
                breaks_baseline = row.get("podSecurity") == "baseline"
                yield Attempt(policy.name, example.shows, _in_namespace(desk, example), breaks_baseline)
        if policy.name in _OF_THE_MODEL:
            yield from _OF_THE_MODEL[policy.name](desk)


def _named(policy: Policy, name: str) -> Example:
    """The denied example of a policy with a name."""
    denied = {example.shows: example for example in examples(policy) if example.denied and example.before is None}
    if name not in denied:
        raise DeclarationError(unknown_example(policy.name, name, denied))
    return denied[name]


def _in_namespace(desk: Desk, example: Example) -> Object:
    """The example in the namespace; what it leaves open is as in a pod that every policy lets through."""
    document = deepcopy(example.document)
    document["metadata"] |= desk.metadata(document["metadata"]["name"])
    if document["kind"] == "Pod":
        document["spec"] = _pod_spec(desk, document["spec"])
    elif document["kind"] == "Job":
        template = document["spec"]["template"]
        template["spec"] = _pod_spec(desk, template["spec"])
    return document


def _pod_spec(desk: Desk, spec: Object) -> Object:
    permitted = desk.any_pod("any")["spec"]
    main = permitted["containers"][0]
    for key in ("containers", "initContainers"):
        for container in spec.get(key, ()):
            if container["image"] == IMAGE:
                container["image"] = main["image"]
    first, *others = spec["containers"]
    return {**permitted, **spec, "containers": [{**main, **first}, *others]}


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


def _nccl_profile(desk: Desk) -> Iterator[Attempt]:
    if desk.namespace.nccl and desk.gpu_pools:
        pod = desk.any_pod("gang")
        pod["metadata"]["labels"] = {GANG_LABEL: "gang"}
        yield Attempt("nccl-profile", "gang without its NCCL profile", pod)


def _network_policy_fence(desk: Desk) -> Iterator[Attempt]:
    other = next((each.name for each in desk.cluster.tenants if each is not desk.tenant), "another")
    document = network_policy(desk, namespaces_labelled(TENANT_KEY, other))
    yield Attempt("network-policy-fence", f"ingress from tenant {other}", document)


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
    for other in desk.cluster.tenants:
        foreign = [name for name in other.local_queues if name not in desk.tenant.local_queues]
        for queue in foreign[:1]:
            document = desk.job(desk.any_pod("stray"), queue)
            yield Attempt("queue-required", f"Job in queue {queue} of tenant {other.name}", document)


def _toleration_fence(desk: Desk) -> Iterator[Attempt]:
    other = next((each.name for each in desk.cluster.tenants if each is not desk.tenant), "another")
    toleration = {"key": TENANT_KEY, "operator": "Equal", "value": other}
    pod = desk.any_pod("tolerates")
    pod["spec"]["tolerations"] = [*pod["spec"].get("tolerations", []), toleration]
    yield Attempt("toleration-fence", f"nodes of tenant {other} tolerated", pod)


_OF_THE_MODEL: dict[str, Callable[[Desk], Iterator[Attempt]]] = {
    "gpu-limits": _gpu_limits,
    "gpu-queue": _gpu_queue,
    "gpu-resources": _gpu_resources,
    "nccl-profile": _nccl_profile,
    "network-policy-fence": _network_policy_fence,
    "pool-selector": _pool_selector,
    "queue-required": _queue_required,
    "toleration-fence": _toleration_fence,
}
"""By policy: objects that are made of the cluster's own pools, queues and tenants, which no example can name.

gpu-requests has none of either kind, because a namespace's LimitRange answers before it is asked.
"""
