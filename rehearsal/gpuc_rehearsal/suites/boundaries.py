"""Test cases for what limits tenants and auditors: RBAC, ResourceQuotas, LocalQueues and taints."""

from collections.abc import Iterator
from functools import partial
from threading import Lock
from typing import NamedTuple

from gpuc.diagnostics.finding import Path
from gpuc.emit.tenants import SYSTEM_PRIORITY_CLASSES
from gpuc.kubernetes.api_groups import RBAC_API
from gpuc.kubernetes.kueue import GATE as KUEUE_GATE
from gpuc.kubernetes.resource_name import plural
from gpuc.model import Cluster, Pool
from gpuc.model.names import TENANT_KEY
from gpuc.parts.workload_kinds import pod_frameworks
from gpuc.pipeline.stages import CompiledSpec
from gpuc_rehearsal.autoscaler import pool_kind
from gpuc_rehearsal.client import Client, Object, WaitError, address_of, condition, new_object
from gpuc_rehearsal.context import CLUSTER_QUEUE, LOCAL_QUEUE, NODE, POD, RehearsalContext
from gpuc_rehearsal.examples import GATE
from gpuc_rehearsal.outcome import Outcome, classify_response
from gpuc_rehearsal.sample_workloads import WorkloadFactory, creator, distinct_factories, factories, max_per_pod
from gpuc_rehearsal.suites import Case, creation, sending
from gpuc_rehearsal.suites.jobs import decider, scheduling_refusal

SECRET = ("v1", "Secret")
PLATFORM = "kube-system"
SUITE = "boundaries"
FILLED_PODS = 32
"""Maximum number of pods with which a test case fills a quota. Larger quotas are not tested."""


class AccessRequest(NamedTuple):
    """A request to the API server, and whether RBAC must allow it."""

    name: str
    allowed: bool
    """Whether RBAC must allow the request."""
    document: Object
    """The object to create or patch; for the verb list, only the kind and the namespace are used."""
    verb: str = "create"
    """create, patch or list."""

    def send(self, client: Client) -> None:
        """Sends the request; create and patch are dry runs. Raises ApiError if the API server refuses the request."""
        api, kind, _, namespace = address_of(self.document)
        if self.verb == "create":
            client.create(self.document, dry_run=True)
        elif self.verb == "list":
            client.list_all(api, kind, namespace)
        else:
            client.patch_object(self.document, {"metadata": self.document["metadata"]}, dry_run=True)


def member_requests(factory: WorkloadFactory, group: str) -> Iterator[AccessRequest]:
    """Yields requests of a member to the tenant's namespace, and to namespaces of other tenants and the platform.

    Args:
        group: the group of the member.
    """
    role, is_auditor = factory.tenant.role_of(group, factory.namespace), group in factory.cluster.auditors
    can_edit, namespace = role in ("edit", "admin"), factory.namespace.name
    yield _listing(POD, namespace, role is not None or is_auditor)
    yield _listing(SECRET, namespace, can_edit)
    for queue in factory.queues:
        yield AccessRequest(f"a Job in queue {queue}", can_edit, factory.queued_job("member", queue))
    yield AccessRequest("a pod", can_edit, factory.pod("member"))
    for kind, allowed in (("ConfigMap", can_edit), ("ServiceAccount", role == "admin")):
        yield AccessRequest(f"a {kind}", allowed, new_object("v1", kind, "rehearsal-member", namespace))
    for document in _boundary_objects(namespace, group):
        yield AccessRequest(f"a {document['kind']}", False, document)
    yield from _changes(factory)
    others = (tenant for tenant in factory.cluster.tenants if tenant is not factory.tenant)
    for other in (*(namespace.name for tenant in others for namespace in tenant.namespaces[:1]), PLATFORM):
        yield _listing(SECRET, other, False)
        yield _listing(POD, other, is_auditor)
        job = factory.job(factory.pod("guest"), next(iter(factory.queues), ""))
        job["metadata"]["namespace"] = other
        yield AccessRequest(f"a Job in {other}", False, job)


def auditor_requests(cluster: Cluster) -> Iterator[AccessRequest]:
    """Yields requests of an auditor in the namespaces of all tenants, and requests about objects of the platform."""
    for factory in factories(cluster):
        name = factory.namespace.name
        for kind in (POD, ("v1", "ResourceQuota"), (RBAC_API, "RoleBinding")):
            yield _listing(kind, name, True)
        yield _listing(SECRET, name, False)
        yield AccessRequest(f"a pod in {name}", False, factory.pod("auditor"))
    yield _listing(POD, PLATFORM, True)
    yield _listing(SECRET, PLATFORM, False)
    for kind in (NODE, pool_kind(cluster), *([CLUSTER_QUEUE] if cluster.queues else [])):
        yield _listing(kind, "", True)
    yield _labelling(*pool_kind(cluster), cluster.pools[0].name)


def _listing(kind: tuple[str, str], namespace: str, allowed: bool) -> AccessRequest:
    resource = _resource(*kind)
    name = f"{resource} of {namespace}" if namespace else f"all {resource}"
    return AccessRequest(name, allowed, new_object(*kind, "", namespace), "list")


def _resource(api: str, kind: str) -> str:
    """Returns the plural name of a kind, for example pods, which messages of the API server contain."""
    return plural(api.rpartition("/")[0], kind)


def _labelling(api: str, kind: str, name: str, namespace: str = "", title: str = "") -> AccessRequest:
    """Returns a change of the tenant's label of an object, which RBAC must not allow."""
    document = new_object(api, kind, name, namespace, metadata={"labels": {TENANT_KEY: "another"}})
    return AccessRequest(title or f"labels of {kind} {name}", False, document, "patch")


def _boundary_objects(namespace: str, member: str) -> Iterator[Object]:
    """Yields objects of the kinds that limit a tenant. RBAC must not allow a member to create them."""
    group = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": member}
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}
    for api, kind, body in (
        (*LOCAL_QUEUE, {"spec": {"clusterQueue": "any"}}),
        ("v1", "ResourceQuota", {"spec": {"hard": {"pods": "1k"}}}),
        ("v1", "LimitRange", {"spec": {"limits": [{"type": "Pod"}]}}),
        ("networking.k8s.io/v1", "NetworkPolicy", {"spec": {"podSelector": {}}}),
        (RBAC_API, "Role", {"rules": []}),
        (RBAC_API, "RoleBinding", {"roleRef": reference, "subjects": [group]}),
    ):
        yield new_object(api, kind, "rehearsal-member", namespace, **body)


def _changes(factory: WorkloadFactory) -> Iterator[AccessRequest]:
    """Yields changes of objects that limit a tenant. RBAC must not allow a member to make the changes."""
    namespace = factory.namespace.name
    yield _labelling("v1", "Namespace", namespace, title=f"label of another tenant on namespace {namespace}")
    yield _labelling("v1", "ResourceQuota", "gpuc", namespace)
    for queue in tuple(factory.queues)[:1]:
        yield _labelling(*CLUSTER_QUEUE, queue)
    for pool in factory.tenant.pools[:1]:
        yield _labelling(*pool_kind(factory.cluster), pool.name)


def cases(spec: CompiledSpec) -> Iterator[Case]:
    """Yields test cases for RBAC in all tenant namespaces, and for quotas, priorities, taints and queues."""
    for factory in factories(spec.cluster):
        for role, groups in factory.tenant.groups_by_role(factory.namespace).items():
            yield from _member_cases(factory, role or "no role", groups[0])
    yield from _auditor_cases(spec.cluster)
    for factory in distinct_factories(spec.cluster):
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
    message = f'cannot {request.verb} resource "{_resource(*address_of(request.document)[:2])}"'
    expected = Outcome("admitted") if request.allowed else Outcome("refused", by="API server", message=message)
    name = f"{subject}: {request.verb} {request.name}"
    return Case(SUITE, name, path, expected, sending(request.send, user, group), batch="boundaries: members")


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
            amounts = [*[per_pod] * (quota // per_pod), *filter(None, [quota % per_pod]), 1]
            pods = [_gated_pod(factory, pool, resource, number, amount) for number, amount in enumerate(amounts)]
            action, path = partial(_fill_quota, lock=lock, pods=pods), factory.tenant.path
            yield Case(SUITE, title, path, expected, action, pool=pool.name, batch="boundaries: quota")


def _priority_cases(factory: WorkloadFactory) -> Iterator[Case]:
    """Yields test cases in which a pod has the priority of system components.

    A ResourceQuota refuses the pod, unless the policy priority-classes refuses it before.
    """
    expected = Outcome("refused", by="quota", message="exceeded quota: gpuc-system-priority")
    if factory.cluster.policy_stage("priority-classes") == "deny":
        expected = Outcome("refused", by="policy", message="is for system components")
    for name in SYSTEM_PRIORITY_CLASSES:
        pod = factory.default_pod(name)
        pod["spec"]["priorityClassName"] = name
        title, action = f"{factory.namespace.name} pod with PriorityClass {name}", creation(pod, creator(factory, pod))
        yield Case(SUITE, title, factory.tenant.path, expected, action, batch="boundaries: quota")


def unfilled_quotas(cluster: Cluster) -> list[str]:
    """Returns the devices, for example "nvidia.com/gpu", whose quota no test case fills: it is missing or too large."""
    devices = {name for pool in cluster.gpu_pools for name in pool.gpu_resource_names}
    quota_cases = (case for factory in distinct_factories(cluster) for case in _quota_cases(factory))
    filled = {case.request.partition(" and ")[0].rpartition(" ")[2] for case in quota_cases}
    return sorted(devices - filled)


def _fill_quota(context: RehearsalContext, lock: Lock, pods: list[Object]) -> Outcome:
    """Creates pods that fill a quota, and returns the outcome of the last pod, which is one too many.

    If the last pod is admitted, the outcome is final only after a while: after pods were deleted, the controller of
    ResourceQuotas counts the pods again, and may write a number without the newest pods.
    """
    *filling, last = pods

    def refusal_of(pod: Object) -> Outcome | None:
        outcome = classify_response(context.client, partial(context.client.create, pod))
        return outcome if outcome.verdict == "refused" else None

    def refused_pod() -> Outcome | None:
        outcome = refusal_of(last)
        if outcome is None:
            context.client.delete_object(last)
        return outcome

    with lock:
        try:
            early = next(filter(None, map(refusal_of, filling)), None)
            return early or context.until("refusal of one more pod", refused_pod, context.timeouts.retry_s)
        except WaitError:
            return Outcome("admitted")
        finally:
            for pod in filling:
                context.client.delete_object(pod)


def _gated_pod(factory: WorkloadFactory, pool: Pool, resource: str, number: int, amount: int) -> Object:
    """Returns a pod that no controller starts. For a pod of a queue, only Kueue's scheduling gate counts as a gate."""
    name = f"{resource.rpartition('/')[2].replace('.', '-')}-{number}"
    pod = factory.pod(name, pool, {resource: amount})
    pod["spec"]["schedulingGates"] = [{"name": KUEUE_GATE} if pool.counted == "kueue" else dict(GATE)]
    return pod


def _taint_cases(factory: WorkloadFactory) -> Iterator[Case]:
    """Yields test cases in which a pod requests a GPU without a toleration, and gets no node."""
    for pool in factory.gpu_pools:
        name = f"{factory.namespace.name} pod without a toleration on {pool.name}"
        pod = factory.pod(f"bare-{pool.name}", pool, {pool.gpu_resource_names[0]: 1})
        del pod["spec"]["tolerations"]
        expected = pending(factory.cluster, pool, "did not tolerate taint", static="untolerated taint")
        action, path = partial(refusal, pod=pod, pool=pool, user=creator(factory, pod)), (*pool.path, "sharing")
        yield Case(SUITE, name, path, expected, action, "", pool.name, "no toleration", "boundaries: nodes")


def pending(cluster: Cluster, pool: Pool, message: str, static: str = "") -> Outcome:
    """Returns the expected outcome of a pod without a node. The message for a static pool is `static`."""
    return Outcome("pending", by=decider(cluster, pool.is_static), message=static if pool.is_static else message)


def refusal(context: RehearsalContext, pod: Object, pool: Pool, user: str = "") -> Outcome:
    """Creates a pod as a user, waits for the message that the pod fits on no node, and returns the outcome."""
    created = context.client.with_user(user).create(pod)

    def message() -> str:
        return scheduling_refusal(context, context.client.get(*address_of(pod)), pool.is_static)

    try:
        description = f"scheduling decision about Pod {pod['metadata']['name']}"
        found = context.until(description, message, context.timeouts.node_s)
        return pending(context.cluster, pool, found, static=found)
    finally:
        context.client.delete_object(created)


def _queue_cases(factory: WorkloadFactory) -> Iterator[Case]:
    """Yields test cases in which the queue of a Job does not exist in the namespace, so Kueue does not admit the Job.

    The policy queue-required refuses such a Job at stage deny, so there are no test cases at this stage. With its pod
    integration, Kueue ignores a Job without a queue.
    """
    if factory.cluster.policy_stage("queue-required") == "deny":
        return
    without_queue = [] if pod_frameworks() & set(factory.cluster.frameworks) else [""]
    for queue in (*without_queue, *factory.other_queues[:1]):
        suffix = f"in queue {queue} of another tenant" if queue else "without a queue"
        name, path = f"{factory.namespace.name} Job {suffix}", factory.tenant.path
        expected = Outcome("pending", by="Kueue", message=f"LocalQueue {queue} doesn't exist")
        job = factory.job(factory.pod("stray"), queue)
        job["metadata"]["name"] += f"-{queue or 'none'}"
        del job["spec"]["suspend"]
        yield Case(SUITE, name, path, expected, partial(_submit_job, job=job), queue, batch="boundaries: nodes")


def _submit_job(context: RehearsalContext, job: Object) -> Outcome:
    created = context.client.create(job)

    def decision() -> Object:
        return condition(context.workload_of(created) or {}, "QuotaReserved")

    try:
        description = f"Kueue's decision about Job {job['metadata']['name']}"
        reserved = context.until(description, decision, context.timeouts.admission_s)
    finally:
        context.client.delete_object(created)
    is_reserved = reserved["status"] == "True"
    return Outcome("admitted" if is_reserved else "pending", by="Kueue", message=reserved["message"])
