"""Test cases for requests for GPUs that neither Kueue nor a ResourceQuota would count."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.kueue import POD_FRAMEWORKS, QUEUE_LABEL
from gpuc.model import Pool
from gpuc.pipeline.stages import CompiledSpec
from gpuc.rehearse.classify_response import NO_OBJECTION, classify_response
from gpuc.rehearse.client import Client, Object
from gpuc.rehearse.context import RehearsalContext
from gpuc.rehearse.outcome import Outcome, Request
from gpuc.rehearse.sample_namespaces import SampleNamespaces
from gpuc.rehearse.sample_workloads import WorkloadFactory, distinct_factories
from gpuc.rehearse.suites import Case
from gpuc.rehearse.suites.jobs import NO_CONTROLLER
from gpuc.rehearse.suites.observe import kueue_decision
from gpuc.rehearse.suites.policies import emitted_name, origin
from gpuc.rehearse.users import KUEUE_GATE, job_controller, kueue_controller, with_user

SUITE = "counted"
GPU_QUOTA, QUEUE_REQUIRED, OWNED = "gpu-quota", "queue-required", "owned-workloads"
MANAGED_LABEL = "kueue.x-k8s.io/managed"
POD_SET_LABEL = "kueue.x-k8s.io/podset"
"""The label that Kueue adds to a pod in the request that removes its gate, when it admits the workload.

Source: kueue v0.19.2 pkg/controller/jobframework/reconciler.go getPodSetsInfoFromStatus,
pkg/controller/jobs/pod/pod_controller.go prepare
"""
JOB_LABEL = "batch.kubernetes.io/job-name"
JOBSET, JOBSET_API = "jobset.x-k8s.io/jobset", "jobset.x-k8s.io/v1alpha2"

Action = Callable[[RehearsalContext], Outcome]


def cases(spec: CompiledSpec) -> Iterator[Case]:
    """Yields test cases for the namespaces that differ in pools, if the policies are emitted."""
    cluster = spec.cluster
    emitted = SampleNamespaces(cluster).emitted
    for factory in distinct_factories(cluster):
        if GPU_QUOTA in emitted:
            yield from _pod_cases(factory)
            yield from _gate_cases(factory)
            yield from _forged_pod_cases(factory)
        if QUEUE_REQUIRED in emitted:
            yield from _forged_job_cases(factory)
            yield from _enlarged_job_cases(factory)


def _pod_cases(factory: WorkloadFactory) -> Iterator[Case]:
    """Yields pods with a GPU that nothing counts: a Kueue-counted pool, no pool, or a pool without a quota."""
    expected = _decision(factory, GPU_QUOTA)
    for pool in factory.queued_pools:
        if pool.is_gpu:
            yield _pod_case(factory, pool, expected, f"pod with a GPU of pool {pool.name}, which Kueue counts")
    for pool in (quota.pool for quota in factory.namespace.quotas):
        pod = _pod(factory, pool)
        del pod["spec"]["nodeSelector"]
        yield _case(factory, GPU_QUOTA, f"pod with a GPU of {pool.name} that selects no pool", _create(pod), expected)
    for pool in factory.tenant.pools:
        if pool.is_gpu and pool.counted == "quota" and pool not in factory.pools:
            # The ResourceQuota refuses the pod too, but the API server evaluates policies first.
            by_quota = Outcome("refused", by="quota") if expected.verdict == "admitted" else expected
            yield _pod_case(factory, pool, by_quota, f"pod with a GPU of pool {pool.name}, without quota")


def _pod_case(factory: WorkloadFactory, pool: Pool, expected: Outcome, name: str) -> Case:
    return _case(factory, GPU_QUOTA, name, _create(_pod(factory, pool)), expected, pool)


def _gate_cases(factory: WorkloadFactory) -> Iterator[Case]:
    """Yields attempts to remove Kueue's scheduling gate: only Kueue may remove it, when it admits the workload."""
    pool = _first_queued_pool(factory)
    if pool is None:
        return
    kueue = kueue_controller(factory.cluster)
    labels = {POD_SET_LABEL: "main"}
    for user, by, added, expected in (
        ("", "a user", labels, _decision(factory, GPU_QUOTA)),
        (job_controller(), "the Job controller", labels, _decision(factory, GPU_QUOTA)),
        (kueue, "Kueue without an admission", {}, _decision(factory, GPU_QUOTA)),
        (kueue, "Kueue", labels, Outcome("admitted", message=NO_OBJECTION)),
    ):
        pod = _pod(factory, pool, f"gated-{'-'.join(by.lower().split())}")
        pod["spec"]["schedulingGates"] = [dict(KUEUE_GATE)]
        name = f"Kueue's scheduling gate removed by {by}"
        yield _case(factory, GPU_QUOTA, name, _remove_gate(pod, user, added), expected, pool)


def _forged_pod_cases(factory: WorkloadFactory) -> Iterator[Case]:
    """Yields pods that claim to belong to an admitted Job, with the labels of Kueue and of the Job controller."""
    pool = _first_queued_pool(factory)
    if pool is None:
        return
    queue = _queue_of(factory, pool)

    def forged(owner: Object) -> Object:
        pod = _owned(_pod(factory, pool, "forged"), owner)
        pod["metadata"]["labels"] = {
            JOB_LABEL: owner["metadata"]["name"],
            QUEUE_LABEL: queue,
            MANAGED_LABEL: "true",
        }
        return pod

    name = "pod with a forged owner reference and Kueue's labels"
    action = _forge(_admitted_job(factory, queue, "owner-of-pod"), forged)
    expected = _forgery(factory, GPU_QUOTA)
    yield _job_case(factory, GPU_QUOTA, name, action, expected, pool)


def _forged_job_cases(factory: WorkloadFactory) -> Iterator[Case]:
    """Yields Jobs without a queue that claim to belong to an admitted Job or JobSet."""
    pool = _first_queued_pool(factory)
    if pool is None:
        return
    queue = _queue_of(factory, pool)
    owners = {"Job": _admitted_job(factory, queue, "owner-of-job")}
    if JOBSET in factory.cluster.frameworks:
        owners["JobSet"] = _admitted_job_set(factory, queue)
    expected = _forgery(factory, QUEUE_REQUIRED)
    for kind, owner in owners.items():
        name = f"Job with a forged owner reference to an admitted {kind}"
        yield _job_case(factory, QUEUE_REQUIRED, name, _forge(owner, _forged_job(factory, pool)), expected, pool)


def _enlarged_job_cases(factory: WorkloadFactory) -> Iterator[Case]:
    """Yields attempts to raise the parallelism of an admitted Job: refused while it runs, allowed if it is suspended.

    Kueue suspends a Job that does not match its Workload, but only after the Job controller has created more pods.
    """
    pool = _first_queued_pool(factory)
    if pool is None:
        return
    queue = _queue_of(factory, pool)
    for name, changes, expected in (
        ("parallelism raised in a running Job", {}, _decision(factory, QUEUE_REQUIRED)),
        ("parallelism raised while suspending a Job", {"suspend": True}, Outcome("admitted")),
    ):
        job = _admitted_job(factory, queue, "-".join(name.lower().split()))
        job["spec"] |= {"completionMode": "Indexed", "completions": 1, "parallelism": 1}
        action = _change_running(job, {"spec": {"parallelism": 2, "completions": 2, **changes}})
        yield _job_case(factory, QUEUE_REQUIRED, name, action, expected, pool, pods=2)


def _forged_job(factory: WorkloadFactory, pool: Pool) -> Callable[[Object], Object]:
    return lambda owner: _owned(factory.job(_pod(factory, pool, "forged"), ""), owner)


def _forgery(factory: WorkloadFactory, policy: str) -> Outcome:
    """Returns the outcome of an object with a forged owner, which a policy and owned-workloads forbid."""
    if OWNED in SampleNamespaces(factory.cluster).emitted and factory.cluster.policy_stage(OWNED) == "deny":
        return Outcome("refused", by="policy")
    return _decision(factory, policy)


def _decision(factory: WorkloadFactory, policy: str) -> Outcome:
    """Returns the outcome of a request that a policy forbids.

    With Kueue's pod integration, the policy queue-required refuses some of the pods too, and the API server reports
    one refusal at random.
    """
    integrated = POD_FRAMEWORKS & set(factory.cluster.frameworks)
    message = "" if integrated else emitted_name(factory, policy)
    stage = factory.cluster.policy_stage(policy)
    if stage == "deny":
        return Outcome("refused", by="policy", message=message)
    return Outcome("admitted", by="policy", message=message) if stage == "warn" else Outcome("admitted")


def _case(
    factory: WorkloadFactory, policy: str, name: str, action: Action, expected: Outcome, pool: Pool | None = None
) -> Case:
    path: Path = origin(factory.cluster, policy)
    title = f"{factory.namespace.name} {name}"
    return Case(SUITE, title, path, expected, action, pool=pool.name if pool else "", request=title)


def _job_case(
    factory: WorkloadFactory, policy: str, name: str, action: Action, expected: Outcome, pool: Pool, pods: int = 1
) -> Case:
    """Returns a test case with a Job that Kueue has to admit first: the Job needs quota of the pool for its pods."""
    demand = Request({pool.gpu_resource_names[0]: 1}, pods, pool.name)
    return replace(_case(factory, policy, name, action, expected, pool), queue=_queue_of(factory, pool), demand=demand)


def _pod(factory: WorkloadFactory, pool: Pool, name: str = "uncounted") -> Object:
    return factory.pod(f"{name}-{pool.name}", pool, {pool.gpu_resource_names[0]: 1})


def _first_queued_pool(factory: WorkloadFactory) -> Pool | None:
    return next((pool for pool in factory.queued_pools if pool.is_gpu), None)


def _queue_of(factory: WorkloadFactory, pool: Pool) -> str:
    """Returns the first LocalQueue of the namespace that has quota on a pool."""
    cluster_queues = (part for queue in factory.namespace.queues for part in queue.cluster_queues)
    return next(part.name for part in cluster_queues if pool in part.pools)


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
    reference = {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": True,
    }
    document["metadata"]["ownerReferences"] = [reference]
    return document


def _create(document: Object) -> Action:
    return lambda context: _created(context.client, document)


def _created(client: Client, document: Object) -> Outcome:
    return classify_response(client, lambda: client.create(document, dry_run=True))


def _forge(owner: Object, forged: Callable[[Object], Object]) -> Action:
    """Returns an action that waits until Kueue admits the owner, and then creates the forged object."""

    def action(context: RehearsalContext) -> Outcome:
        created = context.client.create(owner)
        decision = kueue_decision(context, created)
        if decision.verdict != "admitted":
            return Outcome("unanswered", message=f"Kueue must admit the owner: {decision.message}")
        return _created(context.client, forged(created))

    return action


def _change_running(job: Object, patch: Object) -> Action:
    """Returns an action that waits until Kueue has admitted and resumed a Job, and then changes the Job."""

    def action(context: RehearsalContext) -> Outcome:
        client = context.client
        created = client.create(job)
        api, kind, metadata = created["apiVersion"], created["kind"], created["metadata"]
        decision = kueue_decision(context, created)
        if decision.verdict != "admitted":
            return Outcome("unanswered", message=f"Kueue must admit Job {metadata['name']}: {decision.message}")

        def is_resumed() -> bool:
            current = client.get(api, kind, metadata["name"], metadata["namespace"])
            return current["spec"].get("suspend") is False

        context.until(f"Kueue resumes Job {metadata['name']}", is_resumed, context.timeouts.admission_s)
        return classify_response(
            client, lambda: client.patch(api, kind, metadata["name"], patch, metadata["namespace"], dry_run=True)
        )

    return action


def _remove_gate(pod: Object, user: str, labels: dict[str, str]) -> Action:
    """Returns an action that removes all gates of a gated pod, and adds labels, as a user."""

    def action(context: RehearsalContext) -> Outcome:
        metadata = with_user(context.client, job_controller()).create(pod)["metadata"]
        client = with_user(context.client, user)
        patch = {"metadata": {"labels": labels}, "spec": {"schedulingGates": None}}
        return classify_response(
            client, lambda: client.patch("v1", "Pod", metadata["name"], patch, metadata["namespace"], dry_run=True)
        )

    return action
