"""Objects that violate exactly one policy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy

from gpuc.diagnostics.finding import DeclarationError
from gpuc.model.names import GPU, GPU_TAINT_VALUE, POOL_LABEL, TENANT_KEY
from gpuc.policy.folder import unknown_example
from gpuc.policy.library import Policy, policies
from gpuc.rehearse.client import Object
from gpuc.rehearse.examples import IMAGE, Example, examples
from gpuc.rehearse.sample_workloads import (
    SampleObject,
    WorkloadFactory,
    max_per_pod,
    namespaces_labelled,
    network_policy,
)

GANG_LABEL = "jobset.sigs.k8s.io/jobset-name"


def violations(factory: WorkloadFactory) -> Iterator[SampleObject]:
    """Objects that violate exactly one policy: examples of its folder, and objects generated from the model."""
    for policy in factory.cluster.policies.values():
        if policies().get(policy.name) == policy:
            for row in policy.violations:
                example = _named(policy, row["example"])
                breaks_baseline = row.get("podSecurity") == "baseline"
                yield SampleObject(policy.name, example.title, _in_namespace(factory, example), breaks_baseline)
        if policy.name in _GENERATED:
            yield from _GENERATED[policy.name](factory)


def _named(policy: Policy, name: str) -> Example:
    """The denied example of a policy with a title."""
    denied = {example.title: example for example in examples(policy) if example.denied and example.before is None}
    if name not in denied:
        raise DeclarationError(unknown_example(policy.name, name, denied))
    return denied[name]


def _in_namespace(factory: WorkloadFactory, example: Example) -> Object:
    """The example in the tenant's namespace; missing fields come from a pod that passes every policy."""
    document = deepcopy(example.document)
    document["metadata"] |= factory.metadata(document["metadata"]["name"])
    if document["kind"] == "Pod":
        document["spec"] = _pod_spec(factory, document["spec"])
    elif document["kind"] == "Job":
        template = document["spec"]["template"]
        template["spec"] = _pod_spec(factory, template["spec"])
    return document


def _pod_spec(factory: WorkloadFactory, spec: Object) -> Object:
    permitted = factory.default_pod("any")["spec"]
    main = permitted["containers"][0]
    for key in ("containers", "initContainers"):
        for container in spec.get(key, ()):
            if container["image"] == IMAGE:
                container["image"] = main["image"]
    first, *others = spec["containers"]
    return {**permitted, **spec, "containers": [{**main, **first}, *others]}


def _gpu_limits(factory: WorkloadFactory) -> Iterator[SampleObject]:
    for pool in factory.gpu_pools:
        for resource in pool.gpu_resource_names:
            fits = max_per_pod(pool, resource)
            devices = {resource: fits + 1}
            name = f"{fits + 1} {resource} of {pool.name}"
            yield SampleObject("gpu-limits", name, factory.pod("many", pool, devices), devices=devices, pool=pool.name)
            pod = factory.pod("together", pool, {resource: fits})
            second = deepcopy(pod["spec"]["containers"][0]) | {"name": "second"}
            second["resources"] = deepcopy(second["resources"])
            for part in ("requests", "limits"):
                second["resources"][part][resource] = "1"
            pod["spec"]["containers"].append(second)
            name = f"{fits} and 1 {resource} of {pool.name} in two containers"
            yield SampleObject("gpu-limits", name, pod, devices=devices, pool=pool.name)


def _gpu_queue(factory: WorkloadFactory) -> Iterator[SampleObject]:
    for queue, has_gpus in factory.queues.items():
        if has_gpus:
            yield SampleObject(
                "gpu-queue", f"Job without a GPU in queue {queue}", factory.job(factory.pod("idle"), queue)
            )
    if factory.gpu_pools:
        pod = factory.pod("squats")
        pod["spec"]["tolerations"] = [{"key": GPU, "operator": "Equal", "value": GPU_TAINT_VALUE}]
        yield SampleObject("gpu-queue", "pod without a GPU that tolerates GPU nodes", pod)


def _gpu_resources(factory: WorkloadFactory) -> Iterator[SampleObject]:
    own = {name for pool in factory.tenant.pools for name in pool.advertised_names}
    others = {name for pool in factory.cluster.pools for name in pool.gpu_resource_names} - own
    for resource in (*sorted(others), "amd.com/gpu", "vpc.amazonaws.com/efa-only"):
        devices = {resource: 1}
        yield SampleObject("gpu-resources", f"1 {resource}", factory.pod("strange", None, devices), devices=devices)


def _nccl_profile(factory: WorkloadFactory) -> Iterator[SampleObject]:
    if factory.namespace.nccl and factory.gpu_pools:
        pod = factory.default_pod("gang")
        pod["metadata"]["labels"] = {GANG_LABEL: "gang"}
        yield SampleObject("nccl-profile", "gang without its NCCL profile", pod)


def _network_policy_fence(factory: WorkloadFactory) -> Iterator[SampleObject]:
    other = next((tenant.name for tenant in factory.cluster.tenants if tenant is not factory.tenant), "another")
    document = network_policy(factory, namespaces_labelled(TENANT_KEY, other))
    yield SampleObject("network-policy-fence", f"ingress from tenant {other}", document)


def _pool_selector(factory: WorkloadFactory) -> Iterator[SampleObject]:
    parts = [part for queue in factory.tenant.queues for part in queue.cluster_queues]
    offers = [name for part in parts for pool in part.pools for name in dict.fromkeys(pool.gpu_resource_names)]
    ambiguous = {
        name
        for name in offers
        if any(sum(name in pool.gpu_resource_names for pool in part.pools) > 1 for part in parts)
    }
    for resource in sorted(ambiguous):
        devices = {resource: 1}
        yield SampleObject(
            "pool-selector", f"{resource} without a pool", factory.pod("open", None, devices), devices=devices
        )
    for pool in factory.cluster.pools:
        if pool not in factory.tenant.pools:
            pod = factory.pod("foreign")
            pod["spec"]["nodeSelector"] = {POOL_LABEL: pool.name}
            yield SampleObject("pool-selector", f"pool {pool.name} of others", pod, pool=pool.name)


def _queue_required(factory: WorkloadFactory) -> Iterator[SampleObject]:
    for other in factory.cluster.tenants:
        foreign = [name for name in other.local_queues if name not in factory.tenant.local_queues]
        for queue in foreign[:1]:
            document = factory.job(factory.default_pod("stray"), queue)
            yield SampleObject("queue-required", f"Job in queue {queue} of tenant {other.name}", document)


def _toleration_fence(factory: WorkloadFactory) -> Iterator[SampleObject]:
    other = next((tenant.name for tenant in factory.cluster.tenants if tenant is not factory.tenant), "another")
    toleration = {"key": TENANT_KEY, "operator": "Equal", "value": other}
    pod = factory.default_pod("tolerates")
    pod["spec"]["tolerations"] = [*pod["spec"].get("tolerations", []), toleration]
    yield SampleObject("toleration-fence", f"nodes of tenant {other} tolerated", pod)


_GENERATED: dict[str, Callable[[WorkloadFactory], Iterator[SampleObject]]] = {
    "gpu-limits": _gpu_limits,
    "gpu-queue": _gpu_queue,
    "gpu-resources": _gpu_resources,
    "nccl-profile": _nccl_profile,
    "network-policy-fence": _network_policy_fence,
    "pool-selector": _pool_selector,
    "queue-required": _queue_required,
    "toleration-fence": _toleration_fence,
}
"""Generators by policy. The objects contain names of the cluster's pools, queues and tenants, unlike the examples.

The policy gpu-requests has no violations, because the LimitRange of a namespace adds the missing requests first.
"""
