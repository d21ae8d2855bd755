"""Test cases for Deployments, StatefulSets and pods that a ResourceQuota or Kueue counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import replace
from functools import partial

from gpuc.catalog.records import InstanceType
from gpuc.kubernetes.amounts import CPU, MEMORY, MIB, Amounts, texts
from gpuc.kubernetes.kueue import KUEUE_API, POD_FRAMEWORKS, QUEUE_LABEL
from gpuc.model import ClusterQueue, Pool
from gpuc.model.names import POOL_LABEL, SHARED_GPU
from gpuc.model.tenant import NamespaceQuota
from gpuc.pipeline.stages import CompiledSpec
from gpuc.rehearse.client import Object, condition
from gpuc.rehearse.context import RehearsalContext
from gpuc.rehearse.expectation import expect, predict
from gpuc.rehearse.instance_types import INSTANCE_TYPE_LABEL
from gpuc.rehearse.outcome import Outcome, Request
from gpuc.rehearse.sample_workloads import WorkloadFactory, distinct_factories, max_per_pod
from gpuc.rehearse.suites import Case
from gpuc.rehearse.suites.boundaries import refusal_action
from gpuc.rehearse.suites.full_node import NO_NODE

SUITE = "serving"
APP_LABEL = "app"
MAX_PODS = 128
"""Maximum number of pods with which a Deployment fills a ResourceQuota. Larger quotas are not tested."""
REPLICAS = 2
KINDS = {"deployment": "Deployment", "statefulset": "StatefulSet"}
"""Kinds by framework of Kueue."""
FAILED_CREATE = "FailedCreate"
"""Reason of the events about a ReplicaSet whose pods the API server refuses."""


def cases(spec: CompiledSpec) -> Iterator[Case]:
    """Yields test cases for the namespaces that differ in pools."""
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
    for number, resource in enumerate(pool.gpu_resource_names, 1):
        amount, limit = max_per_pod(pool, resource), factory.namespace.hard.get(resource, 0)
        pods = limit // amount
        if not 0 < pods <= MAX_PODS:
            continue
        name = f"{factory.namespace.name} Deployment with {pods} pods of {amount} {resource} and one more"
        used = f"requests.{resource}={pods * amount}, limited: requests.{resource}={limit}"
        expected = Outcome("refused", by="quota", pool=pool.name, message=used)
        runs = pods * amount <= pool.nodes_max * min(pool.advertised(instance)[resource] for instance in pool.instances)
        pod = factory.pod(f"serve-{pool.name}-{number}", pool, {resource: amount})
        document = replicated(factory, "Deployment", pod, pods + 1)
        action = partial(_exhaust, document=document, pods=pods if runs else 0, limit=pods)
        yield Case(
            SUITE,
            name,
            quota.path,
            expected if runs else Outcome("refused", by="quota", message=used),
            action,
            pool=pool.name,
            request=name,
            batch=f"serving {number}",
        )


def _full_node_cases(spec: CompiledSpec, factory: WorkloadFactory, quota: NamespaceQuota) -> Iterator[Case]:
    """Yields pods that request a complete node of each instance type, and a pod that is larger than every node."""
    pool = quota.pool
    for number, instance in enumerate(pool.instances):
        full = {name: 1 if name == SHARED_GPU else size for name, size in pool.tenant_allocatable(instance).items()}
        if any(size > factory.namespace.hard.get(name, size) for name, size in full.items()):
            continue
        pod = _sized_pod(factory, pool, f"full-{instance.type.replace('.', '-')}", full)
        name = f"{factory.namespace.name} pod as large as a {instance.type} of {pool.name}"
        expected = replace(predict(spec, pod), verdict="bound", nodes=None, borrowed=None)
        # One pod at a time in a namespace: a ResourceQuota in nodes is smaller than the sum of its complete nodes.
        batch = f"serving nodes {number}"
        yield Case(SUITE, name, quota.path, expected, bind(pod), pool=pool.name, request=name, batch=batch)
    largest = max(pool.instances, key=lambda candidate: pool.tenant_allocatable(candidate)[CPU])
    yield from _too_large_case(spec, factory, quota, largest)


def _too_large_case(
    spec: CompiledSpec, factory: WorkloadFactory, quota: NamespaceQuota, largest: InstanceType
) -> Iterator[Case]:
    pool = quota.pool
    size = {CPU: pool.tenant_allocatable(largest)[CPU] + 1, MEMORY: 16 * MIB, pool.gpu_resource_names[0]: 1}
    if size[CPU] > factory.namespace.hard.get(CPU, size[CPU]):
        return
    pod = _sized_pod(factory, pool, "too-large", size)
    name = f"{factory.namespace.name} pod with a little more cpu than a node of {pool.name}"
    expected = replace(predict(spec, pod), borrowed=None)
    if expected.by == "Karpenter":
        expected = replace(expected, message=NO_NODE)
    action = refusal_action(pod, pool, "")
    yield Case(SUITE, name, quota.path, expected, action, pool=pool.name, request=name, batch="serving too large")


def _queued_cases(spec: CompiledSpec, factory: WorkloadFactory, kind: str) -> Iterator[Case]:
    """Yields for each ClusterQueue of a namespace one Deployment or StatefulSet on the first GPU pool with quota."""
    for queue in (part for owner in factory.namespace.queues for part in owner.cluster_queues):
        pool, resource = available_pool(spec, queue)
        if pool is None:
            continue
        pod = factory.pod(f"queued-{kind.lower()}-{pool.name}", pool, {resource: 1})
        document = replicated(factory, kind, pod, REPLICAS)
        document["metadata"]["labels"] = {QUEUE_LABEL: queue.name}
        name = f"{factory.namespace.name} {kind} in queue {queue.name} with {REPLICAS} pods of one {resource}"
        expected = Outcome("bound", flavor=pool.name, pool=pool.name)
        action = partial(_start, document=document)
        path = ("spec", "kueue", "frameworks")
        yield Case(SUITE, name, path, expected, action, queue=queue.name, pool=pool.name, request=name)


def available_pool(spec: CompiledSpec, queue: ClusterQueue) -> tuple[Pool | None, str]:
    """Returns the first GPU pool and resource for which Kueue admits the pods of a test case."""
    for pool in queue.pools:
        for resource in pool.gpu_resource_names:
            if expect(spec, queue, Request({resource: 1}, REPLICAS, pool.name)).verdict == "admitted":
                return pool, resource
    return None, ""


def _plain_cases(factory: WorkloadFactory) -> Iterator[Case]:
    """Yields a pod without a GPU and without a queue, if Kueue's pod integration is enabled: Kueue must not gate it."""
    if not POD_FRAMEWORKS & set(factory.cluster.frameworks):
        return
    pool = next((pool for pool in factory.pools if not pool.is_gpu), None)
    name = f"{factory.namespace.name} pod without a GPU and without a queue"
    pod = factory.pod("plain", pool)
    expected = Outcome("bound", pool=pool.name) if pool else Outcome("admitted")
    path = ("spec", "kueue", "frameworks")
    yield Case(SUITE, name, path, expected, bind(pod) if pool else partial(_create, pod=pod), request=name)


def replicated(factory: WorkloadFactory, kind: str, pod: Object, replicas: int) -> Object:
    """Returns a Deployment or StatefulSet whose pods equal a pod and run until their deletion."""
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

    pods is the number of pods that must get nodes before the outcome is known.
    """
    context.client.create(document)
    found: list[Object] = []
    refusals: list[str] = []

    def is_settled() -> bool:
        nonlocal found, refusals
        found = _pods(context, document)
        refusals = [
            message
            for replica_set in _labelled(context, document, "apps/v1", "ReplicaSet")
            for reason, message in context.events_of(replica_set)
            if reason == FAILED_CREATE
        ]
        if len(found) > limit:
            return True
        bound = sum(bool(pod["spec"].get("nodeName")) for pod in found)
        return bool(refusals) and len(found) == limit and bound >= pods

    context.until(
        f"{limit} pods of Deployment {document['metadata']['name']} and a refused pod",
        is_settled,
        context.timeouts.node_s + context.timeouts.admission_s,
    )
    if len(found) > limit:
        return Outcome("admitted", message=f"{len(found)} pods exist")
    by_quota = [message for message in refusals if "exceeded quota" in message]
    if not by_quota:
        return Outcome("refused", by="API server", message=refusals[-1])
    # While several pods are created at the same time, events mention smaller usage.
    return Outcome("refused", by="quota", pool=_pools(context, found) if pods else "", message="; ".join(by_quota))


def _start(context: RehearsalContext, document: Object) -> Outcome:
    """Creates a workload in a queue, and waits until Kueue admits its pods and the pods have nodes."""
    created = context.client.create(document)
    found: list[Object] = []

    def is_bound() -> bool:
        nonlocal found
        found = _pods(context, document)
        return len(found) == REPLICAS and all(pod["spec"].get("nodeName") for pod in found)

    description = f"nodes for {document['kind']} {document['metadata']['name']}"
    context.until(description, is_bound, context.timeouts.node_s + context.timeouts.admission_s)
    owners = {owner["metadata"]["uid"] for owner in (created, *found)}
    flavors = {
        flavor
        for workload in context.client.list_all(KUEUE_API, "Workload", document["metadata"]["namespace"])
        if condition(workload, "Admitted").get("status") == "True"
        and owners & {reference["uid"] for reference in workload["metadata"].get("ownerReferences", ())}
        for pod_set in workload["status"]["admission"]["podSetAssignments"]
        for flavor in pod_set.get("flavors", {}).values()
    }
    return Outcome("bound", flavor="+".join(sorted(flavors)), pool=_pools(context, found))


def bind(pod: Object) -> Callable[[RehearsalContext], Outcome]:
    """Returns an action that creates a pod and waits until the pod has a node."""

    def action(context: RehearsalContext) -> Outcome:
        refused = _create(context, pod)
        if refused.verdict != "admitted":
            return refused
        metadata = pod["metadata"]
        bound: Object = {}

        def is_bound() -> bool:
            nonlocal bound
            bound = context.client.get("v1", "Pod", metadata["name"], metadata["namespace"])
            return bool(bound["spec"].get("nodeName"))

        context.until(f"a node for Pod {metadata['name']}", is_bound, context.timeouts.node_s)
        labels = _labels_of_nodes(context, [bound])
        types = tuple(sorted({row[INSTANCE_TYPE_LABEL] for row in labels}))
        return Outcome("bound", pool=_pools(context, [bound]), instance_types=types)

    return action


def _create(context: RehearsalContext, pod: Object) -> Outcome:
    """Creates a pod; returns pending if Kueue gates the pod."""
    created = context.client.create(pod)
    gates = [gate["name"] for gate in created["spec"].get("schedulingGates", ())]
    if gates:
        return Outcome("pending", by="Kueue", message=f"scheduling gates: {', '.join(gates)}")
    return Outcome("admitted")


def _pods(context: RehearsalContext, document: Object) -> list[Object]:
    return _labelled(context, document, "v1", "Pod")


def _labelled(context: RehearsalContext, document: Object, api: str, kind: str) -> list[Object]:
    metadata = document["metadata"]
    return context.client.list_all(api, kind, metadata["namespace"], f"{APP_LABEL}={metadata['name']}")


def _pools(context: RehearsalContext, pods: list[Object]) -> str:
    return "+".join(sorted({labels.get(POOL_LABEL, "") for labels in _labels_of_nodes(context, pods)}))


def _labels_of_nodes(context: RehearsalContext, pods: list[Object]) -> list[Object]:
    names = {pod["spec"]["nodeName"] for pod in pods}
    return [node["metadata"]["labels"] for node in context.nodes() if node["metadata"]["name"] in names]
