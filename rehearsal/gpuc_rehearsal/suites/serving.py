"""Test cases for Deployments, StatefulSets and pods, with a queue or counted by a ResourceQuota.

The module also has test cases for clusters without tenants. The workload templates of these clusters run in the
namespace default.
"""

import time
from collections.abc import Iterator
from copy import deepcopy
from functools import partial
from itertools import chain

from msgspec.structs import replace

from gpuc.emit.workloads import workloads
from gpuc.kubernetes.amounts import CPU, MEMORY, MIB, Amounts, quantity_text, texts
from gpuc.kubernetes.kueue import QUEUE_LABEL
from gpuc.manifest.manifest import Manifest
from gpuc.model import Cluster, ClusterQueue, Pool
from gpuc.model.tenant import NamespaceQuota
from gpuc.parts.workload_kinds import pod_frameworks
from gpuc.pipeline.stages import CompiledSpec
from gpuc_rehearsal.client import Object, address_of, is_true, new_object
from gpuc_rehearsal.context import HOLD, POD, WORKLOAD, RehearsalContext
from gpuc_rehearsal.expectation import expect, predict
from gpuc_rehearsal.outcome import Outcome, Request
from gpuc_rehearsal.sample_workloads import WorkloadFactory, distinct_factories, max_per_pod
from gpuc_rehearsal.suites import NODES_BATCH, Case
from gpuc_rehearsal.suites.boundaries import pending, refusal
from gpuc_rehearsal.suites.jobs import flavor_of, object_name
from gpuc_rehearsal.suites.nodes import STEPS, full_amounts, largest_instance, too_large

SUITE = "serving"
FRAMEWORKS = ("spec", "kueue", "frameworks")
APP_LABEL = "app"
MAX_PODS = 128
"""Maximum number of pods with which a Deployment fills a ResourceQuota. Larger quotas are not tested."""
REPLICAS = 2
KINDS = {"deployment": "Deployment", "statefulset": "StatefulSet"}
"""Kinds by framework of Kueue."""
FAILED_CREATE = "FailedCreate"
"""Reason of the events about a ReplicaSet whose pods the API server refuses."""


def cases(spec: CompiledSpec) -> Iterator[Case]:
    """Yields the test cases. Of a tenant's namespaces with equal queues and quotas, only one is tested."""
    cluster = spec.cluster
    for factory in distinct_factories(cluster):
        for quota in factory.namespace.quotas:
            yield from _exhausting_cases(factory, quota)
            yield from _full_node_cases(spec, factory, quota)
        for framework, kind in KINDS.items():
            if framework in cluster.frameworks:
                yield from _queued_cases(spec, factory, kind)
        yield from _plain_cases(factory)


def _exhausting_cases(factory: WorkloadFactory, quota: NamespaceQuota) -> Iterator[Case]:
    """Yields for each device a Deployment with one pod more than the ResourceQuota allows."""
    pool = quota.pool
    yield from _exhausting_part(factory, quota)
    for number, resource in enumerate(pool.gpu_resource_names, 1):
        amount, limit = max_per_pod(pool, resource), factory.namespace.hard.get(resource, 0)
        pods = limit // amount
        if not 0 < pods <= MAX_PODS:
            continue
        name = f"{factory.namespace.name} Deployment with {pods} pods of {amount} {resource} and one more"
        used = f"requests.{resource}={pods * amount}, limited: requests.{resource}={limit}"
        runs = pods * amount <= pool.nodes_max * min(pool.advertised(instance)[resource] for instance in pool.instances)
        pod = factory.pod(f"serve-{pool.name}-{number}", pool, {resource: amount})
        document = replicated(factory, "Deployment", pod, pods + 1)
        action = partial(_exhaust, document=document, pods=pods if runs else 0, limit=pods)
        expected = Outcome("refused", by="quota", pool=pool.name if runs else "", message=used)
        yield Case(SUITE, name, quota.path, expected, action, pool=pool.name, batch=f"serving {number}")


def _exhausting_part(factory: WorkloadFactory, quota: NamespaceQuota) -> Iterator[Case]:
    """Yields a Deployment for each pool without GPUs.

    Each pod uses a complete node, and the Deployment has one pod more than the quota allows.
    """
    pool, nodes = quota.pool, quota.spec.nodes or 0
    if not pool.priority_class or nodes > MAX_PODS:
        return
    cpu, limit = pool.node[CPU], quantity_text(CPU, quota.amounts[CPU])
    pod = _sized_pod(factory, pool, "part", {CPU: cpu, MEMORY: 16 * MIB})
    document = replicated(factory, "Deployment", pod, nodes + 1)
    name = f"{factory.namespace.name} Deployment with {nodes} pods of a node of {pool.name} and one more"
    used = f"exceeded quota: {pool.priority_class}, requested: requests.cpu={quantity_text(CPU, cpu)}, used: "
    expected = Outcome("refused", by="quota", pool=pool.name, message=f"{used}requests.cpu={limit}, limited")
    action = partial(_exhaust, document=document, pods=nodes, limit=nodes)
    yield Case(SUITE, name, quota.path, expected, action, pool=pool.name, batch="serving 1")


def _limits(factory: WorkloadFactory, pool: Pool) -> Amounts:
    """Returns the limits of the namespace for pods on a pool."""
    return {**factory.namespace.hard, **factory.namespace.parts.get(pool.priority_class, {})}


def _full_node_cases(spec: CompiledSpec, factory: WorkloadFactory, quota: NamespaceQuota) -> Iterator[Case]:
    """Yields pods that request a complete node of each instance type, and a pod that is larger than every node."""
    pool = quota.pool
    for number, instance in enumerate(pool.instances):
        full = full_amounts(pool, instance)
        if any(size > _limits(factory, pool).get(name, size) for name, size in full.items()):
            continue
        pod = _sized_pod(factory, pool, f"full-{instance.type.replace('.', '-')}", full)
        name = f"{factory.namespace.name} pod as large as a {instance.type} of {pool.name}"
        expected = replace(predict(spec, pod), verdict="bound", nodes=None, borrowed=None)
        # One pod at a time in a namespace: a ResourceQuota in nodes is smaller than the sum of its complete nodes.
        action, batch = partial(_bind, pod=pod), f"serving nodes {number}"
        yield Case(SUITE, name, quota.path, expected, action, pool=pool.name, batch=batch)
    cpu = pool.tenant_allocatable(largest_instance(pool))[CPU] + 1
    if cpu <= _limits(factory, pool).get(CPU, cpu):
        size = {CPU: cpu, MEMORY: 16 * MIB} | dict.fromkeys(pool.gpu_resource_names[:1], 1)
        name = f"{factory.namespace.name} pod with a little more cpu than a node of {pool.name}"
        pod = _sized_pod(factory, pool, "too-large", size)
        expected, action = replace(predict(spec, pod), borrowed=None), partial(refusal, pod=pod, pool=pool)
        expected = too_large(spec.cluster, expected)
        yield Case(SUITE, name, quota.path, expected, action, pool=pool.name, batch="serving too large")


def _queued_cases(spec: CompiledSpec, factory: WorkloadFactory, kind: str) -> Iterator[Case]:
    """Yields for each ClusterQueue of a namespace one Deployment or StatefulSet on the first GPU pool with quota."""
    for queue in factory.namespace.cluster_queues:
        pool, resource = available_pool(spec, queue)
        if pool is None:
            continue
        pod = factory.pod(f"queued-{kind.lower()}-{pool.name}", pool, {resource: 1})
        document = replicated(factory, kind, pod, REPLICAS)
        document["metadata"]["labels"] = {QUEUE_LABEL: queue.name}
        name = f"{factory.namespace.name} {kind} in queue {queue.name} with {REPLICAS} pods of one {resource}"
        expected, action = Outcome("bound", flavor=pool.name, pool=pool.name), partial(_start, document=document)
        yield Case(SUITE, name, FRAMEWORKS, expected, action, queue.name, pool.name)


def available_pool(spec: CompiledSpec, queue: ClusterQueue) -> tuple[Pool | None, str]:
    """Returns the first GPU pool and resource for which Kueue would admit the pods of a test case; else (None, "")."""
    for pool in queue.pools:
        for resource in pool.gpu_resource_names:
            if expect(spec, queue, Request({resource: 1}, REPLICAS, pool.name)).verdict == "admitted":
                return pool, resource
    return None, ""


def _plain_cases(factory: WorkloadFactory) -> Iterator[Case]:
    """Yields a pod without a GPU and without a queue, if Kueue's pod integration is enabled: Kueue must not gate it."""
    if not pod_frameworks() & set(factory.cluster.frameworks):
        return
    pool = next((quota.pool for quota in factory.namespace.quotas if quota.pool.priority_class), None)
    name = f"{factory.namespace.name} pod without a GPU and without a queue"
    pod = factory.pod("plain", pool)
    expected = Outcome("bound", pool=pool.name) if pool else Outcome("admitted")
    yield Case(SUITE, name, FRAMEWORKS, expected, partial(_bind if pool else _create, pod=pod))


def open_pools(spec: CompiledSpec) -> Iterator[Case]:
    """Yields test cases for clusters without tenants: the workload templates, no tolerations, and a too large pod."""
    for template in () if spec.cluster.tenants else workloads(spec.cluster):
        if isinstance(template, Manifest) and template.kind in ("Job", "Deployment"):
            (pool,) = (pool for pool in spec.cluster.pools if pool.path == template.origin)
            yield from _open_cases(spec.cluster, pool, template)


def _open_cases(cluster: Cluster, pool: Pool, template: Manifest) -> Iterator[Case]:
    spec = deepcopy(template.body["spec"]["template"]["spec"])
    bound = Outcome("bound", pool=pool.name, instance_types=tuple(instance.type for instance in pool.instances))
    yield _open_case(pool, f"{template.name} pod of the workload template", bound, spec)
    if pool.taints:
        without = {key: value for key, value in spec.items() if key != "tolerations"}
        yield _open_case(pool, f"{template.name} pod without tolerations", pending(cluster, pool, ""), without)
    larger = deepcopy(spec)
    cpu = texts({CPU: pool.tenant_allocatable(largest_instance(pool))[CPU] + STEPS[CPU]})
    resources = larger["containers"][0]["resources"]
    larger["containers"][0]["resources"] = {key: {**amounts, **cpu} for key, amounts in resources.items()}
    name = f"{template.name} pod with a little more cpu than a node"
    yield _open_case(pool, name, too_large(cluster, pending(cluster, pool, "")), larger)


def _open_case(pool: Pool, name: str, expected: Outcome, spec: Object) -> Case:
    spec["terminationGracePeriodSeconds"] = 0
    metadata = {"annotations": dict(HOLD)}
    pod = new_object(*POD, object_name(name), "default", metadata=metadata, spec=spec)
    action = partial(_bind, pod=pod) if expected.verdict == "bound" else partial(refusal, pod=pod, pool=pool)
    return Case("open pools", name, pool.path, expected, action, pool=pool.name, batch=NODES_BATCH)


def replicated(factory: WorkloadFactory, kind: str, pod: Object, replicas: int) -> Object:
    """Returns a Deployment or a StatefulSet with some replicas of a pod, which run until their deletion."""
    metadata = factory.metadata(pod["metadata"]["name"].removeprefix("rehearsal-"))
    labels = {APP_LABEL: metadata["name"]}
    template = {"metadata": {"labels": labels}, "spec": {**deepcopy(pod["spec"]), "restartPolicy": "Always"}}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    if kind == "StatefulSet":
        spec |= {"serviceName": metadata["name"], "podManagementPolicy": "Parallel"}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": metadata, "spec": spec}


def _sized_pod(factory: WorkloadFactory, pool: Pool, name: str, size: Amounts) -> Object:
    """Returns a pod that requests exactly the amounts."""
    pod = factory.pod(f"{name}-{pool.name}", pool)
    quantities = texts(size)
    pod["spec"]["containers"][0]["resources"] = {"requests": quantities, "limits": dict(quantities)}
    return pod


def _exhaust(context: RehearsalContext, document: Object, pods: int, limit: int) -> Outcome:
    """Creates a Deployment, and returns the refusal of its last pod. More pods than the limit are an admission.

    pods is the number of pods that must get nodes before the outcome is known. As in the boundaries of quotas, more
    pods than the limit are final only if a new pod replaces each deleted one for a while.
    """
    context.client.create(document)
    exceeded_at: list[float] = []

    def settled() -> tuple[list[Object], list[str]] | None:
        found = _labelled(context, document, *POD)
        events = chain.from_iterable(map(context.events_of, _labelled(context, document, "apps/v1", "ReplicaSet")))
        refusals = [message for reason, message in events if reason == FAILED_CREATE]
        if len(found) > limit:
            exceeded_at.append(time.monotonic())
            context.client.delete_object(max(found, key=lambda pod: pod["metadata"]["creationTimestamp"]))
            return (found, refusals) if exceeded_at[-1] - exceeded_at[0] >= context.timeouts.retry_s else None
        bound = sum(bool(pod["spec"].get("nodeName")) for pod in found)
        return (found, refusals) if refusals and len(found) == limit and bound >= pods else None

    description = f"{limit} pods of Deployment {document['metadata']['name']} and a refused pod"
    seconds = context.timeouts.node_s + context.timeouts.admission_s
    found, refusals = context.until(description, settled, seconds)
    if len(found) > limit:
        return Outcome("admitted", message=f"{len(found)} pods exist")
    by_quota = [message for message in refusals if "exceeded quota" in message]
    if not by_quota:
        return Outcome("refused", by="API server", message=refusals[-1])
    # While several pods are created at the same time, events mention smaller usage.
    return Outcome("refused", by="quota", pool=context.pools_of(found) if pods else "", message="; ".join(by_quota))


def _start(context: RehearsalContext, document: Object) -> Outcome:
    """Creates a workload in a queue, and waits until Kueue admits its pods and the pods have nodes."""
    created = context.client.create(document)

    def bound() -> list[Object]:
        found = _labelled(context, document, *POD)
        return found if len(found) == REPLICAS and all(pod["spec"].get("nodeName") for pod in found) else []

    description = f"nodes for {document['kind']} {document['metadata']['name']}"
    pods = context.until(description, bound, context.timeouts.node_s + context.timeouts.admission_s)
    owners = {owner["metadata"]["uid"] for owner in (created, *pods)}
    workloads_of_pods = (
        workload
        for workload in context.client.list_all(*WORKLOAD, document["metadata"]["namespace"])
        if is_true(workload, "Admitted")
        and owners & {reference["uid"] for reference in workload["metadata"].get("ownerReferences", ())}
    )
    return Outcome("bound", flavor=flavor_of(*workloads_of_pods), pool=context.pools_of(pods))


def _bind(context: RehearsalContext, pod: Object) -> Outcome:
    """Creates a pod and waits until the pod has a node."""
    refused = _create(context, pod)
    if refused.verdict != "admitted":
        return refused

    def bound() -> Object | None:
        found = context.client.get(*address_of(pod))
        return found if found["spec"].get("nodeName") else None

    found = [context.until(f"a node for Pod {pod['metadata']['name']}", bound, context.timeouts.node_s)]
    return Outcome("bound", pool=context.pools_of(found), instance_types=context.types_of(found))


def _create(context: RehearsalContext, pod: Object) -> Outcome:
    """Creates a pod; returns pending if Kueue gates the pod."""
    created = context.client.create(pod)
    gates = [gate["name"] for gate in created["spec"].get("schedulingGates", ())]
    if gates:
        return Outcome("pending", by="Kueue", message=f"scheduling gates: {', '.join(gates)}")
    return Outcome("admitted")


def _labelled(context: RehearsalContext, document: Object, api: str, kind: str) -> list[Object]:
    metadata = document["metadata"]
    return context.client.list_all(api, kind, metadata["namespace"], f"{APP_LABEL}={metadata['name']}")
