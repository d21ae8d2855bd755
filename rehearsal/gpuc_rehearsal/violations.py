"""Creates the objects of test cases. Each object violates one policy and no other policy."""

from collections import Counter
from collections.abc import Iterator
from copy import deepcopy

from msgspec.structs import replace

from gpuc.emit.tenants import SYSTEM_PRIORITY_CLASSES
from gpuc.kubernetes.controllers import JOBSET_NAME
from gpuc.model.names import GPU, GPU_TAINT_VALUE, POOL_LABEL, TENANT_KEY
from gpuc.policy.library import policies
from gpuc_rehearsal.client import Object
from gpuc_rehearsal.examples import IMAGE, Example, examples
from gpuc_rehearsal.exposed_samples import refused_annotations
from gpuc_rehearsal.sample_workloads import (
    REPLACE_FAILED,
    SampleObject,
    WorkloadFactory,
    max_per_pod,
    namespaces_labelled,
    network_policy,
)


def violations(factory: WorkloadFactory) -> Iterator[SampleObject]:
    """Yields objects that violate one policy and no other: examples of policies, and objects made for the cluster."""
    for policy in factory.cluster.policies.values():
        usable = examples(policy) if policy.violations else ()
        denied = {example.title: example for example in usable if example.denied and example.before is None}
        for violation in (row for row in policy.violations if row["example"] in denied):
            document = _in_namespace(factory, denied[violation["example"]])
            breaks_baseline = violation.get("podSecurity") == "baseline"
            yield SampleObject(violation["example"], document, breaks_baseline, policy=policy.name)
        if policy.name in _GENERATED and policies().get(policy.name) == policy:
            yield from (replace(sample, policy=policy.name) for sample in _GENERATED[policy.name](factory))


def _in_namespace(factory: WorkloadFactory, example: Example) -> Object:
    """Returns the example in the tenant's namespace. Missing pod fields come from a pod that passes every policy."""
    document = deepcopy(example.document)
    document["metadata"] |= factory.metadata(document["metadata"]["name"])
    if document["kind"] == "Pod":
        document["spec"] = _pod_spec(factory, document["spec"])
    elif document["kind"] == "Job":
        document["spec"] |= REPLACE_FAILED
        template = document["spec"]["template"]
        template["spec"] = _pod_spec(factory, template["spec"])
    return document


def _pod_spec(factory: WorkloadFactory, spec: Object) -> Object:
    permitted = factory.default_pod("any")["spec"]
    main = permitted["containers"][0]
    for container in (*spec["containers"], *spec.get("initContainers", ())):
        if container.get("image") == IMAGE:
            container["image"] = main["image"]
    first, *other_containers = spec["containers"]
    return {**permitted, **spec, "containers": [{**main, **first}, *other_containers]}


def _gpu_limits(factory: WorkloadFactory) -> Iterator[SampleObject]:
    for pool in factory.gpu_pools:
        for resource in pool.gpu_resource_names:
            maximum = max_per_pod(pool, resource)
            devices = {resource: maximum + 1}
            yield factory.sample(f"{maximum + 1} {resource} of pool {pool.name}", "many", pool, devices)
            pod, other = (factory.pod("together", pool, {resource: amount}) for amount in (maximum, 1))
            pod["spec"]["containers"].append(other["spec"]["containers"][0] | {"name": "second"})
            name = f"{maximum} and 1 {resource} of pool {pool.name} in two containers"
            yield SampleObject(name, pod, devices=devices, pool=pool.name)


def _gpu_quota(factory: WorkloadFactory) -> Iterator[SampleObject]:
    own = {quota.pool.name for quota in factory.namespace.quotas}
    for pool in factory.tenant.pools:
        if pool.is_gpu and pool.name not in own:
            name = f"pod on pool {pool.name} that neither Kueue nor a ResourceQuota of the namespace counts"
            yield factory.sample(name, "bare", pool, {pool.gpu_resource_names[0]: 1})
        elif pool.counted == "kueue" and not pool.is_gpu:
            yield factory.sample(f"pod on pool {pool.name}, which Kueue counts", "bare", pool, {})


def _gpu_requests(factory: WorkloadFactory) -> Iterator[SampleObject]:
    if factory.gpu_pools:
        pod = factory.default_pod("silent")
        del pod["spec"]["containers"][0]["resources"]["requests"]
        yield SampleObject("GPU without requests for cpu and memory, which the LimitRange adds", pod)


def _gpu_queue(factory: WorkloadFactory) -> Iterator[SampleObject]:
    for queue, has_gpus in factory.queues.items():
        if has_gpus:
            yield SampleObject(f"Job without a GPU in queue {queue}", factory.job(factory.pod("idle"), queue))
    if factory.gpu_pools:
        pod = factory.pod("squats")
        pod["spec"]["tolerations"] = [{"key": GPU, "operator": "Equal", "value": GPU_TAINT_VALUE}]
        yield SampleObject("pod without a GPU that tolerates the taint of GPU nodes", pod)


def _gpu_resources(factory: WorkloadFactory) -> Iterator[SampleObject]:
    own_resources = {name for pool in factory.tenant.pools for name in pool.advertised_names}
    other_resources = {name for pool in factory.cluster.pools for name in pool.gpu_resource_names} - own_resources
    for resource in (*sorted(other_resources), "amd.com/gpu", "vpc.amazonaws.com/efa-only"):
        yield factory.sample(f"1 {resource}", "strange", None, {resource: 1})


def _mps_clients(factory: WorkloadFactory) -> Iterator[SampleObject]:
    for pool in factory.gpu_pools:
        if pool.mps_user is not None:
            devices = {pool.gpu_resource_names[0]: 1}
            hides = factory.sample(f"volume at /dev/shm on pool {pool.name}", "hides", pool, devices)
            spec = hides.document["spec"]
            spec["volumes"] = [{"name": "shm", "emptyDir": {"medium": "Memory"}}]
            spec["containers"][0]["volumeMounts"] = [{"name": "shm", "mountPath": "/dev/shm"}]
            other = factory.sample(f"another user on pool {pool.name}", "other-user", pool, devices)
            other.document["spec"]["containers"][0]["securityContext"]["runAsUser"] = pool.mps_user + 1
            yield from (hides, other)


def _nccl_profile(factory: WorkloadFactory) -> Iterator[SampleObject]:
    if factory.namespace.nccl and factory.gpu_pools:
        pod = factory.default_pod("gang")
        pod["metadata"]["labels"] = {JOBSET_NAME: "gang"}
        yield SampleObject("gang without the NCCL profile of the namespace", pod)


def _network_policy_fence(factory: WorkloadFactory) -> Iterator[SampleObject]:
    other = _other_tenant(factory)
    yield SampleObject(f"ingress from tenant {other}", network_policy(factory, namespaces_labelled(TENANT_KEY, other)))


def _other_tenant(factory: WorkloadFactory) -> str:
    return next((tenant.name for tenant in factory.cluster.tenants if tenant is not factory.tenant), "another")


def _pool_selector(factory: WorkloadFactory) -> Iterator[SampleObject]:
    ambiguous: set[str] = set()
    for part in (part for queue in factory.tenant.queues for part in queue.cluster_queues):
        offers = Counter(name for pool in part.pools for name in set(pool.gpu_resource_names))
        ambiguous |= {name for name, pools in offers.items() if pools > 1}
    for resource in sorted(ambiguous):
        yield factory.sample(f"{resource} without a pool", "open", None, {resource: 1})
    for pool in factory.cluster.pools:
        if pool not in factory.tenant.pools:
            pod = factory.pod("foreign")
            pod["spec"]["nodeSelector"] = {POOL_LABEL: pool.name}
            yield SampleObject(f"pool {pool.name}, which the tenant cannot use", pod, pool=pool.name)


def _queue_required(factory: WorkloadFactory) -> Iterator[SampleObject]:
    for queue in factory.other_queues[:1]:
        document = factory.job(factory.default_pod("stray"), queue)
        yield SampleObject(f"Job in queue {queue}, which the namespace does not have", document)
    labels = {"app": "rehearsal"}
    for pool in (pool for queue in factory.namespace.queues for pool in queue.pools if pool.is_gpu):
        pod = factory.pod("service", pool, {pool.gpu_resource_names[0]: 1})
        template = {"metadata": {"labels": labels}, "spec": pod["spec"] | {"restartPolicy": "Always"}}
        spec = {"replicas": 0, "selector": {"matchLabels": labels}, "template": template}
        document = pod | {"apiVersion": "apps/v1", "kind": "Deployment", "spec": spec}
        yield SampleObject(f"Deployment without a queue on pool {pool.name}", document)


def _owned_workloads(factory: WorkloadFactory) -> Iterator[SampleObject]:
    pod = factory.pod("suspended")
    pod["metadata"]["annotations"] = {"kueue.x-k8s.io/pod-suspending-parent": "statefulset"}
    yield SampleObject("pod that claims to be suspended by its owner", pod)


def _priority_classes(factory: WorkloadFactory) -> Iterator[SampleObject]:
    for queue in factory.queues:
        job = factory.queued_job("critical", queue)
        job["spec"]["template"]["spec"]["priorityClassName"] = SYSTEM_PRIORITY_CLASSES[0]
        yield SampleObject(f"Job with a system PriorityClass in queue {queue}", job)


def _toleration_fence(factory: WorkloadFactory) -> Iterator[SampleObject]:
    other = _other_tenant(factory)
    toleration = {"key": TENANT_KEY, "operator": "Equal", "value": other}
    pod = factory.default_pod("tolerates")
    pod["spec"]["tolerations"] = [*pod["spec"].get("tolerations", []), toleration]
    yield SampleObject(f"pod that tolerates the taint of tenant {other}", pod)


_GENERATED = {
    function.__name__.strip("_").replace("_", "-"): function
    for function in (
        _gpu_limits, _gpu_queue, _gpu_quota, _gpu_requests, _gpu_resources, _mps_clients, _nccl_profile,
        _network_policy_fence, _owned_workloads, _pool_selector, _priority_classes, _queue_required,
        _toleration_fence,
    )
} | {"exposure-annotations": refused_annotations}  # fmt: skip
"""Generators by policy, for objects that contain names of the cluster's pools, queues or tenants."""
