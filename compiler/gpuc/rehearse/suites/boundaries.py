"""Test cases for the boundaries of tenants and auditors: RBAC, ResourceQuotas, LocalQueues and taints."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from threading import Lock
from typing import Literal

from gpuc.diagnostics.finding import Path
from gpuc.emit.tenants import SYSTEM_PRIORITY_CLASSES
from gpuc.kubernetes.kueue import POD_FRAMEWORKS
from gpuc.model import Cluster, Pool
from gpuc.pipeline.stages import CompiledSpec
from gpuc.rehearse.classify_response import classify_response
from gpuc.rehearse.client import Client, Object, condition
from gpuc.rehearse.context import RehearsalContext
from gpuc.rehearse.examples import GATE
from gpuc.rehearse.outcome import Outcome
from gpuc.rehearse.rbac_requests import AccessRequest, auditor_requests, member_requests
from gpuc.rehearse.sample_workloads import WorkloadFactory, distinct_factories, max_per_pod
from gpuc.rehearse.suites import Case
from gpuc.rehearse.suites.observe import KARPENTER_MESSAGE
from gpuc.rehearse.users import KUEUE_GATE, creator, with_user

SUITE = "boundaries"
FILLED_PODS = 32
"""Maximum number of pods with which a test case fills a quota. Larger quotas are not tested."""


def cases(spec: CompiledSpec) -> Iterator[Case]:
    """Yields test cases for RBAC in every tenant namespace, and for the rest in the namespaces that differ in pools."""
    cluster = spec.cluster
    for tenant, namespace in cluster.namespaces:
        factory = WorkloadFactory(cluster, tenant, namespace)
        for role, groups in tenant.groups_by_role(namespace).items():
            yield from _member_cases(factory, role or "no role", groups[0])
    yield from _auditor_cases(cluster)
    for factory in distinct_factories(cluster):
        yield from _quota_cases(factory)
        yield from _priority_cases(factory)
        yield from _taint_cases(factory)
        yield from _queue_cases(factory)


def _member_cases(factory: WorkloadFactory, role: str, group: str) -> Iterator[Case]:
    """Yields the requests of a member of a tenant in a namespace. The group of the member has the role there."""
    tenant = factory.tenant
    subject = f"member of {tenant.name} ({role}) in {factory.namespace.name}"
    path = next(members.path for members in tenant.members if group in members.spec.groups)
    for request in member_requests(factory, group):
        yield _access_case(request, subject, f"member-of-{tenant.name}", group, path)


def _auditor_cases(cluster: Cluster) -> Iterator[Case]:
    """Yields the requests of an auditor whose group has no other role."""
    members = {group for tenant in cluster.tenants for group in tenant.groups}
    for group in [group for group in cluster.auditors if group not in members][:1]:
        for request in auditor_requests(cluster):
            yield _access_case(request, "auditor", "auditor", group, ("spec", "auditors"))


def _access_case(request: AccessRequest, subject: str, user: str, group: str, path: Path) -> Case:
    message = f'cannot {request.verb} resource "{request.resource}"'
    expected = Outcome("admitted") if request.allowed else Outcome("refused", by="API server", message=message)

    def action(context: RehearsalContext) -> Outcome:
        client = context.client.impersonate(user, group)
        return classify_response(client, lambda: request.send(client))

    name = f"{subject}: {request.verb} {request.name}"
    return Case(SUITE, name, path, expected, action, request=name, batch="boundaries: members")


def _quota_cases(factory: WorkloadFactory) -> Iterator[Case]:
    """Yields test cases in which gated pods use all quota of a device, and the quota must refuse one more pod."""
    lock = Lock()  # the API server reports conflicts for concurrent changes of one ResourceQuota
    for resource in dict.fromkeys(name for pool in factory.gpu_pools for name in pool.gpu_resource_names):
        offering_pools = [pool for pool in factory.gpu_pools if resource in pool.gpu_resource_names]
        pool = max(offering_pools, key=lambda candidate: max_per_pod(candidate, resource))
        quota, per_pod = factory.namespace.hard.get(resource, 0), max_per_pod(pool, resource)
        if 0 < quota <= FILLED_PODS * per_pod:
            title = f"{factory.namespace.name} {quota} {resource} and one more"
            message = f"requested: requests.{resource}=1, used: requests.{resource}={quota}, limited"
            expected = Outcome("refused", by="quota", message=message)
            amounts = [*(per_pod for _ in range(quota // per_pod)), *([quota % per_pod] if quota % per_pod else []), 1]
            pods = [_gated_pod(factory, pool, resource, number, amount) for number, amount in enumerate(amounts)]
            yield Case(
                SUITE,
                title,
                factory.tenant.path,
                expected,
                _fill_quota_action(lock, pods),
                pool=pool.name,
                request=title,
                batch="boundaries: quota",
            )


def _priority_cases(factory: WorkloadFactory) -> Iterator[Case]:
    """Yields test cases in which a pod has the priority of system components.

    A ResourceQuota refuses the pod, unless the policy priority-classes refuses it before.
    """
    stage = factory.cluster.policy_stage("priority-classes")
    by_policy = Outcome("refused", by="policy", message="is for system components")
    by_quota = Outcome("refused", by="quota", message="exceeded quota: gpuc-system-priority")
    for name in SYSTEM_PRIORITY_CLASSES:
        pod = factory.default_pod(name)
        pod["spec"]["priorityClassName"] = name
        title = f"{factory.namespace.name} pod with PriorityClass {name}"
        expected = by_policy if stage == "deny" else by_quota
        action = _dry_run_action(pod, creator(factory, pod))
        yield Case(SUITE, title, factory.tenant.path, expected, action, request=title, batch="boundaries: quota")


def _dry_run_action(pod: Object, user: str) -> Callable[[RehearsalContext], Outcome]:
    def action(context: RehearsalContext) -> Outcome:
        client = with_user(context.client, user)
        return classify_response(client, lambda: client.create(pod, dry_run=True))

    return action


def unfilled_quotas(cluster: Cluster) -> list[str]:
    """Returns the devices whose quota no test case fills: the quota needs too many pods, or no quota is set."""
    devices = {name for pool in cluster.gpu_pools for name in pool.gpu_resource_names}
    quota_cases = (case for factory in distinct_factories(cluster) for case in _quota_cases(factory))
    filled = {case.request.partition(" and ")[0].rpartition(" ")[2] for case in quota_cases}
    return sorted(devices - filled)


def _fill_quota_action(lock: Lock, pods: list[Object]) -> Callable[[RehearsalContext], Outcome]:
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


def _gated_pod(factory: WorkloadFactory, pool: Pool, resource: str, number: int, amount: int) -> Object:
    name = f"{resource.rpartition('/')[2].replace('.', '-')}-{number}"
    """Returns a pod that no controller starts. Kueue's gate is the only gate that counts a pod of a queue."""
    pod = factory.pod(name, pool, {resource: amount})
    pod["spec"]["schedulingGates"] = [dict(KUEUE_GATE if pool.counted == "kueue" else GATE)]
    return pod


def _taint_cases(factory: WorkloadFactory) -> Iterator[Case]:
    """Yields test cases in which a pod requests a GPU without a toleration, and gets no node."""
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
            refusal_action(pod, pool, creator(factory, pod)),
            pool=pool.name,
            request="no toleration",
            batch="boundaries: nodes",
        )


def refusal_action(pod: Object, pool: Pool, user: str) -> Callable[[RehearsalContext], Outcome]:
    """Returns an action that creates a pod as a user, and waits until the scheduler or Karpenter refuses the pod."""

    def action(context: RehearsalContext) -> Outcome:
        created = with_user(context.client, user).create(pod)
        message = ""

        def is_refused() -> bool:
            nonlocal message
            message = _scheduling_refusal(context, created, pool)
            return bool(message)

        try:
            description = f"scheduling decision about Pod {pod['metadata']['name']}"
            context.until(description, is_refused, context.timeouts.node_s)
            return Outcome("pending", by="scheduler" if pool.is_static else "Karpenter", message=message)
        finally:
            _delete(context.client, [created])

    return action


def _scheduling_refusal(context: RehearsalContext, created: Object, pool: Pool) -> str:
    """Returns the scheduler's message for a static pool, else Karpenter's message; empty before the decision."""
    if pool.is_static:
        metadata = created["metadata"]
        pod = context.client.get("v1", "Pod", metadata["name"], metadata["namespace"])
        return str(condition(pod, "PodScheduled").get("message", ""))
    messages = (message for _, message in context.events_of(created) if message.startswith(KARPENTER_MESSAGE))
    return next(messages, "")


def _queue_cases(factory: WorkloadFactory) -> Iterator[Case]:
    """Yields test cases in which the queue of a Job does not exist in the namespace, so Kueue does not admit the Job.

    The policy queue-required refuses such a Job at stage deny, so there are no test cases at this stage. With its pod
    integration, Kueue ignores a Job without a queue.
    """
    if factory.cluster.policy_stage("queue-required") == "deny":
        return
    without_queue = [] if POD_FRAMEWORKS & set(factory.cluster.frameworks) else [""]
    for queue in (*without_queue, *factory.other_queues[:1]):
        suffix = f"in queue {queue} of another tenant" if queue else "without a queue"
        name = f"{factory.namespace.name} Job {suffix}"
        expected = Outcome("pending", by="Kueue", message=f"LocalQueue {queue} doesn't exist")
        job = factory.job(factory.pod("stray"), queue)
        job["metadata"]["name"] += f"-{queue or 'none'}"
        del job["spec"]["suspend"]
        yield Case(
            SUITE,
            name,
            factory.tenant.path,
            expected,
            _submit_job_action(job),
            queue=queue,
            request=name,
            batch="boundaries: nodes",
        )


def _submit_job_action(job: Object) -> Callable[[RehearsalContext], Outcome]:
    def action(context: RehearsalContext) -> Outcome:
        created = context.client.create(job)
        quota_reserved: Object = {}

        def is_decided() -> bool:
            nonlocal quota_reserved
            quota_reserved = condition(context.workload_of(created) or {}, "QuotaReserved")
            return bool(quota_reserved)

        try:
            context.until(
                f"Kueue's decision about Job {job['metadata']['name']}", is_decided, context.timeouts.admission_s
            )
        finally:
            _delete(context.client, [created])
        verdict: Literal["admitted", "pending"] = "admitted" if quota_reserved["status"] == "True" else "pending"
        return Outcome(verdict, by="Kueue", message=quota_reserved["message"])

    return action


def _delete(client: Client, documents: list[Object]) -> None:
    for document in documents:
        metadata = document["metadata"]
        client.delete(document["apiVersion"], document["kind"], metadata["name"], metadata["namespace"])
