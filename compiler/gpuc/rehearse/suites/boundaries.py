"""Test cases for tenant boundaries: RBAC, ResourceQuotas, LocalQueues and taints."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from threading import Lock
from typing import Literal

from gpuc.model import Cluster, Pool
from gpuc.rehearse.classify_response import classify_response
from gpuc.rehearse.client import Client, Object, condition
from gpuc.rehearse.context import RehearsalContext
from gpuc.rehearse.examples import GATE
from gpuc.rehearse.outcome import Outcome
from gpuc.rehearse.rbac_requests import MemberRequest, member_requests
from gpuc.rehearse.sample_workloads import WorkloadFactory, max_per_pod
from gpuc.rehearse.suites import Case
from gpuc.rehearse.suites.observe import KARPENTER_MESSAGE

SUITE = "boundaries"
FILLED_PODS = 32
"""Quotas that take more pods than this are not filled."""


def cases(cluster: Cluster) -> Iterator[Case]:
    """RBAC in every tenant namespace; quotas, taints and queues in the first namespace of every tenant."""
    for tenant in cluster.tenants:
        for namespace in tenant.namespaces:
            factory = WorkloadFactory(cluster, tenant, namespace)
            yield from (_member_case(factory, request) for request in member_requests(factory))
        if tenant.namespaces:
            factory = WorkloadFactory(cluster, tenant, tenant.namespaces[0])
            yield from _quota_cases(factory)
            yield from _taint_cases(factory)
            yield from _queue_cases(factory)


def _member_case(factory: WorkloadFactory, request: MemberRequest) -> Case:
    tenant = factory.tenant
    group, namespace = tenant.spec.members.groups[0], factory.namespace.name
    message = f'cannot {request.verb} resource "{request.resource}"'
    expected = Outcome("admitted") if request.allowed else Outcome("refused", by="API server", message=message)

    def action(context: RehearsalContext) -> Outcome:
        member = context.client.acting_as(f"member-of-{tenant.name}", group)
        return classify_response(member, lambda: request.send(member))

    name = f"member of {tenant.name} ({tenant.spec.members.role}) in {namespace}: {request.verb} {request.name}"
    path = (*tenant.path, "members")
    return Case(SUITE, name, path, expected, action, request=name, batch="boundaries: members")


def _quota_cases(factory: WorkloadFactory) -> Iterator[Case]:
    """Gated pods use up the quota of a device; the quota must refuse one more."""
    lock = Lock()  # concurrent changes of one ResourceQuota cause conflicts in the API server
    for resource in dict.fromkeys(name for pool in factory.gpu_pools for name in pool.gpu_resource_names):
        offering = [pool for pool in factory.gpu_pools if resource in pool.gpu_resource_names]
        pool = max(offering, key=lambda candidate: max_per_pod(candidate, resource))
        ceiling, size = factory.tenant.ceiling.get(resource, 0), max_per_pod(pool, resource)
        if 0 < ceiling <= FILLED_PODS * size:
            title = f"{factory.namespace.name} {ceiling} {resource} and one more"
            message = f"requested: requests.{resource}=1, used: requests.{resource}={ceiling}, limited"
            expected = Outcome("refused", by="quota", message=message)
            amounts = [*(size for _ in range(ceiling // size)), *([ceiling % size] if ceiling % size else []), 1]
            pods = [_gated(factory, pool, resource, number, amount) for number, amount in enumerate(amounts)]
            yield Case(
                SUITE,
                title,
                factory.tenant.path,
                expected,
                _filling(lock, pods),
                pool=pool.name,
                request=title,
                batch="boundaries: quota",
            )


def unfilled_quotas(cluster: Cluster) -> list[str]:
    """Devices whose quota no test case fills: the quota needs too many pods, or no quota is set."""
    devices = {name for pool in cluster.gpu_pools for name in pool.gpu_resource_names}
    factories = (
        WorkloadFactory(cluster, tenant, namespace) for tenant in cluster.tenants for namespace in tenant.namespaces[:1]
    )
    filled = {
        case.request.partition(" and ")[0].rpartition(" ")[2] for factory in factories for case in _quota_cases(factory)
    }
    return sorted(devices - filled)


def _filling(lock: Lock, pods: list[Object]) -> Callable[[RehearsalContext], Outcome]:
    def action(context: RehearsalContext) -> Outcome:
        client = context.client
        with lock:
            actual = Outcome("admitted")
            for pod in pods:
                actual = classify_response(client, lambda: client.create(pod))  # noqa: B023
                if actual.verdict == "refused":
                    break
            _delete(client, pods)
        return actual

    return action


def _gated(factory: WorkloadFactory, pool: Pool, resource: str, number: int, amount: int) -> Object:
    name = f"{resource.rpartition('/')[2].replace('.', '-')}-{number}"
    pod = factory.pod(name, pool, {resource: amount})
    pod["spec"]["schedulingGates"] = [dict(GATE)]
    return pod


def _taint_cases(factory: WorkloadFactory) -> Iterator[Case]:
    """A pod that requests a GPU of a pool without a toleration gets no node."""
    for pool in factory.gpu_pools:
        name = f"{factory.namespace.name} pod without a toleration on {pool.name}"
        pod = factory.pod(f"bare-{pool.name}", pool, {pool.gpu_resource_names[0]: 1})
        del pod["spec"]["tolerations"]
        by_scheduler = Outcome("pending", by="scheduler", message="untolerated taint")
        by_karpenter = Outcome("pending", by="Karpenter", message="did not tolerate taint")
        yield Case(
            SUITE,
            name,
            (*pool.path, "sharing"),
            by_scheduler if pool.is_static else by_karpenter,
            _pending(pod, pool),
            pool=pool.name,
            request="no toleration",
            batch="boundaries: nodes",
        )


def _pending(pod: Object, pool: Pool) -> Callable[[RehearsalContext], Outcome]:
    def action(context: RehearsalContext) -> Outcome:
        made = context.client.create(pod)
        message = ""

        def refused() -> bool:
            nonlocal message
            message = _scheduling_refusal(context, made, pool)
            return bool(message)

        try:
            what = f"scheduling decision about {pod['metadata']['name']}"
            context.until(what, refused, context.timeouts.node_s)
            return Outcome("pending", by="scheduler" if pool.is_static else "Karpenter", message=message)
        finally:
            _delete(context.client, [made])

    return action


def _scheduling_refusal(context: RehearsalContext, made: Object, pool: Pool) -> str:
    """The scheduler's message for the existing nodes of a static pool, else Karpenter's; empty before the decision."""
    if pool.is_static:
        metadata = made["metadata"]
        pod = context.client.get("v1", "Pod", metadata["name"], metadata["namespace"])
        return str(condition(pod, "PodScheduled").get("message", ""))
    messages = (message for _, message in context.events_of(made) if message.startswith(KARPENTER_MESSAGE))
    return next(messages, "")


def _queue_cases(factory: WorkloadFactory) -> Iterator[Case]:
    """If no policy refuses a Job whose queue does not exist in the namespace, Kueue never admits the Job."""
    if factory.cluster.policy_stage("queue-required") == "deny":
        return
    foreign = [name for other in factory.cluster.tenants for name in other.local_queues if name not in factory.queues]
    for queue in ("", *foreign[:1]):
        what = f"in queue {queue} of another tenant" if queue else "without a queue"
        name = f"{factory.namespace.name} Job {what}"
        expected = Outcome("pending", by="Kueue", message=f"LocalQueue {queue} doesn't exist")
        job = factory.job(factory.pod("stray"), queue)
        job["metadata"]["name"] += f"-{queue or 'none'}"
        del job["spec"]["suspend"]
        yield Case(
            SUITE,
            name,
            factory.tenant.path,
            expected,
            _never_admitted(job),
            queue=queue,
            request=name,
            batch="boundaries: nodes",
        )


def _never_admitted(job: Object) -> Callable[[RehearsalContext], Outcome]:
    def action(context: RehearsalContext) -> Outcome:
        made = context.client.create(job)
        reserved: Object = {}

        def decided() -> bool:
            nonlocal reserved
            reserved = condition(context.workload_of(made) or {}, "QuotaReserved")
            return bool(reserved)

        try:
            context.until(f"Kueue's decision about {job['metadata']['name']}", decided, context.timeouts.admission_s)
        finally:
            _delete(context.client, [made])
        verdict: Literal["admitted", "pending"] = "admitted" if reserved["status"] == "True" else "pending"
        return Outcome(verdict, by="Kueue", message=reserved["message"])

    return action


def _delete(client: Client, documents: list[Object]) -> None:
    for document in documents:
        metadata = document["metadata"]
        client.delete(document["apiVersion"], document["kind"], metadata["name"], metadata["namespace"])
