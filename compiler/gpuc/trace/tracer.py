"""Traces a workload through admission, Kueue, the scheduler and Karpenter, without a running cluster.

The trace assumes that no other workload uses quota or nodes. So if a workload fails in a trace, it also fails in the
cluster. A caller can instead give the quota that other workloads use.
"""

from functools import partial

from msgspec.structs import replace

from gpuc.cluster.flavors import ResourceFlavor
from gpuc.cluster.queue import GROUPS, cluster_queue
from gpuc.diagnostics.place import place
from gpuc.kubernetes.cron import never_fires
from gpuc.kubernetes.kueue import QUEUE_LABEL
from gpuc.kubernetes.quota import NOTHING, Key, Usage
from gpuc.objects.object_set import ObjectSet, dig, items
from gpuc.objects.pod_resources import pod_requests
from gpuc.trace import advice, kueue_steps
from gpuc.trace.admission_steps import limit_steps, object_steps, pod_steps
from gpuc.trace.cluster_index import ClusterIndex
from gpuc.trace.flavors import admit, choose
from gpuc.trace.gangs import gang_steps
from gpuc.trace.kueue_scope import counting_quota, how_to_manage, is_perhaps_suspended, why_gated, why_unmanaged
from gpuc.trace.node_steps import topology_steps, workload_node_steps
from gpuc.trace.nodes import PodDemand, pod_demand
from gpuc.trace.steps import NO_KUEUE, Placement, Stage, Step, Steps, TraceResult
from gpuc.trace.workload import PodSet, Workload, created_pods, queued_pods

_DEADLINE = "activeDeadlineSeconds"
_MAX_COPIES = 10_000
"""The maximum number of replicas for which the trace checks the quota."""


def trace_workload(
    cluster: ClusterIndex,
    workload: Workload,
    *,
    admission: bool = True,
    creation: bool = True,
    usage: Usage = NOTHING,
) -> TraceResult:
    """Returns the result of all checks of a workload, from its creation to its nodes, up to the first that fails.

    Args:
        admission: whether to check the creation of the object, its jobs and its pods, and the quota of all replicas of
            the object. Otherwise only LimitRanges and ResourceQuotas are checked.
        creation: whether `admission` includes the creation; False if the caller knows that it succeeds.
        usage: the quota that other workloads use, by the nodes of `cluster.quotas`.
    """
    created = created_pods(cluster.objects, workload)
    result = TraceResult(requests={pods.name: pod_requests(pods.pod) for pods in created})
    own = {pods.name: place(pods.job_field) for pods in created if pods.job_field and not pods.path}
    for step in _steps(cluster, workload, created, admission, admission and creation, usage, result):
        where = f"set {own[step.pods]}, the template of this pod, and there: " if step.fix and step.pods in own else ""
        result.steps.append(step._replace(fix=where + step.fix))
        if step.failed and not step.has_next:
            break
    whole = tuple(replace(pods, count=pods.count + pods.more, more=0) for pods in workload.pod_sets if pods.more)
    if whole and result.failure is None:
        work = workload._replace(pod_sets=whole)
        found = trace_workload(cluster, work, admission=admission, creation=creation, usage=usage)
        first = [found.failure] if found.failure else found.unknown[:1]
        for step in (step for step in first if step.stage not in (Stage.FLAVOR, Stage.QUOTA, Stage.TOPOLOGY)):
            message = f"if the quota is enough for {whole[0].count} pods: {step.message}"
            result.steps.append(step._replace(verdict="unknown", message=message))
    return result


def _steps(
    cluster: ClusterIndex,
    workload: Workload,
    created: list[PodSet],
    admission: bool,
    creation: bool,
    usage: Usage,
    result: TraceResult,
) -> Steps:
    """Yields all steps in the order of the cluster. The caller stops at the first failed step."""
    if workload.rejected:
        yield workload.rejected
    yield from problem_steps(workload, is_refused=True)
    if creation:
        yield from object_steps(cluster, workload)
    yield from problem_steps(workload, is_refused=False)
    if workload.autoscaler:
        yield Step(Stage.REPLICAS, "passed", workload.autoscaler)
    gated, fix = why_gated(cluster, workload)
    if gated:
        yield Step(Stage.LOCAL_QUEUE, "failed", gated, fix=fix)
    result.bypass = why_unmanaged(cluster, workload)
    yield from stopped_steps(cluster.objects, workload, is_queued=not result.bypass)
    flavors_of: dict[str, list[ResourceFlavor]] = {}
    if result.bypass:
        yield from _bypass_steps(cluster, workload, created, result)
    else:
        yield from _kueue_steps(cluster, workload, usage, flavors_of, result)
    if creation:
        for pods in workload.pod_sets:
            yield from pod_steps(cluster, workload, pods, flavors_of.get(pods.name, []))
    yield from limit_steps(cluster, workload)
    if admission and workload.copies > 1 and not result.bypass:
        yield from _copies(cluster, workload, created, usage, result)
    demands = [_demand(pods, flavors_of.get(pods.name, [])) for pods in created]
    sets = list(zip(workload.pod_sets, demands, strict=True))
    yield from workload_node_steps(cluster, workload, sets, result, workload.copies if admission else 1)
    yield from gang_steps(cluster, workload, result)


def _demand(pods: PodSet, flavors: list[ResourceFlavor]) -> PodDemand:
    return pod_demand(pods.pod, pods.count, pod_requests(pods.pod), flavors)


def _bypass_steps(cluster: ClusterIndex, workload: Workload, created: list[PodSet], result: TraceResult) -> Steps:
    """Yields the steps of a workload outside of Kueue, and adds the ResourceQuota that counts it."""
    if is_perhaps_suspended(cluster, workload):
        message = f"{result.bypass}; if Kueue's webhook selects the namespace, the workload stays suspended"
        yield Step(Stage.LOCAL_QUEUE, "unknown", message, fix=f"remove the label {QUEUE_LABEL}")
    demands = [_demand(pods, []) for pods in created]
    result.counted_by, quota = counting_quota(cluster, workload, demands)
    if result.counted_by or result.bypass == NO_KUEUE:
        yield Step(Stage.LOCAL_QUEUE, "bypassed", f"{result.bypass}; the pods go directly to the scheduler")
        if result.counted_by:
            yield Step(Stage.NAMESPACE, "passed", f"counted by {result.counted_by}", quota, ("spec", "hard"))
        return
    message = f"{result.bypass}; the pods go to the scheduler without the node labels and tolerations of a flavor"
    yield Step(Stage.LOCAL_QUEUE, "bypassed", message, fix=how_to_manage(cluster, result.bypass, workload))


def _kueue_steps(
    cluster: ClusterIndex,
    workload: Workload,
    usage: Usage,
    flavors_of: dict[str, list[ResourceFlavor]],
    result: TraceResult,
) -> Steps:
    """Yields the steps of the admission by Kueue, and adds the placements and the flavors of the pod sets."""
    local = kueue_steps.local_queue(cluster, workload)
    yield kueue_steps.local_queue_step(cluster, workload, local)
    assert local is not None, "a missing LocalQueue is a failed step, which ends the trace"
    yield from kueue_steps.priority_steps(cluster, workload)
    queue, name = cluster.quotas.get(cluster_queue(local)), cluster_queue(local)
    if queue is None:
        fix = advice.for_name(f"spec.clusterQueue of {local}", name, cluster.quotas)
        message = f"ClusterQueue {name} does not exist"
        yield Step(Stage.CLUSTER_QUEUE, "failed", message, local, ("spec", "clusterQueue"), fix=fix)
        return
    yield kueue_steps.cluster_queue_step(cluster, workload, queue)
    used: dict[Key, int] = {}
    held = {pods.name for pods in workload.held_sets}
    pod_sets = [(pods, pod_requests(pods.pod)) for pods in queued_pods(cluster.objects, workload)]
    for pods, requests in pod_sets:
        yield from kueue_steps.request_steps(workload, pods)
        choice = choose(cluster, queue, pods, requests, used, usage)
        result.attempts[pods.name] = choice.attempts
        yield from kueue_steps.quota_steps(cluster, queue, pods, requests, choice)
        if pods.name not in held:
            result.placements[pods.name] = Placement(tuple(choice.names), choice.borrowed)
        flavors_of[pods.name] = [cluster.flavors[name] for name in choice.names if name in cluster.flavors]
    chosen = {flavor.name for row in flavors_of.values() for flavor in row}
    for name, path in queue.checks.items():
        if chosen & ({flavor for _, flavor in items(dig(queue.setting(), *path[1:], "onFlavors"))} or chosen):
            yield Step(Stage.CLUSTER_QUEUE, "unknown", f"AdmissionCheck {name} decides too", queue.manifest, path)
    for pods, requests in pod_sets:
        yield from topology_steps(cluster, pods, requests, flavors_of[pods.name], queue)
    yield from kueue_steps.start_steps(workload, local, queue)


def _copies(
    cluster: ClusterIndex, workload: Workload, created: list[PodSet], usage: Usage, result: TraceResult
) -> Steps:
    """Yields a failed step if the quota is too small for all replicas of an object; every replica is one workload.

    Writes the borrowed quota of all replicas to the placements of `result`.
    """
    local = kueue_steps.local_queue(cluster, workload)
    assert local is not None, "a missing LocalQueue ends the trace before"
    queue, in_use = cluster.quotas[cluster_queue(local)], dict(usage)
    for count in range(min(workload.copies, _MAX_COPIES)):
        choices, _ = admit(cluster, queue, created, in_use)
        for name, choice in choices.items():
            result.placements[name].borrowed = choice.borrowed
        if any(choice.is_refused for choice in choices.values()):
            message = f"only {count} of {workload.copies} replicas get quota at the same time"
            yield Step(Stage.QUOTA, "failed", message, queue.manifest, GROUPS, fix=f"run at most {count} replicas")
            return


def problem_steps(workload: Workload, *, is_refused: bool) -> Steps:
    """Yields a failed check for each problem because of which a workload does not run as its user expects."""
    stage = Stage.API if is_refused else Stage.SUSPENDED
    for problem in (problem for problem in workload.problems if problem.is_refused == is_refused):
        yield Step(stage, "failed", problem.message, fix=problem.fix, field=problem.field, reason=problem.outcome)


def stopped_steps(objects: ObjectSet, workload: Workload, *, is_queued: bool) -> Steps:
    """Yields a failed check for a workload that starts no pods, although the API server accepts the workload.

    There are four reasons: the workload requests 0 pods, it is suspended and Kueue does not start it, its schedule has
    no day, or its deadline is 0. The step is unknown for a workload whose owners are not in the input.

    Args:
        is_queued: whether Kueue manages the workload, and so sets and removes spec.suspend.

    Source: k8s.io/kubernetes v1.35.4 pkg/controller/job/job_controller.go (pastActiveDeadline, controllerName)
    """
    document, start = workload.document, workload.record.start
    job, schedule = dig(document, *start.spec), dig(document, *start.schedule) if start.schedule else None
    subject, fails = f"{workload.kind} {workload.name}", partial(Step, Stage.SUSPENDED, "failed")
    if not workload.pod_sets or not workload.copies:
        yield fails("the number of pods of the workload is 0")
    elif dig(document, "spec", "suspend") is True and (start.schedule or not is_queued):
        message = f"spec.suspend of {subject} is true, so the workload starts no pods"
        yield fails(message, fix="remove spec.suspend", field=("spec", "suspend"))
    elif start.schedule and never_fires(str(schedule)):
        message = f"schedule {schedule} has no day, so the {workload.kind} starts no Jobs"
        yield fails(message, field=start.schedule)
    for field in ((*pods.path[:-1], _DEADLINE) for pods in workload.pod_sets):
        if dig(document, *field) == 0:
            yield fails(f"{_DEADLINE} is 0, so the Job controller ends the Job when it starts", field=field)
    owners = [owner for _, owner in items(dig(document, "metadata", "ownerReferences"))]
    names = [tuple(str(dig(owner, field)) for field in ("apiVersion", "kind", "name")) for owner in owners]
    kept = (objects.find(api.rpartition("/")[0], kind, name, workload.namespace) for api, kind, name in names)
    if owners and not any(kept):
        message = f"no owner of {subject} is in the input; without an owner, Kubernetes deletes the {workload.kind}"
        yield Step(Stage.SUSPENDED, "unknown", message, fix="remove the owners", field=("metadata", "ownerReferences"))
    manager = dig(job, "managedBy") if workload.pod_sets else None
    if isinstance(manager, str) and manager not in start.managers:
        message = f"managedBy gives {subject} to controller {manager}, which gpuc does not know"
        field = (*start.spec, "managedBy")
        yield Step(Stage.SUSPENDED, "unknown", message, fix="remove managedBy", field=field)
