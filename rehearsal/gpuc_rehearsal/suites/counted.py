"""Test cases in which a tenant tries to use nodes without being counted by Kueue or by a ResourceQuota."""

from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import partial

from gpuc.emit.policy_facts import kueue_user
from gpuc.kubernetes.controllers import JOB_CONTROLLER, JOBSET, user
from gpuc.kubernetes.kueue import GATE, MANAGED_LABEL, PODSET_LABEL, QUEUE_LABEL
from gpuc.model import Pool
from gpuc.parts.workload_kinds import pod_frameworks
from gpuc.pipeline.stages import CompiledSpec
from gpuc_rehearsal.client import Client, Object, address_of
from gpuc_rehearsal.context import RehearsalContext
from gpuc_rehearsal.examples import GATE as OWN_GATE
from gpuc_rehearsal.outcome import Outcome, Request
from gpuc_rehearsal.sample_namespaces import SampleNamespaces
from gpuc_rehearsal.sample_workloads import WorkloadFactory, distinct_factories
from gpuc_rehearsal.suites import Action, Case, creation, sending
from gpuc_rehearsal.suites.jobs import NO_CONTROLLER, kueue_decision
from gpuc_rehearsal.suites.policies import ADMITTED, emitted_name, origin, policy_outcome
from gpuc_rehearsal.suites.serving import replicated

SUITE = "counted"
GPU_QUOTA, QUEUE_REQUIRED, OWNED = "gpu-quota", "queue-required", "owned-workloads"
CREATORS = {
    "Pod": "", "Deployment": "kube-system/replicaset-controller", "StatefulSet": "kube-system/statefulset-controller",
    "DaemonSet": "kube-system/daemon-set-controller", "Job": JOB_CONTROLLER,
}  # fmt: skip
"""The ServiceAccount that creates the pods of each kind; empty for the members of the tenant."""
JOB_LABEL = "batch.kubernetes.io/job-name"
JOBSET_API = "jobset.x-k8s.io/v1alpha2"


def cases(spec: CompiledSpec) -> Iterator[Case]:
    """Yields test cases for policies, in one namespace of each tenant and of each combination of queues and quotas."""
    emitted = SampleNamespaces(spec.cluster).emitted
    for factory in distinct_factories(spec.cluster):
        pool = next((pool for pool in factory.queued_pools if pool.is_gpu), None)
        if GPU_QUOTA in emitted:
            yield from _pod_cases(factory)
        if GPU_QUOTA in emitted and QUEUE_REQUIRED in emitted:
            yield from _general_cases(factory)
        if GPU_QUOTA in emitted and pool is not None:
            yield from _gate_cases(factory, pool)
            yield _forged_pod_case(factory, pool)
        if QUEUE_REQUIRED in emitted and pool is not None:
            yield from _forged_job_cases(factory, pool)
            yield from _enlarged_job_cases(factory, pool)


def _pod_cases(factory: WorkloadFactory) -> Iterator[Case]:
    """Yields pods with a GPU that no quota counts: with a pool of Kueue, no pool, or a pool without quota."""
    expected = _decision(factory, GPU_QUOTA)
    for pool in factory.queued_pools:
        if pool.is_gpu:
            name = f"pod with a GPU of pool {pool.name}, which Kueue counts"
            yield _case(factory, GPU_QUOTA, name, creation(_pod(factory, pool)), expected, pool)
    for pool in (quota.pool for quota in factory.namespace.quotas if quota.pool.is_gpu):
        pod = _pod(factory, pool)
        del pod["spec"]["nodeSelector"]
        name = f"pod with a GPU of {pool.name} that selects no pool"
        yield _case(factory, GPU_QUOTA, name, creation(pod), expected, None)
    for pool in factory.tenant.pools:
        if pool.is_gpu and pool.counted == "quota" and pool not in factory.pools:
            # The ResourceQuota refuses the pod too, but the API server evaluates policies first.
            by_quota = Outcome("refused", by="quota") if expected.verdict == "admitted" else expected
            name = f"pod with a GPU of pool {pool.name}, without quota"
            yield _case(factory, GPU_QUOTA, name, creation(_pod(factory, pool)), by_quota, pool)


def _general_cases(factory: WorkloadFactory) -> Iterator[Case]:
    """Yields workloads of five kinds on pools without GPUs, as a member and the controllers of the kinds create them.

    Their pods need a queue if Kueue counts the pool, else the PriorityClass of the pool. Kueue admits Jobs to no pool
    that a ResourceQuota counts.
    """
    own = [quota.pool for quota in factory.namespace.quotas]
    for pool in factory.tenant.pools:
        if not pool.is_gpu and (pool.counted == "kueue" or pool in own):
            pod = factory.pod(f"general-{pool.name}", pool)
            yield from _kinds(factory, pool, pod, is_counted=bool(pool.priority_class))
            yield _late_toleration(factory, pool)
            if pool.priority_class:
                without, loose = deepcopy(pod), deepcopy(pod)
                del without["spec"]["priorityClassName"], loose["spec"]["nodeSelector"]
                yield from _kinds(factory, pool, without, is_counted=False, suffix=", without its PriorityClass")
                name, expected = f"pod with the PriorityClass of {pool.name} alone", _decision(factory, GPU_QUOTA)
                yield _case(factory, GPU_QUOTA, name, creation(loose), expected, None)


def _kinds(factory: WorkloadFactory, pool: Pool, pod: Object, *, is_counted: bool, suffix: str = "") -> Iterator[Case]:
    """Yields objects of several kinds with equal pods. All requests are dry runs.

    Args:
        is_counted: whether a ResourceQuota counts the pods.
    """
    for kind, sender in CREATORS.items():
        creates, name = f" that the controller of a {kind} creates" if sender else "", f"on pool {pool.name}{suffix}"
        expected = ADMITTED if is_counted or sender == JOB_CONTROLLER else _decision(factory, GPU_QUOTA)
        action = creation(pod, user(sender) if sender else "")
        yield _case(factory, GPU_QUOTA, f"pod {name}{creates}", action, expected, None)
        if kind in ("Deployment", "StatefulSet"):
            expected = ADMITTED if is_counted else _decision(factory, QUEUE_REQUIRED)
            action = creation(replicated(factory, kind, pod, 2))
            yield _case(factory, QUEUE_REQUIRED, f"{kind} without a queue {name}", action, expected, None)
    queues = [part.name for part in factory.namespace.cluster_queues if pool in part.pools]
    for queue in ("", *queues[:1]):
        title = f"Job of a CronJob {f'in queue {queue}' if queue else 'without a queue'} on pool {pool.name}{suffix}"
        expected = ADMITTED if queue else _decision(factory, QUEUE_REQUIRED)
        action = creation(factory.job(pod, queue), user("kube-system/cronjob-controller"))
        yield _case(factory, QUEUE_REQUIRED, title, action, expected, None)


def _late_toleration(factory: WorkloadFactory, pool: Pool) -> Case:
    """Returns a pod to which a member adds the toleration of the pool."""
    pod = factory.pod(f"late-{pool.name}")
    pod["spec"]["schedulingGates"] = [dict(OWN_GATE)]
    added = [taint.toleration() for taint in pool.taints]

    def action(context: RehearsalContext) -> Outcome:
        created = context.client.create(pod)
        patch = {"spec": {"tolerations": [*created["spec"].get("tolerations", ()), *added]}}
        return sending(lambda client: _change(patch, client, created))(context)

    name, expected = f"toleration of pool {pool.name} added to a pod", _decision(factory, GPU_QUOTA)
    return _case(factory, GPU_QUOTA, name, action, expected, None)


def _gate_cases(factory: WorkloadFactory, pool: Pool) -> Iterator[Case]:
    """Yields attempts to remove Kueue's scheduling gate: only Kueue may remove it, when it admits the workload."""
    kueue = kueue_user(factory.cluster)
    labels = {PODSET_LABEL: "main"}
    for sender, by, added, expected in (
        ("", "a user", labels, _decision(factory, GPU_QUOTA)),
        (user(JOB_CONTROLLER), "the Job controller", labels, _decision(factory, GPU_QUOTA)),
        (kueue, "Kueue without an admission", {}, _decision(factory, GPU_QUOTA)),
        (kueue, "Kueue", labels, ADMITTED),
    ):
        pod = _pod(factory, pool, f"gated-{'-'.join(by.lower().split())}")
        pod["spec"]["schedulingGates"] = [{"name": GATE}]
        name = f"Kueue's scheduling gate removed by {by}"
        yield _case(factory, GPU_QUOTA, name, _remove_gate(pod, sender, added), expected, pool)


def _forged_pod_case(factory: WorkloadFactory, pool: Pool) -> Case:
    """Returns a pod that claims to belong to an admitted Job, with the labels of Kueue and of the Job controller."""
    queue = _queue_of(factory, pool)

    def create(client: Client, owner: Object) -> None:
        pod = _owned(_pod(factory, pool, "forged"), owner)
        pod["metadata"]["labels"] = {JOB_LABEL: owner["metadata"]["name"], QUEUE_LABEL: queue, MANAGED_LABEL: "true"}
        client.create(pod, dry_run=True)

    name = "pod with a forged owner reference and Kueue's labels"
    action = _after_admission(_admitted_job(factory, queue, "owner-of-pod"), create)
    return _case(factory, GPU_QUOTA, name, action, _forgery(factory, GPU_QUOTA), pool, pods=1)


def _forged_job_cases(factory: WorkloadFactory, pool: Pool) -> Iterator[Case]:
    """Yields Jobs without a queue that claim to belong to an admitted Job or JobSet."""
    queue = _queue_of(factory, pool)
    owners = {"Job": _admitted_job(factory, queue, "owner-of-job")}
    if JOBSET in factory.cluster.frameworks:
        owners["JobSet"] = _admitted_job_set(factory, queue)

    def create(client: Client, owner: Object) -> None:
        client.create(_owned(factory.job(_pod(factory, pool, "forged"), ""), owner), dry_run=True)

    expected = _forgery(factory, QUEUE_REQUIRED)
    for kind, owner in owners.items():
        name = f"Job with a forged owner reference to an admitted {kind}"
        yield _case(factory, QUEUE_REQUIRED, name, _after_admission(owner, create), expected, pool, pods=1)


def _enlarged_job_cases(factory: WorkloadFactory, pool: Pool) -> Iterator[Case]:
    """Yields attempts to raise the parallelism of an admitted Job: refused while it runs, allowed if it is suspended.

    Kueue suspends a Job that does not match its Workload, but only after the Job controller has created more pods.
    """
    queue = _queue_of(factory, pool)
    for name, changes, expected in (
        ("parallelism raised in a running Job", {}, _decision(factory, QUEUE_REQUIRED)),
        ("parallelism raised while suspending a Job", {"suspend": True}, Outcome("admitted")),
    ):
        job = _admitted_job(factory, queue, "-".join(name.lower().split()))
        job["spec"] |= {"completionMode": "Indexed", "completions": 1, "parallelism": 1}
        patch = {"spec": {"parallelism": 2, "completions": 2, **changes}}
        action = _after_admission(job, partial(_change, patch), is_running=True)
        yield _case(factory, QUEUE_REQUIRED, name, action, expected, pool, pods=2)


def _change(patch: Object, client: Client, job: Object) -> None:
    client.patch_object(job, patch, dry_run=True)


def _forgery(factory: WorkloadFactory, policy: str) -> Outcome:
    """Returns the outcome of an object with a forged owner.

    A policy forbids the object, and so does owned-workloads.
    """
    if OWNED in SampleNamespaces(factory.cluster).emitted and factory.cluster.policy_stage(OWNED) == "deny":
        return Outcome("refused", by="policy")
    return _decision(factory, policy)


def _decision(factory: WorkloadFactory, policy: str) -> Outcome:
    """Returns the outcome of a request that a policy forbids.

    With Kueue's pod integration, the policy queue-required refuses some of the pods too, and the API server reports
    one refusal at random.
    """
    integrated = pod_frameworks() & set(factory.cluster.frameworks)
    message = "" if integrated else emitted_name(factory, policy)
    return policy_outcome(factory.cluster.policy_stage(policy), message)


def _case(
    factory: WorkloadFactory, policy: str, name: str, action: Action, outcome: Outcome, pool: Pool | None, pods: int = 0
) -> Case:
    """Returns a test case.

    If `pods` is set, Kueue must first admit a Job, which needs quota of the pool for these pods.
    """
    title, path = f"{factory.namespace.name} {name}", origin(factory.cluster, policy)
    if pool is None:
        return Case(SUITE, title, path, outcome, action)
    demand = Request({pool.gpu_resource_names[0]: 1}, pods, pool.name) if pods else None
    queue = _queue_of(factory, pool) if pods else ""
    return Case(SUITE, title, path, outcome, action, queue, pool.name, demand=demand)


def _pod(factory: WorkloadFactory, pool: Pool, name: str = "uncounted") -> Object:
    return factory.pod(f"{name}-{pool.name}", pool, {pool.gpu_resource_names[0]: 1})


def _queue_of(factory: WorkloadFactory, pool: Pool) -> str:
    """Returns the first LocalQueue of the namespace that has quota on a pool."""
    return next(part.name for part in factory.namespace.cluster_queues if pool in part.pools)


def _admitted_job(factory: WorkloadFactory, queue: str, name: str) -> Object:
    """Returns a Job that Kueue admits, but for which no controller creates pods."""
    job = factory.queued_job(name, queue)
    del job["spec"]["suspend"]
    job["spec"]["managedBy"] = NO_CONTROLLER
    return job


def _admitted_job_set(factory: WorkloadFactory, queue: str) -> Object:
    job = factory.queued_job("owner-of-jobs", queue)
    del job["spec"]["suspend"]
    replicated = {"name": "workers", "replicas": 1, "template": {"spec": job["spec"]}}
    return {**job, "apiVersion": JOBSET_API, "kind": "JobSet", "spec": {"replicatedJobs": [replicated]}}


def _owned(document: Object, owner: Object) -> Object:
    """Adds a reference to the owner as the controller of a document."""
    reference = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "controller": True}
    reference |= {key: owner["metadata"][key] for key in ("name", "uid")}
    document["metadata"]["ownerReferences"] = [reference]
    return document


def _after_admission(owner: Object, send: Callable[[Client, Object], None], *, is_running: bool = False) -> Action:
    """Returns an action that waits until Kueue admits an object, and then sends a request about the object.

    is_running: whether Kueue must also have resumed the object, which is a Job.
    """

    def action(context: RehearsalContext) -> Outcome:
        created = context.client.create(owner)
        title = f"Job {created['metadata']['name']}" if is_running else "the owner"
        decision = kueue_decision(context, created)
        if decision.verdict != "admitted":
            return Outcome("unanswered", message=f"Kueue must admit {title}: {decision.message}")

        def is_resumed() -> bool:
            return context.client.get(*address_of(created))["spec"].get("suspend") is False

        if is_running:
            context.until(f"Kueue resumes {title}", is_resumed, context.timeouts.admission_s)
        return sending(lambda client: send(client, created))(context)

    return action


def _remove_gate(pod: Object, sender: str, labels: dict[str, str]) -> Action:
    """Returns an action that removes all gates of a gated pod, and adds labels, as a user."""

    def action(context: RehearsalContext) -> Outcome:
        created = context.client.with_user(user(JOB_CONTROLLER)).create(pod)
        patch = {"metadata": {"labels": labels}, "spec": {"schedulingGates": None}}
        return sending(lambda client: _change(patch, client, created), sender)(context)

    return action
